package stats

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestVerdict(t *testing.T) {
	both := func(lo, hi float64) Interval[Both] { return between[Both](lo, hi, Level) }
	for _, c := range []struct {
		why      string
		ci, ci90 Interval[Both]
		margin   float64
		want     Verdict
	}{
		{"above 0", both(0.01, 0.05), both(0.015, 0.045), 0.02, Better},
		{"below 0", both(-0.05, -0.01), both(-0.045, -0.015), 0.02, Worse},
		{"covers 0 and the 90% interval fits the margin", both(-0.022, 0.021), both(-0.018, 0.017), 0.02, Equivalent},
		{"covers 0: not a null result", both(-0.07, 0.08), both(-0.05, 0.06), 0.02, Unresolved},
		{"the 90% interval touches the margin", both(-0.03, 0.03), both(-0.02, 0.02), 0.02, Unresolved},
		{"touches 0", both(0, 0.05), both(0.01, 0.04), 0.02, Unresolved},
		{"no margin was declared: never equivalent", both(-0.001, 0.001), both(-0.0005, 0.0005), 0, Unresolved},
		{"resolved and small: still a direction", both(0.001, 0.015), both(0.002, 0.014), 0.02, Better},
		{"nothing varied, nothing differs", both(0, 0), both(0, 0), 0.02, Degenerate},
		{"nothing varied, all differs: no variance is no proof", both(1, 1), both(1, 1), 0.02, Degenerate},
		{"no interval", absent[Both]("one run"), absent[Both]("one run"), 0.02, Unresolved},
	} {
		if got, _ := decide(c.ci, c.ci90, c.margin); got != c.want {
			t.Errorf("%s: %s, expected %s", c.why, got, c.want)
		}
	}
}

// TestSeparatedTasksDoNotDecide: ci_tasks clear of 0 must not move the verdict when new runs could.
func TestSeparatedTasksDoNotDecide(t *testing.T) {
	a := Outcomes{cells(40, Cell{1, 4}), cells(40, Cell{3, 4})}
	b := Outcomes{cells(40, Cell{2, 4}, Cell{3, 4}), cells(40, Cell{4, 4})}
	c := must(Compare(a, b, 0.02))
	if !(c.CITasks.Lo() > 0) {
		t.Fatalf("the case should have ci_tasks above 0, has %v", c.CITasks)
	}
	if c.Verdict != Unresolved {
		t.Errorf("verdict %s from %v", c.Verdict, c.CIBoth)
	}
}

func TestDegenerate(t *testing.T) {
	for _, c := range []struct {
		why   string
		a, b  Outcomes
		bound string
	}{
		{"all wrong against all right", Outcomes{cells(5, Cell{0, 4}), cells(5, Cell{0, 4})}, Outcomes{cells(5, Cell{4, 4}), cells(5, Cell{4, 4})},
			"every answer wrong on 5 tasks, exact 95% [0.000, 0.522]"},
		{"the same counts everywhere: samples vary but no cell does", Outcomes{cells(9, Cell{1, 3}), cells(9, Cell{1, 3}), cells(9, Cell{1, 3})},
			Outcomes{cells(9, Cell{1, 3}), cells(9, Cell{1, 3})}, "Nothing varied"},
		{"thirds and sevenths whose means round differently", Outcomes{cells(7, Cell{1, 3}), cells(7, Cell{1, 3}), cells(7, Cell{1, 3})},
			Outcomes{cells(7, Cell{2, 7}), cells(7, Cell{2, 7}), cells(7, Cell{2, 7})}, "Nothing varied"},
	} {
		cmp := must(Compare(c.a, c.b, 0.02))
		s := cmp.Sentence(Names{"plain", "team", "pass@1"})
		if cmp.Verdict != Degenerate || cmp.WithinMargin() || !strings.Contains(s, c.bound) || strings.Contains(s, "equivalent") {
			t.Errorf("%s: %s: %s", c.why, cmp.Verdict, s)
		}
	}
}

