package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// An invariant holds for every design; each is tried on random ones. The names are the oracle's.
type invariant struct {
	name  string
	holds func(rng *rand.Rand, a, b Outcomes) error
}

var invariants = []invariant{
	{"ci_both contains ci_tasks", func(_ *rand.Rand, a, b Outcomes) error {
		c := must(Compare(a, b, 0.02))
		if c.CIBoth.OK() && (c.CIBoth.Lo() > c.CITasks.Lo() || c.CIBoth.Hi() < c.CITasks.Hi()) {
			return fmt.Errorf("%v does not contain %v", c.CIBoth, c.CITasks)
		}
		return nil
	}},
	{"swapping arms negates delta and mirrors every interval", func(_ *rand.Rand, a, b Outcomes) error {
		c, d := must(Compare(a, b, 0.02)), must(Compare(b, a, 0.02))
		mirrored := map[Verdict]Verdict{Better: Worse, Worse: Better}
		if want, turned := mirrored[c.Verdict]; turned && d.Verdict != want || !turned && d.Verdict != c.Verdict {
			return fmt.Errorf("verdicts %s and %s", c.Verdict, d.Verdict)
		}
		return same("mirrored",
			[]float64{c.Delta, c.CITasks.Lo(), c.CITasks.Hi(), c.CIRuns.Lo(), c.CIRuns.Hi(), c.CIBoth.Lo(), c.CIBoth.Hi(), c.PBoth},
			[]float64{-d.Delta, -d.CITasks.Hi(), -d.CITasks.Lo(), -d.CIRuns.Hi(), -d.CIRuns.Lo(), -d.CIBoth.Hi(), -d.CIBoth.Lo(), d.PBoth})
	}},
	{"permuting tasks (jointly) changes nothing", func(rng *rand.Rand, a, b Outcomes) error {
		order := rng.Perm(len(a[0]))
		c, d := must(Compare(a, b, 0.02)), must(Compare(pick(a, order), pick(b, order), 0.02))
		return sameComparison(c, d)
	}},
	{"permuting runs within an arm changes everything in ref_* but not ci_tasks, ci_runs, ci_both", func(rng *rand.Rand, a, b Outcomes) error {
		shuffled := slices.Clone(b)
		for slices.EqualFunc(shuffled, b, slices.Equal) && len(b) > 1 {
			rng.Shuffle(len(b), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			if allRunsEqual(b) {
				return nil
			}
		}
		c, d := must(Compare(a, b, 0.02)), must(Compare(a, shuffled, 0.02))
		if len(a) == len(b) && len(a) > 1 {
			// The alternatives that depend on the order of runs must see it, or the invariant would be about nothing.
			p, q := c.Alternatives(a.Rates(), b.Rates()), d.Alternatives(a.Rates(), shuffled.Rates())
			if slices.Equal(p.PairedDeltas, q.PairedDeltas) && !slices.Equal(c.B.RunMeans, d.B.RunMeans) {
				return fmt.Errorf("paired by seed does not see the order of runs")
			}
		}
		return sameComparison(c, d)
	}},
	{"R=1 on either arm: ci_runs and ci_both are null and the verdict is unresolved", func(_ *rand.Rand, a, b Outcomes) error {
		for _, c := range []Comparison{must(Compare(a[:1], b, 0.02)), must(Compare(a, b[:1], 0.02)), must(Compare(a[:1], b[:1], 0.02))} {
			if c.CIRuns.OK() || c.CIBoth.OK() || !math.IsNaN(c.PBoth) || c.Verdict != Unresolved || !c.CITasks.OK() || c.Reason == "" {
				return fmt.Errorf("runs %d and %d: %v, %v, p %v, %s", c.A.Runs, c.B.Runs, c.CIRuns, c.CIBoth, c.PBoth, c.Verdict)
			}
		}
		return nil
	}},
	{"V_task = V_int + (signed) arm x task term; V_arm_task is that term floored at 0", func(_ *rand.Rand, a, b Outcomes) error {
		c := must(Compare(a, b, 0.02))
		if c.DFRuns == 0 {
			return nil
		}
		signed := c.Components.ArmTask / float64(c.Tasks)
		return same("terms", []float64{c.VTask, c.VArmTask}, []float64{c.VInt + signed, max(signed, 0)})
	}},
	{"p_both < 0.05 exactly when ci_both excludes 0", func(_ *rand.Rand, a, b Outcomes) error {
		c := must(Compare(a, b, 0.02))
		if c.CIBoth.OK() && (c.PBoth < 0.05) == c.CIBoth.Contains(0) {
			return fmt.Errorf("p %v beside %v", c.PBoth, c.CIBoth)
		}
		return nil
	}},
	{"scaling S with the same rates leaves delta, V_task, V_runs, V_int unchanged", func(_ *rand.Rand, a, b Outcomes) error {
		triple := func(o Outcomes) Outcomes {
			out := make(Outcomes, len(o))
			for i, run := range o {
				for _, c := range run {
					out[i] = append(out[i], Cell{3 * c.Correct, 3 * c.Samples})
				}
			}
			return out
		}
		c, d := must(Compare(a, b, 0.02)), must(Compare(triple(a), triple(b), 0.02))
		return same("terms", []float64{c.Delta, c.VTask, c.VRuns, c.VInt}, []float64{d.Delta, d.VTask, d.VRuns, d.VInt})
	}},
}

// TestInvariants tries each invariant on random designs: 1 to 5 runs per arm, unequal, 2 to 40 tasks, 1 to 8 samples, difficulty from
// hopeless to solved, with and without an effect of arm and run.
func TestInvariants(t *testing.T) {
	for _, inv := range invariants {
		t.Run(inv.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			for i := range 400 {
				a, b := randomArms(rng)
				if err := inv.holds(rng, a, b); err != nil {
					t.Fatalf("design %d: %v\nA = %v\nB = %v", i, err, a, b)
				}
			}
		})
	}
}

