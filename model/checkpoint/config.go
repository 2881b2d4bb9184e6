package checkpoint

import (
	"fmt"
	"slices"
)

// Config is the architecture of a Qwen2 model, in the units of config.json (sizes in elements, token ids in the vocabulary).
type Config struct {
	HiddenSize            int     // width of the residual stream
	IntermediateSize      int     // width of the SwiGLU feed-forward
	NumHiddenLayers       int     // decoder layers
	NumAttentionHeads     int     // query heads
	NumKeyValueHeads      int     // key and value heads; divides NumAttentionHeads
	HeadDim               int     // width of a head, even
	VocabSize             int     // rows of the embedding: the tokenizer's tokens and padding
	MaxPositionEmbeddings int     // longest sequence that the model was made for
	RopeTheta             float64 // base of the rotary embedding
	RMSNormEps            float64 // added to the mean square
	TieWordEmbeddings     bool    // the output head is the embedding matrix
	EOSTokenIDs           []int32 // tokens that end a reply, all of them; the first is the configuration's own
	BOSTokenID            int32   // -1 when there is none
	PadTokenID            int32   // -1 when there is none
	DType                 string  // the type the weights were made in: "bfloat16", "float16", "float32" or ""
}

// Limits on what a configuration may claim, so that a damaged one cannot ask for absurd amounts of memory.
const (
	maxSize   = 1 << 24
	maxLayers = 1 << 10
)

// Validate says what is wrong with c, if anything. Readers of this package return only valid configurations.
func (c Config) Validate() error {
	for _, f := range []struct {
		name     string
		got, max int
	}{
		{"hidden_size", c.HiddenSize, maxSize},
		{"intermediate_size", c.IntermediateSize, maxSize},
		{"num_hidden_layers", c.NumHiddenLayers, maxLayers},
		{"num_attention_heads", c.NumAttentionHeads, maxSize},
		{"num_key_value_heads", c.NumKeyValueHeads, maxSize},
		{"head_dim", c.HeadDim, maxSize},
		{"vocab_size", c.VocabSize, maxSize},
		{"max_position_embeddings", c.MaxPositionEmbeddings, 1 << 30},
	} {
		if f.got < 1 || f.got > f.max {
			return fmt.Errorf("%s is %d, want 1 to %d", f.name, f.got, f.max)
		}
	}
	if c.NumAttentionHeads%c.NumKeyValueHeads != 0 {
		return fmt.Errorf("num_attention_heads %d is not a multiple of num_key_value_heads %d", c.NumAttentionHeads, c.NumKeyValueHeads)
	}
	if c.HeadDim%2 != 0 {
		return fmt.Errorf("head_dim is %d, want an even number: the rotary embedding turns pairs", c.HeadDim)
	}
	if c.HeadDim*c.NumAttentionHeads > maxSize {
		return fmt.Errorf("num_attention_heads %d x head_dim %d is over %d", c.NumAttentionHeads, c.HeadDim, maxSize)
	}
	if !(c.RopeTheta > 1 && c.RopeTheta < 1e12) {
		return fmt.Errorf("rope_theta is %g, want more than 1 and less than 1e12", c.RopeTheta)
	}
	if !(c.RMSNormEps > 0 && c.RMSNormEps < 1) {
		return fmt.Errorf("rms_norm_eps is %g, want more than 0 and less than 1", c.RMSNormEps)
	}
	for _, id := range slices.Concat(c.EOSTokenIDs, []int32{c.BOSTokenID, c.PadTokenID}) {
		if id < -1 || int(id) >= c.VocabSize {
			return fmt.Errorf("special token id %d is outside the vocabulary of %d", id, c.VocabSize)
		}
	}
	return nil
}

// Linears are the seven linear maps of a decoder layer by their Hugging Face (and PEFT) names, in the order they are applied.
var Linears = []string{"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}

// Linear returns the input and output width of one of Linears; ok is false for any other name.
func (c Config) Linear(module string) (in, out int, ok bool) {
	q, kv := c.NumAttentionHeads*c.HeadDim, c.NumKeyValueHeads*c.HeadDim
	switch module {
	case "q_proj":
		return c.HiddenSize, q, true
	case "k_proj", "v_proj":
		return c.HiddenSize, kv, true
	case "o_proj":
		return q, c.HiddenSize, true
	case "gate_proj", "up_proj":
		return c.HiddenSize, c.IntermediateSize, true
	case "down_proj":
		return c.IntermediateSize, c.HiddenSize, true
	}
	return 0, 0, false
}

// LinearName is the Hugging Face name of a linear map without ".weight": model.layers.3.self_attn.q_proj.
func LinearName(layer int, module string) string {
	block := "self_attn"
	switch module {
	case "gate_proj", "up_proj", "down_proj":
		block = "mlp"
	}
	return fmt.Sprintf("model.layers.%d.%s.%s", layer, block, module)
}

// Spec names one tensor of a model and gives its shape, row-major.
type Spec struct {
	Name  string
	Shape []int
}

// Specs lists the tensors of a model with this configuration, in the order of the layers. lm_head.weight is in it only when
// the head is not tied.
func (c Config) Specs() []Spec {
	s := []Spec{{"model.embed_tokens.weight", []int{c.VocabSize, c.HiddenSize}}}
	for l := range c.NumHiddenLayers {
		p := fmt.Sprintf("model.layers.%d.", l)
		s = append(s, Spec{p + "input_layernorm.weight", []int{c.HiddenSize}})
		for _, m := range Linears {
			if m == "gate_proj" {
				s = append(s, Spec{p + "post_attention_layernorm.weight", []int{c.HiddenSize}})
			}
			in, out, _ := c.Linear(m)
			s = append(s, Spec{LinearName(l, m) + ".weight", []int{out, in}})
			if m == "q_proj" || m == "k_proj" || m == "v_proj" {
				s = append(s, Spec{LinearName(l, m) + ".bias", []int{out}})
			}
		}
	}
	s = append(s, Spec{"model.norm.weight", []int{c.HiddenSize}})
	if !c.TieWordEmbeddings {
		s = append(s, Spec{"lm_head.weight", []int{c.VocabSize, c.HiddenSize}})
	}
	return s
}

// Params is the number of weights, a tied matrix counted once.
func (c Config) Params() int64 {
	n := int64(0)
	for _, s := range c.Specs() {
		n += int64(numel(s.Shape))
	}
	return n
}

func numel(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
