package stats

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestCoverageOfOtherContrasts: as TestCoverage, for the comparisons whose runs are not two separate sets.
func TestCoverageOfOtherContrasts(t *testing.T) {
	const replications = 1500
	for _, c := range []struct {
		why   string
		draw  func(rng *rand.Rand) (c Comparison, truth float64)
		least float64
		df    int
	}{
		{"fixed model against two runs, spread pooled with another arm", func(rng *rand.Rand) (Comparison, float64) {
			arm, other, _ := world(rng, 2, 120, 4, 0.03)
			return must(CompareFixed(baseOf(rng, 120), arm, 0.02, other)), 0
		}, 0.95, 2},
		{"fixed model against four runs, by their own spread", func(rng *rand.Rand) (Comparison, float64) {
			arm, _, _ := world(rng, 4, 120, 4, 0.03)
			return must(CompareFixed(baseOf(rng, 120), arm, 0.02)), 0
		}, 0.945, 3},
		{"the same three runs asked twice", func(rng *rand.Rand) (Comparison, float64) {
			a, b := askedTwice(rng, 3, 120, 4)
			return must(CompareSameRuns(a, b, 0.02)), 0
		}, 0.945, 2},
	} {
		t.Run(c.why, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(21, 22))
			both := 0
			for range replications {
				cmp, truth := c.draw(rng)
				if cmp.DFRuns != c.df {
					t.Fatalf("ν = %d, expected %d", cmp.DFRuns, c.df)
				}
				if cmp.CIBoth.Contains(truth) {
					both++
				}
			}
			got := float64(both) / replications
			t.Logf("ci_both covers %.3f", got)
			if got < c.least {
				t.Errorf("ci_both covers %.3f of the time: expected at least %.3f", got, c.least)
			}
		})
	}
}

// baseOf is one model whose tasks are as hard as those of world on average, but drawn separately: the difference has mean 0.
func baseOf(rng *rand.Rand, tasks int) Outcomes {
	o, _, _ := world(rng, 1, tasks, 4, 0)
	return o
}

// askedTwice draws runs that differ by 5 points from each other and are asked under two prompts whose effect differs by run (SD 0.3 in
// log odds) and by task.
func askedTwice(rng *rand.Rand, runs, tasks, samples int) (a, b Outcomes) {
	a, b = make(Outcomes, runs), make(Outcomes, runs)
	difficulty, promptTask := make([]float64, tasks), make([]float64, tasks)
	for t := range difficulty {
		difficulty[t], promptTask[t] = 2*rng.NormFloat64(), 0.4*rng.NormFloat64()
	}
	for i := range a {
		run, prompt := 0.35*rng.NormFloat64(), 0.3*rng.NormFloat64()
		for t := range tasks {
			shared := difficulty[t] + run + 0.6*rng.NormFloat64()
			a[i] = append(a[i], draw(rng, shared, samples))
			b[i] = append(b[i], draw(rng, shared+prompt+promptTask[t], samples))
		}
	}
	return a, b
}

func draw(rng *rand.Rand, logOdds float64, samples int) Cell {
	c := Cell{Samples: samples}
	for range samples {
		if rng.Float64() < 1/(1+math.Exp(-logOdds)) {
			c.Correct++
		}
	}
	return c
}

var (
	tinyA = Outcomes{{{4, 4}, {3, 4}, {2, 4}, {0, 4}, {1, 4}, {4, 4}}, {{3, 4}, {4, 4}, {1, 4}, {1, 4}, {0, 4}, {4, 4}}}
	tinyB = Outcomes{{{4, 4}, {4, 4}, {3, 4}, {1, 4}, {2, 4}, {4, 4}}, {{4, 4}, {3, 4}, {3, 4}, {0, 4}, {2, 4}, {3, 4}}}
)

