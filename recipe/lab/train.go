package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"teamtalk/model/backend"
	"teamtalk/model/tokenizer"
	"teamtalk/recipe/artifact"
	"teamtalk/recipe/data"
	"teamtalk/recipe/experiment"
	"teamtalk/recipe/grpo"
)

// train trains the planned runs until each has its adapter.
func (l *Lab) train(ctx context.Context) error {
	var groups [][]grpo.Run
	defer func() {
		for _, g := range groups {
			closeGroup(g)
		}
	}()
	for _, runs := range l.groups() {
		g, err := l.openGroup(runs)
		if err != nil {
			return err
		}
		groups = append(groups, g)
	}
	for _, g := range groups {
		if err := l.trainGroup(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

// lockstep is how many runs share the frozen model's passes.
func (l *Lab) lockstep() int {
	n := len(l.Plan.Runs())
	if m := l.options.Lockstep; m > 0 && m <= n {
		return m
	}
	return n
}

// groups are the runs that share the frozen model's passes. They are grouped by the plan, not by what is left to do: a run
// that goes on has the neighbours that it had.
func (l *Lab) groups() [][]experiment.Run {
	return slices.Collect(slices.Chunk(l.Plan.Runs(), l.lockstep()))
}

// openGroup opens the folders of a group's runs.
func (l *Lab) openGroup(runs []experiment.Run) (group []grpo.Run, err error) {
	defer func() {
		if err != nil {
			closeGroup(group)
		}
	}()
	rows, err := l.microBatchRows(l.lockstep())
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		config, err := l.Plan.RunConfig(r.Arm, r.Seed, experiment.Runtime{
			Backend: string(l.Device.Kind), Device: deviceName(l.Device), MicroBatch: rows, RunsLockstep: l.lockstep(), EvalRows: l.evalRows(),
			Deterministic: l.Device.Kind != backend.CUDA,
		})
		if err != nil {
			return group, err
		}
		out, err := l.run.OpenTraining(config)
		if err != nil {
			return group, err
		}
		group = append(group, grpo.Run{Config: config, Out: out})
	}
	return group, nil
}

func closeGroup(group []grpo.Run) {
	for _, r := range group {
		_ = r.Out.Close() // every append was synced
	}
}

// trainGroup trains a group, unless each of its runs has its adapter.
func (l *Lab) trainGroup(ctx context.Context, group []grpo.Run) error {
	if !slices.ContainsFunc(group, func(r grpo.Run) bool { return !r.Out.Done() }) {
		return nil
	}
	rows := group[0].Config.Settings.Runtime.MicroBatch
	columns, err := l.longestPrompt(l.problems.Train)
	if err != nil {
		return err
	}
	var names []string
	for _, r := range group {
		names = append(names, r.Config.Run.Name)
	}
	l.say("training %v, %d steps", names, l.Plan.Training.MaxSteps)
	start, tokens := time.Now(), int64(0)
	err = grpo.Train(ctx, group, grpo.Options{
		Device: l.Device, Weights: l.weights, Tokenizer: l.tokenizer, Problems: l.problems.Train, Grade: artifact.Grade,
		Rows: rows, Columns: columns, StopAfter: l.options.StopAfter,
		Progress: func(p grpo.Progress) {
			l.say("%s", trainLine(p))
			tokens += int64(p.Sampled)
			l.reporter.progress(p.Step, p.Steps)
		},
	})
	return errors.Join(l.exhausted(err, len(group), rows), l.phase("train", names, start, tokens))
}

// microBatchRows is the number of rows of a training pass of m runs.
func (l *Lab) microBatchRows(m int) (int, error) {
	r, err := l.room()
	if err != nil {
		return 0, err
	}
	return r.fitting(m, l.options.Rows)
}

// longestPrompt is the number of tokens of the longest of some problems under any arm's prompt.
func (l *Lab) longestPrompt(problems []data.Problem) (int, error) {
	longest := 0
	for _, a := range l.Plan.Arms {
		for _, p := range problems {
			ids, err := l.tokenizer.ChatML([]tokenizer.Message{{Role: "system", Content: a.System}, {Role: "user", Content: p.Question}}, true)
			if err != nil {
				return 0, err
			}
			longest = max(longest, len(ids))
		}
	}
	return longest, nil
}

func trainLine(p grpo.Progress) string {
	line := fmt.Sprintf("step %d/%d ", p.Step, p.Steps)
	for i, name := range p.Runs {
		line += fmt.Sprintf(" %s reward %.2f talk %.2f ", name, p.Rewards[i], p.Talk[i])
	}
	return line + fmt.Sprintf(" %.0f tokens/s  %.2fs  %s left", p.TokensPerS, p.StepTime.Seconds(), p.Left.Round(time.Second))
}
