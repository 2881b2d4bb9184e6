package lab

import (
	"sync/atomic"
	"time"
)

// watch is how a coordinator notices that a worker process hangs: it is alive and says nothing, because it was stopped, or its system
// gives it nothing to run on. The zero value takes the defaults.
type watch struct {
	beat   time.Duration // how often a worker says that it is alive; 0: every five seconds
	silent time.Duration // how long one that hangs has said nothing; 0: two minutes
	// clock ticks silentTicks times in silent; nil: the system's. The process is named for tests, which let the time of one alone go by.
	clock func(pid int, every time.Duration) <-chan time.Time
}

// silentTicks is how many ticks without a word make a worker one that hangs.
const silentTicks = 4

func (w watch) withDefaults() watch {
	if w.beat == 0 {
		w.beat = 5 * time.Second
	}
	if w.silent == 0 {
		w.silent = 2 * time.Minute
	}
	if w.clock == nil {
		w.clock = func(_ int, every time.Duration) <-chan time.Time { return time.Tick(every) }
	}
	return w
}

// pulse counts the ticks of a clock in which nothing was heard of a worker. A coordinator that was itself stopped, with its workers by Ctrl-Z
// or with the whole machine, finds one tick waiting for it however long that was, where the time that went by would speak against the worker.
//
// What is heard comes from a goroutine that does nothing else, and so goes on while the worker computes or compiles, for as long as that takes:
// a worker that waits forever for its device is not found out.
type pulse struct {
	heard  atomic.Bool // since the last tick
	unread atomic.Bool // something was heard that nobody has taken yet, so that nothing more is
	silent int         // ticks
}

// tick says whether the worker hangs.
func (p *pulse) tick() bool {
	if p.heard.Swap(false) || p.unread.Load() {
		p.silent = 0
	} else {
		p.silent++
	}
	return p.silent >= silentTicks
}
