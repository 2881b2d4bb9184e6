package checkpoint

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"teamtalk/model/tokenizer"
)

// openGGUF opens a GGUF file of a Qwen2 model and names its tensors as Hugging Face does. For this architecture
// llama.cpp's converter leaves q and k as they are (it permutes them for Llama only), so a tensor is used as it is stored.
func openGGUF(path string) (_ *Checkpoint, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	g, err := parseGGUF(f, st.Size())
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{Format: "gguf", tensors: map[string]tensor{}, files: []weightFile{{path, st.Size(), f, f}}}
	for _, e := range g.tensors {
		name, err := hfName(e.name)
		if err != nil {
			return nil, err
		}
		c.tensors[name] = tensor{e, f}
	}
	if c.Config, err = ggufConfig(g, c.tensors); err != nil {
		return nil, err
	}
	if err := c.tieGGUF(); err != nil {
		return nil, err
	}
	if err := check(c.Config, c.tensors); err != nil {
		return nil, err
	}
	if c.Config.TieWordEmbeddings {
		c.tensors["lm_head.weight"] = c.tensors["model.embed_tokens.weight"]
	}
	if len(c.Config.EOSTokenIDs) > 1 {
		c.Notes = append(c.Notes, fmt.Sprintf("tokens %v end a reply: the file names the first, the others are control tokens known by their text", c.Config.EOSTokenIDs))
	}
	c.hashes = hashFiles(c.files)
	c.vocab = func() (*tokenizer.Tokenizer, error) { return ggufTokenizer(g) }
	return c, nil
}

// ggufNames maps the tensors of llama.cpp's LLM_ARCH_QWEN2 (gguf-py, constants.py) outside and inside a block.
var (
	ggufNames = map[string]string{
		"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight", "output.weight": "lm_head.weight",
	}
	ggufBlockNames = map[string]string{
		"attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
		"attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
		"ffn_down": "mlp.down_proj",
	}
)

func hfName(name string) (string, error) {
	if n, ok := ggufNames[name]; ok {
		return n, nil
	}
	if rest, ok := strings.CutPrefix(name, "blk."); ok {
		layer, rest, _ := strings.Cut(rest, ".")
		part, kind, _ := strings.Cut(rest, ".")
		n, ok := ggufBlockNames[part]
		if l, err := strconv.Atoi(layer); ok && err == nil && strconv.Itoa(l) == layer && (kind == "weight" || kind == "bias") {
			return "model.layers." + layer + "." + n + "." + kind, nil
		}
	}
	return "", fmt.Errorf("tensor %s: no part of a Qwen2 model", name)
}

// ggufConfig reads the architecture from the metadata.
func ggufConfig(g *ggufFile, tensors map[string]tensor) (Config, error) {
	m := metadata{g.meta, nil}
	if arch := m.str("general.architecture"); arch != "qwen2" {
		return Config{}, fmt.Errorf("general.architecture is %q, want \"qwen2\": other architectures are not supported", arch)
	}
	for _, s := range []struct{ key, off string }{
		{"qwen2.rope.scaling.type", "none"}, {"qwen2.rope.scaling.factor", "1"}, {"qwen2.rope.scale_linear", "1"},
		{"qwen2.attention.sliding_window", "0"}, {"qwen2.expert_count", "0"}, {"split.count", "1"},
	} {
		if v, ok := g.meta[s.key]; ok && fmt.Sprint(v) != s.off && fmt.Sprint(v) != "0" {
			return Config{}, fmt.Errorf("%s is %v, want %s: not supported", s.key, v, s.off)
		}
	}
	c := Config{
		HiddenSize: m.int("qwen2.embedding_length"), IntermediateSize: m.int("qwen2.feed_forward_length"),
		NumHiddenLayers: m.int("qwen2.block_count"), NumAttentionHeads: m.int("qwen2.attention.head_count"),
		NumKeyValueHeads: m.intOr("qwen2.attention.head_count_kv", m.int("qwen2.attention.head_count")), MaxPositionEmbeddings: m.int("qwen2.context_length"),
		RopeTheta: m.float("qwen2.rope.freq_base", 10000), RMSNormEps: m.float("qwen2.attention.layer_norm_rms_epsilon", math.NaN()),
		BOSTokenID: int32(m.intOr("tokenizer.ggml.bos_token_id", -1)), PadTokenID: int32(m.intOr("tokenizer.ggml.padding_token_id", -1)),
	}
	if m.err != nil {
		return c, m.err
	}
	if embed, ok := tensors["model.embed_tokens.weight"]; ok {
		c.VocabSize = embed.shape[0]
	} else {
		return c, fmt.Errorf("tensor token_embd.weight: missing")
	}
	if c.NumAttentionHeads > 0 {
		c.HeadDim = c.HiddenSize / c.NumAttentionHeads
	}
	c.HeadDim = m.intOr("qwen2.attention.key_length", c.HeadDim)
	for _, key := range []string{"qwen2.rope.dimension_count", "qwen2.attention.value_length"} {
		if n := m.intOr(key, c.HeadDim); n != c.HeadDim {
			return c, fmt.Errorf("%s is %d, want the head width %d: not supported", key, n, c.HeadDim)
		}
	}
	c.EOSTokenIDs = ggufEOS(&m)
	if m.err != nil {
		return c, m.err
	}
	return c, c.Validate()
}

