package stats

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestPowerBySimulation draws the sums of squares of a design and counts how often the interval excludes 0.
func TestPowerBySimulation(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	for _, d := range []Design{{2, 2, 120, 4}, {2, 3, 120, 4}, {5, 5, 300, 1}} {
		r, err := d.Resolve(Assumed)
		if err != nil {
			t.Fatal(err)
		}
		const replications = 20000
		hit := 0
		share := 1/float64(d.RunsA) + 1/float64(d.RunsB)
		armTask := sq(tUpper(alpha, float64(d.Tasks-1))*Assumed.ArmTaskSD) / float64(d.Tasks)
		oneRun := sq(Assumed.RunSD) + (sq(Assumed.RunTaskSD)+Assumed.PerSample/float64(d.Samples))/float64(d.Tasks)
		runs := sq(tUpper(alpha, float64(r.DFRuns))) * oneRun * share
		for range replications {
			chi2 := 0.0
			for range r.DFRuns {
				chi2 += sq(rng.NormFloat64())
			}
			delta := r.MDE80 + r.SDDelta*rng.NormFloat64()
			if math.Abs(delta) > math.Sqrt(armTask+runs*chi2/float64(r.DFRuns)) {
				hit++
			}
		}
		if got := float64(hit) / replications; math.Abs(got-0.80) > 0.012 {
			t.Errorf("%s: a true difference of its MDE80 is found %.3f of the time, expected 0.80", d, got)
		}
	}
}

func TestPowerEnds(t *testing.T) {
	r, err := Design{2, 2, 120, 4}.Resolve(Assumed)
	if err != nil {
		t.Fatal(err)
	}
	if p := r.Power(0); p > 0.05 {
		t.Errorf("power without a difference is %v: expected at most 0.05", p)
	}
	if p := r.Power(10); math.Abs(p-1) > 1e-9 {
		t.Errorf("power for an enormous difference is %v", p)
	}
	if math.Abs(r.Power(0.05)-r.Power(-0.05)) > 1e-15 {
		t.Error("power depends on the sign")
	}
	still, err := Design{2, 2, 120, 4}.Resolve(Plan{})
	if err != nil || still.Half != 0 || still.MDE80 != 0 || still.Power(0.01) != 1 || still.Power(0) != 0 {
		t.Errorf("a world without variance: %+v, %v", still, err)
	}
}

func TestRunsToResolve(t *testing.T) {
	d := Design{2, 2, 120, 4}
	for _, c := range []struct {
		why   string
		delta float64
		want  int
	}{
		{"the planning table: 5 runs have power 0.83 at five points, 4 have 0.73", 0.05, 5},
		{"the sign does not matter", -0.05, 5},
		{"large", 0.5, 2},
		{"nothing differs", 0, 0},
		{"too small for 100 runs", 1e-4, 0},
	} {
		if got := RunsToResolve(Assumed, d, c.delta); got != c.want {
			t.Errorf("%s: %d runs, expected %d", c.why, got, c.want)
		}
	}
}

func TestCheapest(t *testing.T) {
	answers := func(d Design) float64 { return float64((d.RunsA + d.RunsB) * (1000 + d.Tasks*d.Samples)) }
	candidates := []Design{{2, 2, 1319, 4}, {5, 5, 120, 4}, {5, 5, 120, 16}, {10, 10, 120, 4}, {2, 2, 120, 4}}
	best, found, err := Cheapest(Assumed, 0.05, candidates, answers)
	if err != nil || !found || best.Design != candidates[1] {
		t.Errorf("cheapest for five points: %v, %v, %v, expected %v", best.Design, found, err, candidates[1])
	}
	if best, found, err := Cheapest(Assumed, 0.001, candidates, answers); found || err != nil {
		t.Errorf("a tenth of a point: %v, %v, expected none", best.Design, err)
	}
	if _, found, _ := Cheapest(Assumed, 0, candidates, answers); found {
		t.Error("no design resolves no difference")
	}
	if _, _, err := Cheapest(Assumed, 0.05, []Design{{1, 2, 120, 4}}, answers); err == nil || !strings.Contains(err.Error(), "at least 2 runs") {
		t.Errorf("one run: %v", err)
	}
}

func TestDesignErrors(t *testing.T) {
	for _, d := range []Design{{1, 1, 120, 4}, {2, 1, 120, 4}, {2, 2, 1, 4}, {2, 2, 120, 0}, {}} {
		if _, err := d.Resolve(Assumed); err == nil || !strings.Contains(err.Error(), "expected") {
			t.Errorf("%s: %v", d, err)
		}
	}
	if _, err := NewRunsRow(1); err == nil {
		t.Error("a row for one run")
	}
	if _, err := PlanFrom(must(Compare(tinyA[:1], tinyB[:1], 0.02))); err == nil || !strings.Contains(err.Error(), "assumed") {
		t.Errorf("components of one run per arm: %v", err)
	}
}

// TestPlanFromMeasured: negative estimates are used as 0, and a plan from the right components expects the interval that was seen.
func TestPlanFromMeasured(t *testing.T) {
	c := must(Compare(tinyA, tinyB, 0.02))
	p, err := PlanFrom(c)
	if err != nil || p.RunTaskSD != 0 || math.Abs(sq(p.RunSD)-0.0010416666666666682) > 1e-15 {
		t.Errorf("%+v, %v", p, err)
	}
	a, b, _ := world(rand.New(rand.NewPCG(2, 3)), 8, 400, 4, 0.03)
	c = must(Compare(a, b, 0.02))
	p, err = PlanFrom(c)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Design{8, 8, 400, 4}.Resolve(p)
	if _, half := c.HalfBoth(); err != nil || math.Abs(r.Half/half-1) > 1e-9 {
		t.Errorf("the plan from the measured components expects ±%v, seen ±%v (%v)", r.Half, half, err)
	}
}
