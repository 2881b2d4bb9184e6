package stats

import (
	"fmt"
	"math"
)

// PassAtK is the unbiased estimate of the chance that at least one of k answers is right, from c right ones of n:
// 1 − C(n−c, k)/C(n, k) (Chen et al. 2021, arXiv:2107.03374, equation 1). k = n is only "any right" and is noisy.
// It is an error unless 0 ≤ c ≤ n and 1 ≤ k ≤ n.
func PassAtK(n, c, k int) (float64, error) {
	if n < 1 || c < 0 || c > n || k < 1 || k > n {
		return math.NaN(), fmt.Errorf("pass@%d from %d right of %d: expected 0 ≤ right ≤ samples and 1 ≤ k ≤ samples; draw at least k samples per task", k, c, n)
	}
	fail := 1.0
	for i := n - c + 1; i <= n; i++ { // Π (1 − k/i) has no large factorials, and is 0 when fewer than k are wrong
		fail *= 1 - float64(k)/float64(i)
	}
	return 1 - fail, nil
}

// PassAtK is pass@k of every cell; missing cells stay missing. Average it over tasks, then over runs (CompareRates does): the
// samples of several runs are never put into one cell, since that would be pass@k of a mixture of models. A cell with fewer than
// k samples is an error.
func (o Outcomes) PassAtK(k int) (Rates, error) {
	var failed error
	r := o.rates(func(c Cell) float64 {
		if c.Samples == 0 {
			return math.NaN()
		}
		p, err := PassAtK(c.Samples, c.Correct, k)
		if err != nil {
			failed = err
		}
		return p
	})
	return r, failed
}
