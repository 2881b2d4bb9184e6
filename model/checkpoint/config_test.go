package checkpoint

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestParseConfig(t *testing.T) {
	raw, err := os.ReadFile("testdata/config.json")
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseConfig(raw)
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		HiddenSize: 64, IntermediateSize: 160, NumHiddenLayers: 2, NumAttentionHeads: 4, NumKeyValueHeads: 2, HeadDim: 16, VocabSize: 320,
		MaxPositionEmbeddings: 256, RopeTheta: 1e6, RMSNormEps: 1e-6, TieWordEmbeddings: true, EOSTokenIDs: []int32{2}, BOSTokenID: 1,
		PadTokenID: 0, DType: "float32",
	}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, ids := range [][]int32{{2}, nil, {2, 7}} { // written as a number, null and a list
		want.EOSTokenIDs = ids
		again, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ParseConfig(again); err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("written and read back: %+v %v, want %+v", got, err, want)
		}
	}
}

// base is Qwen2.5-1.5B-Instruct's config.json.
const base = `{"architectures":["Qwen2ForCausalLM"],"attention_dropout":0.0,"bos_token_id":151643,"eos_token_id":151645,"hidden_act":"silu",
"hidden_size":1536,"initializer_range":0.02,"intermediate_size":8960,"max_position_embeddings":32768,"max_window_layers":21,"model_type":"qwen2",
"num_attention_heads":12,"num_hidden_layers":28,"num_key_value_heads":2,"rms_norm_eps":1e-06,"rope_theta":1000000.0,"sliding_window":32768,
"tie_word_embeddings":true,"torch_dtype":"bfloat16","use_cache":true,"use_sliding_window":false,"vocab_size":151936}`

func TestConfigAccepts(t *testing.T) {
	for _, c := range []struct {
		why, old, new string
		check         func(Config) bool
	}{
		{"as published", "", "", func(c Config) bool { return c.HeadDim == 128 && c.Params() == 1543714304 && c.DType == "bfloat16" }},
		{"two ends of a reply", "151645", "[151645,151643]", func(c Config) bool { return len(c.EOSTokenIDs) == 2 }},
		{"the base frequency where transformers 5 has it", `"rope_theta":1000000.0`, `"rope_parameters":{"rope_type":"default","rope_theta":5e5}`, func(c Config) bool { return c.RopeTheta == 5e5 }},
		{"no base frequency: the default", `"rope_theta":1000000.0,`, ``, func(c Config) bool { return c.RopeTheta == 1e4 }},
		{"scaling that is none", `"use_cache":true`, `"rope_scaling":{"type":"default"}`, func(c Config) bool { return c.RopeTheta == 1e6 }},
		{"a window that begins above the last layer", `"use_sliding_window":false`, `"use_sliding_window":true,"max_window_layers":28`, func(Config) bool { return true }},
		{"a head width of its own", `"use_cache":true`, `"head_dim":64`, func(c Config) bool { return c.HeadDim == 64 }},
		{"a key that transformers 5 has", `"torch_dtype"`, `"dtype"`, func(c Config) bool { return c.DType == "bfloat16" }},
	} {
		if got, err := ParseConfig([]byte(strings.Replace(base, c.old, c.new, 1))); err != nil || !c.check(got) {
			t.Errorf("%s: %+v %v", c.why, got, err)
		}
	}
}

func TestConfigRefuses(t *testing.T) {
	for _, c := range []struct{ why, old, new, want string }{
		{"another architecture", `"model_type":"qwen2"`, `"model_type":"llama"`, `model_type is "llama"`},
		{"another head", `Qwen2ForCausalLM`, `Qwen2ForRewardModel`, "Qwen2ForRewardModel"},
		{"another activation", `"silu"`, `"gelu"`, `hidden_act is "gelu"`},
		{"attention without biases", `"use_cache":true`, `"attention_bias":false`, "attention_bias is false"},
		{"biases in the feed-forward", `"use_cache":true`, `"mlp_bias":true`, "mlp_bias is true"},
		{"dropout", `"attention_dropout":0.0`, `"attention_dropout":0.1`, "attention_dropout is 0.1"},
		{"a sliding window in use", `"use_sliding_window":false`, `"use_sliding_window":true`, "use_sliding_window is true with max_window_layers 21 of 28"},
		{"a sliding layer", `"use_cache":true`, `"layer_types":["full_attention","sliding_attention"]`, `layer_types[1] is "sliding_attention"`},
		{"rope scaling", `"use_cache":true`, `"rope_scaling":{"type":"yarn","factor":4.0}`, `rope_scaling has rope_type "yarn"`},
		{"rope scaling in the new place", `"use_cache":true`, `"rope_parameters":{"rope_type":"linear","factor":2,"rope_theta":1e6}`, `rope_parameters has rope_type "linear"`},
		{"rope by layer type", `"use_cache":true`, `"rope_parameters":{"full_attention":{"rope_theta":1e6}}`, "rope_parameters"},
		{"two base frequencies", `"use_cache":true`, `"rope_parameters":{"rope_type":"default","rope_theta":1e4}`, "make them agree"},
		{"part of a rotation", `"use_cache":true`, `"partial_rotary_factor":0.5`, "partial_rotary_factor is 0.5"},
		{"quantised weights", `"use_cache":true`, `"quantization_config":{"quant_method":"awq"}`, "quantization_config is set"},
		{"heads that do not divide", `"num_attention_heads":12`, `"num_attention_heads":7`, "hidden_size 1536 is not a multiple"},
		{"key heads that do not divide", `"num_key_value_heads":2`, `"num_key_value_heads":5`, "not a multiple of num_key_value_heads 5"},
		{"no layers", `"num_hidden_layers":28`, `"num_hidden_layers":0`, "num_hidden_layers is 0"},
		{"a billion layers, for which no memory may be taken", `"num_hidden_layers":28`, `"num_hidden_layers":1000000000`, "num_hidden_layers is 1000000000"},
		{"an odd head", `"use_cache":true`, `"head_dim":3`, "head_dim is 3"},
		{"an end that is no token", `151645`, `151936`, "special token id 151936"},
		{"no division by zero", `"rms_norm_eps":1e-06`, `"rms_norm_eps":0`, "rms_norm_eps is 0"},
		{"a base of one", `"rope_theta":1000000.0`, `"rope_theta":1`, "rope_theta is 1"},
		{"a size that is text", `"hidden_size":1536`, `"hidden_size":"1536"`, "hidden_size"},
		{"half a file", base[100:], ``, "not a model configuration"},
	} {
		changed := strings.Replace(base, c.old, c.new, 1)
		if changed == base {
			t.Errorf("%s: %q is not in the file: the case tests nothing", c.why, c.old)
		}
		if _, err := ParseConfig([]byte(changed)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", c.why, err, c.want)
		}
	}
}