// TestRoundingIsNotVariance: equal rates whose sums round differently are still equal, whatever their number.
func TestRoundingIsNotVariance(t *testing.T) {
	for samples := 3; samples <= 13; samples++ {
		for tasks := 2; tasks <= 60; tasks++ {
			for runs := 2; runs <= 5; runs++ {
				a, b := make(Outcomes, runs), make(Outcomes, 7-runs)
				for i := range a {
					a[i] = cells(tasks, Cell{1, samples})
				}
				for i := range b {
					b[i] = cells(tasks, Cell{2, samples})
				}
				if c := must(Compare(a, b, 0.02)); c.Verdict != Degenerate || c.VTask != 0 || c.VRuns != 0 || c.VInt != 0 {
					t.Fatalf("%d samples, %d tasks, %d runs: %s, V_task %g, V_runs %g, V_int %g", samples, tasks, runs, c.Verdict, c.VTask, c.VRuns, c.VInt)
				}
				if c := must(Compare(a, append(a, a...), 0.02)); c.Delta != 0 || c.Ties != tasks {
					t.Fatalf("%d samples, %d tasks, %d runs: delta %g, %d ties", samples, tasks, runs, c.Delta, c.Ties)
				}
			}
		}
	}
}

func TestMissingCells(t *testing.T) {
	hole := func(o Outcomes, run, task int) Outcomes {
		out := make(Outcomes, len(o))
		for i := range o {
			out[i] = append([]Cell{}, o[i]...)
		}
		out[run][task] = Cell{}
		return out
	}
	c := must(Compare(hole(tinyA, 1, 2), hole(tinyB, 1, 4), 0.02))
	without := []int{0, 1, 3, 5}
	want := must(Compare(pick(tinyA, without), pick(tinyB, without), 0.02))
	if len(c.Dropped) != 2 || c.Dropped[0] != 2 || c.Dropped[1] != 4 || c.Tasks != 4 {
		t.Errorf("dropped %v of 6 tasks, %d used", c.Dropped, c.Tasks)
	}
	if err := sameComparison(c, want); err != nil {
		t.Errorf("a missing cell is not the same as leaving its task out: %v", err)
	}
	p, q := c.Alternatives(hole(tinyA, 1, 2).Rates(), hole(tinyB, 1, 4).Rates()), want.Alternatives(pick(tinyA, without).Rates(), pick(tinyB, without).Rates())
	if p.FirstPair != q.FirstPair || p.Hillis != q.Hillis {
		t.Errorf("the alternatives use other tasks: %v and %v", p.FirstPair, q.FirstPair)
	}
}

// TestUnequalSamples: a cell counts with its own rate and its own decoding variance; by hand for one run of three tasks.
func TestUnequalSamples(t *testing.T) {
	o := Outcomes{{{1, 2}, {3, 4}, {1, 1}}}
	c := must(Compare(o, o, 0.02))
	perSample := (0.25*2/1 + 0.1875*4/3) / 2
	decode := (0.25/1 + 0.1875/3 + perSample) / 3
	if c.Samples != 0 || math.Abs(c.A.PerSample-perSample) > 1e-15 || math.Abs(c.A.Decode-decode) > 1e-15 {
		t.Errorf("samples %d, p(1−p) %v, e² %v, expected 0, %v, %v", c.Samples, c.A.PerSample, c.A.Decode, perSample, decode)
	}
	single := Outcomes{{{1, 1}, {0, 1}, {1, 1}}, {{0, 1}, {0, 1}, {1, 1}}}
	c = must(Compare(single, single, 0.02))
	if !math.IsNaN(c.Components.PerSample) || !math.IsNaN(c.Components.RunTask) || math.IsNaN(c.Components.Run) {
		t.Errorf("one sample per cell says nothing about decoding: %+v", c.Components)
	}
}

