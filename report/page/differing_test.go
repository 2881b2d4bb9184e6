package page

import (
	"math"
	"slices"
	"testing"

	"teamtalk/report/analysis"
)

func TestTheTasksThatDifferMost(t *testing.T) {
	task := func(delta float64, flip analysis.Flip) analysis.Task {
		return analysis.Task{Delta: analysis.Num(delta), Flip: flip}
	}
	r := &writer{doc: &Document{Report: &analysis.Report{Tasks: []analysis.Task{
		task(0.25, analysis.Won), task(-0.5, analysis.Neither), task(0, analysis.Both), task(0.1+0.2, analysis.Both), task(-0.3, analysis.Lost),
		task(math.NaN(), analysis.NoFlip), task(0.75, analysis.Won),
	}}}}
	for _, c := range []struct {
		why  string
		got  []int
		want []int
	}{
		{"all tasks, both directions; equal but for rounding in task order; nothing that is zero or was not compared", r.differing(), []int{6, 1, 3, 4, 0}},
		{"of those only the ones that changed hands", r.flipped(), []int{6, 4, 0}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.why, c.got, c.want)
		}
	}
}
