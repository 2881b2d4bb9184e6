package data

import "fmt"

// Order says which prompts each training step sees: every epoch is a fresh permutation of the N prompts, cut into chunks
// of Chunk, and the last chunk is dropped if it is not full (as TRL's sampler does). With 512 prompts in chunks of 12 an
// epoch has 42 steps and 8 prompts sit it out; 40 steps see 480 different prompts once each.
//
// A step is a function of (Seed, step) alone: there is no state to save, and a resumed run sees what it would have seen.
// Seed is the data_order stream of a run (experiment.DataOrder.Seed); the arms of an experiment share it, seed by seed.
type Order struct {
	N, Chunk int
	Seed     uint64
}

// Validate reports an order that cannot fill one step.
func (o Order) Validate() error {
	if o.Chunk < 1 || o.N < o.Chunk {
		return fmt.Errorf("data order: expected at least as many prompts as one step takes, and at least 1 a step; found %d prompts, %d a step", o.N, o.Chunk)
	}
	return nil
}

// StepsPerEpoch is the number of full chunks.
func (o Order) StepsPerEpoch() int { return o.N / o.Chunk }

// Step returns the Chunk prompts, as indices in 0..N-1, of a step counted from 0. It panics on an order that Validate
// refuses and on a negative step.
func (o Order) Step(step int) []int {
	if err := o.Validate(); err != nil {
		panic(err)
	}
	if step < 0 {
		panic(fmt.Sprintf("data order: negative step %d", step))
	}
	epoch, k := step/o.StepsPerEpoch(), step%o.StepsPerEpoch()
	perm := NewRand(o.Seed, "data order", uint64(epoch)).Perm(o.N)
	return perm[k*o.Chunk : (k+1)*o.Chunk : (k+1)*o.Chunk]
}
