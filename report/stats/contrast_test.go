package stats

import (
	"math"
	"testing"
)

// TestTUpper takes the quantile back through the distribution function, far beyond where an interval needs it, since p_both
// searches there.
func TestTUpper(t *testing.T) {
	for _, df := range []float64{1, 2, 3, 7.3, 14, 119, 299, 1318} {
		for _, alpha := range []float64{0.5, 0.05, 1e-3, 1e-8, 1e-12, 1e-16, 1e-30, 1e-100} {
			if p := tTwoSided(tUpper(alpha, df), df); math.Abs(p/alpha-1) > 1e-12 {
				t.Errorf("df %v, alpha %g: the quantile leaves %g outside", df, alpha, p)
			}
		}
	}
}

// TestPBothSolves holds p_both against its definition: ci_both at confidence 1 − p_both just reaches 0.
func TestPBothSolves(t *testing.T) {
	for _, c := range []struct {
		why string
		m   moments
	}{
		{"both terms", moments{delta: 0.125, vTask: 0.0073, vRuns: 0.0043, vInt: 0.0033, n: 6, dfRuns: 2}},
		{"the guard binds", moments{delta: 0.02, vTask: 3e-4, vRuns: 1e-5, vInt: 2.9e-4, n: 120, dfRuns: 2}},
		{"no variance between runs", moments{delta: 0.5, vTask: 1e-4, n: 120, dfRuns: 2}},
		{"no arm × task term", moments{delta: 0.05, vTask: 1e-4, vRuns: 1e-3, vInt: 2e-4, n: 120, dfRuns: 2}},
		{"one term is out of reach of the other", moments{delta: 1, vTask: 1e-3, vRuns: 1e-7, n: 1319, dfRuns: 2}},
		{"far tail of both", moments{delta: 1, vTask: 1e-6, vRuns: 1e-6, n: 1319, dfRuns: 18}},
		{"as many runs as tasks", moments{delta: 0.1, vTask: 0.002, vRuns: 0.002, vInt: 0.001, n: 5, dfRuns: 4}},
		{"more df between runs than between tasks", moments{delta: 0.1, vTask: 0.002, vRuns: 0.002, vInt: 0.001, n: 3, dfRuns: 8}},
		{"near 1", moments{delta: 1e-4, vTask: 1e-4, vRuns: 1e-4, n: 120, dfRuns: 2}},
	} {
		p := c.m.pBoth()
		if !(p > 0 && p < 1) {
			t.Errorf("%s: p = %g", c.why, p)
		}
		if half := c.m.halfBoth(p); math.Abs(half/c.m.delta-1) > 1e-9 {
			t.Errorf("%s: at p = %g the half-width is %g, expected |delta| = %g", c.why, p, half, c.m.delta)
		}
	}
}

func TestPBothWithoutVariance(t *testing.T) {
	if p := (moments{delta: 0, n: 5, dfRuns: 2}).pBoth(); p != 1 {
		t.Errorf("no difference and no variance: p = %v, expected 1", p)
	}
	if p := (moments{delta: 1, n: 5, dfRuns: 2}).pBoth(); p != 0 {
		t.Errorf("a difference without any variance: p = %v, expected 0 (the verdict is degenerate all the same)", p)
	}
}