func TestCompareErrors(t *testing.T) {
	ok := Outcomes{{{1, 4}, {2, 4}}}
	for _, c := range []struct {
		why    string
		a, b   Outcomes
		margin float64
		want   string
	}{
		{"no runs", nil, ok, 0.02, "no runs"},
		{"no runs in B", ok, Outcomes{}, 0.02, "arm B"},
		{"ragged", Outcomes{{{1, 4}, {2, 4}}, {{1, 4}}}, ok, 0.02, "run 1 has 1 tasks where run 0 has 2"},
		{"other tasks", ok, Outcomes{{{1, 4}, {2, 4}, {3, 4}}}, 0.02, "same tasks"},
		{"one task", Outcomes{{{1, 4}}}, Outcomes{{{1, 4}}}, 0.02, "at least 2"},
		{"no common task", Outcomes{{{1, 4}, {}}}, Outcomes{{{}, {1, 4}}}, 0.02, "0 of 2 tasks"},
		{"more right than asked", Outcomes{{{5, 4}, {1, 4}}}, ok, 0.02, "5 correct of 4"},
		{"negative", ok, Outcomes{{{-1, 4}, {1, 4}}}, 0.02, "arm B, run 0, task 0"},
		{"negative margin", ok, ok, -0.01, "margin"},
		{"no margin", ok, ok, math.NaN(), "margin"},
		{"no tasks", Outcomes{{}}, Outcomes{{}}, 0.02, "at least 2"},
	} {
		if _, err := Compare(c.a, c.b, c.margin); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "expected") && !strings.Contains(err.Error(), "mark missing") {
			t.Errorf("%s: %v, expected an error with %q", c.why, err, c.want)
		}
	}
	if _, err := CompareRates(Rates{{math.Inf(1), 1}}, Rates{{1, 1}}, 0.02); err == nil {
		t.Error("an infinite rate")
	}
}

// TestCompareRates: pass@1 as rates is the comparison of outcomes; lengths are on their own scale.
func TestCompareRates(t *testing.T) {
	one, err := tinyA.PassAtK(1)
	if err != nil {
		t.Fatal(err)
	}
	two, err := tinyB.PassAtK(1)
	if err != nil {
		t.Fatal(err)
	}
	c, want := must(CompareRates(one, two, 0.02)), must(Compare(tinyA, tinyB, 0.02))
	if err := same("rates", []float64{c.Delta, c.VTask, c.VRuns, c.VInt, c.PBoth}, []float64{want.Delta, want.VTask, want.VRuns, want.VInt, want.PBoth}); err != nil {
		t.Error(err)
	}
	for _, r := range []Rates{one, two} {
		for i := range r {
			for t := range r[i] {
				r[i][t] = 300 + 1000*r[i][t]
			}
		}
	}
	lengths := must(CompareRates(one, two, 20))
	if math.Abs(lengths.Delta-125) > 1e-9 || math.Abs(lengths.CIBoth.Half()-1000*want.CIBoth.Half()) > 1e-6 || lengths.Verdict != want.Verdict || lengths.Ties != want.Ties {
		t.Errorf("on another scale: %v, %v, ties %d", lengths.Delta, lengths.CIBoth, lengths.Ties)
	}
}

// TestComparisonJSON: what cannot be estimated is null, never NaN and never absent.
func TestComparisonJSON(t *testing.T) {
	for _, c := range []struct {
		why        string
		comparison Comparison
		null       []string
	}{
		{"two runs per arm", must(Compare(tinyA, tinyB, 0.02)), nil},
		{"one run per arm", must(Compare(tinyA[:1], tinyB[:1], 0.02)), []string{"ci_runs", "ci_both", "ci90_both", "p_runs", "p_both", "V_runs", "V_int", "V_arm_task", "df_runs", "run_sd_pooled", "sigma_runmean_ci95", "F_run"}},
		{"rates", must(CompareRates(tinyA.Rates(), tinyB.Rates(), 0.02)), []string{"S"}},
	} {
		raw, err := json.Marshal(c.comparison)
		if err != nil {
			t.Fatalf("%s: %v", c.why, err)
		}
		var got map[string]any
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatalf("%s: %v", c.why, err)
		}
		for _, key := range []string{"delta", "ci_tasks", "ci_runs", "ci_both", "p_both", "V_task", "V_runs", "V_int", "df_runs", "verdict", "components"} {
			if _, ok := got[key]; !ok {
				t.Errorf("%s: no key %q", c.why, key)
			}
		}
		for key, v := range got {
			expected := false
			for _, n := range c.null {
				expected = expected || n == key
			}
			if (v == nil) != expected {
				t.Errorf("%s: %s is %v, expected null: %v", c.why, key, v, expected)
			}
		}
	}
}
