package checkpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// configJSON is the part of a Hugging Face config.json that bears on Qwen2. Pointers and raw values tell absent from zero.
type configJSON struct {
	Architectures         []string        `json:"architectures"`
	ModelType             string          `json:"model_type"`
	HiddenSize            int             `json:"hidden_size"`
	IntermediateSize      int             `json:"intermediate_size"`
	NumHiddenLayers       int             `json:"num_hidden_layers"`
	NumAttentionHeads     int             `json:"num_attention_heads"`
	NumKeyValueHeads      *int            `json:"num_key_value_heads"`
	HeadDim               *int            `json:"head_dim"`
	VocabSize             int             `json:"vocab_size"`
	MaxPositionEmbeddings *int            `json:"max_position_embeddings"`
	RopeTheta             *float64        `json:"rope_theta"`
	RopeScaling           json.RawMessage `json:"rope_scaling"`
	RopeParameters        json.RawMessage `json:"rope_parameters"`
	PartialRotaryFactor   *float64        `json:"partial_rotary_factor"`
	RMSNormEps            *float64        `json:"rms_norm_eps"`
	HiddenAct             *string         `json:"hidden_act"`
	AttentionDropout      float64         `json:"attention_dropout"`
	AttentionBias         *bool           `json:"attention_bias"`
	MLPBias               bool            `json:"mlp_bias"`
	TieWordEmbeddings     bool            `json:"tie_word_embeddings"`
	UseSlidingWindow      bool            `json:"use_sliding_window"`
	SlidingWindow         *int            `json:"sliding_window"`
	MaxWindowLayers       *int            `json:"max_window_layers"`
	LayerTypes            []string        `json:"layer_types"`
	QuantizationConfig    json.RawMessage `json:"quantization_config"`
	EOS                   tokenIDs        `json:"eos_token_id"`
	BOS                   *int32          `json:"bos_token_id"`
	Pad                   *int32          `json:"pad_token_id"`
	TorchDType            string          `json:"torch_dtype"`
	DType                 string          `json:"dtype"`
}

// tokenIDs is an id, a list of ids, or null.
type tokenIDs []int32

func (t *tokenIDs) UnmarshalJSON(b []byte) error {
	if isNull(b) {
		return nil
	}
	if b[0] == '[' {
		return json.Unmarshal(b, (*[]int32)(t))
	}
	var id int32
	if err := json.Unmarshal(b, &id); err != nil {
		return err
	}
	*t = tokenIDs{id}
	return nil
}

func isNull(b json.RawMessage) bool {
	return len(b) == 0 || bytes.Equal(bytes.TrimSpace(b), []byte("null"))
}

// ParseConfig reads a config.json. Defaults of absent keys are those of transformers' Qwen2Config (rope_theta 10000,
// rms_norm_eps 1e-6, untied, no sliding window). Whatever would make the computation another than plain Qwen2 is refused
// by its key.
func ParseConfig(data []byte) (Config, error) {
	var j configJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return Config{}, fmt.Errorf("not a model configuration in JSON: %w", err)
	}
	if err := j.unsupported(); err != nil {
		return Config{}, err
	}
	theta, err := j.ropeTheta()
	if err != nil {
		return Config{}, err
	}
	c := Config{
		HiddenSize: j.HiddenSize, IntermediateSize: j.IntermediateSize, NumHiddenLayers: j.NumHiddenLayers,
		NumAttentionHeads: j.NumAttentionHeads, NumKeyValueHeads: or(j.NumKeyValueHeads, j.NumAttentionHeads),
		VocabSize: j.VocabSize, MaxPositionEmbeddings: or(j.MaxPositionEmbeddings, 32768),
		RopeTheta: theta, RMSNormEps: or(j.RMSNormEps, 1e-6), TieWordEmbeddings: j.TieWordEmbeddings,
		EOSTokenIDs: j.EOS, BOSTokenID: or(j.BOS, -1), PadTokenID: or(j.Pad, -1), DType: j.TorchDType,
	}
	if c.DType == "" {
		c.DType = j.DType
	}
	switch {
	case j.HeadDim != nil:
		c.HeadDim = *j.HeadDim
	case c.NumAttentionHeads > 0 && c.HiddenSize%c.NumAttentionHeads == 0:
		c.HeadDim = c.HiddenSize / c.NumAttentionHeads
	default:
		return Config{}, fmt.Errorf("hidden_size %d is not a multiple of num_attention_heads %d and head_dim is not given", c.HiddenSize, c.NumAttentionHeads)
	}
	return c, c.Validate()
}

func or[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}

// unsupported names the first setting that this project's Qwen2 does not compute.
func (j *configJSON) unsupported() error {
	if j.ModelType != "qwen2" {
		return fmt.Errorf("model_type is %q, want \"qwen2\": other architectures are not supported", j.ModelType)
	}
	if len(j.Architectures) > 0 && !slices.Contains(j.Architectures, "Qwen2ForCausalLM") {
		return fmt.Errorf("architectures is %q, want \"Qwen2ForCausalLM\"", j.Architectures)
	}
	if act := or(j.HiddenAct, "silu"); act != "silu" {
		return fmt.Errorf("hidden_act is %q, want \"silu\"", act)
	}
	if !or(j.AttentionBias, true) {
		return fmt.Errorf("attention_bias is false: Qwen2 has biases on q, k and v, attention without them is not supported")
	}
	if j.MLPBias {
		return fmt.Errorf("mlp_bias is true: biases in the feed-forward are not supported")
	}
	if j.AttentionDropout != 0 {
		return fmt.Errorf("attention_dropout is %g, want 0: dropout is not supported", j.AttentionDropout)
	}
	if f := or(j.PartialRotaryFactor, 1); f != 1 {
		return fmt.Errorf("partial_rotary_factor is %g, want 1", f)
	}
	if !isNull(j.QuantizationConfig) {
		return fmt.Errorf("quantization_config is set: quantised safetensors are not supported; use the bf16, f16 or f32 weights, or a GGUF file")
	}
	return j.slidingWindow()
}

