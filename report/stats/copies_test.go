package stats

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// copiesOf is one run under so many names.
func copiesOf(run []Cell, n int) Outcomes {
	o := make(Outcomes, n)
	for i := range o {
		o[i] = run
	}
	return o
}

// bits is a run of one answer per task.
func bits(s string) (run []Cell) {
	for _, r := range s {
		run = append(run, Cell{int(r - '0'), 1})
	}
	return run
}

// TestCopies: runs that are one run say nothing about training again, however many and however clear the difference; runs that agree
// because there is little to disagree about are no copies.
func TestCopies(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	a, b := Outcomes{}, Outcomes{}
	for i := range 5 {
		a, b = append(a, nil), append(b, nil)
		for task := range 60 {
			a[i] = append(a[i], draw(rng, float64(task%7)-4, 4))
			b[i] = append(b[i], draw(rng, float64(task%7)-2, 4))
		}
	}
	hard := strings.Repeat("0", 58)
	for _, c := range []struct {
		why     string
		a, b    Outcomes
		verdict Verdict
		both    bool   // ci_both is given
		reason  string // a part of it
	}{
		{"five separate runs per arm", a, b, Better, true, ""},
		{"one run of each arm, five times", copiesOf(a[0], 5), copiesOf(b[0], 5), Unresolved, false,
			"the runs 1, 2, 3, 4 and 5 of arm A, and the runs 1, 2, 3, 4 and 5 of arm B are identical on every task: they are not separate training runs"},
		{"one arm copied beside a spread that would be pooled", copiesOf(a[0], 5), b, Unresolved, false, "the runs 1, 2, 3, 4 and 5 of arm A are identical"},
		{"the other arm copied", a, copiesOf(b[0], 5), Unresolved, false, "of arm B are identical"},
		{"two of five are one", Outcomes{a[0], a[1], a[0], a[3], a[4]}, b, Unresolved, false, "the runs 1 and 3 of arm A are identical"},
		{"two pairs", Outcomes{a[0], a[1], a[0], a[1]}, b, Unresolved, false, "the runs 1 and 3 of arm A, and the runs 2 and 4 of arm A are identical"},
		{"a run of one arm among the other's", a, Outcomes{b[0], a[3], b[2]}, Unresolved, false, "the run 4 of arm A and the run 2 of arm B are identical on every task: one of them is the other arm's, or what the arms differ in did nothing to them"},
		{"copied the other way round, worse", copiesOf(b[0], 2), copiesOf(a[0], 2), Unresolved, false, "the runs 1 and 2 of arm A"},
		{"copies of arms that hardly differ are not equivalent", copiesOf(a[0], 5), copiesOf(append([]Cell{{a[0][0].Correct, 4}, {(a[0][1].Correct + 1) % 5, 4}}, a[0][2:]...), 5), Unresolved, false, "are identical"},
		{"few answers, no run of an arm differs: no chance to call them copies, and no spread either",
			Outcomes{bits("101010"), bits("101010")}, Outcomes{bits("111011"), bits("111011")}, Unresolved, false, "no two runs of an arm differ on any task"},
		{"all wrong, and runs that differ: an arm that gets nothing right is no copy", copiesOf(cells(60, Cell{0, 4}), 5), b, Better, true, ""},
		{"two runs fail the same two of sixty tasks", Outcomes{bits("11" + hard), bits("11" + hard)}, Outcomes{bits("1111" + hard[2:]), bits("0111" + hard[2:])}, Equivalent, true, ""},
		{"run means that agree by chance", Outcomes{bits("1010"), bits("0101")}, Outcomes{bits("1110"), bits("0111")}, Unresolved, true, ""},
	} {
		got := must(Compare(c.a, c.b, 0.3))
		if got.Verdict != c.verdict || got.CIBoth.OK() != c.both || got.CI90.OK() != c.both || !strings.Contains(got.Reason, c.reason) || c.reason == "" && got.Reason != "" {
			t.Errorf("%s: %s (%s), %v; want %s, an interval: %v, reason %q", c.why, got.Verdict, got.Reason, got.CIBoth, c.verdict, c.both, c.reason)
		}
		if s := got.Sentence(Names{"plain", "team", "pass@1"}); !c.both && (!strings.Contains(s, "nothing can be said about training again") || strings.Contains(s, "ν =")) {
			t.Errorf("%s: the sentence is %s", c.why, s)
		}
		if c.reason != "" && (got.WithinMargin() || got.CITasks.Why() != "") {
			t.Errorf("%s: within the margin: %v; %v", c.why, got.WithinMargin(), got.CITasks)
		}
	}
}

