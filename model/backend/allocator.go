package backend

import (
	"fmt"
	"os"

	"github.com/gomlx/go-xla/pkg/pjrt"
)

// pooled is XLA's allocator that takes from the driver's memory pool.
const pooled = "cuda_async"

// allocatorVariable names an allocator of XLA's, in the words of JAX: bfc or cuda_async.
const allocatorVariable = "XLA_PYTHON_CLIENT_ALLOCATOR"

// memoryOptions choose XLA's allocator and bound what one of so many processes takes of a GPU. Memory grows as it is needed, so that
// what is used can be seen.
//
// A process that has a card to itself takes from the driver's pool, which holds what is needed. XLA's own allocator (bfc) takes regions
// of powers of two, for training of a 1.5B model 41 GiB where 24 are asked for; but it keeps to a fraction, which processes that share
// a card need.
func memoryOptions(processes int, pool func() error) pjrt.NamedValuesMap {
	options := pjrt.NamedValuesMap{"preallocate": false, "memory_fraction": float32(gpuShare / float64(max(1, processes)))}
	allocator := os.Getenv(allocatorVariable)
	if allocator == "" && processes <= 1 {
		if err := pool(); err == nil {
			allocator = pooled
		} else {
			fmt.Fprintf(os.Stderr, "backend: XLA's own allocator takes the GPU's memory, more of it than is needed, since there is no pool: %v\n", err)
		}
	}
	if allocator != "" {
		options["allocator"] = allocator
	}
	return options
}
