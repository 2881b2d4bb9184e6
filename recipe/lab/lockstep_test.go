package lab

import (
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"teamtalk/model/backend"
	"teamtalk/recipe/experiment"
	"teamtalk/recipe/grpo"
)

// A run that trains alone, and the same run among four: the batches have other shapes and other neighbours, so that sums round
// otherwise, but noise belongs to the reply. In the first step every sampled token is the same, with its grade, and the
// numbers agree to rounding. Later steps are not compared: once an update has been rounded, a token may fall otherwise.
func TestARunAloneAndAmongOthers(t *testing.T) {
	among := record(t, neverStopped(t)).Runs[3]
	dir := filepath.Join(t.TempDir(), "run")
	err := conduct(t.Context(), small(t, Options{Out: dir, Arm: "recipe", Seeds: []int64{18}, StopAfter: 1}))
	if !errors.Is(err, grpo.ErrInterrupted) {
		t.Fatalf("error %v, want a stop after step 1", err)
	}
	alone := record(t, dir).Runs[0]
	if a, b := alone.Config.Settings.Runtime.RunsLockstep, among.Config.Settings.Runtime.RunsLockstep; alone.Config.Run != among.Config.Run || a != 1 || b != 4 {
		t.Fatalf("%s, %d in lockstep, compared with %s, %d in lockstep", alone.Config.Run.Name, a, among.Config.Run.Name, b)
	}
	for i, x := range alone.Rollouts {
		y := among.Rollouts[i]
		if x.TaskSHA256 != y.TaskSHA256 || x.Text != y.Text || x.Tokens != y.Tokens || x.FinishReason != y.FinishReason || x.Advantage != y.Advantage {
			t.Errorf("rollout %d is\n%q\nalone, and\n%q\namong others", i, x.Text, y.Text)
		}
		differ := []float64{x.SumLogpSampler - y.SumLogpSampler}
		if (x.SumLogpTrainer == nil) != (y.SumLogpTrainer == nil) {
			t.Errorf("rollout %d was trained on alone or among others, and not both times", i)
		} else if x.SumLogpTrainer != nil {
			differ = append(differ, *x.SumLogpTrainer-*y.SumLogpTrainer)
		}
		for _, d := range differ {
			if !(math.Abs(d) <= 1e-5*float64(x.Tokens)) {
				t.Errorf("rollout %d: log-probabilities of %d tokens differ by %g, alone and among others", i, x.Tokens, d)
			}
		}
	}
	for key, tolerance := range map[string]float64{"grad_norm": 1e-4, "loss": 1e-4, "entropy": 1e-5, "reward": 0, "num_tokens": 0, "learning_rate": 0} {
		x, y := alone.Steps[0].Value(key), among.Steps[0].Value(key)
		if !(math.Abs(x-y) <= tolerance*max(1e-3, math.Abs(y))) {
			t.Errorf("%s is %g alone and %g among others, want a relative difference of at most %g", key, x, y, tolerance)
		}
	}
}

// A step that cannot be right stops the run, says why, and leaves nothing of itself. One step of one run takes less time on the Go
// backend than XLA's compiler would.
func TestAnUnsoundStepStopsTheRun(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*experiment.Training)
		want   string
	}{
		{"the sampler and the trainer differ by more than the bound", func(g *experiment.Training) { g.MaxLogpDifference = 1e-12 },
			"the sampler's and the trainer's log-probabilities differ by "},
		{"gradients beyond f32", func(g *experiment.Training) { g.LoRA.LoraAlpha = 1e30 },
			"the gradient's norm is +Inf; expected a finite number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			err := conduct(t.Context(), small(t, Options{Out: dir, Backend: backend.Go, Arm: "recipe", Seeds: []int64{18}, Change: func(p *experiment.Plan) error {
				c.change(&p.Training)
				return nil
			}}))
			if err == nil || errors.Is(err, grpo.ErrInterrupted) || !strings.Contains(err.Error(), "step 1: recipe-18: "+c.want) {
				t.Errorf("error %v, want the step, the run and %q", err, c.want)
			}
			r := record(t, dir)
			if len(r.Runs[0].Steps)+len(r.Runs[0].Rollouts) > 0 || r.Runs[0].Final || r.Manifest != nil || steps(t, filepath.Join(dir, "recipe-18")) != "" {
				t.Errorf("something of the step is kept: %d lines, %d rollouts, missing %q", len(r.Runs[0].Steps), len(r.Runs[0].Rollouts), r.Missing)
			}
		})
	}
}
