package main

import (
	"slices"
	"strings"
	"testing"

	"teamtalk/model/tokenizer"
	"teamtalk/recipe/mini"
)

func trained(t *testing.T) *tokenizer.Tokenizer {
	t.Helper()
	tok, err := mini.TrainTokenizer(1, 3000, mini.DefaultMixture)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// The batches hold the stream of examples, every one once and in order, whatever the shape.
func TestBatchesHoldTheStream(t *testing.T) {
	tok := trained(t)
	for _, shape := range [][2]int{{12, 256}, {3, 192}, {1, 160}} {
		b := &batches{tok: tok, seed: 4, mixture: mini.DefaultMixture, rows: shape[0], width: shape[1]}
		next := 0
		for range 5 {
			p, err := b.Next()
			if err != nil {
				t.Fatal(err)
			}
			if p.R != shape[0] || p.T != shape[1] {
				t.Fatalf("a batch of [%d, %d], want %v", p.R, p.T, shape)
			}
			for i, at := range p.Places {
				prompt, reply, err := mini.ExampleAt(4, next, mini.DefaultMixture).Encode(tok)
				if err != nil {
					t.Fatal(err)
				}
				next++
				start := at.Row*p.T + at.Col
				if !slices.Equal(p.IDs[start:start+at.Len], slices.Concat(prompt, reply)) {
					t.Fatalf("shape %v: sequence %d of a batch is not example %d", shape, i, next-1)
				}
				for k := range at.Len {
					// The column before a token predicts it; the reply is learnt, the prompt is not.
					want := float32(0)
					if k+1 >= len(prompt) && k+1 < at.Len {
						want = 1
					}
					if p.Weights[start+k] != want {
						t.Fatalf("example %d: column %d of %d (prompt %d) has the weight %v, want %v", next-1, k, at.Len, len(prompt), p.Weights[start+k], want)
					}
				}
			}
		}
		if b.next != next+1 {
			t.Errorf("shape %v: %d examples were taken from the stream, %d are in batches and one is pending", shape, b.next, next)
		}
	}
}

func TestBatchesRefuseNarrowRows(t *testing.T) {
	b := &batches{tok: trained(t), seed: 4, mixture: mini.DefaultMixture, rows: 2, width: 30}
	if _, err := b.Next(); err == nil || !strings.Contains(err.Error(), "example 0") || !strings.Contains(err.Error(), "make the rows longer") {
		t.Errorf("got %v, want an error that names the example and the way out", err)
	}
}
