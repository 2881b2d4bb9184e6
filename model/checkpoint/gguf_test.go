package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// readSafetensors reads a file whole, without a configuration.
func readSafetensors(t testing.TB, path string) map[string][]float32 {
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := bytes.NewReader(raw)
	entries, _, err := parseSafetensors(r, r.Size())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]float32{}
	for _, e := range entries {
		out[e.name] = make([]float32, numel(e.shape))
		e.enc.toF32(raw[e.off:e.off+e.size], out[e.name])
	}
	return out
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// Real quantised rows, bit for bit as the Python package of llama.cpp expands them.
func TestDequantiseEqualsGGUFPackage(t *testing.T) {
	raw, err := os.ReadFile("testdata/gguf/blocks.gguf")
	if err != nil {
		t.Fatal(err)
	}
	g, err := parseGGUF(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	want := readSafetensors(t, "testdata/gguf/expected.safetensors")
	if len(g.tensors) != 5 {
		t.Fatalf("%d tensors, want 5", len(g.tensors))
	}
	for _, e := range g.tensors {
		got := make([]float32, numel(e.shape))
		err := readValues(bytes.NewReader(raw), e.off, e.enc, len(got), func(from, to int, b *buffers) { e.enc.toF32(b.raw, got[from:to]) })
		if err != nil || !sameBits(got, want[e.name]) {
			t.Errorf("%s (%s %v): the values differ (%v)", e.name, e.dtype, e.shape, err)
		}
	}
}

// A whole model, written by that package: names, shapes, values, configuration, tokenizer, the tied matrix.
func TestOpenGGUF(t *testing.T) {
	c, err := Open("testdata/gguf/tiny.gguf")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	want := Config{
		HiddenSize: 32, IntermediateSize: 64, NumHiddenLayers: 2, NumAttentionHeads: 4, NumKeyValueHeads: 2, HeadDim: 8, VocabSize: 448,
		MaxPositionEmbeddings: 128, RopeTheta: 10000, RMSNormEps: 1e-6, TieWordEmbeddings: true, EOSTokenIDs: []int32{2, 0}, BOSTokenID: -1, PadTokenID: 0,
	}
	if got := fmt.Sprintf("%+v", c.Config); got != fmt.Sprintf("%+v", want) {
		t.Errorf("configuration %s, want %+v", got, want)
	}
	if len(c.Notes) != 2 || !strings.Contains(c.Notes[0], "token_embd.weight in Q5_0 and output.weight in Q8_0") || !strings.Contains(c.Notes[0], "output.weight, in Q8_0, serves") {
		t.Errorf("notes %q do not say which copy of the tied matrix is used", c.Notes)
	}
	values := readSafetensors(t, "testdata/gguf/tiny.safetensors")
	if got, want := c.Names(), append(slices.Sorted(maps.Keys(values)), "lm_head.weight"); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("names %q, want %q", got, want)
	}
	values["lm_head.weight"] = values["model.embed_tokens.weight"]
	for name, want := range values {
		if shape := c.Shape(name); numel(shape) != len(want) {
			t.Fatalf("%s: shape %v, want %d values", name, shape, len(want))
		}
		got, got16 := make([]float32, len(want)), make([]uint16, len(want))
		if err := c.ReadF32(name, got); err != nil || !sameBits(got, want) {
			t.Errorf("%s (%s): the values differ (%v)", name, c.DType(name), err)
		}
		if err := c.ReadBF16(name, got16); err != nil {
			t.Fatal(err)
		}
		for i, v := range want {
			if got16[i] != BF16(v) {
				t.Fatalf("%s (%s)[%d]: %#04x, want %g rounded: %#04x", name, c.DType(name), i, got16[i], v, BF16(v))
			}
		}
	}
	tok, err := c.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	if text := "Chloé isn't 12"; tok.VocabSize() != 423 || tok.Decode(tok.Encode(text)) != text {
		t.Errorf("%d tokens; %q comes back as %q", tok.VocabSize(), text, tok.Decode(tok.Encode(text)))
	}
	raw, err := os.ReadFile("testdata/gguf/tiny.gguf")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.SHA256(); err != nil || got != fmt.Sprintf("%x", sha256.Sum256(raw)) {
		t.Errorf("digest %q, %v: not that of the file", got, err)
	}
	if err := c.ReadF32("model.norm.weight", make([]float32, 31)); err == nil || !strings.Contains(err.Error(), "has 32 values, the buffer 31") {
		t.Errorf("a buffer of the wrong size: %v", err)
	}
	if err := c.ReadBF16("model.layers.2.input_layernorm.weight", nil); err == nil || !strings.Contains(err.Error(), "not in the checkpoint") {
		t.Errorf("an unknown tensor: %v", err)
	}
}

