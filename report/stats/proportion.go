package stats

import (
	"fmt"
	"math"
)

// Proportion is a share of replies (talk, truncation, right answers of one run) whose replies come in clusters, the tasks.
type Proportion struct {
	K, N  int // replies that have it, replies
	Tasks int // tasks with at least one reply
	Rate  float64
	CI    Interval[Tasks]
	Exact bool // K is 0 or N: CI is Clopper–Pearson on tasks
}

// ClusteredProportion pools cells, one per task, into a share with an interval over tasks: replies to one task resemble each
// other, so that 480 replies to 120 tasks are not 480 observations. When all or none of the replies have it, nothing is known
// about how alike they are and the bound counts tasks: 0 of 480 replies is 0 of 120 tasks, at most 3.0%. Otherwise it is the
// interval of Korn and Graubard (1998, Survey Methodology 24:193): Clopper–Pearson on the effective number of replies, and never
// tighter at the near end than if none (or all) had it, since one event cannot be better news than no event. Cells without samples are
// left out; fewer than two tasks with samples give no interval.
func ClusteredProportion(cells []Cell) (Proportion, error) {
	if err := (Outcomes{cells}).check("of the proportion"); err != nil {
		return Proportion{}, err
	}
	var p Proportion
	for _, c := range cells {
		if c.Samples > 0 {
			p.K, p.N, p.Tasks = p.K+c.Correct, p.N+c.Samples, p.Tasks+1
		}
	}
	if p.N == 0 {
		return Proportion{}, fmt.Errorf("a share of no replies: expected at least one cell with samples")
	}
	p.Rate = float64(p.K) / float64(p.N)
	if p.Tasks < 2 {
		p.CI = absent[Tasks]("one task: the variance between tasks needs two")
		return p, nil
	}
	if p.K == 0 || p.K == p.N {
		k := 0
		if p.K > 0 {
			k = p.Tasks
		}
		lo, hi := ClopperPearson(k, p.Tasks)
		p.CI, p.Exact = ofShare[Tasks](lo, hi), true
		return p, nil
	}
	n, ss := float64(p.Tasks), 0.0
	for _, c := range cells { // linearised ratio estimator: residuals of the cluster totals
		if c.Samples > 0 {
			ss += sq(float64(c.Correct) - float64(p.Rate*float64(c.Samples)))
		}
	}
	v := ss * n / (n - 1) / sq(float64(p.N))
	effective := float64(p.N)
	if v > 0 {
		effective = min(effective, float64(p.Rate*(1-p.Rate))/v)
	}
	if p.N > 1 {
		effective *= sq(tUpper(alpha, float64(p.N-1)) / tUpper(alpha, n-1))
	}
	lo, hi := clopperPearson(float64(p.Rate*effective), effective)
	_, none := ClopperPearson(0, p.Tasks)
	all, _ := ClopperPearson(p.Tasks, p.Tasks)
	p.CI = ofShare[Tasks](min(lo, all), max(hi, none))
	return p, nil
}

// ClopperPearson is the exact 95% interval for k of n independent trials; its ends are 0 and 1 when k is 0 and n.
func ClopperPearson(k, n int) (lo, hi float64) { return clopperPearson(float64(k), float64(n)) }

func clopperPearson(k, n float64) (lo, hi float64) {
	lo, hi = 0, 1
	if k > 0 {
		lo = betaQuantile(alpha/2, k, n-k+1)
	}
	if k < n {
		hi = betaQuantile(1-alpha/2, k+1, n-k)
	}
	return lo, hi
}

// Wilson is the 95% score interval for k of n independent trials (Wilson 1927).
func Wilson(k, n int) (lo, hi float64) {
	z2, m := sq(normQuantile(1-alpha/2)), float64(n)
	p := float64(k) / m
	centre := (p + z2/(2*m)) / (1 + z2/m)
	half := float64(math.Sqrt(z2) / (1 + z2/m) * math.Sqrt(float64(p*(1-p))/m+z2/(4*sq(m))))
	return max(0, centre-half), min(1, centre+half)
}

// RuleOfThree is 3/n, the quick upper bound when none of n independent trials has it.
func RuleOfThree(n int) float64 { return 3 / float64(n) }

// UngradedBound is how far a rate can be off when a share d of the answers was not graded: d/(1−d), whatever the missing ones were.
func UngradedBound(d float64) float64 { return d / (1 - d) }

// BetaUniform is the 95% credible interval for k of n independent trials under a uniform prior.
func BetaUniform(k, n int) (lo, hi float64) {
	a, b := float64(k+1), float64(n-k+1)
	return betaQuantile(alpha/2, a, b), betaQuantile(1-alpha/2, a, b)
}
