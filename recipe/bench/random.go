package bench

import (
	"runtime"
	"sync"

	"teamtalk/model/checkpoint"
)

// random is a Source of small random weights, for machines that have no checkpoint at hand: speed does not depend on values.
type random struct{}

func (random) ReadBF16(name string, dst []uint16) error {
	fill(len(dst), func(from, to int, state uint64) {
		for i := from; i < to; i++ {
			state = state*6364136223846793005 + 1442695040888963407
			dst[i] = checkpoint.BF16(value(state))
		}
	})
	return nil
}

func (random) ReadF32(name string, dst []float32) error {
	fill(len(dst), func(from, to int, state uint64) {
		for i := from; i < to; i++ {
			state = state*6364136223846793005 + 1442695040888963407
			dst[i] = value(state)
		}
	})
	return nil
}

func value(state uint64) float32 { return (float32(state>>40)/(1<<24) - 0.5) * 0.06 }

func fill(n int, part func(from, to int, state uint64)) {
	var wg sync.WaitGroup
	const block = 1 << 20
	limit := make(chan struct{}, runtime.NumCPU())
	for from := 0; from < n; from += block {
		wg.Add(1)
		limit <- struct{}{}
		go func() {
			defer wg.Done()
			part(from, min(from+block, n), uint64(from)+1)
			<-limit
		}()
	}
	wg.Wait()
}
