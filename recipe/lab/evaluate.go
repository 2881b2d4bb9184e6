package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"teamtalk/model"
	"teamtalk/recipe/artifact"
	"teamtalk/recipe/eval"
	"teamtalk/recipe/experiment"
	"teamtalk/recipe/grpo"
)

// evalSlots is how many models answer in lockstep.
const evalSlots = 2

// evaluate runs the planned evaluations on the held-out tasks that are not there yet. Their evaluator stays open for the checks.
func (l *Lab) evaluate(ctx context.Context) error {
	start := time.Now()
	jobs, err := l.jobs("")
	if err != nil {
		return err
	}
	if l.evaluator, err = l.newEvaluator(jobs, ""); err != nil {
		return err
	}
	return l.sample("eval", start, jobs, func(w writeReplies) error { return l.evaluator.Evaluate(ctx, w) })
}

// evaluateTest does the same on the whole test split. It has an evaluator of its own: other problems and another number of samples make
// other batches.
func (l *Lab) evaluateTest(ctx context.Context) error {
	if l.Plan.Evaluation.Test == nil {
		return nil
	}
	start := time.Now()
	jobs, err := l.jobs(experiment.TasksTest)
	if err != nil || !slices.ContainsFunc(jobs, func(j eval.Job) bool { return !j.Done }) {
		return err
	}
	evaluator, err := l.newEvaluator(jobs, experiment.TasksTest)
	if err != nil {
		return err
	}
	defer evaluator.Close()
	return l.sample("eval-test", start, jobs, func(w writeReplies) error { return evaluator.Evaluate(ctx, w) })
}

// writeReplies records the replies of a job.
type writeReplies = func(eval.Job, []artifact.Reply) error

// sample lets evaluate run the jobs that are not done, and records what that cost since start as a phase.
func (l *Lab) sample(phase string, start time.Time, jobs []eval.Job, evaluate func(writeReplies) error) error {
	var names []string
	for _, j := range jobs {
		if !j.Done {
			names = append(names, j.Run.Name())
		}
	}
	if len(names) == 0 {
		return nil
	}
	tokens := int64(0)
	l.evalBegan = time.Now()
	of := jobs[0].Run
	l.say("evaluating %v, %d problems x %d", names, len(l.Plan.TasksOf(of)), l.Plan.SamplesOf(of))
	err := evaluate(func(j eval.Job, replies []artifact.Reply) error {
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
	return errors.Join(err, l.phase(phase, names, start, tokens))
}

// rounds are the evaluations on the held-out tasks, or on the whole test split, that are answered in lockstep. They are grouped
// by the plan, not by what is left to do.
func (l *Lab) rounds(tasks string) [][]experiment.EvalRun {
	var all []experiment.EvalRun
	for _, e := range l.Plan.Evaluations() {
		if e.Tasks == tasks {
			all = append(all, e)
		}
	}
	return slices.Collect(slices.Chunk(all, evalSlots))
}

// jobs are all planned evaluations on the held-out tasks or on the whole test split, with the adapters of the trained models.
func (l *Lab) jobs(tasks string) ([]eval.Job, error) {
	adapters := map[string]map[string][]float32{}
	var jobs []eval.Job
	for _, e := range l.Plan.Evaluations() {
		if e.Tasks != tasks {
			continue
		}
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

// newEvaluator opens the evaluation of all jobs on these tasks.
func (l *Lab) newEvaluator(jobs []eval.Job, tasks string) (*eval.Evaluator, error) {
	problems, settings := l.problems.Holdout, l.Plan.Evaluation
	if tasks == experiment.TasksTest {
		problems, settings.Samples = l.problems.Test, settings.Test.Samples
	}
	t := l.Plan.Training.LoRA
	lora := model.LoRA{Rank: t.R, Alpha: t.LoraAlpha, Targets: t.TargetModules}
	if err := lora.Validate(); err != nil {
		return nil, err
	}
	var stop []int32
	for _, id := range l.Plan.Model.StopTokenIDs {
		stop = append(stop, int32(id))
	}
	// As much room for prompts in every evaluation, so that they share their programs.
	columns, err := l.longestPrompt(slices.Concat(l.problems.Holdout, l.problems.Test))
	if err != nil {
		return nil, err
	}
	return eval.New(jobs, eval.Options{
		Device: l.Device, Weights: l.weights, Tokenizer: l.tokenizer, LoRA: lora, Problems: problems,
		Settings: settings, Stop: stop, Columns: columns, Slots: evalSlots, Rows: l.evalRows(), Grade: artifact.Grade,
		Progress: func(done, all int) {
			spent := time.Since(l.evalBegan)
			left := time.Duration(float64(spent) / float64(done) * float64(all-done))
			l.say("evaluation %d/%d  %s left", done, all, left.Round(time.Second))
			l.reporter.progress(done, all)
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
