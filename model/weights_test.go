package model

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"teamtalk/model/backend"
	"teamtalk/model/backend/backendtest"
	"teamtalk/model/checkpoint"
	"teamtalk/model/checkpoint/checkpointtest"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

// readAll is a checkpoint's weights by Hugging Face name.
func readAll(t *testing.T) (checkpoint.Config, Memory) {
	t.Helper()
	cp, err := checkpoint.Open(tinyDir)
	if err != nil {
		t.Fatal(err)
	}
	defer cp.Close()
	all := Memory{}
	for _, s := range cp.Config.Specs() {
		all[s.Name] = make([]float32, numel(s.Shape))
		if err := cp.ReadF32(s.Name, all[s.Name]); err != nil {
			t.Fatal(err)
		}
	}
	return cp.Config, all
}

// The linear maps of a group lie in one matrix on the device; by name they come out as they went in.
func TestWeightsComeBackByName(t *testing.T) {
	onBackends(t, func(t *testing.T, x *tiny) {
		_, want := readAll(t)
		got, err := x.weights.Values()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))) {
			t.Errorf("%d names, want %d", len(got), len(want))
		}
		for name := range want {
			near(t, name, got[name], want[name], 0)
		}
	})
}

func TestLoadWeightsRefuses(t *testing.T) {
	x := openTiny(t, "go")
	c, all := readAll(t)
	short := maps.Clone(all)
	short["model.norm.weight"] = short["model.norm.weight"][1:]
	if _, err := LoadWeights(x.dev, c, short); err == nil || !strings.Contains(err.Error(), "model.norm.weight: 63 values in memory, expected 64") {
		t.Errorf("a tensor that is too short: error %v", err)
	}
	delete(short, "model.norm.weight")
	if _, err := LoadWeights(x.dev, c, short); err == nil || !strings.Contains(err.Error(), "model.norm.weight") {
		t.Errorf("a missing tensor: error %v", err)
	}
	c.NumKeyValueHeads = 3
	if _, err := LoadWeights(x.dev, c, all); err == nil || !strings.Contains(err.Error(), "model configuration: num_attention_heads 4 is not a multiple") {
		t.Errorf("an impossible configuration: error %v", err)
	}
}

// A head of its own that holds the embedding's values is the tied model.
func TestHeadOfItsOwn(t *testing.T) {
	x := openTiny(t, "go")
	c, all := readAll(t)
	c.TieWordEmbeddings = false
	all["lm_head.weight"] = slices.Clone(all["model.embed_tokens.weight"])
	score := func() []float32 {
		t.Helper()
		w, err := LoadWeights(x.dev, c, all)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Free()
		s, err := NewScorer(x.dev, w, nil, 8, 32)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		q, _ := x.conversations(t)
		logp, _ := scores(t, s, q...)
		return slices.Concat(logp...)
	}
	q, _ := x.conversations(t)
	tied, _ := scores(t, x.scorer(t, 8, 32, nil), q...)
	near(t, "log-probabilities", score(), slices.Concat(tied...), rounding)
	for i := range all["lm_head.weight"] {
		all["lm_head.weight"][i] *= 2
	}
	if slices.Equal(score(), slices.Concat(tied...)) {
		t.Error("the head's values do not matter")
	}
}

// On GPUs weights and activations are bf16; here the same program runs on XLA CPU. Logits stay near those of f32, and they are
// the multiplier's f32 values, not rounded to bf16's 8 bits: the sampler's softmax would feel that.
func TestBF16(t *testing.T) {
	backendtest.Need(t, string(backend.XLACPU))
	dev, err := backend.Open(backend.XLACPU)
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	dev.DType = dtypes.BFloat16
	c, all := readAll(t)
	w, err := LoadWeights(dev, c, all)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Free()
	if _, err := w.Values(); err == nil || !strings.Contains(err.Error(), "expected f32") {
		t.Errorf("values of bf16 weights: error %v", err)
	}
	o := checkpointtest.Read(t, tinyDir+"/oracle.safetensors")
	mask := o.IDs("forward/mask")
	s := &Scorer{dev: dev, weights: w, rows: 3, t: 24}
	defer s.Close()
	got, err := s.Logits(rowsOf(24, 3, o.Sequences("forward", 24)...))
	if err != nil {
		t.Fatal(err)
	}
	want := o.Float32("forward/logits_base")
	off, size, fine, n := 0.0, 0.0, 0, 0
	for i := range want {
		if mask[i/c.VocabSize] == 0 {
			continue
		}
		off += float64(got[i]-want[i]) * float64(got[i]-want[i])
		size += float64(want[i]) * float64(want[i])
		if math.Float32bits(got[i])&0xffff != 0 {
			fine++
		}
		n++
	}
	if relative := math.Sqrt(off / size); !(relative < 0.02 && relative > 1e-4) {
		t.Errorf("logits are off by %g of their size; want what bf16 costs, 0.0001 to 0.02", relative)
	}
	if fine < n*9/10 {
		t.Errorf("only %d of %d logits have more digits than bf16", fine, n)
	}
}

// Weights are rounded to bf16 to nearest even, not cut.
func TestMemoryRounds(t *testing.T) {
	m := Memory{"w": {1, 1 + 1.0/256, 1 + 3.0/256, 1.0039064, -3}}
	got := make([]uint16, 5)
	if err := m.ReadBF16("w", got); err != nil {
		t.Fatal(err)
	}
	if want := []uint16{0x3f80, 0x3f80, 0x3f82, 0x3f81, 0xc040}; !slices.Equal(got, want) {
		t.Errorf("bf16 bits %x, want %x", got, want)
	}
	if err := m.ReadBF16("w", got[:2]); err == nil || !strings.Contains(err.Error(), "5 values in memory, expected 2") {
		t.Errorf("a buffer of another size: error %v", err)
	}
}
