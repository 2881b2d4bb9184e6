package main

import (
	"fmt"
	"math"
)

// schedule is the learning rate over a run: linear warm-up from Peak/Warmup to Peak, then half a cosine down to
// Floor*Peak (Loshchilov and Hutter, SGDR, arXiv:1608.03983, without restarts).
type schedule struct {
	Steps, Warmup int
	Peak          float64
	Floor         float64 // share of Peak that is left at the end
}

func (s schedule) validate() error {
	if s.Steps < 1 || s.Warmup < 0 || s.Warmup > s.Steps {
		return fmt.Errorf("schedule: expected at least 1 step and a warm-up of 0 to all of them, found %d steps, %d of warm-up", s.Steps, s.Warmup)
	}
	if !(s.Peak > 0 && s.Peak < 1) || !(s.Floor >= 0 && s.Floor <= 1) {
		return fmt.Errorf("schedule: expected a learning rate above 0 and below 1 and a floor of 0 to 1, found %v and %v", s.Peak, s.Floor)
	}
	return nil
}

// rate is the learning rate of a step, counted from 0.
func (s schedule) rate(step int) float64 {
	if step < s.Warmup {
		return s.Peak * float64(step+1) / float64(s.Warmup)
	}
	done := float64(step-s.Warmup) / float64(max(1, s.Steps-s.Warmup))
	return s.Peak * (s.Floor + (1-s.Floor)*(1+math.Cos(math.Pi*done))/2)
}