// slidingWindow refuses a sliding window that some layer uses; Qwen2.5's configurations carry the numbers of one that none does.
// The rule for absent layer_types is transformers' Qwen2Config's: layers from max_window_layers (28 if absent) on.
func (j *configJSON) slidingWindow() error {
	for i, t := range j.LayerTypes {
		if t != "full_attention" {
			return fmt.Errorf("layer_types[%d] is %q, want \"full_attention\": sliding windows are not supported", i, t)
		}
	}
	if j.UseSlidingWindow && j.LayerTypes == nil && or(j.SlidingWindow, 4096) > 0 && or(j.MaxWindowLayers, 28) < j.NumHiddenLayers {
		return fmt.Errorf("use_sliding_window is true with max_window_layers %d of %d layers: sliding windows are not supported", or(j.MaxWindowLayers, 28), j.NumHiddenLayers)
	}
	return nil
}

// ropeTheta takes the base from rope_theta or from rope_parameters (transformers 5), which must agree, and refuses any scaling.
func (j *configJSON) ropeTheta() (float64, error) {
	theta := j.RopeTheta
	for _, p := range []struct {
		key string
		raw json.RawMessage
	}{{"rope_scaling", j.RopeScaling}, {"rope_parameters", j.RopeParameters}} {
		if isNull(p.raw) {
			continue
		}
		var r struct {
			RopeType            string   `json:"rope_type"`
			Type                string   `json:"type"`
			RopeTheta           *float64 `json:"rope_theta"`
			Factor              *float64 `json:"factor"`
			PartialRotaryFactor *float64 `json:"partial_rotary_factor"`
		}
		if err := json.Unmarshal(p.raw, &r); err != nil {
			return 0, fmt.Errorf("%s: want an object with rope_type: %w", p.key, err)
		}
		kind := r.RopeType
		if kind == "" {
			kind = r.Type
		}
		if kind == "" && p.key == "rope_parameters" && r.RopeTheta != nil {
			kind = "default"
		}
		if kind != "default" {
			return 0, fmt.Errorf("%s has rope_type %q, want \"default\": rope scaling is not supported", p.key, kind)
		}
		if or(r.Factor, 1) != 1 || or(r.PartialRotaryFactor, 1) != 1 {
			return 0, fmt.Errorf("%s sets a factor other than 1: rope scaling is not supported", p.key)
		}
		if r.RopeTheta != nil {
			if theta != nil && *theta != *r.RopeTheta {
				return 0, fmt.Errorf("rope_theta is %g but %s says %g: make them agree", *theta, p.key, *r.RopeTheta)
			}
			theta = r.RopeTheta
		}
	}
	return or(theta, 10000), nil
}

// decimal writes a number with a point, as Python tells a float from an int.
type decimal float64

func (d decimal) MarshalJSON() ([]byte, error) {
	s := strconv.FormatFloat(float64(d), 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return []byte(s), nil
}

// MarshalJSON writes c as a Hugging Face config.json that transformers 4 and 5 read.
func (c Config) MarshalJSON() ([]byte, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	id := func(id int32) *int32 {
		if id < 0 {
			return nil
		}
		return &id
	}
	var eos any
	switch len(c.EOSTokenIDs) {
	case 0:
	case 1:
		eos = c.EOSTokenIDs[0]
	default:
		eos = c.EOSTokenIDs
	}
	return json.Marshal(struct {
		Architectures         []string `json:"architectures"`
		AttentionDropout      decimal  `json:"attention_dropout"`
		BOS                   *int32   `json:"bos_token_id"`
		EOS                   any      `json:"eos_token_id"`
		HeadDim               int      `json:"head_dim"`
		HiddenAct             string   `json:"hidden_act"`
		HiddenSize            int      `json:"hidden_size"`
		IntermediateSize      int      `json:"intermediate_size"`
		MaxPositionEmbeddings int      `json:"max_position_embeddings"`
		ModelType             string   `json:"model_type"`
		NumAttentionHeads     int      `json:"num_attention_heads"`
		NumHiddenLayers       int      `json:"num_hidden_layers"`
		NumKeyValueHeads      int      `json:"num_key_value_heads"`
		Pad                   *int32   `json:"pad_token_id"`
		RMSNormEps            decimal  `json:"rms_norm_eps"`
		RopeScaling           any      `json:"rope_scaling"`
		RopeTheta             decimal  `json:"rope_theta"`
		TieWordEmbeddings     bool     `json:"tie_word_embeddings"`
		TorchDType            string   `json:"torch_dtype,omitempty"`
		UseSlidingWindow      bool     `json:"use_sliding_window"`
		VocabSize             int      `json:"vocab_size"`
	}{
		[]string{"Qwen2ForCausalLM"}, 0, id(c.BOSTokenID), eos, c.HeadDim, "silu", c.HiddenSize, c.IntermediateSize,
		c.MaxPositionEmbeddings, "qwen2", c.NumAttentionHeads, c.NumHiddenLayers, c.NumKeyValueHeads, id(c.PadTokenID),
		decimal(c.RMSNormEps), nil, decimal(c.RopeTheta), c.TieWordEmbeddings, c.DType, false, c.VocabSize,
	})
}
