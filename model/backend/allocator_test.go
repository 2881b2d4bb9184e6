package backend

import (
	"errors"
	"testing"
)

// A process alone on a card takes from the driver's pool; processes that share a GPU divide the memory that one of them would take.
func TestMemoryOptions(t *testing.T) {
	for _, c := range []struct {
		why       string
		processes int
		pool      bool
		variable  string
		fraction  float32
		allocator any
	}{
		{"not said how many", 0, true, "", 0.92, "cuda_async"},
		{"alone", 1, true, "", 0.92, "cuda_async"},
		{"alone on a card without pools", 1, false, "", 0.92, nil},
		{"the pool keeps to no fraction", 2, true, "", 0.46, nil},
		{"four", 4, true, "", 0.23, nil},
		{"as the user says", 1, true, "bfc", 0.92, "bfc"},
		{"as the user says, who shares", 2, false, "cuda_async", 0.46, "cuda_async"},
	} {
		t.Setenv(allocatorVariable, c.variable)
		o := memoryOptions(c.processes, func() error {
			if c.pool {
				return nil
			}
			return errors.New("the card has no memory pools")
		})
		if o["memory_fraction"] != c.fraction || o["preallocate"] != false || o["allocator"] != c.allocator {
			t.Errorf("%s: %v, want memory_fraction %g, allocator %v and nothing taken in advance", c.why, o, c.fraction, c.allocator)
		}
	}
}
