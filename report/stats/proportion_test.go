package stats

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func cells(n int, c Cell, more ...Cell) []Cell {
	out := append([]Cell{}, more...)
	for len(out) < n {
		out = append(out, c)
	}
	return out
}

func TestClusteredProportion(t *testing.T) {
	for _, c := range []struct {
		why     string
		cells   []Cell
		lo, hi  float64
		exact   bool
		epsilon float64
	}{
		{"0 of 480 replies is 0 of 120 tasks: at most 3.0%, not 0.8%", cells(120, Cell{0, 4}), 0, 0.030272972577419066, true, 1e-9},
		{"480 of 480 mirrors it", cells(120, Cell{4, 4}), 1 - 0.030272972577419066, 1, true, 1e-9},
		{"tasks that answer all or nothing are as many observations as tasks (Clopper–Pearson 78 of 120, its t and F variance 0.7% wider)",
			append(cells(78, Cell{4, 4}), cells(42, Cell{0, 4})...), 0.5576, 0.7348, false, 0.002},
		{"one reply per task is the plain binomial", append(cells(78, Cell{1, 1}), cells(42, Cell{0, 1})...), 0.5576, 0.7348, false, 0.001},
		{"one event is no better news than none", cells(120, Cell{0, 4}, Cell{1, 4}), 0.00005, 0.030272972577419066, false, 1e-4},
		{"one exception is no better news than none", cells(120, Cell{4, 4}, Cell{3, 4}), 1 - 0.030272972577419066, 0.99995, false, 1e-4},
	} {
		p, err := ClusteredProportion(c.cells)
		if err != nil {
			t.Fatalf("%s: %v", c.why, err)
		}
		if p.Exact != c.exact || math.Abs(p.CI.Lo()-c.lo) > c.epsilon || math.Abs(p.CI.Hi()-c.hi) > c.epsilon {
			t.Errorf("%s: got %v (exact %v), expected [%v, %v] (exact %v)", c.why, p.CI, p.Exact, c.lo, c.hi, c.exact)
		}
		if p.CI.Lo() > p.Rate || p.CI.Hi() < p.Rate {
			t.Errorf("%s: %v does not contain the rate %v", c.why, p.CI, p.Rate)
		}
	}
}

// TestKornGraubardByHand: 78 of 120 tasks right in all four answers, 42 in none. The residuals of the task totals give
// v = p(1−p)/(n−1), hence 119 effective answers, and t changes from 479 to 119 degrees of freedom.
func TestKornGraubardByHand(t *testing.T) {
	p, err := ClusteredProportion(append(cells(78, Cell{4, 4}), cells(42, Cell{0, 4})...))
	if err != nil {
		t.Fatal(err)
	}
	const t479, t119 = 1.9649293, 1.9800999
	effective := 119 * (t479 / t119) * (t479 / t119)
	lo, hi := clopperPearson(0.65*effective, effective)
	if math.Abs(p.CI.Lo()-lo) > 1e-6 || math.Abs(p.CI.Hi()-hi) > 1e-6 {
		t.Errorf("%v, expected [%v, %v]", p.CI, lo, hi)
	}
}

func TestClusteredProportionMissing(t *testing.T) {
	p, err := ClusteredProportion([]Cell{{0, 0}, {1, 4}, {3, 4}, {2, 2}})
	if err != nil || p.Tasks != 3 || p.K != 6 || p.N != 10 {
		t.Errorf("a task without replies counts: %+v, %v", p, err)
	}
	if p, err := ClusteredProportion([]Cell{{1, 4}}); err != nil || p.CI.OK() || p.CI.Why() == "" {
		t.Errorf("one task has no variance between tasks: %+v, %v", p, err)
	}
	for _, bad := range [][]Cell{nil, {{0, 0}}, {{5, 4}, {1, 4}}, {{-1, 4}, {1, 4}}} {
		if p, err := ClusteredProportion(bad); err == nil {
			t.Errorf("%v gave %+v", bad, p)
		}
	}
}

// TestClusteredProportionCovers draws replies that resemble each other within a task (rates spread with SD 0.3 around their mean) and counts
// how often the interval has the true share; treating replies as independent is the negative control.
func TestClusteredProportionCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const replications, truth = 2000, 0.3
	clustered, naive := 0, 0
	for range replications {
		sample := make([]Cell, 60)
		for i := range sample {
			p := 0.0 // a task is all right, or mixed: mean 0.3
			if rng.Float64() < 0.375 {
				p = 0.8
			}
			sample[i].Samples = 8
			for range 8 {
				if rng.Float64() < p {
					sample[i].Correct++
				}
			}
		}
		p, err := ClusteredProportion(sample)
		if err != nil {
			t.Fatal(err)
		}
		if p.CI.Contains(truth) {
			clustered++
		}
		if lo, hi := ClopperPearson(p.K, p.N); lo <= truth && truth <= hi {
			naive++
		}
	}
	if c := float64(clustered) / replications; c < 0.94 || c > 0.985 {
		t.Errorf("the clustered interval covers %.3f of the time: expected about 0.95 to 0.97", c)
	}
	if n := float64(naive) / replications; n > 0.75 {
		t.Errorf("counting replies covers %.3f: this test would not tell the two apart", n)
	}
}

func TestPassAtKErrors(t *testing.T) {
	for _, c := range []struct {
		why     string
		n, c, k int
	}{
		{"k above the samples", 4, 2, 5},
		{"k of 0", 4, 2, 0},
		{"more right than samples", 4, 5, 1},
		{"negative count", 4, -1, 1},
		{"no samples", 0, 0, 1},
	} {
		if p, err := PassAtK(c.n, c.c, c.k); err == nil || !math.IsNaN(p) || !strings.Contains(err.Error(), "expected") {
			t.Errorf("%s: %v, %v", c.why, p, err)
		}
	}
	if _, err := (Outcomes{{{2, 4}, {1, 1}}}).PassAtK(2); err == nil {
		t.Error("a cell with one sample has no pass@2")
	}
	r, err := (Outcomes{{{2, 4}, {0, 0}}}).PassAtK(2)
	if err != nil || !math.IsNaN(r[0][1]) {
		t.Errorf("a missing cell should stay missing: %v, %v", r, err)
	}
}

// TestPassAtKUnbiased enumerates every way to draw k of n answers: the share of draws with a right one is the estimate.
func TestPassAtKUnbiased(t *testing.T) {
	for n := 1; n <= 10; n++ {
		for c := 0; c <= n; c++ {
			for k := 1; k <= n; k++ {
				hit, draws := 0, 0
				for set := 0; set < 1<<n; set++ {
					size, right := 0, false
					for i := range n {
						if set>>i&1 == 1 {
							size++
							right = right || i < c
						}
					}
					if size == k {
						draws++
						if right {
							hit++
						}
					}
				}
				got, err := PassAtK(n, c, k)
				if want := float64(hit) / float64(draws); err != nil || math.Abs(got-want) > 1e-12 {
					t.Fatalf("pass@%d from %d of %d: %v, %v, expected %v", k, c, n, got, err, want)
				}
			}
		}
	}
}
