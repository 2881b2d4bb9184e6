package cost_test

import (
	"testing"

	"teamtalk/model"
	"teamtalk/model/checkpoint"
	"teamtalk/recipe/bench"
	"teamtalk/recipe/cost"
)

// tiny can be counted by hand. Its linear maps have 4·4 + 4·2 + 4·2 + 4·4 + 3·(4·8) = 144 weights a layer; adapters of rank 2 on
// q_proj and down_proj 2·(4+4) + 2·(8+4) = 40; the head 10·4 = 40; a token's keys and values 2·2·1·2 values of 2 bytes = 16.
var tiny = cost.Model{
	Config: checkpoint.Config{HiddenSize: 4, IntermediateSize: 8, NumHiddenLayers: 2, NumAttentionHeads: 2, NumKeyValueHeads: 1, HeadDim: 2, VocabSize: 10, TieWordEmbeddings: true},
	LoRA:   model.LoRA{Rank: 2, Alpha: 4, Targets: []string{"q_proj", "down_proj"}},
	Bytes:  2,
}

func TestWork(t *testing.T) {
	for _, c := range []struct {
		why  string
		got  cost.Work
		want cost.Work
	}{
		{"decode: 3 · (2·(288+80+40) + 4·2·4·5); 2·408 + 3·5·16", tiny.Decode(3, 1, 5), cost.Work{FLOPs: 2928, Bytes: 1056}},
		{"without adapters: 3 · (2·328 + 160); 2·328 + 240", tiny.Decode(3, 0, 5), cost.Work{FLOPs: 2448, Bytes: 896}},
		{"four runs: every run's adapters are read, a row uses its own", tiny.Decode(3, 4, 5), cost.Work{FLOPs: 2928, Bytes: 1536}},
		{"prefill: 12 · (2·368 + 32·3) + 2·2·40; 2·408 + 12·16", tiny.Prefill(2, 1, 6), cost.Work{FLOPs: 10144, Bytes: 1008}},
		{"gradient: 10 · (4·288 + 6·80 + 3·32·3) + 4·4·40; 2·2·328 + 3·4·80", tiny.Gradient(10, 4, 1, 3), cost.Work{FLOPs: 19840, Bytes: 2272}},
		{"update of four runs: 320 weights", tiny.Update(4), cost.Work{FLOPs: 3840, Bytes: 10240}},
	} {
		if c.got != c.want {
			t.Errorf("%s: %+v, want %+v", c.why, c.got, c.want)
		}
	}
}

// PEFT's print_trainable_parameters says 36,929,536 for rank 32 on all linear maps of Qwen2.5-1.5B; transformers counts
// 1,543,714,304 weights.
func TestCountsOfQwen(t *testing.T) {
	m := cost.Model{Config: bench.Qwen15, LoRA: model.LoRA{Rank: 32, Alpha: 64, Targets: checkpoint.Linears}, Bytes: 2}
	if m.Adapters() != 36_929_536 || m.Weights() != 2*1_543_714_304 {
		t.Errorf("%.0f adapter weights and %.0f bytes of weights", m.Adapters(), m.Weights())
	}
}
