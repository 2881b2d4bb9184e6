package bench

import (
	"context"
	"time"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/eval"
	"teamtalk/recipe/experiment"
)

// eval times an evaluation of one model as experiments run it: every held-out problem, the plan's samples of each.
func (b *session) eval(ctx context.Context) error {
	plan, err := b.plan(1, 1)
	if err != nil {
		return err
	}
	s := plan.Evaluation
	jobs := []eval.Job{{Run: experiment.EvalRun{Model: experiment.Base, Prompt: plan.Arms[0].Name, Seed: s.BaseSeed}, System: plan.Arms[0].System}}
	e, err := eval.New(jobs, eval.Options{
		Device: b.Device, Weights: b.weights, Tokenizer: b.Tokenizer, LoRA: b.LoRA, Problems: b.Problems.Holdout, Settings: s,
		Stop: b.Stop, Slots: 1, Rows: 480, Grade: artifact.Grade,
	})
	if err != nil {
		return err
	}
	defer e.Close()
	l := Line{Name: "eval-480", Unit: "s"}
	if !b.Real {
		l.Note = "random weights: every reply runs to its full length"
	}
	tokens := 0.0
	for i := range b.Repeat + 1 {
		start := time.Now()
		tokens = 0
		err := e.Evaluate(ctx, func(_ eval.Job, replies []artifact.Reply) error {
			for _, r := range replies {
				tokens += float64(r.Tokens)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if passed := time.Since(start).Seconds(); i > 0 {
			l.Times = append(l.Times, passed)
		} else {
			l.Compile = passed // of the first time the rest is sampling, which the others show
		}
	}
	if l.Compile > l.figure() {
		l.Compile -= l.figure()
	}
	b.add(l, tokens)
	return nil
}
