package lab

import (
	"encoding/json"
	"sync"
	"time"

	"teamtalk/recipe/artifact"
)

// reporter is a worker's way to its coordinator. A process without a coordinator has none, a nil reporter.
type reporter struct {
	worker string
	share  int   // how many processes share the device
	room   int64 // bytes that every worker counts with, so that all choose the same shapes; 0: not known

	done chan struct{} // closed when the worker ends

	mu     sync.Mutex
	out    *json.Encoder
	phases []artifact.Phase // not yet handed on
}

// answer ignores errors: the end of the worker's input says that there is nobody to answer to.
func (r *reporter) answer(a answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.out.Encode(a)
}

// beat says at every interval that the worker is alive, until it ends. An order to stop does not end it: saving takes its time.
func (r *reporter) beat(every time.Duration) {
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	for {
		r.answer(answer{Alive: true})
		select {
		case <-r.done:
			return
		case <-ticks.C:
		}
	}
}

// progress says how much of a piece is done.
func (r *reporter) progress(done, all int) {
	if r != nil {
		r.answer(answer{Progress: &progress{Done: done, All: all}})
	}
}

// phase keeps what a phase cost for the answer to come.
func (r *reporter) phase(p artifact.Phase, start time.Time) error {
	r.phases = append(r.phases, timed(p, r.worker, start, r.share))
	return nil
}

func (r *reporter) takePhases() []artifact.Phase {
	taken := r.phases
	r.phases = nil
	return taken
}
