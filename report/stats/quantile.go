package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// tUpper is the t quantile that leaves alpha outside ±t. The library's inverse loses digits far out in the tail and at many degrees of
// freedom (at df 1318 and alpha 1e-30 it has none), so that it is the first guess of a bracketed Newton iteration on the log of the
// tail, which the library computes well.
func tUpper(alpha float64, df float64) float64 {
	dist := distuv.StudentsT{Sigma: 1, Nu: df}
	t := -dist.Quantile(alpha / 2)
	lo, hi := 0.0, math.Inf(1)
	for range 200 {
		p := tTwoSided(t, df)
		excess := math.Log(p / alpha)
		if math.Abs(excess) < 1e-14 {
			break
		}
		if excess > 0 {
			lo = t
		} else {
			hi = t
		}
		next := t + excess*p/(2*dist.Prob(t))
		if !(next > lo && next < hi) { // also when p or the density is 0
			if next = (lo + hi) / 2; math.IsInf(hi, 1) {
				next = 2*lo + 1
			}
		}
		if next == t {
			break
		}
		t = next
	}
	return t
}

// tTwoSided is the probability outside ±|t|.
func tTwoSided(t, df float64) float64 {
	return 2 * distuv.StudentsT{Sigma: 1, Nu: df}.CDF(-math.Abs(t))
}

func normQuantile(p float64) float64 { return distuv.UnitNormal.Quantile(p) }
func normCDF(x float64) float64      { return float64(distuv.UnitNormal.CDF(x)) }

func chi2Quantile(p, df float64) float64 { return distuv.ChiSquared{K: df}.Quantile(p) }

// fUpper is the probability that F(d1, d2) exceeds x.
func fUpper(x, d1, d2 float64) float64 { return distuv.F{D1: d1, D2: d2}.Survival(x) }

func betaQuantile(p, a, b float64) float64 { return distuv.Beta{Alpha: a, Beta: b}.Quantile(p) }

// sq is the square, rounded, so that a sum of squares cannot be fused differently on another machine.
func sq(x float64) float64 { return float64(x * x) }
