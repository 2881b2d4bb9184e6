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

// pBoth is the alpha at which halfBoth equals |delta|. halfBoth is the larger of two decreasing functions of alpha, so that alpha is
// the larger of the two at which each equals |delta|.
func (m moments) pBoth() float64 {
	guard, v := m.pTasks(), m.vRuns+m.vArmTask()
	if m.delta == 0 || v == 0 {
		return guard
	}
	return max(guard, m.pUnguarded(math.Abs(m.delta), v))
}

// pUnguarded solves halfUnguarded(alpha) = d. Were both terms to have the same degrees of freedom, the answer would be that of a t
// test; it lies between those with the more and the fewer.
func (m moments) pUnguarded(d, v float64) float64 {
	t := d / math.Sqrt(v)
	const least = 1e-100 // no reader needs more digits
	lo := max(least, tTwoSided(t, float64(max(m.n-1, m.dfRuns))))
	hi := max(least, tTwoSided(t, float64(min(m.n-1, m.dfRuns))))
	return math.Exp(root(func(x float64) float64 { return math.Log(m.halfUnguarded(math.Exp(x)) / d) }, math.Log(lo), math.Log(hi)))
}

// root finds where the decreasing f crosses 0 between lo and hi, by false position in the Illinois form.
func root(f func(float64) float64, lo, hi float64) float64 {
	flo, fhi := f(lo), f(hi)
	side := 0
	for i := 0; i < 100 && hi-lo > 1e-15*math.Abs(lo) && flo > 0 && fhi < 0; i++ {
		mid := lo + float64((hi-lo)*(flo/(flo-fhi)))
		if mid <= lo || mid >= hi {
			mid = (lo + hi) / 2
		}
		switch y := f(mid); {
		case math.Abs(y) < 1e-15:
			return mid
		case y > 0:
			if lo, flo = mid, y; side > 0 {
				fhi /= 2
			}
			side = 1
		default:
			if hi, fhi = mid, y; side < 0 {
				flo /= 2
			}
			side = -1
		}
	}
	if math.Abs(flo) < math.Abs(fhi) {
		return lo
	}
	return hi
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
