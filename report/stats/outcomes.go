package stats

import (
	"fmt"
	"math"
)

// Cell is what one run did on one task: Correct right answers out of Samples graded ones. Samples 0 is a missing cell.
type Cell struct{ Correct, Samples int }

// Rate is Correct/Samples, NaN for a missing cell.
func (c Cell) Rate() float64 {
	if c.Samples == 0 {
		return math.NaN()
	}
	return float64(c.Correct) / float64(c.Samples)
}

// Outcomes is one arm: Outcomes[run][task]. Every run has the same tasks in the same order; so has the arm it is compared with.
type Outcomes [][]Cell

// Rates is one arm on any scale, Rates[run][task]: pass@k, replies with talk, mean length. NaN is a missing cell.
type Rates [][]float64

// Rates is the share of right answers of every cell.
func (o Outcomes) Rates() Rates {
	return o.rates(func(c Cell) float64 { return c.Rate() })
}

func (o Outcomes) rates(of func(Cell) float64) Rates {
	r := make(Rates, len(o))
	for i, run := range o {
		r[i] = make([]float64, len(run))
		for t, c := range run {
			r[i][t] = of(c)
		}
	}
	return r
}

// Samples is the number of samples of every cell that is not missing, 0 when cells differ.
func (o Outcomes) Samples() int {
	s := 0
	for _, run := range o {
		for _, c := range run {
			switch {
			case c.Samples == 0 || c.Samples == s:
			case s == 0:
				s = c.Samples
			default:
				return 0
			}
		}
	}
	return s
}

// check reports a table that is not an arm: no runs, ragged rows, a count that cannot be.
func (o Outcomes) check(name string) error {
	for i, run := range o {
		for t, c := range run {
			if c.Samples < 0 || c.Correct < 0 || c.Correct > c.Samples {
				return fmt.Errorf("arm %s, run %d, task %d: %d correct of %d samples: expected 0 ≤ correct ≤ samples", name, i, t, c.Correct, c.Samples)
			}
		}
	}
	return o.Rates().check(name)
}

func (r Rates) check(name string) error {
	if len(r) == 0 {
		return fmt.Errorf("arm %s has no runs: expected at least one", name)
	}
	for i, run := range r {
		if len(run) != len(r[0]) {
			return fmt.Errorf("arm %s, run %d has %d tasks where run 0 has %d: every run needs every task, mark missing cells instead of leaving them out", name, i, len(run), len(r[0]))
		}
		for t, y := range run {
			if math.IsInf(y, 0) {
				return fmt.Errorf("arm %s, run %d, task %d is %v: expected a finite number, or NaN for a missing cell", name, i, t, y)
			}
		}
	}
	return nil
}

// complete splits the task indexes into those that every run of every table has and the rest.
func complete(tables ...Rates) (kept, dropped []int) {
	for t := range tables[0][0] {
		whole := true
		for _, r := range tables {
			for _, run := range r {
				whole = whole && !math.IsNaN(run[t])
			}
		}
		if whole {
			kept = append(kept, t)
		} else {
			dropped = append(dropped, t)
		}
	}
	return kept, dropped
}

// pick is the table with only these tasks.
func pick[S ~[][]T, T any](table S, tasks []int) S {
	out := make(S, len(table))
	for i, run := range table {
		out[i] = make([]T, len(tasks))
		for j, t := range tasks {
			out[i][j] = run[t]
		}
	}
	return out
}