// ggufBuilder writes GGUF files for the tests, right or wrong ones.
type ggufBuilder struct {
	magic   string
	version uint32
	meta    []ggufPair
	tensors []ggufTensor
	cut     int    // bytes to leave out at the end
	extra   int    // bytes to add
	counts  [2]int // to claim instead of the true numbers of tensors and pairs
}

type ggufPair struct {
	key   string
	value any
}

type ggufTensor struct {
	name string
	kind uint32
	dims []uint64 // fastest first
	size int      // bytes of data
	off  int      // 0: where it belongs
}

func (b ggufBuilder) bytes() []byte {
	var out []byte
	u32 := func(v uint32) { out = binary.LittleEndian.AppendUint32(out, v) }
	u64 := func(v uint64) { out = binary.LittleEndian.AppendUint64(out, v) }
	str := func(s string) { u64(uint64(len(s))); out = append(out, s...) }
	out = append(out, b.magic...)
	u32(b.version)
	u64(uint64(len(b.tensors) + b.counts[0]))
	u64(uint64(len(b.meta) + b.counts[1]))
	for _, p := range b.meta {
		str(p.key)
		switch v := p.value.(type) {
		case string:
			u32(ggufString)
			str(v)
		case int:
			u32(ggufU32)
			u32(uint32(v))
		case float32:
			u32(ggufF32)
			u32(math.Float32bits(v))
		case bool:
			u32(ggufBool)
			out = append(out, map[bool]byte{true: 1}[v])
		case []string:
			u32(ggufArray)
			u32(ggufString)
			u64(uint64(len(v)))
			for _, s := range v {
				str(s)
			}
		case []byte: // raw, with its type
			out = append(out, v...)
		default:
			panic(fmt.Sprintf("%T", v))
		}
	}
	off := 0
	for _, t := range b.tensors {
		str(t.name)
		u32(uint32(len(t.dims)))
		for _, d := range t.dims {
			u64(d)
		}
		u32(t.kind)
		u64(uint64(off + t.off))
		off += (t.size + 31) / 32 * 32
	}
	out = append(out, make([]byte, (32-len(out)%32)%32+off+b.extra)...)
	return out[:len(out)-b.cut]
}

// tinyGGUF is a model of one layer without a tokenizer.
func tinyGGUF() ggufBuilder {
	b := ggufBuilder{magic: "GGUF", version: 3, meta: []ggufPair{
		{"general.architecture", "qwen2"}, {"qwen2.block_count", 1}, {"qwen2.context_length", 64}, {"qwen2.embedding_length", 32},
		{"qwen2.feed_forward_length", 64}, {"qwen2.attention.head_count", 4}, {"qwen2.attention.head_count_kv", 2},
		{"qwen2.rope.freq_base", float32(1e6)}, {"qwen2.attention.layer_norm_rms_epsilon", float32(1e-6)},
	}}
	for _, t := range []struct {
		name string
		dims []uint64
	}{
		{"token_embd.weight", []uint64{32, 300}}, {"blk.0.attn_norm.weight", []uint64{32}}, {"blk.0.attn_q.weight", []uint64{32, 32}}, {"blk.0.attn_q.bias", []uint64{32}},
		{"blk.0.attn_k.weight", []uint64{32, 16}}, {"blk.0.attn_k.bias", []uint64{16}}, {"blk.0.attn_v.weight", []uint64{32, 16}}, {"blk.0.attn_v.bias", []uint64{16}},
		{"blk.0.attn_output.weight", []uint64{32, 32}}, {"blk.0.ffn_norm.weight", []uint64{32}}, {"blk.0.ffn_gate.weight", []uint64{32, 64}},
		{"blk.0.ffn_up.weight", []uint64{32, 64}}, {"blk.0.ffn_down.weight", []uint64{64, 32}}, {"output_norm.weight", []uint64{32}},
	} {
		n := 2
		for _, d := range t.dims {
			n *= int(d)
		}
		b.tensors = append(b.tensors, ggufTensor{name: t.name, kind: 1, dims: t.dims, size: n})
	}
	return b
}

