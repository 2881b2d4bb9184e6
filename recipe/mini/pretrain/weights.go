package main

import (
	"strings"

	"teamtalk/model/checkpoint"
	"teamtalk/recipe/data"
)

// architecture is the mini model: Qwen2 with 854,144 parameters. width is the longest sequence it is trained on.
func architecture(vocab int) checkpoint.Config {
	return checkpoint.Config{
		HiddenSize: 128, IntermediateSize: 384, NumHiddenLayers: 4,
		NumAttentionHeads: 4, NumKeyValueHeads: 2, HeadDim: 32,
		VocabSize: vocab, MaxPositionEmbeddings: 256, RopeTheta: 1e4, RMSNormEps: 1e-6, TieWordEmbeddings: true,
		EOSTokenIDs: []int32{2}, BOSTokenID: -1, PadTokenID: 0, DType: "bfloat16",
	}
}

// initialWeights draws every matrix from a normal distribution with standard deviation std, one stream per tensor; norms
// begin at 1 and biases at 0. Names and row-major shapes are the checkpoint's.
func initialWeights(c checkpoint.Config, seed uint64, std float64) map[string][]float32 {
	weights := make(map[string][]float32)
	for _, s := range c.Specs() {
		n := 1
		for _, d := range s.Shape {
			n *= d
		}
		w := make([]float32, n)
		switch {
		case len(s.Shape) == 2:
			r := data.NewRand(seed, "mini init "+s.Name)
			for i := range w {
				w[i] = float32(std * r.NormFloat64())
			}
		case !strings.HasSuffix(s.Name, ".bias"):
			for i := range w {
				w[i] = 1
			}
		}
		weights[s.Name] = w
	}
	return weights
}