func randomArms(rng *rand.Rand) (a, b Outcomes) {
	tasks, samples := 2+rng.IntN(39), 1+rng.IntN(8)
	if rng.IntN(4) == 0 {
		tasks = 2 + rng.IntN(3)
	}
	effect, runSD, spread := 0.3*float64(rng.IntN(3)), 0.15*float64(rng.IntN(3)), float64(rng.IntN(4))
	difficulty := make([]float64, tasks)
	for t := range difficulty {
		difficulty[t] = spread * rng.NormFloat64()
	}
	arm := func(shift float64) Outcomes {
		o := make(Outcomes, 1+rng.IntN(5))
		for i := range o {
			run := shift + runSD*rng.NormFloat64()
			for t := range tasks {
				p := 1 / (1 + math.Exp(-difficulty[t]-run-0.2*rng.NormFloat64()))
				c := Cell{Samples: samples}
				for range samples {
					if rng.Float64() < p {
						c.Correct++
					}
				}
				o[i] = append(o[i], c)
			}
		}
		return o
	}
	return arm(0), arm(effect * 5)
}

func must(c Comparison, err error) Comparison {
	if err != nil {
		panic(err)
	}
	return c
}

func allRunsEqual(o Outcomes) bool {
	for _, run := range o {
		if !slices.Equal(run, o[0]) {
			return false
		}
	}
	return true
}

func sameComparison(c, d Comparison) error {
	of := func(c Comparison) []float64 {
		return []float64{c.Delta, c.CITasks.Lo(), c.CITasks.Hi(), c.CIRuns.Lo(), c.CIRuns.Hi(), c.CIBoth.Lo(), c.CIBoth.Hi(), c.PTasks, c.PBoth,
			c.VTask, c.VRuns, c.VInt, c.Components.Run, c.Components.RunTask, c.Components.ArmTask, c.Components.PerSample, float64(c.Wins), float64(c.Losses)}
	}
	if c.Verdict != d.Verdict {
		return fmt.Errorf("verdicts %s and %s", c.Verdict, d.Verdict)
	}
	return same("comparison", of(c), of(d))
}

// same compares numbers up to the rounding that another order of summation gives; two NaNs are the same.
func same(what string, x, y []float64) error {
	for i := range x {
		if !(math.Abs(x[i]-y[i]) <= 1e-10*max(1, math.Abs(x[i]))) && !(math.IsNaN(x[i]) && math.IsNaN(y[i])) {
			return fmt.Errorf("%s: %v and %v (value %d)", what, x[i], y[i], i)
		}
	}
	return nil
}
