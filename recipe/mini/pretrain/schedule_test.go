package main

import (
	"math"
	"testing"
)

func TestSchedule(t *testing.T) {
	s := schedule{Steps: 100, Warmup: 10, Peak: 2e-3, Floor: 0.02}
	for _, c := range []struct {
		why  string
		step int
		want float64
	}{
		{"the first step already learns", 0, 2e-4},
		{"half of the warm-up", 4, 1e-3},
		{"the warm-up ends at the peak", 9, 2e-3},
		{"the cosine begins at the peak", 10, 2e-3},
		{"half of the cosine: the middle of peak and floor", 55, 2e-3 * 0.51},
		{"a full cosine would reach the floor", 100, 2e-3 * 0.02},
	} {
		if got := s.rate(c.step); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: step %d has the rate %v, want %v", c.why, c.step, got, c.want)
		}
	}
	for i := 10; i < 99; i++ {
		if s.rate(i+1) >= s.rate(i) {
			t.Errorf("the rate rises from step %d to %d", i, i+1)
		}
	}
	if got := (schedule{Steps: 3, Peak: 1e-3, Floor: 1}).rate(2); got != 1e-3 {
		t.Errorf("no warm-up and no decay: got %v", got)
	}
	for _, bad := range []schedule{{}, {Steps: 5, Warmup: 6, Peak: .1}, {Steps: 5}, {Steps: 5, Peak: math.NaN()}, {Steps: 5, Peak: .1, Floor: 2}} {
		if bad.validate() == nil {
			t.Errorf("%+v passes", bad)
		}
	}
}
