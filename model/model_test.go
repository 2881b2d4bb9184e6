package model

import (
	"context"
	"fmt"
	"slices"
	"testing"
)

func TestLogitsEqualTransformers(t *testing.T) {
	onBackends(t, func(t *testing.T, x *tiny) {
		o := x.oracle(t)
		mask := o.IDs("forward/mask")
		rows := rowsOf(24, 3, o.Sequences("forward", 24)...)
		for _, c := range []struct {
			name string
			a    *Adapters
		}{{"forward/logits_base", nil}, {"forward/logits_adapter", x.adapters(t, x.lora, x.adapter)}} {
			s := &Scorer{dev: x.dev, weights: x.weights, adapters: c.a, rows: 3, t: 24} // without the scoring program, which is not used
			defer s.Close()
			got, err := s.Logits(rows)
			if err != nil {
				t.Fatal(err)
			}
			want := o.Float32(c.name)
			v := x.weights.Config.VocabSize
			for i, m := range mask {
				if m == 1 {
					near(t, fmt.Sprintf("%s at %d", c.name, i), got[i*v:(i+1)*v], want[i*v:(i+1)*v], 1e-4)
				}
			}
		}
	})
}

func TestLogProbsAndEntropiesEqualTransformers(t *testing.T) {
	onBackends(t, func(t *testing.T, x *tiny) {
		o := x.oracle(t)
		rows := rowsOf(32, 8, o.Sequences("grpo", 32)...)
		logp, entropy, err := x.scorer(t, 8, 32, &x.lora, x.adapter).Score(rows, 0.9)
		if err != nil {
			t.Fatal(err)
		}
		wantLogp, wantEntropy := o.Float32("grpo/logp"), o.Float32("grpo/entropy") // [8, 31]
		mask := o.IDs("grpo/completion_mask")
		compared := 0
		for i := range 8 {
			for j := range 31 {
				if mask[i*32+j+1] == 0 {
					continue
				}
				compared++
				near(t, fmt.Sprintf("logp of row %d, column %d", i, j), logp[i*32+j:i*32+j+1], wantLogp[i*31+j:i*31+j+1], 1e-4)
				near(t, fmt.Sprintf("entropy of row %d, column %d", i, j), entropy[i*32+j:i*32+j+1], wantEntropy[i*31+j:i*31+j+1], 1e-4)
			}
		}
		if compared != 79 {
			t.Errorf("%d tokens compared, the oracle's completions have 79", compared)
		}
	})
}

func TestGreedyRepliesEqualTransformers(t *testing.T) {
	onBackends(t, func(t *testing.T, x *tiny) {
		prompts, want := x.greedy(t)
		got, err := x.sampler(t, &x.lora, x.adapter).Sample(context.Background(), Request{Prompts: prompts, MaxTokens: 20})
		if err != nil {
			t.Fatal(err)
		}
		for i := range prompts {
			for j, c := range got[i] { // both completions are the likeliest one
				if !slices.Equal(c.IDs, want[i]) || c.Finish != "length" {
					t.Errorf("reply %d, sample %d is %v (%s), want %v (length)", i, j, c.IDs, c.Finish, want[i])
				}
			}
		}
	})
}

// greedy is the oracle's prompts, with keys for two completions each, and the 20 likeliest ids after them under the adapter.
func (x *tiny) greedy(t *testing.T) (prompts []Prompt, want [][]int32) {
	o := x.oracle(t)
	for i, ids := range o.Sequences("forward", 24) {
		prompts = append(prompts, Prompt{IDs: ids, Keys: []Key{NewKey(uint64(i), 0), NewKey(uint64(i), 1)}})
	}
	return prompts, slices.Collect(slices.Chunk(o.IDs("greedy/ids"), 20))
}
