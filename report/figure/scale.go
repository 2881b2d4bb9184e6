package figure

import (
	"math"

	"teamtalk/report/stats"
)

func ceil(x float64) float64 { return math.Ceil(x) }

// niceStep rounds up to 1, 2 or 5 times a power of ten.
func niceStep(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 0) {
		return 0
	}
	p := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if x <= m*p*(1+1e-9) {
			return m * p
		}
	}
	return 10 * p
}

// decimals is how many are needed to tell ticks of a step apart.
func decimals(step float64) int {
	if step <= 0 || step >= 1 {
		return 0
	}
	return int(math.Ceil(-math.Log10(step) - 1e-9))
}

func signedTicks(n int, lo, hi float64) niceTicks {
	d := decimals(niceStep((hi - lo) / float64(n)))
	return niceTicks{n, func(v float64) string { return stats.Signed(v, d) }}
}

func plainTicks(n int, lo, hi float64) niceTicks {
	d := decimals(niceStep((hi - lo) / float64(n)))
	return niceTicks{n, func(v float64) string { return stats.Fixed(v, d) }}
}

// span is the range of what is finite, widened by a share on both sides; never empty.
func span(pad float64, xs ...float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, x := range xs {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	if lo > hi {
		return 0, 1
	}
	w := hi - lo
	if w == 0 {
		w = max(1e-3, math.Abs(hi))
	}
	return lo - float64(pad*w), hi + float64(pad*w) // rounded before it is added, on every machine
}
