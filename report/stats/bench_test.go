package stats

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkCompare is 120 tasks × 16 runs (8 per arm) × 4 samples, everything that Comparison holds.
func BenchmarkCompare(b *testing.B) {
	x, y, margin := world(rand.New(rand.NewPCG(1, 1)), 8, 120, 4, 0.02)
	for b.Loop() {
		must(Compare(x, y, margin))
	}
}

// BenchmarkRunsToResolve is the search that the unresolved sentence makes.
func BenchmarkRunsToResolve(b *testing.B) {
	for b.Loop() {
		RunsToResolve(Assumed, Design{2, 2, 120, 4}, 0.02)
	}
}
