package stats

import "math"

// SignTest is the exact two-sided sign test on tasks won and lost; ties carry no sign and must be reported beside it. It is about
// these trained models on new tasks. No untied task gives 1.
func SignTest(wins, losses int) float64 { return halfBinomial(min(wins, losses), wins+losses) }

// McNemar is the exact two-sided McNemar test: b tasks only B got right, c only A. It is for one greedy answer per task; several
// samples of a task are not independent pairs.
func McNemar(b, c int) float64 { return SignTest(b, c) }

// halfBinomial is min(1, 2·P(X ≤ k)) for X ~ Binomial(n, 1/2).
func halfBinomial(k, n int) float64 {
	sum := 0.0
	for i := 0; i <= k; i++ {
		sum += math.Exp(logChoose(n, i) - float64(float64(n)*math.Ln2))
	}
	return min(1, 2*sum)
}

func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}