func openBytes(t testing.TB, raw []byte) (*Checkpoint, error) {
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Open(path)
	if err == nil {
		t.Cleanup(func() { c.Close() })
	}
	return c, err
}

func TestGGUFRefuses(t *testing.T) {
	if c, err := openBytes(t, tinyGGUF().bytes()); err != nil || !c.Config.TieWordEmbeddings {
		t.Fatalf("the valid file: %v", err)
	}
	set := func(key string, v any) func(*ggufBuilder) {
		return func(b *ggufBuilder) {
			for i := range b.meta {
				if b.meta[i].key == key {
					b.meta[i].value = v
					return
				}
			}
			b.meta = append(b.meta, ggufPair{key, v})
		}
	}
	drop := func(name string) func(*ggufBuilder) {
		return func(b *ggufBuilder) {
			b.tensors = slices.DeleteFunc(b.tensors, func(t ggufTensor) bool { return t.name == name })
			b.meta = slices.DeleteFunc(b.meta, func(p ggufPair) bool { return p.key == name })
		}
	}
	tensor := func(i int, f func(t *ggufTensor)) func(*ggufBuilder) {
		return func(b *ggufBuilder) { f(&b.tensors[i]) }
	}
	for _, c := range []struct {
		why    string
		change func(*ggufBuilder)
		want   string
	}{
		{"another file", func(b *ggufBuilder) { b.magic = "GGML" }, `begins with "GGML"`},
		{"an empty file", func(b *ggufBuilder) { b.cut = len(b.bytes()) }, "the file is empty (0 bytes), want one that begins with \"GGUF\""},
		{"three bytes", func(b *ggufBuilder) { b.cut = len(b.bytes()) - 3 }, "the file has 3 bytes, want one that begins with \"GGUF\""},
		{"an older version", func(b *ggufBuilder) { b.version = 2 }, "version 2, want 3"},
		{"a truncated file", func(b *ggufBuilder) { b.cut = 1 }, "tensor output_norm.weight: 64 bytes"},
		{"a hundred bytes of a header", func(b *ggufBuilder) { b.cut = len(b.bytes()) - 100 }, "truncated"},
		{"bytes that belong to nothing", func(b *ggufBuilder) { b.extra = 32 }, "32 bytes belong to no tensor"},
		{"more pairs than the file can hold", func(b *ggufBuilder) { b.counts[1] = 1 << 40 }, "truncated"},
		{"more tensors than the file can hold", func(b *ggufBuilder) { b.counts[0] = 1 << 40 }, "truncated"},
		{"a string of an exabyte", set("x", []byte("\x08\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\x0f")), "truncated"},
		{"an array of an exabyte", set("x", []byte("\x09\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\x0f")), "truncated"},
		{"arrays of arrays", set("x", []byte("\x09\x00\x00\x00\x09\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00")), "metadata x: an array of type 9"},
		{"a value of no type", set("x", []byte("\x63\x00\x00\x00")), "metadata x: unknown value type 99"},
		{"a key twice", func(b *ggufBuilder) { b.meta = append(b.meta, b.meta[1]) }, "qwen2.block_count: given twice"},
		{"an odd alignment", set("general.alignment", 3), "general.alignment is 3"},
		{"no alignment", set("general.alignment", 0), "general.alignment is 0"},
		{"a tensor twice", tensor(2, func(t *ggufTensor) { t.name = "blk.0.attn_output.weight" }), "tensor blk.0.attn_output.weight: given twice"},
		{"a tensor inside another", tensor(1, func(t *ggufTensor) { t.off = -64 }), "tensor blk.0.attn_norm.weight: begins at 19136, inside tensor token_embd.weight"},
		{"an offset off the alignment", tensor(1, func(t *ggufTensor) { t.off = 1 }), "alignment 32"},
		{"a hole", tensor(13, func(t *ggufTensor) { t.off = 32; t.size = 96 }), "belong to no tensor"},
		{"an offset behind the end", tensor(13, func(t *ggufTensor) { t.off = 1 << 40 }), "truncated"},
		{"a type that is not supported", tensor(2, func(t *ggufTensor) { t.kind = 10 }), "tensor blk.0.attn_q.weight: type Q2_K is not supported"},
		{"a type of the future", tensor(2, func(t *ggufTensor) { t.kind = 200 }), "tensor blk.0.attn_q.weight: unknown type 200"},
		{"rows that are no whole blocks", tensor(2, func(t *ggufTensor) { t.kind = 12 }), "not whole blocks of Q4_K"},
		{"a dimension of 2^62", tensor(2, func(t *ggufTensor) { t.dims = []uint64{1 << 62, 32} }), "impossible dimension"},
		{"a product over 2^63", tensor(2, func(t *ggufTensor) { t.dims = []uint64{1 << 30, 1 << 30, 1 << 30} }), "impossible dimension"},
		{"a dimension of nothing", tensor(2, func(t *ggufTensor) { t.dims = []uint64{0, 32} }), "impossible dimension"},
		{"nine dimensions", tensor(2, func(t *ggufTensor) { t.dims = make([]uint64, 9) }), "9 dimensions"},
		{"the wrong shape", tensor(2, func(t *ggufTensor) { t.dims = []uint64{64, 16} }), "tensor model.layers.0.self_attn.q_proj.weight: shape [16 64], the configuration needs [32 32]"},
		{"a missing tensor", drop("blk.0.ffn_up.weight"), "tensor model.layers.0.mlp.up_proj.weight: missing"},
		{"attention without biases", drop("blk.0.attn_k.bias"), "tensor model.layers.0.self_attn.k_proj.bias: missing"},
		{"no embedding", drop("token_embd.weight"), "tensor token_embd.weight: missing"},
		{"a tensor of another layer", tensor(2, func(t *ggufTensor) { t.name = "blk.7.attn_q.weight" }), "q_proj.weight: missing"},
		{"a tensor of another model", tensor(2, func(t *ggufTensor) { t.name = "blk.0.ffn_gate_exps.weight" }), "tensor blk.0.ffn_gate_exps.weight: no part of a Qwen2 model"},
		{"scaled frequencies", tensor(2, func(t *ggufTensor) { t.name = "rope_freqs.weight" }), "tensor rope_freqs.weight: no part of a Qwen2 model"},
		{"a layer written like no number", tensor(2, func(t *ggufTensor) { t.name = "blk.00.attn_q.weight" }), "no part"},
		{"another architecture", set("general.architecture", "llama"), `general.architecture is "llama"`},
		{"rope scaling", set("qwen2.rope.scaling.type", "yarn"), "qwen2.rope.scaling.type is yarn"},
		{"a sliding window", set("qwen2.attention.sliding_window", 4096), "sliding_window is 4096"},
		{"part of a rotation", set("qwen2.rope.dimension_count", 4), "dimension_count is 4"},
		{"one of several files", set("split.count", 2), "split.count is 2"},
		{"a missing number", drop("qwen2.block_count"), "metadata qwen2.block_count: missing"},
		{"a number that is text", set("qwen2.block_count", "1"), "qwen2.block_count is 1, want a whole number"},
		{"no heads", set("qwen2.attention.head_count", 0), "num_attention_heads is 0"},
		{"an unused layer", set("qwen2.block_count", 2), "tensor model.layers.1.input_layernorm.weight: missing"},
	} {
		b := tinyGGUF()
		c.change(&b)
		_, err := openBytes(t, b.bytes())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", c.why, err, c.want)
		}
	}
	c, err := openBytes(t, tinyGGUF().bytes())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Tokenizer(); err == nil || !strings.Contains(err.Error(), "tokenizer.ggml.model: missing") {
		t.Errorf("a file without a tokenizer: %v", err)
	}
}