// TestCopiesOfOtherContrasts: rates, a fixed model and crossed runs have the same guard.
func TestCopiesOfOtherContrasts(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	a, b := separated(3, 120, 1.5)
	asks := func(c Comparison, err error) Comparison { return must(c, err) }
	for _, c := range []struct {
		why     string
		c       Comparison
		verdict Verdict
		df      int
	}{
		{"rates", asks(CompareRates(copiesOf(a[0], 3).Rates(), b.Rates(), 0.02)), Unresolved, 0},
		{"copies against the fixed model", asks(CompareFixed(a[:1], copiesOf(b[0], 3), 0.02, a)), Unresolved, 0},
		{"copies lend no degrees of freedom", asks(CompareFixed(a[:1], b, 0.02, copiesOf(a[0], 3))), Better, 2},
		{"the fixed model may be evaluated again", asks(CompareFixed(copiesOf(a[0], 3), b, 0.02)), Better, 2},
		{"crossed copies", asks(CompareSameRuns(copiesOf(a[0], 3), copiesOf(b[0], 3), 0.02)), Unresolved, 0},
		{"crossed, one side alike: other models all the same", asks(CompareSameRuns(copiesOf(a[0], 3), b, 0.02)), Better, 2},
	} {
		if c.c.Verdict != c.verdict || c.c.DFRuns != c.df || c.c.CIBoth.OK() != (c.df > 0) {
			t.Errorf("%s: %s, ν = %d, %v; want %s, %d", c.why, c.c.Verdict, c.c.DFRuns, c.c.CIBoth, c.verdict, c.df)
		}
	}
	if c := must(Compare(a, a, 0.02)); c.CIBoth.OK() || !strings.Contains(c.Reason, "the run 1 of arm A and the run 1 of arm B are identical") {
		t.Errorf("two arms of the same runs: %v (%s)", c.CIBoth, c.Reason)
	}
	// Arms that differ in nothing, on tasks that are hard or easy for everybody: two of their runs agree everywhere now and then.
	agreed, named := 0, 0
	for range 200 {
		same := func() (o Outcomes) {
			for range 5 {
				var run []Cell
				for task := range 100 {
					p := 0.02
					if task < 88 {
						p = 0.98
					}
					run = append(run, Cell{map[bool]int{true: 1}[rng.Float64() < p], 1})
				}
				o = append(o, run)
			}
			return o
		}
		a, b := same(), same()
		for _, x := range a {
			for _, y := range b {
				if slices.Equal(x, y) {
					agreed++
				}
			}
		}
		if strings.Contains(must(Compare(a, b, 0.02)).Reason, "the other arm's") {
			named++
		}
	}
	if agreed < 10 || named > 0 {
		t.Errorf("of runs that agreed by chance, %d pairs, %d comparisons are refused; want some and none", agreed, named)
	}
	m, err := ArmMean(copiesOf(a[0], 3))
	if err != nil || m.CIBoth.OK() || !m.CITasks.OK() || !strings.HasPrefix(m.CIBoth.Why(), "the runs 1, 2 and 3 are identical") {
		t.Errorf("the mean of copies: %v, %v", m, err)
	}
}

// TestJSONIsTheText: JSON has a number for an interval, and for its p value, exactly where text has one.
func TestJSONIsTheText(t *testing.T) {
	for _, c := range []struct {
		why         string
		a, b        Outcomes
		tasks, runs bool // which intervals there are
		both        bool
	}{
		{"all there", tinyA, tinyB, true, true, true},
		{"all wrong against all right", copiesOf(cells(5, Cell{0, 4}), 2), copiesOf(cells(5, Cell{4, 4}), 2), false, false, false},
		{"one run per arm", tinyA[:1], tinyB[:1], true, false, false},
		{"copies", copiesOf(tinyA[0], 5), copiesOf(tinyB[0], 5), true, false, false},
		{"the run means agree by chance", Outcomes{bits("1010"), bits("0101")}, Outcomes{bits("1110"), bits("0111")}, true, false, true},
		{"the arms are one, their runs are not", tinyA, tinyA, false, true, true},
	} {
		cmp := must(Compare(c.a, c.b, 0.02))
		raw, err := json.Marshal(cmp)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		_, tasks := cmp.CITasks.For("ci_tasks")
		_, runs := cmp.CIRuns.For("ci_runs")
		_, both := cmp.CIBoth.For("ci_both")
		for _, k := range []struct {
			scope string
			text  error
			want  bool
		}{{"tasks", tasks, c.tasks}, {"runs", runs, c.runs}, {"both", both, c.both}} {
			if (k.text == nil) != k.want || (got["ci_"+k.scope] != nil) != k.want || (got["p_"+k.scope] != nil) != k.want {
				t.Errorf("%s: ci_%s is %v and p %v in JSON, %v in text; want it: %v", c.why, k.scope, got["ci_"+k.scope], got["p_"+k.scope], k.text, k.want)
			}
		}
	}
	if p := None[Runs]("one run").P(0.5); !math.IsNaN(p) {
		t.Errorf("p %v beside no interval", p)
	}
}
