package main

import (
	"fmt"
	"io"

	"teamtalk/recipe/mini"
)

// describe prints some examples and the lengths of those in the first batches.
func describe(w io.Writer, b *batches) error {
	for i := range 6 {
		e := mini.ExampleAt(b.seed, i, b.mixture)
		fmt.Fprintf(w, "%s | %s\n%s\n(right: %d)\n\n", mini.System(e.Team), e.Problem.Question, e.Reply, e.Problem.Answer)
	}
	const n = 50
	var tokens, trained, longest, sequences int
	for range n {
		p, err := b.Next()
		if err != nil {
			return err
		}
		sequences += len(p.Places)
		trained += int(p.WeightSum())
		for _, at := range p.Places {
			tokens += at.Len
			longest = max(longest, at.Len)
		}
	}
	s := float64(sequences)
	fmt.Fprintf(w, "%d batches of %d x %d: %.1f examples a batch, %.1f tokens an example (%.1f of them trained, at most %d), %.1f%% of the columns filled\n",
		n, b.rows, b.width, s/n, float64(tokens)/s, float64(trained)/s, longest, 100*float64(tokens)/float64(n*b.rows*b.width))
	return nil
}
