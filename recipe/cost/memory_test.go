package cost_test

import (
	"math"
	"strings"
	"testing"

	"teamtalk/model"
	"teamtalk/model/backend"
	"teamtalk/model/checkpoint"
	"teamtalk/recipe/cost"
	"teamtalk/recipe/grpo"
)

// qwen15 is the shape of Qwen2.5-1.5B.
var qwen15 = checkpoint.Config{
	HiddenSize: 1536, IntermediateSize: 8960, NumHiddenLayers: 28, NumAttentionHeads: 12, NumKeyValueHeads: 2, HeadDim: 128,
	VocabSize: 151936, MaxPositionEmbeddings: 32768, RopeTheta: 1e6, RMSNormEps: 1e-6, TieWordEmbeddings: true,
	EOSTokenIDs: []int32{151645}, BOSTokenID: -1, PadTokenID: -1, DType: "bfloat16",
}

// small is a model of a hundred thousand parameters.
var small = checkpoint.Config{
	HiddenSize: 64, IntermediateSize: 160, NumHiddenLayers: 2, NumAttentionHeads: 4, NumKeyValueHeads: 2, HeadDim: 16, VocabSize: 512,
	MaxPositionEmbeddings: 2048, RopeTheta: 1e4, RMSNormEps: 1e-6, TieWordEmbeddings: true, EOSTokenIDs: []int32{2}, BOSTokenID: -1, PadTokenID: -1,
	DType: "bfloat16",
}

// nothing is a Source of weights that are all 0.
type nothing struct{}

func (nothing) ReadBF16(string, []uint16) error { return nil }
func (nothing) ReadF32(string, []float32) error { return nil }

// The estimate of a gradient pass against what XLA laid out for it.
func TestEstimateOfACompiledPass(t *testing.T) {
	dev, err := backend.Open(backend.XLACPU)
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	wide, words, deep := small, small, small
	wide.IntermediateSize = 640
	words.VocabSize = 4096
	deep.NumHiddenLayers = 4
	for _, c := range []struct {
		why     string
		config  checkpoint.Config
		rows, t int
		picks   int
	}{
		{"small", small, 4, 64, 4 * 64},
		{"more rows", small, 16, 64, 16 * 64},
		{"long rows: attention outweighs the rest", small, 2, 512, 2 * 512},
		{"a wide MLP", wide, 4, 64, 4 * 64},
		{"many words: logits outweigh the rest", words, 4, 64, 4 * 64},
		{"many words, few of them learnt", words, 4, 64, 64},
		{"twice the layers", deep, 4, 64, 4 * 64},
	} {
		lora := model.LoRA{Rank: 8, Alpha: 16, Targets: checkpoint.Linears}
		w, err := model.LoadWeights(dev, c.config, nothing{})
		if err != nil {
			t.Fatal(err)
		}
		a, err := model.NewAdapters(dev, c.config, lora, []model.Key{model.NewKey(1)})
		if err != nil {
			t.Fatal(err)
		}
		before := len(dev.Programs())
		tr, err := grpo.NewTrainer(dev, w, a, grpo.TrainerOptions{Rows: c.rows, T: c.t, Picks: c.picks, Optim: grpo.AdamW{Beta1: .9, Beta2: .999, Epsilon: 1e-8}})
		if err != nil {
			t.Fatal(err)
		}
		var got backend.Usage
		for _, p := range dev.Programs()[before:] {
			if strings.HasPrefix(p.Name, "gradient") {
				got = p.Usage
			}
		}
		tr.Close()
		a.Free()
		w.Free()
		m := cost.Model{Config: c.config, LoRA: lora, Bytes: 4}
		e := m.Estimate(cost.Batch{Runs: 1, Rows: c.rows, T: c.t, Picks: c.picks})
		// XLA counts the adapters and their gradients among the pass's inputs; the moments wait elsewhere.
		measured := float64(got.Total()) + 8*m.Adapters()
		if ratio := e.Total() / measured; math.Abs(ratio-1) > 0.3 {
			t.Errorf("%s: estimated %s, XLA takes %s GiB: %.2f of it, want within 30%%", c.why, e, cost.GiB(measured), ratio)
		} else {
			t.Logf("%s: %.2f of %.1f MiB", c.why, ratio, measured/(1<<20))
		}
	}
}
