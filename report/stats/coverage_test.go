package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestCoverage draws tasks and training runs anew thousands of times, with no true difference between the arms, and counts how often
// each interval covers 0. The world is not the one of the formulas: effects act on log odds. What it must show: ci_both covers as
// often as it says whatever training runs do, and ci_tasks, which is what is usually published, does so only when training runs
// do not differ. The expected coverages are those of an independent simulation in another language (20,000 replications).
func TestCoverage(t *testing.T) {
	const replications = 3000
	for _, c := range []struct {
		why         string
		runSD       float64 // of a run's true mean, on the scale of the rate
		runs, tasks int
		wantBoth    float64 // what the independent simulation found
		wantTasks   float64
	}{
		{why: "training runs do not differ: both are honest", runSD: 0, runs: 2, tasks: 120, wantBoth: 0.988, wantTasks: 0.952},
		{why: "run SD of two points: ci_tasks is wrong one time in six", runSD: 0.02, runs: 2, tasks: 120, wantBoth: 0.975, wantTasks: 0.846},
		{why: "run SD of five points: ci_tasks covers about half the time", runSD: 0.05, runs: 2, tasks: 120, wantBoth: 0.956, wantTasks: 0.549},
	} {
		t.Run(c.why, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(17, 18))
			both, tasks := 0, 0
			for range replications {
				cmp := must(Compare(world(rng, c.runs, c.tasks, 4, c.runSD)))
				if cmp.CIBoth.Contains(0) {
					both++
				}
				if cmp.CITasks.Contains(0) {
					tasks++
				}
			}
			gotBoth, gotTasks := float64(both)/replications, float64(tasks)/replications
			t.Logf("ci_both covers %.3f, ci_tasks %.3f", gotBoth, gotTasks)
			if gotBoth < 0.95 {
				t.Errorf("ci_both covers %.3f of the time: expected at least 0.95", gotBoth)
			}
			// 4 standard errors of this simulation.
			se := func(p float64) float64 { return 4 * math.Sqrt(p*(1-p)/replications) }
			if math.Abs(gotBoth-c.wantBoth) > se(c.wantBoth)+0.005 || math.Abs(gotTasks-c.wantTasks) > se(c.wantTasks)+0.005 {
				t.Errorf("ci_both covers %.3f and ci_tasks %.3f: expected about %.3f and %.3f", gotBoth, gotTasks, c.wantBoth, c.wantTasks)
			}
		})
	}
}

// world draws two arms without a true difference: log odds = difficulty (SD 2) + arm × task (0.4) + run × task (0.6) + run, where
// the run effect moves a run's mean by runSD. The third result is the margin that Compare takes.
func world(rng *rand.Rand, runs, tasks, samples int, runSD float64) (a, b Outcomes, margin float64) {
	const slope = 0.1458 // mean of p(1−p) under these effects: how far a mean moves per unit of log odds
	difficulty := make([]float64, tasks)
	for t := range difficulty {
		difficulty[t] = 2 * rng.NormFloat64()
	}
	arm := func() Outcomes {
		armTask := make([]float64, tasks)
		for t := range armTask {
			armTask[t] = 0.4 * rng.NormFloat64()
		}
		o := make(Outcomes, runs)
		for i := range o {
			run := runSD / slope * rng.NormFloat64()
			o[i] = make([]Cell, tasks)
			for t := range o[i] {
				p := 1 / (1 + math.Exp(-difficulty[t]-armTask[t]-run-0.6*rng.NormFloat64()))
				o[i][t].Samples = samples
				for range samples {
					if rng.Float64() < p {
						o[i][t].Correct++
					}
				}
			}
		}
		return o
	}
	return arm(), arm(), 0.02
}
