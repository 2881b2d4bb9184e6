package checkpoint

import (
	"fmt"
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
