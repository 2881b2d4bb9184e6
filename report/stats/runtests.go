package stats

import (
	"fmt"
	"math"
)

// Permutation is the exact test that exchanges run labels between the arms: these tasks, new training runs.
type Permutation struct {
	P            float64
	Arrangements int
	MinP         float64 // the least P that this many runs can give
}

// mostArrangements bounds the enumeration: 12 runs per arm.
const mostArrangements = 2_704_156

// PermuteRuns compares the difference of the means of the run means with that of every way to deal the runs to the arms. It is an
// error when there are more than about 2.7 million ways.
func PermuteRuns(a, b []float64) (Permutation, error) {
	n := len(a) + len(b)
	if len(a) == 0 || len(b) == 0 {
		return Permutation{}, fmt.Errorf("run permutation of %d and %d runs: expected at least one in each arm", len(a), len(b))
	}
	if ways := math.Exp(logChoose(n, len(a))); ways > mostArrangements+0.5 {
		return Permutation{}, fmt.Errorf("run permutation of %d and %d runs has %.3g arrangements: expected at most %d; use ci_runs", len(a), len(b), ways, mostArrangements)
	}
	all := append(append([]float64{}, a...), b...)
	total := 0.0
	for _, v := range all {
		total += v
	}
	diff := func(sumA float64) float64 {
		return math.Abs(sumA/float64(len(a)) - (total-sumA)/float64(len(b)))
	}
	sumA := 0.0
	for _, v := range a {
		sumA += v
	}
	least := diff(sumA) - float64(1e-12*max(1, math.Abs(total))) // equal differences, summed in another order, count
	extreme, ways := 0, 0
	var deal func(from, left int, sum float64)
	deal = func(from, left int, sum float64) {
		if left == 0 {
			ways++
			if diff(sum) >= least {
				extreme++
			}
			return
		}
		for i := from; i <= n-left; i++ {
			deal(i+1, left-1, sum+all[i])
		}
	}
	deal(0, len(a), 0)
	return Permutation{P: float64(extreme) / float64(ways), Arrangements: ways, MinP: MinPermutationP(len(a), len(b))}, nil
}

// MinPermutationP is the least p that a permutation of run labels can reach: 2/C(2R, R) for R runs per arm, 1/C for unequal arms.
func MinPermutationP(runsA, runsB int) float64 {
	p := math.Exp(-logChoose(runsA+runsB, runsA))
	if runsA == runsB {
		p *= 2
	}
	return min(1, p)
}

// MinSignFlipP is the least p that flipping the signs of n differences can reach: 2/2^n. For n runs paired by seed it is also the
// reason not to pair two.
func MinSignFlipP(n int) float64 { return min(1, math.Ldexp(2, -n)) }

// ProbImprovement is the share of pairs (run of A, run of B) in which B is better, ties counted half (Agarwal et al. 2021,
// arXiv:2108.13264, section 4.3, for one task set).
func ProbImprovement(a, b []float64) float64 {
	sum := 0.0
	for _, x := range a {
		for _, y := range b {
			switch {
			case y > x:
				sum++
			case y == x:
				sum += 0.5
			}
		}
	}
	return sum / float64(len(a)*len(b))
}