// TestFixedByHand: with the arm's own two runs t has 1 degree of freedom; lending the other arm's makes it 2. The base has no runs to
// vary, so that its part of 1/R_A + 1/R_B is gone.
func TestFixedByHand(t *testing.T) {
	base := Outcomes{{{3, 4}, {3, 4}, {1, 4}, {0, 4}, {1, 4}, {3, 4}}}
	own := must(CompareFixed(base, tinyB, 0.02))
	lent := must(CompareFixed(base, tinyB, 0.02, tinyA))
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v, expected %v", what, got, want)
		}
	}
	near("delta", own.Delta, 0.6875-11.0/24)
	near("V_runs", own.VRuns, 0.0078125/2)
	near("V_int", own.VInt, 0.009375/2/6)
	near("ci_runs", own.CIRuns.Half(), 12.706204736174659*math.Sqrt(0.0078125/2))
	near("lent V_runs", lent.VRuns, 0.00434027777777778/2)
	near("lent V_int", lent.VInt, 0.01979166666666667/2/6)
	near("lent ci_runs", lent.CIRuns.Half(), 4.302652729749456*math.Sqrt(0.00434027777777778/2))
	if !strings.Contains(lent.Sentence(Names{"base", "team", "pass@1"}), "2 runs against one fixed model, ν = 2") {
		t.Errorf("the sentence hides what was trained: %s", lent.Sentence(Names{"base", "team", "pass@1"}))
	}
	// Evaluations of one base model are not training runs: two of them must not add degrees of freedom.
	again := must(CompareFixed(append(base, base...), tinyB, 0.02))
	if again.DFRuns != own.DFRuns || math.Abs(again.VRuns-own.VRuns) > 1e-15 || !math.IsNaN(again.A.S2Run) {
		t.Errorf("evaluating the base twice changed the spread of training runs: ν %d and %d", own.DFRuns, again.DFRuns)
	}
	one := must(CompareFixed(base, tinyB[:1], 0.02))
	if one.CIBoth.OK() || one.Verdict != Unresolved || one.Reason == "" {
		t.Errorf("one run against the base: %v, %s", one.CIBoth, one.Verdict)
	}
}

// TestSameRunsByHand: the differences of the two runs are 1/6 and 1/12, so that S²_p = (1/12)²/2 on one degree of freedom.
func TestSameRunsByHand(t *testing.T) {
	c := must(CompareSameRuns(tinyA, tinyB, 0.02))
	if c.DFRuns != 1 || math.Abs(c.S2Run-1.0/288) > 1e-12 || math.Abs(c.VRuns-1.0/576) > 1e-12 {
		t.Errorf("ν = %d, S²_p = %v, V_runs = %v: expected 1, 1/288, 1/576", c.DFRuns, c.S2Run, c.VRuns)
	}
	// The decoding variances are those of the oracle's tiny case; a difference has both.
	if want := c.MSRT - 0.03298611111111111 - 0.03993055555555555; math.Abs(c.Components.RunTask-want) > 1e-12 {
		t.Errorf("run × task %v, expected %v", c.Components.RunTask, want)
	}
	if two := must(Compare(tinyA, tinyB, 0.02)); math.Abs(two.VTask-c.VTask) > 1e-15 || two.Delta != c.Delta {
		t.Errorf("how runs pair changed what tasks say: V_task %v and %v", two.VTask, c.VTask)
	}
	s := c.Sentence(Names{"plain", "team", "pass@1"})
	if lead := strings.Index(s, "for these models"); lead < 0 || lead > strings.Index(s, "trained again") || !strings.Contains(s, "unresolved") {
		t.Errorf("the sentence should lead with these models and call new runs unresolved: %s", s)
	}
	if _, err := CompareSameRuns(tinyA, tinyB[:1], 0.02); err == nil || !strings.Contains(err.Error(), "same trained models") {
		t.Errorf("2 runs on one side and 1 on the other: %v", err)
	}
	if c := must(CompareSameRuns(tinyA[:1], tinyB[:1], 0.02)); c.CIBoth.OK() || c.Verdict != Unresolved {
		t.Errorf("one run: %v, %s", c.CIBoth, c.Verdict)
	}
}

func TestArmMean(t *testing.T) {
	m, err := ArmMean(tinyB, tinyA)
	if err != nil || m.Value != 0.6875 || m.DFRuns != 2 || !m.CIBoth.Contains(m.Value) || m.CIBoth.Hi() > 1 {
		t.Errorf("%+v, %v", m, err)
	}
	if s := m.CITasks.String(); strings.Contains(s, "+") {
		t.Errorf("a mean is not a difference: %s", s)
	}
	allRight := Outcomes{cells(120, Cell{4, 4}), cells(120, Cell{4, 4})}
	m, err = ArmMean(allRight)
	if err != nil || m.CIBoth.OK() || math.Abs(m.CITasks.Lo()-(1-0.030272972577419066)) > 1e-9 || m.CITasks.Hi() != 1 {
		t.Errorf("all right: %+v, %v, expected the exact bound over tasks and no other", m, err)
	}
	if m, err := ArmMean(tinyB[:1]); err != nil || m.CIBoth.OK() || !m.CITasks.OK() {
		t.Errorf("one run: %+v, %v", m, err)
	}
	if _, err := ArmMean(nil); err == nil {
		t.Error("an arm without runs has no mean")
	}
}
