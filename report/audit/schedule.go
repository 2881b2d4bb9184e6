package audit

import (
	"math"

	"teamtalk/recipe/artifact"
)

const learningRateKey = "learning_rate"

// learningRate holds the logged learning rate against the plan's linear schedule: (N-k)/N of the planned rate at step k = 0, 1, ... of N.
func learningRate(rec *artifact.Record) finding {
	p := rec.Plan.Training
	if p.LRSchedulerType != "linear" || p.WarmupSteps != 0 {
		return notRun("lr_scheduler_type is %s with %d warm-up steps: only linear with none is recomputed", p.LRSchedulerType, p.WarmupSteps)
	}
	n := 0
	for _, t := range rec.Runs {
		for _, s := range t.Steps {
			logged, ok := s.Values[learningRateKey]
			if !ok {
				return fail("%s step %d logged no learning_rate", t.Config.Run.Name, s.Step)
			}
			want := p.LearningRate * float64(p.MaxSteps-s.Step+1) / float64(p.MaxSteps)
			// The trainer may compute it in float32.
			if d := math.Abs(logged - want); !(d <= 1e-6*want) {
				return fail("%s step %d logged learning_rate %v, the plan's schedule gives %v", t.Config.Run.Name, s.Step, logged, want)
			}
			n++
		}
	}
	if n == 0 {
		return notRun("no step was logged")
	}
	return pass("%s, from %v down to %v", plural(n, "step"), p.LearningRate, p.LearningRate/float64(p.MaxSteps))
}
