package analysis

import (
	"math"
	"slices"

	"teamtalk/recipe/artifact"
	"teamtalk/report/stats"
)

// Cost is what the run took, by phase and in all.
type Cost struct {
	Phases []PhaseCost `json:"phases"`
	Total  PhaseCost   `json:"total"`
	// Per planned unit, for what another design would cost: device seconds of one training run and of one evaluation reply.
	TrainSeconds Num `json:"device_seconds_per_run"`
	ReplySeconds Num `json:"device_seconds_per_reply"`
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
}

func (c *PhaseCost) add(p artifact.Phase) {
	c.Count++
	c.Seconds += Num(p.Seconds)
	c.DeviceSeconds += Num(p.DeviceSeconds)
	c.Tokens += p.Tokens
	c.PeakHostBytes = max(c.PeakHostBytes, p.PeakHostBytes)
	c.PeakDeviceBytes = max(c.PeakDeviceBytes, p.PeakDeviceBytes)
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
