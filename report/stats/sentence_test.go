package stats

import (
	"flag"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestSentences is one golden file of every kind of sentence: read it as a reader of a report would.
func TestSentences(t *testing.T) {
	n := Names{A: "plain", B: "team", Metric: "pass@1"}
	low, high := separated(3, 120, 1.5)
	a, small := separated(6, 2000, 0.15)
	_, same := separated(6, 2000, 0.02)
	allRight := Outcomes{cells(120, Cell{4, 4}), cells(120, Cell{4, 4})}
	var got strings.Builder
	for _, c := range []struct {
		why string
		c   Comparison
	}{
		{"unresolved, the usual case", must(Compare(tinyA, tinyB, 0.02))},
		{"unresolved, one run per arm", must(Compare(tinyA[:1], tinyB[:1], 0.02))},
		{"unresolved, one arm with one run", must(Compare(tinyA[:1], tinyB, 0.02))},
		{"unresolved, nothing differs", must(Compare(tinyA, tinyA, 0.02))},
		{"unresolved, rates: no count of runs to resolve it", must(CompareRates(tinyA.Rates(), tinyB.Rates(), 0.02))},
		{"better", must(Compare(low, high, 0.02))},
		{"worse, unequal runs", must(Compare(high, low[:2], 0.02))},
		{"better, but inside the margin", must(Compare(a, small, 0.05))},
		{"equivalent", must(Compare(a, same, 0.02))},
		{"degenerate", must(Compare(allRight, allRight, 0.02))},
		{"fixed model, better", must(CompareFixed(low[:1], high, 0.02))},
		{"fixed model, one run", must(CompareFixed(low[:1], high[:1], 0.02))},
		{"same runs, new runs unresolved", must(CompareSameRuns(tinyA, tinyB, 0.02))},
		{"same runs, resolved", must(CompareSameRuns(low, high, 0.02))},
		{"same runs, one", must(CompareSameRuns(tinyA[:1], tinyB[:1], 0.02))},
	} {
		got.WriteString("# " + c.why + "\n" + c.c.Sentence(n) + "\n" + c.c.RunSpread() + "\n\n")
	}
	got.WriteString("# the design, before its result\n")
	for _, d := range []Design{{2, 2, 120, 4}, {2, 3, 120, 4}, {10, 10, 1319, 4}} {
		r, err := d.Resolve(Assumed)
		if err != nil {
			t.Fatal(err)
		}
		got.WriteString(r.String() + " " + r.Equivalence(0.02) + "\n")
	}
	golden(t, "testdata/sentences.txt", got.String())
}

// separated draws two arms of runs that hardly differ, B better by effect in log odds.
func separated(runs, tasks int, effect float64) (a, b Outcomes) {
	rng := rand.New(rand.NewPCG(31, 32))
	a, b = make(Outcomes, runs), make(Outcomes, runs)
	for range tasks {
		difficulty := 2 * rng.NormFloat64()
		for i := range runs {
			a[i] = append(a[i], draw(rng, difficulty+0.3*rng.NormFloat64(), 8))
			b[i] = append(b[i], draw(rng, difficulty+effect+0.3*rng.NormFloat64(), 8))
		}
	}
	return a, b
}

// golden compares with a file, or rewrites it under -update.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update rewrites it). Got:\n%s", path, got)
	}
}
