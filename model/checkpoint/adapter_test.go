package checkpoint

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func peftConfig(t testing.TB) Config {
	raw, err := os.ReadFile("testdata/config.json")
	if err != nil {
		t.Fatal(err)
	}
	c, err := ParseConfig(raw)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// An adapter that PEFT saved is read, and written again byte for byte.
func TestAdapterRoundTrip(t *testing.T) {
	cfg := peftConfig(t)
	a, err := ReadAdapter("testdata/adapter", cfg)
	if err != nil {
		t.Fatal(err)
	}
	if a.R != 4 || a.Alpha != 8 || a.Scale() != 2 || !slices.Equal(a.TargetModules, Linears) || a.BaseModel != "" {
		t.Errorf("%+v", a)
	}
	want := readSafetensors(t, "testdata/adapter/"+adapterWeightsFile)
	if got := a.Layers[1]["down_proj"].B; !slices.Equal(got, want["base_model.model.model.layers.1.mlp.down_proj.lora_B.weight"]) {
		t.Error("the B of layer 1's down_proj differs")
	}
	dir := filepath.Join(t.TempDir(), "adapter")
	if _, err := WriteAdapter(dir, cfg, a); err != nil {
		t.Fatal(err)
	}
	made, err1 := os.ReadFile(filepath.Join(dir, adapterWeightsFile))
	peft, err2 := os.ReadFile("testdata/adapter/" + adapterWeightsFile)
	if err1 != nil || err2 != nil || !bytes.Equal(made, peft) {
		t.Errorf("the file differs from PEFT's (%v, %v)", err1, err2)
	}
	again, err := ReadAdapter(dir, cfg)
	if err != nil || fmt.Sprint(again) != fmt.Sprint(a) {
		t.Errorf("read back: %v", err)
	}
	if _, err := WriteAdapter(dir, cfg, a); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("written over an adapter: %v", err)
	}
}

func TestAdapterScale(t *testing.T) {
	if got := (&Adapter{R: 16, Alpha: 32, RSLoRA: true}).Scale(); got != 8 {
		t.Errorf("rank-stabilised: %g, want 32/sqrt(16)", got)
	}
	if got := (&Adapter{R: 16, Alpha: 32}).Scale(); got != 2 {
		t.Errorf("plain: %g, want 32/16", got)
	}
}

// Adapters on some of the linears, with a base model's name, keep both.
func TestAdapterOnSomeLinears(t *testing.T) {
	cfg := peftConfig(t)
	a := &Adapter{R: 1, Alpha: 1.5, RSLoRA: true, Dropout: 0.05, TargetModules: []string{"q_proj", "v_proj"}, BaseModel: "Qwen/Qwen2.5-0.5B"}
	for range cfg.NumHiddenLayers {
		a.Layers = append(a.Layers, map[string]LoRA{"q_proj": {make([]float32, 64), make([]float32, 64)}, "v_proj": {make([]float32, 64), make([]float32, 32)}})
	}
	dir := t.TempDir()
	if _, err := WriteAdapter(dir, cfg, a); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadAdapter(dir, cfg); err != nil || fmt.Sprint(got) != fmt.Sprint(a) {
		t.Errorf("%v %v, want %v", got, err, a)
	}
}

