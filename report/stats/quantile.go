package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// tUpper is the t quantile that leaves alpha outside ±t. The lower tail is inverted and negated, which keeps its digits when
// alpha is tiny.
func tUpper(alpha float64, df float64) float64 {
	return -distuv.StudentsT{Sigma: 1, Nu: df}.Quantile(alpha / 2)
}

// tTwoSided is the probability outside ±|t|.
func tTwoSided(t, df float64) float64 {
	return 2 * distuv.StudentsT{Sigma: 1, Nu: df}.CDF(-math.Abs(t))
}

func normQuantile(p float64) float64 { return distuv.UnitNormal.Quantile(p) }
func normCDF(x float64) float64      { return distuv.UnitNormal.CDF(x) }

func chi2Quantile(p, df float64) float64 { return distuv.ChiSquared{K: df}.Quantile(p) }

// fUpper is the probability that F(d1, d2) exceeds x.
func fUpper(x, d1, d2 float64) float64 { return distuv.F{D1: d1, D2: d2}.Survival(x) }

func betaQuantile(p, a, b float64) float64 { return distuv.Beta{Alpha: a, Beta: b}.Quantile(p) }

// sq is the square, rounded, so that a sum of squares cannot be fused differently on another machine.
func sq(x float64) float64 { return float64(x * x) }