// ggufEOS lists the tokens that end a reply. The metadata names one; a folder of Qwen2.5-Instruct names two
// (generation_config.json), so the other is found by its text among the control tokens.
func ggufEOS(m *metadata) []int32 {
	var ids []int32
	add := func(id int) {
		if id >= 0 && !slices.Contains(ids, int32(id)) {
			ids = append(ids, int32(id))
		}
	}
	add(m.intOr("tokenizer.ggml.eos_token_id", -1))
	tokens, _ := m.meta["tokenizer.ggml.tokens"].([]string)
	types, _ := m.meta["tokenizer.ggml.token_type"].([]int64)
	for _, name := range []string{"<|im_end|>", "<|endoftext|>"} {
		if id := slices.Index(tokens, name); id >= 0 && id < len(types) && types[id] == tokenizer.GGUFControl {
			add(id)
		}
	}
	return ids
}

func ggufTokenizer(g *ggufFile) (*tokenizer.Tokenizer, error) {
	m := metadata{g.meta, nil}
	kind, pre := m.str("tokenizer.ggml.model"), m.str("tokenizer.ggml.pre")
	switch {
	case m.err != nil:
		return nil, m.err
	case kind != "gpt2":
		return nil, fmt.Errorf("tokenizer.ggml.model is %q, want \"gpt2\" (byte-level BPE)", kind)
	case pre != "qwen2":
		return nil, fmt.Errorf("tokenizer.ggml.pre is %q, want \"qwen2\"", pre)
	}
	if add, _ := g.meta["tokenizer.ggml.add_bos_token"].(bool); add {
		return nil, fmt.Errorf("tokenizer.ggml.add_bos_token is true: not supported")
	}
	tokens, _ := g.meta["tokenizer.ggml.tokens"].([]string)
	merges, _ := g.meta["tokenizer.ggml.merges"].([]string)
	types, _ := g.meta["tokenizer.ggml.token_type"].([]int64)
	t, err := tokenizer.FromGGUF(tokens, merges, types)
	if err != nil {
		return nil, fmt.Errorf("tokenizer.ggml: %w", err)
	}
	return t, nil
}

// tieGGUF decides whether the head is the embedding. A GGUF file does not say: without output.weight it is; with it,
// llama.cpp may have stored one tied matrix twice, at two precisions (Qwen2.5 up to 3B), or the model may be untied (7B on).
// The two cases are far apart: copies differ by rounding (cosine over 0.99), untied matrices are unrelated. Of two copies the
// finer serves for both, as one matrix did when the model was trained.
func (c *Checkpoint) tieGGUF() error {
	head, stored := c.tensors["lm_head.weight"]
	if !stored {
		c.Config.TieWordEmbeddings = true
		return nil
	}
	embed := c.tensors["model.embed_tokens.weight"]
	if !slices.Equal(embed.shape, head.shape) || len(head.shape) != 2 {
		return nil // check names the wrong one
	}
	cos, err := rowCosine(embed, head)
	if err != nil {
		return err
	}
	if cos < 0.95 {
		return nil
	}
	c.Config.TieWordEmbeddings = true
	used, from := head, "output.weight"
	if embed.enc.bits() > head.enc.bits() {
		used, from = embed, "token_embd.weight"
	}
	c.tensors["model.embed_tokens.weight"] = used
	delete(c.tensors, "lm_head.weight")
	c.Notes = append(c.Notes, fmt.Sprintf("the tied matrix is stored twice, token_embd.weight in %s and output.weight in %s (cosine %.4f over a sample of rows): %s, in %s, serves as embedding and head",
		embed.dtype, head.dtype, cos, from, used.dtype))
	return nil
}

// rowCosine compares two matrices of one shape on 64 rows spread evenly.
func rowCosine(a, b tensor) (float64, error) {
	rows, width := a.shape[0], a.shape[1]
	x, y := make([]float32, width), make([]float32, width)
	var xx, yy, xy float64
	for i := range min(rows, 64) {
		row := i * rows / min(rows, 64)
		for _, t := range []struct {
			tensor
			dst []float32
		}{{a, x}, {b, y}} {
			rowBytes := int64(width / t.enc.n * t.enc.size)
			raw := make([]byte, rowBytes)
			if _, err := t.file.ReadAt(raw, t.off+int64(row)*rowBytes); err != nil && err != io.EOF {
				return 0, fmt.Errorf("tensor %s: %w", t.name, err)
			}
			t.enc.toF32(raw, t.dst)
		}
		for j := range x {
			xx += float64(x[j]) * float64(x[j])
			yy += float64(y[j]) * float64(y[j])
			xy += float64(x[j]) * float64(y[j])
		}
	}
	if xx == 0 || yy == 0 {
		return 0, nil
	}
	return xy / math.Sqrt(xx*yy), nil
}

// metadata reads typed values and keeps the first error.
type metadata struct {
	meta map[string]any
	err  error
}

func (m *metadata) fail(key, want string) {
	if m.err != nil {
		return
	}
	if v, ok := m.meta[key]; ok {
		m.err = fmt.Errorf("metadata %s is %v, want %s", key, v, want)
	} else {
		m.err = fmt.Errorf("metadata %s: missing", key)
	}
}

func (m *metadata) str(key string) string {
	s, ok := m.meta[key].(string)
	if !ok {
		m.fail(key, "a string")
	}
	return s
}

func (m *metadata) int(key string) int {
	switch v := m.meta[key].(type) {
	case uint64:
		if v <= math.MaxInt32 {
			return int(v)
		}
	case int64:
		if v >= 0 && v <= math.MaxInt32 {
			return int(v)
		}
	}
	m.fail(key, "a whole number below 2^31")
	return 0
}

func (m *metadata) intOr(key string, def int) int {
	if _, ok := m.meta[key]; !ok {
		return def
	}
	return m.int(key)
}

// float reads a number; def is for an absent key, NaN meaning that it must be there.
func (m *metadata) float(key string, def float64) float64 {
	if _, ok := m.meta[key]; !ok && def == def {
		return def
	}
	v, ok := m.meta[key].(float64)
	if !ok {
		m.fail(key, "a number")
	}
	return v
}
