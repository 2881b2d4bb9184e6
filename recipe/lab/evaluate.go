package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"teamtalk/model"
	"teamtalk/recipe/artifact"
	"teamtalk/recipe/eval"
	"teamtalk/recipe/experiment"
	"teamtalk/recipe/grpo"
)

// evaluate runs the planned evaluations that are not there yet.
func (l *Lab) evaluate(ctx context.Context) error {
	jobs, err := l.jobs()
	if err != nil {
		return err
	}
	var names []string
	for _, j := range jobs {
		if !j.Done {
			names = append(names, j.Run.Name())
		}
	}
	start, tokens := time.Now(), int64(0)
	if l.evaluator, err = l.newEvaluator(jobs, start); err != nil || len(names) == 0 {
		return err
	}
	l.say("evaluating %v, %d problems x %d", names, len(l.problems.Holdout), l.Plan.Evaluation.Samples)
	err = l.evaluator.Evaluate(ctx, func(j eval.Job, replies []artifact.Reply) error {
		right := 0
		for _, r := range replies {
			tokens += int64(r.Tokens)
			if r.Verdict.Correct() {
				right++
			}
		}
		l.say("%s: %d of %d right", j.Run.Name(), right, len(replies))
		return l.run.WriteEval(j.Run, replies)
	})
	return errors.Join(err, l.phase("eval", names, start, tokens))
}

// jobs are all planned evaluations, with the adapters of the trained models.
func (l *Lab) jobs() ([]eval.Job, error) {
	adapters := map[string]map[string][]float32{}
	var jobs []eval.Job
	for _, e := range l.Plan.Evaluations() {
		arm, err := l.Plan.Arm(e.Prompt)
		if err != nil {
			return nil, err
		}
		job := eval.Job{Run: e, System: arm.System, Done: l.run.HasEval(e)}
		if e.Model != experiment.Base {
			if adapters[e.Model] == nil {
				_, values, err := grpo.ReadAdapter(filepath.Join(l.Dir, e.Model, artifact.FinalDir), l.weights.Config)
				if err != nil {
					return nil, fmt.Errorf("adapter of %s: %w", e.Model, err)
				}
				adapters[e.Model] = values
			}
			job.Adapter = adapters[e.Model]
		}
		jobs = append(jobs, job)
	}
	return jobs, nil
}

func (l *Lab) newEvaluator(jobs []eval.Job, start time.Time) (*eval.Evaluator, error) {
	t := l.Plan.Training.LoRA
	lora := model.LoRA{Rank: t.R, Alpha: t.LoraAlpha, Targets: t.TargetModules}
	if err := lora.Validate(); err != nil {
		return nil, err
	}
	var stop []int32
	for _, id := range l.Plan.Model.StopTokenIDs {
		stop = append(stop, int32(id))
	}
	return eval.New(jobs, eval.Options{
		Device: l.Device, Weights: l.weights, Tokenizer: l.tokenizer, LoRA: lora, Problems: l.problems.Holdout,
		Settings: l.Plan.Evaluation, Stop: stop, Slots: 4, Rows: l.evalRows(), Grade: artifact.Grade,
		Progress: func(done, all int) {
			spent := time.Since(start)
			left := time.Duration(float64(spent) / float64(done) * float64(all-done))
			l.say("evaluation %d/%d  %s left", done, all, left.Round(time.Second))
		},
	})
}

// evalRows is how many replies are sampled at once.
func (l *Lab) evalRows() int {
	if l.options.EvalRows > 0 {
		return l.options.EvalRows
	}
	return 480
}
