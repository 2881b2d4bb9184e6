package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"teamtalk/model/tokenizer"
)

// tinyConfig is a model of one layer; tinyTensors are random weights for it.
var tinyConfig = Config{
	HiddenSize: 8, IntermediateSize: 12, NumHiddenLayers: 1, NumAttentionHeads: 2, NumKeyValueHeads: 1, HeadDim: 4, VocabSize: 300,
	MaxPositionEmbeddings: 64, RopeTheta: 1e4, RMSNormEps: 1e-6, TieWordEmbeddings: true, EOSTokenIDs: []int32{2, 0}, BOSTokenID: -1, PadTokenID: 0, DType: "bfloat16",
}

func tinyTensors(cfg Config) (out []Tensor) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range cfg.Specs() {
		data := make([]float32, numel(s.Shape))
		for i := range data {
			data[i] = r.Float32() - 0.5
		}
		out = append(out, Tensor{s.Name, s.Shape, data})
	}
	return out
}

// What is written is what is read, in both types, from a folder and from an embedded file system.
func TestWriteFolder(t *testing.T) {
	tok, err := tokenizer.Train([]string{"one two one two"}, 270, []string{"<|endoftext|>", "<|im_start|>", "<|im_end|>"})
	if err != nil {
		t.Fatal(err)
	}
	for _, dtype := range []string{"bfloat16", "float32"} {
		for _, tied := range []bool{true, false} {
			cfg := tinyConfig
			cfg.DType, cfg.TieWordEmbeddings = dtype, tied
			dir := filepath.Join(t.TempDir(), "made", "by", "the", "writer")
			tensors := tinyTensors(cfg)
			if err := WriteFolder(dir, cfg, tok, tensors); err != nil {
				t.Fatal(err)
			}
			fromDir, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			fromFS, err := OpenFS(os.DirFS(dir))
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []*Checkpoint{fromDir, fromFS} {
				if fmt.Sprintf("%+v", c.Config) != fmt.Sprintf("%+v", cfg) {
					t.Errorf("configuration %+v, want %+v", c.Config, cfg)
				}
				for _, want := range tensors {
					got, got16 := make([]float32, len(want.Data)), make([]uint16, len(want.Data))
					if err := c.ReadF32(want.Name, got); err != nil {
						t.Fatal(err)
					}
					if err := c.ReadBF16(want.Name, got16); err != nil {
						t.Fatal(err)
					}
					for i, v := range want.Data {
						if dtype == "bfloat16" {
							v = F32(BF16(v))
						}
						if got[i] != v || got16[i] != BF16(v) {
							t.Fatalf("%s %s[%d]: %g and %#04x, want %g", dtype, want.Name, i, got[i], got16[i], v)
						}
					}
				}
				if got, err := c.Tokenizer(); err != nil || got.VocabSize() != tok.VocabSize() {
					t.Errorf("tokenizer: %v", err)
				}
				head := make([]float32, 300*8)
				if err := c.ReadF32("lm_head.weight", head); err != nil {
					t.Errorf("the head, tied %v: %v", tied, err)
				}
				c.Close()
			}
			left, _ := filepath.Glob(filepath.Join(dir, ".*"))
			if len(left) > 0 {
				t.Errorf("temporary files left: %v", left)
			}
			if err := WriteFolder(dir, cfg, tok, tensors); err == nil || !strings.Contains(err.Error(), "exists already") {
				t.Errorf("written over a model: %v", err)
			}
		}
	}
}

func TestWriteFolderRefuses(t *testing.T) {
	tok, _ := tokenizer.Train([]string{"x"}, 256, nil)
	for _, c := range []struct {
		why    string
		change func(*Config, *[]Tensor)
		want   string
	}{
		{"no type", func(c *Config, _ *[]Tensor) { c.DType = "" }, `cannot write weights as ""`},
		{"a tensor too few", func(_ *Config, ts *[]Tensor) { *ts = (*ts)[1:] }, "tensor model.embed_tokens.weight: missing"},
		{"a tensor too many", func(_ *Config, ts *[]Tensor) { *ts = append(*ts, Tensor{"x", []int{1}, []float32{1}}) }, "tensor x: unused"},
		{"a tensor twice", func(_ *Config, ts *[]Tensor) { *ts = append(*ts, (*ts)[0]) }, "tensor model.embed_tokens.weight: given twice"},
		{"the wrong shape", func(_ *Config, ts *[]Tensor) { (*ts)[0].Shape = []int{8, 300} }, "shape [8 300], the configuration needs [300 8]"},
		{"fewer values than the shape", func(_ *Config, ts *[]Tensor) { (*ts)[0].Data = nil }, "the data 0"},
		{"a vocabulary smaller than the tokenizer", func(c *Config, ts *[]Tensor) { c.VocabSize = 255; *ts = tinyTensors(*c) }, "the tokenizer has 256 tokens"},
		{"a configuration that is none", func(c *Config, _ *[]Tensor) { c.NumKeyValueHeads = 0 }, "num_key_value_heads is 0"},
	} {
		cfg, tensors := tinyConfig, tinyTensors(tinyConfig)
		c.change(&cfg, &tensors)
		dir := filepath.Join(t.TempDir(), "x")
		if err := WriteFolder(dir, cfg, tok, tensors); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", c.why, err, c.want)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
			t.Errorf("%s: left %v", c.why, left)
		}
	}
}

