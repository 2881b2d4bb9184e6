package model

import (
	"context"
	"fmt"
	"math"
	"testing"

	"teamtalk/model/backend"
	"teamtalk/model/checkpoint"
)

// tiny is the random Qwen2 checkpoint whose right answers transformers and PEFT gave (testdata/tiny-qwen2/oracle.json).
type tiny struct {
	dev     *backend.Device
	weights *Weights
	adapter map[string][]float32
	lora    LoRA
	oracle  *oracle
}

// onBackends runs a test on every backend that CI has: the Go backend always, XLA's CPU plugin where it is installed.
// TEAMTALK_TEST_BACKENDS makes both obligatory.
func onBackends(t *testing.T, test func(t *testing.T, x *tiny)) {
	for _, kind := range []backend.Kind{backend.Go, backend.XLACPU} {
		t.Run(string(kind), func(t *testing.T) { test(t, openTiny(t, kind)) })
	}
}

func openTiny(t *testing.T, kind backend.Kind) *tiny {
	t.Helper()
	dev, err := backend.Open(kind)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dev.Close)
	const dir = "testdata/tiny-qwen2"
	cp, err := checkpoint.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer cp.Close()
	w, err := LoadWeights(dev, cp.Config, cp)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Free)
	x := &tiny{dev: dev, weights: w, oracle: openOracle(t, dir+"/oracle.safetensors")}
	x.lora = LoRA{Rank: 4, Alpha: 8, Targets: checkpoint.Linears} // adapter/adapter_config.json
	file := openOracle(t, dir+"/adapter/adapter_model.safetensors")
	x.adapter = map[string][]float32{}
	for _, s := range x.lora.Specs(cp.Config) {
		x.adapter[s.Name] = file.floats(s.Name)
	}
	return x
}

func (x *tiny) adapters(t *testing.T, runs ...map[string][]float32) *Adapters {
	t.Helper()
	a, err := AdaptersFrom(x.dev, x.weights.Config, x.lora, runs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Free)
	return a
}

// near fails when two values differ by more than tolerance anywhere.
func near(t *testing.T, what string, got, want []float32, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if d := math.Abs(float64(got[i] - want[i])); !(d <= tolerance) {
			t.Fatalf("%s: value %d is %g, want %g (off by %g, tolerance %g)", what, i, got[i], want[i], d, tolerance)
		}
	}
}

// padded makes rows of right-padded sequences: ids and mask [rows, T].
func padded(ids, mask []int64, rows int) Rows {
	n := len(ids)
	t := n / rows
	r := Rows{make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n)}
	for i := range ids {
		r.IDs[i], r.Segments[i] = int32(ids[i]), int32(mask[i])
		if mask[i] == 1 {
			r.Positions[i] = int32(i % t)
		}
		if i%t < t-1 {
			r.Targets[i] = int32(ids[i+1])
		}
	}
	return r
}

func TestLogitsEqualTransformers(t *testing.T) {
	onBackends(t, func(t *testing.T, x *tiny) {
		ids, mask := x.oracle.ints("forward/ids"), x.oracle.ints("forward/mask")
		rows := padded(ids, mask, 3)
		for _, c := range []struct {
			name string
			a    *Adapters
		}{{"forward/logits_base", nil}, {"forward/logits_adapter", x.adapters(t, x.adapter)}} {
			s, err := NewScorer(x.dev, x.weights, c.a, 3, 24)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Logits(rows)
			if err != nil {
				t.Fatal(err)
			}
			want := x.oracle.floats(c.name)
			v := x.weights.Config.VocabSize
			for i, m := range mask {
				if m == 1 {
					near(t, fmt.Sprintf("%s at %d", c.name, i), got[i*v:(i+1)*v], want[i*v:(i+1)*v], 1e-4)
				}
			}
		}
	})
}

func TestLogProbsAndEntropiesEqualTransformers(t *testing.T) {
	onBackends(t, func(t *testing.T, x *tiny) {
		rows := padded(x.oracle.ints("grpo/ids"), x.oracle.ints("grpo/mask"), 8)
		s, err := NewScorer(x.dev, x.weights, x.adapters(t, x.adapter), 8, 32)
		if err != nil {
			t.Fatal(err)
		}
		logp, entropy, err := s.Score(rows, 0.9)
		if err != nil {
			t.Fatal(err)
		}
		wantLogp, wantEntropy := x.oracle.floats("grpo/logp"), x.oracle.floats("grpo/entropy") // [8, 31]
		mask := x.oracle.ints("grpo/completion_mask")
		for i := range 8 {
			for j := range 31 {
				if mask[i*32+j+1] == 0 {
					continue
				}
				near(t, fmt.Sprintf("logp of row %d, column %d", i, j), logp[i*32+j:i*32+j+1], wantLogp[i*31+j:i*31+j+1], 1e-4)
				near(t, fmt.Sprintf("entropy of row %d, column %d", i, j), entropy[i*32+j:i*32+j+1], wantEntropy[i*31+j:i*31+j+1], 1e-4)
			}
		}
	})
}

func TestGreedyRepliesEqualTransformers(t *testing.T) {
	onBackends(t, func(t *testing.T, x *tiny) {
		s, err := NewSampler(x.dev, x.weights, SamplerOptions{LoRA: &x.lora})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Load(x.adapters(t, x.adapter)); err != nil {
			t.Fatal(err)
		}
		ids, mask := x.oracle.ints("forward/ids"), x.oracle.ints("forward/mask")
		var prompts []Prompt
		for i := range 3 {
			p := Prompt{Keys: []Key{NewKey(uint64(i))}}
			for j := range 24 {
				if mask[i*24+j] == 1 {
					p.IDs = append(p.IDs, int32(ids[i*24+j]))
				}
			}
			prompts = append(prompts, p)
		}
		got, err := s.Sample(context.Background(), Request{Prompts: prompts, MaxTokens: 20})
		if err != nil {
			t.Fatal(err)
		}
		want := x.oracle.ints("greedy/ids")
		for i := range prompts {
			for j, id := range got[i][0].IDs {
				if int64(id) != want[i*20+j] {
					t.Fatalf("reply %d is %v, want %v", i, got[i][0].IDs, want[i*20:(i+1)*20])
				}
			}
			if len(got[i][0].IDs) != 20 || got[i][0].Finish != "length" {
				t.Errorf("reply %d has %d tokens and finish %q, want 20 and length", i, len(got[i][0].IDs), got[i][0].Finish)
			}
		}
	})
}