func TestReadAdapterRefuses(t *testing.T) {
	config, err := os.ReadFile("testdata/adapter/" + adapterConfigFile)
	if err != nil {
		t.Fatal(err)
	}
	weights, err := os.ReadFile("testdata/adapter/" + adapterWeightsFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why, file, old, new, want string
	}{
		{"another method", adapterConfigFile, `"LORA"`, `"IA3"`, `peft_type is "IA3"`},
		{"DoRA", adapterConfigFile, `"use_dora": false`, `"use_dora": true`, "use_dora is true"},
		{"trained copies of whole modules", adapterConfigFile, `"modules_to_save": null`, `"modules_to_save": ["lm_head"]`, "modules_to_save is [lm_head]"},
		{"ranks of their own", adapterConfigFile, `"rank_pattern": {}`, `"rank_pattern": {"q_proj": 8}`, "rank_pattern"},
		{"alphas of their own", adapterConfigFile, `"alpha_pattern": {}`, `"alpha_pattern": {"q_proj": 8}`, "alpha_pattern"},
		{"some layers only", adapterConfigFile, `"layers_to_transform": null`, `"layers_to_transform": [0]`, "layers_to_transform"},
		{"biases", adapterConfigFile, `"bias": "none"`, `"bias": "lora_only"`, `bias is "lora_only"`},
		{"biases of LoRA's own", adapterConfigFile, `"lora_bias": false`, `"lora_bias": true`, "lora_bias is true"},
		{"transposed weights", adapterConfigFile, `"fan_in_fan_out": false`, `"fan_in_fan_out": true`, "fan_in_fan_out is true"},
		{"a base that the initialisation changed", adapterConfigFile, `"init_lora_weights": true`, `"init_lora_weights": "pissa"`, `init_lora_weights is "pissa"`},
		{"a variant of the future", adapterConfigFile, `"velora_config": null`, `"new_config": {"x": 1}`, "new_config"},
		{"a classifier", adapterConfigFile, `"CAUSAL_LM"`, `"SEQ_CLS"`, `task_type is "SEQ_CLS"`},
		{"modules by a pattern", adapterConfigFile, `"target_modules": [`, `"target_modules": ".*", "x": [`, "target_modules is"},
		{"a module that is no linear", adapterConfigFile, `"up_proj"`, `"embed_tokens"`, `target_modules has "embed_tokens"`},
		{"a module twice", adapterConfigFile, `"up_proj"`, `"q_proj"`, `"q_proj" twice`},
		{"a module without weights", adapterWeightsFile, `layers.1.mlp.up_proj.lora_A`, `layers.7.mlp.up_proj.lora_A`, "tensor base_model.model.model.layers.1.mlp.up_proj.lora_A.weight: missing"},
		{"weights without a module", adapterConfigFile, `"up_proj",`, ``, "up_proj.lora_A.weight: belongs to no target module"},
		{"another rank", adapterConfigFile, `"r": 4`, `"r": 8`, "shape [4 64], the model and r=8 need [8 64]"},
		{"no rank", adapterConfigFile, `"r": 4`, `"r": 0`, "r is 0"},
		{"no alpha", adapterConfigFile, `"lora_alpha": 8,`, ``, "lora_alpha is missing"},
		{"whole numbers", adapterWeightsFile, `"F32"`, `"I32"`, "dtype I32"},
		{"no JSON", adapterConfigFile, `{`, `[`, adapterConfigFile},
	} {
		dir := t.TempDir()
		for _, f := range []struct {
			name string
			data []byte
		}{{adapterConfigFile, config}, {adapterWeightsFile, weights}} {
			data := f.data
			if f.name == c.file {
				if data = bytes.Replace(data, []byte(c.old), []byte(c.new), 1); bytes.Equal(data, f.data) {
					t.Errorf("%s: %q is not in the file: the case tests nothing", c.why, c.old)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, f.name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := ReadAdapter(dir, peftConfig(t)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", c.why, err, c.want)
		}
	}
	for _, missing := range []string{adapterConfigFile, adapterWeightsFile} {
		dir := t.TempDir()
		os.WriteFile(filepath.Join(dir, adapterConfigFile), config, 0o600)
		os.WriteFile(filepath.Join(dir, adapterWeightsFile), weights, 0o600)
		os.Remove(filepath.Join(dir, missing))
		if _, err := ReadAdapter(dir, peftConfig(t)); err == nil || !strings.Contains(err.Error(), missing) {
			t.Errorf("no %s: error %v", missing, err)
		}
	}
	larger := peftConfig(t)
	larger.NumHiddenLayers = 3
	if _, err := ReadAdapter("testdata/adapter", larger); err == nil || !strings.Contains(err.Error(), "layers.2.self_attn.q_proj.lora_A.weight: missing") {
		t.Errorf("an adapter for another model: %v", err)
	}
}

func TestWriteAdapterRefuses(t *testing.T) {
	cfg := peftConfig(t)
	for _, c := range []struct {
		why    string
		change func(*Adapter)
		want   string
	}{
		{"no rank", func(a *Adapter) { a.R = 0 }, "rank 0"},
		{"a module that is no linear", func(a *Adapter) { a.TargetModules = []string{"lm_head"} }, `"lm_head"`},
		{"too few layers", func(a *Adapter) { a.Layers = a.Layers[:1] }, "it has 1 layers, the model 2"},
		{"a module without weights", func(a *Adapter) { delete(a.Layers[1], "k_proj") }, "layer 1 has 6 pairs"},
		{"a matrix of another rank", func(a *Adapter) { a.R = 8 }, "has 256 values, shape [8 64] needs 512"},
	} {
		a, err := ReadAdapter("testdata/adapter", cfg)
		if err != nil {
			t.Fatal(err)
		}
		c.change(a)
		dir := filepath.Join(t.TempDir(), "x")
		if _, err := WriteAdapter(dir, cfg, a); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", c.why, err, c.want)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: a folder was made", c.why)
		}
	}
}
