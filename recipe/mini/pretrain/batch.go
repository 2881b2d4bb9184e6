package main

import (
	"fmt"

	"teamtalk/model/tokenizer"
	"teamtalk/recipe/data"
	"teamtalk/recipe/mini"
)

// batches cuts the stream of examples into batches of one fixed shape, [rows, width], packed. Every example is used once,
// in order, so no kind of example is favoured by its length.
type batches struct {
	tok         *tokenizer.Tokenizer
	seed        uint64
	mixture     mini.Mixture
	rows, width int
	next        int            // number of the next example to encode
	pending     *data.Sequence // one that did not fit into the batch before
}

// Next packs as many examples as fit. The batch ends with the first example that no row has room for; that one opens the
// next batch.
func (b *batches) Next() (*data.Packed, error) {
	p, err := data.NewPacker(b.rows, b.width)
	if err != nil {
		return nil, err
	}
	for {
		if b.pending == nil {
			prompt, reply, err := mini.ExampleAt(b.seed, b.next, b.mixture).Encode(b.tok)
			if err != nil {
				return nil, err
			}
			s := data.Reply(prompt, reply)
			b.pending = &s
			b.next++
		}
		ok, err := p.Add(*b.pending)
		if err != nil {
			return nil, fmt.Errorf("example %d: %w", b.next-1, err)
		}
		if !ok {
			return p.Pack(), nil
		}
		b.pending = nil
	}
}
