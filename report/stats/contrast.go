package stats

import "math"

// moments are the variance terms of one difference; every interval and p value is a function of them.
type moments struct {
	delta, vTask, vRuns, vInt float64
	n                         int // tasks; df n−1
	dfRuns                    int // 0: the variance between runs cannot be estimated
}

func (m moments) vArmTask() float64 { return max(m.vTask-m.vInt, 0) }

func (m moments) halfTasks(alpha float64) float64 {
	return tUpper(alpha, float64(m.n-1)) * math.Sqrt(m.vTask)
}

func (m moments) halfRuns(alpha float64) float64 {
	return tUpper(alpha, float64(m.dfRuns)) * math.Sqrt(m.vRuns)
}

// halfUnguarded joins the two terms, each with its own t quantile.
func (m moments) halfUnguarded(alpha float64) float64 {
	return joint(alpha, m.n-1, m.vArmTask(), m.dfRuns, m.vRuns)
}

// halfBoth is never below halfTasks.
func (m moments) halfBoth(alpha float64) float64 {
	return max(m.halfUnguarded(alpha), m.halfTasks(alpha))
}

// joint is √(t²(dfA)·vA + t²(dfB)·vB).
func joint(alpha float64, dfA int, vA float64, dfB int, vB float64) float64 {
	sum := 0.0
	if vA > 0 {
		sum += float64(sq(tUpper(alpha, float64(dfA))) * vA)
	}
	if vB > 0 {
		sum += float64(sq(tUpper(alpha, float64(dfB))) * vB)
	}
	return math.Sqrt(sum)
}

func (m moments) pTasks() float64 { return pFromSE(m.delta, m.vTask, m.n-1) }
func (m moments) pRuns() float64  { return pFromSE(m.delta, m.vRuns, m.dfRuns) }

// pBoth is the alpha at which halfBoth equals |delta|. halfBoth is the larger of two decreasing functions of alpha, so that alpha
// is the larger of the two at which each equals |delta|; the unguarded one is found by bisection.
func (m moments) pBoth() float64 {
	guard, d := m.pTasks(), math.Abs(m.delta)
	if d == 0 || m.vRuns == 0 && m.vArmTask() == 0 {
		return guard
	}
	const least = 1e-200
	if m.halfUnguarded(least) < d {
		return max(guard, least)
	}
	lo, hi := math.Log(least), 0.0
	for i := 0; i < 80 && hi-lo > 1e-15; i++ {
		mid := (lo + hi) / 2
		if m.halfUnguarded(math.Exp(mid)) > d {
			lo = mid
		} else {
			hi = mid
		}
	}
	return max(guard, math.Exp((lo+hi)/2))
}

func pFromSE(delta, v float64, df int) float64 {
	switch {
	case delta == 0:
		return 1
	case v == 0:
		return 0
	}
	return tTwoSided(delta/math.Sqrt(v), float64(df))
}