// tinyFolder is the tiny model as a file system, its weights in the given shards (or in one file, if there is one).
func tinyFolder(t testing.TB, shards ...[]Tensor) fstest.MapFS {
	config, err := json.Marshal(tinyConfig)
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{"config.json": {Data: config}}
	index := map[string]string{}
	for i, tensors := range shards {
		name := fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, len(shards))
		if len(shards) == 1 {
			name = singleFile
		}
		var b bytes.Buffer
		if err := writeSafetensors(&b, tensors, "F32"); err != nil {
			t.Fatal(err)
		}
		fsys[name] = &fstest.MapFile{Data: b.Bytes()}
		for _, ts := range tensors {
			index[ts.Name] = name
		}
	}
	if len(shards) > 1 {
		raw, err := json.Marshal(map[string]any{"metadata": map[string]int{"total_size": 1}, "weight_map": index})
		if err != nil {
			t.Fatal(err)
		}
		fsys[indexFile] = &fstest.MapFile{Data: raw}
	}
	return fsys
}

func TestOpenShards(t *testing.T) {
	all := tinyTensors(tinyConfig)
	fsys := tinyFolder(t, all[:5], all[5:])
	c, err := OpenFS(fsys)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range all {
		got := make([]float32, len(want.Data))
		if err := c.ReadF32(want.Name, got); err != nil || !slices.Equal(got, want.Data) {
			t.Errorf("%s: the values differ (%v)", want.Name, err)
		}
	}
	sum := func(name string) string { return fmt.Sprintf("%x  %s\n", sha256.Sum256(fsys[name].Data), name) }
	want := fmt.Sprintf("%x", sha256.Sum256([]byte(sum("model-00001-of-00002.safetensors")+sum("model-00002-of-00002.safetensors"))))
	if got, err := c.SHA256(); err != nil || got != want {
		t.Errorf("digest %s %v, want %s", got, err, want)
	}
	files, err := c.Files()
	if err != nil || len(files) != 2 || files[0].Name != "model-00001-of-00002.safetensors" || files[1].Bytes != int64(len(fsys[files[1].Name].Data)) {
		t.Errorf("files %+v, %v", files, err)
	}
}

func TestOpenFolderNotes(t *testing.T) {
	tensors := append(tinyTensors(tinyConfig), Tensor{"lm_head.weight", []int{300, 8}, make([]float32, 2400)},
		Tensor{"model.layers.0.self_attn.rotary_emb.inv_freq", []int{2}, make([]float32, 2)})
	fsys := tinyFolder(t, tensors)
	fsys["generation_config.json"] = &fstest.MapFile{Data: []byte(`{"eos_token_id":[2,7],"temperature":0.7}`)}
	c, err := OpenFS(fsys)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Config.EOSTokenIDs, []int32{2, 0, 7}) {
		t.Errorf("ends of a reply %v, want those of both files", c.Config.EOSTokenIDs)
	}
	if len(c.Notes) != 1 || !strings.Contains(c.Notes[0], "lm_head.weight is not read") {
		t.Errorf("notes %q", c.Notes)
	}
	head, embed := make([]float32, 2400), make([]float32, 2400)
	if err := c.ReadF32("lm_head.weight", head); err != nil {
		t.Fatal(err)
	}
	if err := c.ReadF32("model.embed_tokens.weight", embed); err != nil || !slices.Equal(head, embed) {
		t.Errorf("the tied head is not the embedding (%v)", err)
	}
}