// Metadata of every type is read as what it is.
func TestGGUFValues(t *testing.T) {
	raw := func(kind byte, value string) []byte { return append([]byte{kind, 0, 0, 0}, value...) }
	b := ggufBuilder{magic: "GGUF", version: 3}
	want := map[string]any{}
	for i, c := range []struct {
		raw  []byte
		want any
	}{
		{raw(ggufU8, "\xff"), uint64(255)}, {raw(ggufI8, "\xff"), int64(-1)}, {raw(ggufU16, "\xfe\xff"), uint64(65534)}, {raw(ggufI16, "\xfe\xff"), int64(-2)},
		{raw(ggufU32, "\x01\x00\x00\x80"), uint64(1<<31 + 1)}, {raw(ggufI32, "\xff\xff\xff\xff"), int64(-1)}, {raw(ggufF32, "\xbd\x37\x86\x35"), 1e-6},
		{raw(ggufF64, "\x00\x00\x00\x00\x00\x00\xf8\x3f"), 1.5}, {raw(ggufBool, "\x01"), true}, {raw(ggufU64, "\x00\x00\x00\x00\x00\x00\x00\x80"), uint64(1 << 63)},
		{raw(ggufI64, "\xff\xff\xff\xff\xff\xff\xff\xff"), int64(-1)}, {raw(ggufString, "\x02\x00\x00\x00\x00\x00\x00\x00hi"), "hi"},
		{raw(ggufArray, "\x06\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x40"), []float64{2}},
		{raw(ggufArray, "\x07\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x01\x00"), []bool{true, false}},
		{raw(ggufArray, "\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x80"), []int64{-128}},
		{raw(ggufArray, "\x02\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x02"), []uint64{513}},
	} {
		key := fmt.Sprint("key", i)
		b.meta, want[key] = append(b.meta, ggufPair{key, c.raw}), c.want
	}
	file := b.bytes()
	g, err := parseGGUF(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for key, v := range want {
		if !reflect.DeepEqual(g.meta[key], v) {
			t.Errorf("%s: %T %v, want %T %v", key, g.meta[key], g.meta[key], v, v)
		}
	}
}

// A file that shrinks or fails while it is read gives an error with the tensor's name, not a half-filled buffer.
func TestReadAfterTruncation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(path, tinyGGUF().bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.DType("model.norm.weight") != "F16" {
		t.Errorf("stored as %q, want F16", c.DType("model.norm.weight"))
	}
	if err := os.Truncate(path, 20000); err != nil {
		t.Fatal(err)
	}
	const name = "model.layers.0.mlp.down_proj.weight"
	for _, err := range []error{c.ReadF32(name, make([]float32, 32*64)), c.ReadBF16(name, make([]uint16, 32*64))} {
		if err == nil || !strings.Contains(err.Error(), "tensor "+name+": read 0 of 4096 bytes") {
			t.Errorf("error %v", err)
		}
	}
}

// Two matrices that have nothing to do with each other are an untied head.
func TestGGUFUntied(t *testing.T) {
	b := tinyGGUF()
	b.tensors = append(b.tensors, ggufTensor{name: "output.weight", kind: 1, dims: []uint64{32, 300}, size: 300 * 64})
	raw := b.bytes()
	for i := range 300 * 32 { // the last tensor: signs that follow no embedding
		raw[len(raw)-300*64+2*i+1] = byte(0x3c | i*i%7%2<<7)
	}
	c, err := openBytes(t, raw)
	if err != nil {
		t.Fatal(err)
	}
	if c.Config.TieWordEmbeddings || !slices.Contains(c.Names(), "lm_head.weight") || len(c.Notes) != 0 {
		t.Errorf("tied %v, notes %q", c.Config.TieWordEmbeddings, c.Notes)
	}
}

// boundedMemory fails when f takes much more memory than n bytes of input can call for.
func boundedMemory(t *testing.T, n int, f func()) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(200*n+1<<20); got > limit {
		t.Errorf("an input of %d bytes made the reader take %d", n, got)
	}
}

