package model

import (
	"context"
	"fmt"
	"testing"
)

// Leaving finished rows behind, growing the cache and taking prompts in chunks are fast paths: replies are those of the plain
// one, for every row.
func TestPhasesAndChunksDoNotChangeReplies(t *testing.T) {
	onBackends(t, func(t *testing.T, x *tiny) {
		var prompts []Prompt
		for i := range 6 {
			p := Prompt{}
			for k := range 3 + i%5 {
				p.IDs = append(p.IDs, int32(5+(i*31+k*17)%300))
			}
			for g := range 4 {
				p.Keys = append(p.Keys, NewKey(uint64(i), uint64(g)))
			}
			prompts = append(prompts, p)
		}
		prompts[4].IDs = nil // a padding row among them
		other := map[string][]float32{}
		for name, v := range x.adapter {
			for _, f := range v {
				other[name] = append(other[name], -f)
			}
		}
		adapters := x.adapters(t, x.lora, x.adapter, other)
		var stop []int32
		for id := int32(0); id < 320; id += 8 { // an eighth of the vocabulary: replies end early and at different lengths
			stop = append(stop, id)
		}
		sample := func(phases []int, chunk int) (out [][]Completion, rows, steps int) {
			s, err := NewSampler(x.dev, x.weights, SamplerOptions{LoRA: &x.lora, Runs: 2, Stop: stop, Phases: phases, Chunk: chunk})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if err := s.Load(adapters); err != nil {
				t.Fatal(err)
			}
			out, err = s.Sample(context.Background(), Request{Prompts: prompts, MaxTokens: 24, Temperature: 0.9})
			if err != nil {
				t.Fatal(err)
			}
			return out, s.RowSteps, s.Steps
		}
		want, rows, steps := sample([]int{}, 6)
		if rows != 24*steps {
			t.Fatalf("%d rows in %d steps of 24 without phases", rows, steps)
		}
		got, rows, steps := sample([]int{3, 10}, 4)
		if rows >= 24*steps {
			t.Errorf("%d rows in %d steps: no row was left behind", rows, steps)
		}
		early, late := 0, 0
		for i := range want {
			for j, w := range want[i] {
				g := got[i][j]
				if fmt.Sprint(g.IDs) != fmt.Sprint(w.IDs) || g.Finish != w.Finish {
					t.Fatalf("completion %d of prompt %d is %v (%s), want %v (%s)", j, i, g.IDs, g.Finish, w.IDs, w.Finish)
				}
				near(t, "log-probabilities", g.LogProbs, w.LogProbs, 1e-5)
				near(t, "entropies", g.Entropies, w.Entropies, 1e-5)
				if len(w.IDs) <= 3 {
					early++
				}
				if len(w.IDs) > 10 {
					late++
				}
			}
		}
		if early < 4 || late < 1 {
			t.Errorf("%d replies end in the first phase, %d reach the last: too few to show anything", early, late)
		}
	})
}