func TestOpenFolderRefuses(t *testing.T) {
	all := tinyTensors(tinyConfig)
	with := func(i int, f func(*Tensor)) []Tensor {
		ts := slices.Clone(all)
		f(&ts[i])
		return ts
	}
	edit := func(fsys fstest.MapFS, name, old, new string) fstest.MapFS {
		changed := strings.Replace(string(fsys[name].Data), old, new, 1)
		if changed == string(fsys[name].Data) {
			t.Errorf("%q is not in %s: the case tests nothing", old, name)
		}
		fsys[name] = &fstest.MapFile{Data: []byte(changed)}
		return fsys
	}
	without := func(fsys fstest.MapFS, name string) fstest.MapFS {
		delete(fsys, name)
		return fsys
	}
	const second = "model-00002-of-00002.safetensors"
	for _, c := range []struct {
		why  string
		fsys fstest.MapFS
		want string
	}{
		{"no configuration", without(tinyFolder(t, all), "config.json"), "want a Hugging Face folder with config.json"},
		{"no weights", without(tinyFolder(t, all), singleFile), "no weights: want model.safetensors"},
		{"a missing tensor", tinyFolder(t, all[1:]), "tensor model.embed_tokens.weight: missing; the configuration needs it with shape [300 8]"},
		{"an unused tensor", tinyFolder(t, with(0, func(t *Tensor) {}), []Tensor{{"model.layers.1.mlp.up_proj.weight", []int{1}, []float32{1}}}), "tensor model.layers.1.mlp.up_proj.weight: unused"},
		{"a wrong shape", tinyFolder(t, with(0, func(t *Tensor) { t.Shape = []int{8, 300} })), "tensor model.embed_tokens.weight: shape [8 300]"},
		{"a type that holds no weights", edit(tinyFolder(t, all), singleFile, `"F32"`, `"I32"`), "dtype I32 cannot be read as weights"},
		{"an end of a reply outside the vocabulary", func() fstest.MapFS {
			f := tinyFolder(t, all)
			f["generation_config.json"] = &fstest.MapFile{Data: []byte(`{"eos_token_id":300}`)}
			return f
		}(), "generation_config.json: special token id 300"},
		{"a missing shard", without(tinyFolder(t, all[:5], all[5:]), second), second},
		{"a shard in another folder", edit(tinyFolder(t, all[:5], all[5:]), indexFile, second, "../"+second), "is not the name of a .safetensors file in the folder"},
		{"a tensor that the index has and the shard has not", edit(tinyFolder(t, all[:5], all[5:]), indexFile, `"model.norm.weight"`, `"model.norm.bias"`), "tensor model.norm.bias is missing"},
		{"a tensor in two shards", tinyFolder(t, all[:5], all[4:]), "model-00001-of-00002.safetensors"},
		{"a damaged shard", edit(tinyFolder(t, all[:5], all[5:]), second, `"shape":[`, `"shape":[1,-`), second + ": tensor"},
		{"another configuration", edit(tinyFolder(t, all), "config.json", `"num_hidden_layers":1`, `"num_hidden_layers":2`), "tensor model.layers.1.input_layernorm.weight: missing"},
	} {
		if _, err := OpenFS(c.fsys); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", c.why, err, c.want)
		}
	}
	c, err := OpenFS(tinyFolder(t, all))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Tokenizer(); err == nil || !strings.Contains(err.Error(), "no tokenizer.json") {
		t.Errorf("a folder without a tokenizer: %v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "no model at") {
		t.Errorf("no such path: %v", err)
	}
}

// For a tokenizer alone no weights are needed, and the size of the vocabulary is the model's.
func TestOpenTokenizer(t *testing.T) {
	json, err := os.ReadFile("../tokenizer/testdata/train/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	config := func(vocab int) string {
		return fmt.Sprintf(strings.Replace(base, `"vocab_size":151936`, `"vocab_size":%d,"bos_token_id":0,"eos_token_id":2`, 1), vocab)
	}
	for _, c := range []struct {
		why   string
		files map[string]string
		vocab int
		want  string
	}{
		{"a tokenizer", map[string]string{"tokenizer.json": string(json)}, 423, ""},
		{"with a configuration", map[string]string{"tokenizer.json": string(json), "config.json": config(512)}, 512, ""},
		{"of another model", map[string]string{"tokenizer.json": string(json), "config.json": config(400)}, 0, "423 tokens, the model's vocabulary 400"},
		{"none", map[string]string{"config.json": config(512)}, 0, "no tokenizer.json"},
		{"a damaged one", map[string]string{"tokenizer.json": string(json[1:])}, 0, "tokenizer.json: not a tokenizer.json"},
		{"with an unsupported configuration", map[string]string{"tokenizer.json": string(json), "config.json": "{}"}, 0, "config.json: model_type"},
	} {
		dir := t.TempDir()
		for name, text := range c.files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		tok, vocab, err := OpenTokenizer(dir)
		if c.want == "" && (err != nil || vocab != c.vocab || tok.VocabSize() != 423) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: vocabulary %d, %v; want %d, %q", c.why, vocab, err, c.vocab, c.want)
		}
	}
	if tok, vocab, err := OpenTokenizer("testdata/gguf/tiny.gguf"); err != nil || vocab != 448 || tok.VocabSize() != 423 {
		t.Errorf("a GGUF file: vocabulary %d, %v", vocab, err)
	}
	if _, _, err := OpenTokenizer("testdata/gguf/blocks.gguf"); err == nil || !strings.Contains(err.Error(), "tokenizer.ggml.model: missing") {
		t.Errorf("a GGUF file without a tokenizer: %v", err)
	}
	if _, _, err := OpenTokenizer("testdata/none"); err == nil || !strings.Contains(err.Error(), "no model at testdata/none") {
		t.Errorf("no such path: %v", err)
	}
}
