package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestSplitMix64 holds the generator against the first outputs of its authors' reference code for seed 1234567.
func TestSplitMix64(t *testing.T) {
	rng := splitMix64(1234567)
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		if got := rng.next(); got != want {
			t.Errorf("draw %d: %d, expected %d", i, got, want)
		}
	}
}

func TestSignFlip(t *testing.T) {
	for _, c := range []struct {
		why   string
		d     []float64
		p     float64
		exact bool
	}{
		{"nothing to flip", nil, 1, true},
		{"one task cannot reach less than 1", []float64{0.5}, 1, true},
		{"five tasks that agree reach 2/32", []float64{.1, .1, .2, .2, .3}, 0.0625, true},
		{"all ties", make([]float64, 6), 1, true},
		{"ties do not add evidence", []float64{.1, .1, .2, .2, .3, 0, 0, 0}, 0.0625, true},
		{"equal up to rounding counts as extreme: 0.1+0.2 against 0.3", []float64{0.1, 0.2, -0.3}, 1, true},
	} {
		if p, exact := SignFlip(c.d, 1); p != c.p || exact != c.exact {
			t.Errorf("%s: p = %v (exact %v), expected %v (%v)", c.why, p, exact, c.p, c.exact)
		}
	}
}

// TestSignFlipDraws compares the random version, on 21 tasks, with the exact one: a tie added to 20 tasks changes nothing.
func TestSignFlipDraws(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	d := make([]float64, 20)
	for i := range d {
		d[i] = rng.NormFloat64() + 0.4
	}
	exactP, exact := SignFlip(d, 1)
	drawnP, drawn := SignFlip(append(d, 0), 1)
	if !exact || drawn {
		t.Fatalf("exact %v on 20 tasks, %v on 21: expected true and false", exact, drawn)
	}
	if se := math.Sqrt(exactP * (1 - exactP) / SignFlipDraws); math.Abs(drawnP-exactP) > 4*se+1e-4 {
		t.Errorf("drawn p %v, exact %v", drawnP, exactP)
	}
	if again, _ := SignFlip(append(d, 0), 1); again != drawnP {
		t.Errorf("the same seed gave %v and %v", drawnP, again)
	}
	if p, _ := SignFlip(append(make([]float64, 25), 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3), 1); p < 1.0/(SignFlipDraws+1) {
		t.Errorf("p = %v is below what %d draws can show", p, SignFlipDraws)
	}
}

func TestBootstrap(t *testing.T) {
	if _, err := Bootstrap([]float64{1}, 100, 1); err == nil {
		t.Error("one task cannot be resampled")
	}
	b, err := Bootstrap([]float64{2, 2, 2}, 100, 1)
	if err != nil || b.SE != 0 || b.BCa.Lo() != 2 || b.BCa.Hi() != 2 {
		t.Errorf("constant data: %+v, %v", b, err)
	}
	// A skewed number, such as length: BCa leans towards the long tail, the percentile interval less.
	rng := rand.New(rand.NewPCG(8, 9))
	d := make([]float64, 80)
	for i := range d {
		d[i] = math.Exp(rng.NormFloat64())
	}
	b, err = Bootstrap(d, 4000, 1)
	if err != nil || !(b.BCa.Lo() > b.Percentile.Lo() && b.BCa.Hi() > b.Percentile.Hi()) || b.Accel <= 0 {
		t.Errorf("right-skewed data: %+v, %v", b, err)
	}
}

func TestPermuteRuns(t *testing.T) {
	for _, c := range []struct {
		why  string
		a, b []float64
		p    float64
		ways int
	}{
		{"two runs per arm, apart: 2 of 6", []float64{.1, .2}, []float64{.8, .9}, 1.0 / 3, 6},
		{"four per arm, apart: 2 of 70", []float64{.1, .2, .15, .12}, []float64{.8, .9, .85, .82}, 2.0 / 70, 70},
		{"all equal", []float64{.5, .5}, []float64{.5, .5}, 1, 6},
		{"one against three: 1 of 4", []float64{.1}, []float64{.8, .9, .7}, 0.25, 4},
	} {
		got, err := PermuteRuns(c.a, c.b)
		if err != nil || math.Abs(got.P-c.p) > 1e-12 || got.Arrangements != c.ways {
			t.Errorf("%s: %+v, %v, expected p %v of %d", c.why, got, err, c.p, c.ways)
		}
		if got.P < got.MinP-1e-12 {
			t.Errorf("%s: p %v below the least possible %v", c.why, got.P, got.MinP)
		}
	}
	if _, err := PermuteRuns(nil, []float64{1}); err == nil {
		t.Error("an arm without runs")
	}
	if _, err := PermuteRuns(make([]float64, 20), make([]float64, 20)); err == nil {
		t.Error("1.4e11 arrangements should be refused")
	}
}

// TestSignTestAgainstEnumeration counts all 2^n outcomes.
func TestSignTestAgainstEnumeration(t *testing.T) {
	for n := 0; n <= 14; n++ {
		for wins := 0; wins <= n; wins++ {
			extreme := 0
			for set := 0; set < 1<<n; set++ {
				k := 0
				for i := range n {
					k += set >> i & 1
				}
				if min(k, n-k) <= min(wins, n-wins) {
					extreme++
				}
			}
			if got, want := SignTest(wins, n-wins), float64(extreme)/float64(int(1)<<n); math.Abs(got-want) > 1e-12 {
				t.Fatalf("%d wins of %d: %v, expected %v", wins, n, got, want)
			}
		}
	}
}
