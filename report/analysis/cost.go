package analysis

import (
	"cmp"
	"math"
	"slices"
	"time"

	"teamtalk/recipe/artifact"
	"teamtalk/report/stats"
)

// Cost is what the run took, by phase and in all. Where phases say when they began, as those of worker processes do, time in
// which several ran side by side is counted once in Seconds, and in DeviceSeconds once for each.
type Cost struct {
	Phases []PhaseCost `json:"phases"`
	Total  PhaseCost   `json:"total"`
	// Per planned unit, for what another design would cost: device seconds of one training run and of one evaluation reply.
	TrainSeconds Num `json:"device_seconds_per_run"`
	ReplySeconds Num `json:"device_seconds_per_reply"`
	// SideBySide: worker processes shared the work, so that phases overlap in time.
	SideBySide bool `json:"side_by_side,omitempty"`
}

// PhaseCost sums the phases of one name.
type PhaseCost struct {
	Name            string `json:"name"`
	Count           int    `json:"count"`
	Seconds         Num    `json:"seconds"`
	DeviceSeconds   Num    `json:"device_seconds"`
	Tokens          int64  `json:"tokens"`
	PeakHostBytes   int64  `json:"peak_host_bytes"`
	PeakDeviceBytes int64  `json:"peak_device_bytes"`

	spans []span // the timed phases
}

// span is when a timed phase ran, in seconds since any fixed time.
type span struct{ from, to float64 }

func (c *PhaseCost) add(p artifact.Phase) {
	c.Count++
	if began, err := time.Parse(time.RFC3339, p.Started); err == nil {
		from := float64(began.UnixMilli()) / 1000
		c.spans = append(c.spans, span{from, from + p.Seconds})
	} else {
		c.Seconds += Num(p.Seconds)
	}
	c.DeviceSeconds += Num(p.DeviceSeconds)
	c.Tokens += p.Tokens
	c.PeakHostBytes = max(c.PeakHostBytes, p.PeakHostBytes)
	c.PeakDeviceBytes = max(c.PeakDeviceBytes, p.PeakDeviceBytes)
}

// covered is the length of what spans cover together.
func covered(spans []span) float64 {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	sum, end := 0.0, math.Inf(-1)
	for _, s := range spans {
		if s.to > end {
			sum += s.to - max(s.from, end)
			end = s.to
		}
	}
	return sum
}

func newCost(phases []artifact.Phase, runs, replies int) Cost {
	var c Cost
	c.Total.Name = "total"
	for _, p := range phases {
		i := slices.IndexFunc(c.Phases, func(x PhaseCost) bool { return x.Name == p.Name })
		if i < 0 {
			i = len(c.Phases)
			c.Phases = append(c.Phases, PhaseCost{Name: p.Name})
		}
		c.Phases[i].add(p)
		c.Total.add(p)
	}
	c.SideBySide = len(c.Total.spans) > 0
	c.Total.Seconds += Num(covered(c.Total.spans))
	for i := range c.Phases {
		c.Phases[i].Seconds += Num(covered(c.Phases[i].spans))
	}
	per := func(name string, n int) Num {
		for _, p := range c.Phases {
			if p.Name == name && n > 0 {
				return p.DeviceSeconds / Num(n)
			}
		}
		return Num(math.NaN())
	}
	c.TrainSeconds, c.ReplySeconds = per("train", runs), per("eval", replies)
	return c
}

// designSeconds prices a design at this run's rates: its training runs, and evalsPerRun evaluations of each.
func (c Cost) designSeconds(evalsPerRun int) func(stats.Design) float64 {
	train, reply := float64(c.TrainSeconds), float64(c.ReplySeconds)
	if math.IsNaN(train) {
		train = 1 // nothing was measured: rank by the number of runs
	}
	if math.IsNaN(reply) {
		reply = 0
	}
	return func(d stats.Design) float64 {
		runs := float64(d.RunsA + d.RunsB)
		return float64(runs*train) + float64(runs*float64(evalsPerRun*d.Tasks*d.Samples)*reply)
	}
}
