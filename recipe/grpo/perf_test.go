package grpo

import (
	"math"
	"testing"
	"time"

	"teamtalk/model"
	"teamtalk/model/backend"
	"teamtalk/model/checkpoint"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

func TestFilled(t *testing.T) {
	// Rows of 8 tokens, two in a pass: a prompt of 2 with replies of 3 and 2 takes 7 of one row; of another run a prompt of 3 with
	// a reply of 5 takes all of the next, and one of 4 starts a second pass with its prompt again.
	replies := []reply{
		{run: 0, prompt: []int32{1, 2}, ids: []int32{3, 4, 5}}, {run: 0, prompt: []int32{1, 2}, ids: []int32{3, 4}},
		{run: 1, prompt: []int32{1, 2, 3}, ids: []int32{4, 5, 6, 7, 8}}, {run: 1, prompt: []int32{1, 2, 3}, ids: []int32{4, 5, 6, 7}},
	}
	p, err := pack(replies, 2, 8, 16)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.filled(), (filled{passes: 2, slots: 32, tokens: 7 + 8 + 7, learnt: 14, context: 8}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestPerf(t *testing.T) {
	l := &loop{
		Options: Options{Device: &backend.Device{}, Weights: &model.Weights{
			Config: checkpoint.Config{HiddenSize: 4, IntermediateSize: 8, NumHiddenLayers: 2, NumAttentionHeads: 2, NumKeyValueHeads: 1, HeadDim: 2, VocabSize: 10, TieWordEmbeddings: true},
			DType:  dtypes.BFloat16}},
		lora: model.LoRA{Rank: 2, Alpha: 4, Targets: []string{"q_proj", "down_proj"}},
		runs: make([]Run, 2),
	}
	for _, c := range []struct {
		why    string
		filled filled
		want   map[string]float64
	}{
		// 10 tokens, 4 predictions, 3 tokens of context on average: 19,840 operations (recipe/cost).
		{"two passes, 10 of 16 tokens real", filled{passes: 2, slots: 16, tokens: 10, learnt: 4, context: 6}, map[string]float64{
			"perf/gen_tokens_per_s": 50, "perf/passes": 2, "perf/train_fill": 0.625, "perf/train_tokens_per_s": 20, "perf/train_tflop_per_s": 19840 / 0.5 / 1e12}},
		{"nothing to learn: no learning that has a speed", filled{context: 6}, map[string]float64{"perf/gen_tokens_per_s": 50, "perf/passes": 0}},
	} {
		l.filled = c.filled
		got := map[string]float64{}
		l.perf(got, 100, 2*time.Second, time.Second/2)
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", c.why, got, c.want)
		}
		for key, want := range c.want {
			if math.Abs(got[key]-want) > 1e-12*want {
				t.Errorf("%s: %s is %g, want %g", c.why, key, got[key], want)
			}
		}
	}
}