// Any bytes give a header or an error, and take memory in proportion to their number.
func FuzzGGUF(f *testing.F) {
	b := tinyGGUF()
	b.tensors = b.tensors[5:8] // small ones: the fuzzer works on the header
	f.Add(b.bytes())
	b.meta = append(b.meta, ggufPair{"tokenizer.ggml.tokens", []string{"a", "b"}}, ggufPair{"general.alignment", 64}, ggufPair{"x", true})
	f.Add(b.bytes())
	b.counts = [2]int{1 << 20, 1 << 20}
	f.Add(b.bytes())
	f.Fuzz(func(t *testing.T, raw []byte) {
		boundedMemory(t, len(raw), func() {
			g, err := parseGGUF(bytes.NewReader(raw), int64(len(raw)))
			if err != nil {
				return
			}
			for _, e := range g.tensors {
				if e.off < 0 || e.size < 0 || e.off+e.size > int64(len(raw)) {
					t.Errorf("tensor %s lies at %d+%d in %d bytes", e.name, e.off, e.size, len(raw))
				}
			}
		})
	})
}

// What reading the weights of a large model comes to: 8 million values of Q4_K, to bfloat16.
func BenchmarkQ4KToBF16(b *testing.B) {
	const n = 1 << 23
	raw := make([]byte, n/256*144)
	for i := range raw {
		raw[i] = byte(i * 7)
	}
	dst := make([]uint16, n)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if err := readValues(bytes.NewReader(raw), 0, encQ4_K, n, func(from, to int, s *buffers) { encQ4_K.toBF16(s.raw, dst[from:to], s.f32) }); err != nil {
			b.Fatal(err)
		}
	}
}
