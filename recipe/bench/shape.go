package bench

import "teamtalk/model/checkpoint"

// Qwen15 is the shape of Qwen2.5-1.5B, for measuring and estimating without its weights: its config.json on Hugging Face.
var Qwen15 = checkpoint.Config{
	HiddenSize: 1536, IntermediateSize: 8960, NumHiddenLayers: 28, NumAttentionHeads: 12, NumKeyValueHeads: 2, HeadDim: 128,
	VocabSize: 151936, MaxPositionEmbeddings: 32768, RopeTheta: 1e6, RMSNormEps: 1e-6, TieWordEmbeddings: true,
	EOSTokenIDs: []int32{151645}, BOSTokenID: -1, PadTokenID: -1, DType: "bfloat16",
}
