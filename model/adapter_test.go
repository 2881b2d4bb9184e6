package model

import (
	"math"
	"slices"
	"strings"
	"testing"

	"teamtalk/model/checkpoint"
)

func TestLoRAValidate(t *testing.T) {
	for _, c := range []struct {
		why  string
		l    LoRA
		want string // "" is good
	}{
		{"plain", LoRA{4, 8, []string{"q_proj"}}, ""},
		{"no rank", LoRA{0, 8, []string{"q_proj"}}, "rank is 0, expected 1 or more"},
		{"no scale", LoRA{4, 0, []string{"q_proj"}}, "alpha is 0, expected more than 0"},
		{"no number", LoRA{4, math.NaN(), []string{"q_proj"}}, "alpha is NaN"},
		{"no targets", LoRA{4, 8, nil}, "no target modules"},
		{"the head is no target", LoRA{4, 8, []string{"q_proj", "lm_head"}}, `target "lm_head"`},
	} {
		err := c.l.Validate()
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.why, err, c.want)
		}
	}
	l := LoRA{4, 8, []string{"down_proj", "q_proj", "down_proj"}}
	if err := l.Validate(); err != nil || !slices.Equal(l.Targets, []string{"q_proj", "down_proj"}) {
		t.Errorf("targets in order: %v, %v; want q_proj and down_proj once each", l.Targets, err)
	}
}

// PEFT's initialisation: A uniform within ±1/sqrt(in), B zero, each run from its key alone.
func TestNewAdapters(t *testing.T) {
	x := openTiny(t, "go")
	c := x.weights.Config
	l := LoRA{Rank: 4, Alpha: 8, Targets: checkpoint.Linears}
	values := func(l LoRA, keys []Key, run int) map[string][]float32 {
		t.Helper()
		a, err := NewAdapters(x.dev, c, l, keys)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Free()
		v, err := a.Values(run)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	alone := values(l, []Key{{1, 2}}, 0)
	beside := values(l, []Key{{3, 4}, {1, 2}}, 1)
	other := values(l, []Key{{3, 4}, {1, 2}}, 0)
	reversed := slices.Clone(l.Targets)
	slices.Reverse(reversed)
	turned := values(LoRA{Rank: 4, Alpha: 8, Targets: reversed}, []Key{{1, 2}}, 0)
	for i, s := range l.Specs(c) {
		v := alone[s.Name]
		near(t, s.Name+" beside another run", beside[s.Name], v, 0)
		near(t, s.Name+" with the targets listed backwards", turned[s.Name], v, 0)
		if i%2 == 1 {
			if slices.ContainsFunc(v, func(f float32) bool { return f != 0 }) {
				t.Errorf("%s is not zero", s.Name)
			}
			continue
		}
		if slices.Equal(v, other[s.Name]) {
			t.Errorf("%s is the same for two keys", s.Name)
		}
		bound := 1 / math.Sqrt(float64(s.Cols))
		sum, squares := 0.0, 0.0
		for _, f := range v {
			if math.Abs(float64(f)) > bound {
				t.Fatalf("%s holds %g, outside of ±%g", s.Name, f, bound)
			}
			sum += float64(f)
			squares += float64(f) * float64(f)
		}
		n := float64(len(v))
		if mean := sum / n; math.Abs(mean) > 5*bound/math.Sqrt(3*n) {
			t.Errorf("%s: mean %g, want 0", s.Name, mean)
		}
		// E[x^2] = bound^2/3; its standard deviation over n draws is bound^2 sqrt(4/45/n).
		if v := squares / n / (bound * bound); math.Abs(v-1.0/3) > 5*math.Sqrt(4.0/45/n) {
			t.Errorf("%s: mean square %g of the bound's, want 1/3", s.Name, v)
		}
	}
	if slices.Equal(alone[checkpoint.AdapterKey(0, "q_proj", "A")], alone[checkpoint.AdapterKey(1, "q_proj", "A")]) {
		t.Error("two layers begin with the same A")
	}
	if _, err := NewAdapters(x.dev, c, LoRA{}, []Key{{1, 2}}); err == nil {
		t.Error("an adapter of rank 0 was made")
	}
}

func TestAdaptersFromRefuses(t *testing.T) {
	x := openTiny(t, "go")
	name := checkpoint.AdapterKey(1, "o_proj", "B")
	short := map[string][]float32{}
	for n, v := range x.adapter {
		short[n] = v
	}
	short[name] = short[name][1:]
	if _, err := AdaptersFrom(x.dev, x.weights.Config, x.lora, []map[string][]float32{x.adapter, short}); err == nil ||
		!strings.Contains(err.Error(), "run 1") || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "expected 64 x 4") {
		t.Errorf("a matrix that is too short: error %v, want run, name and shape", err)
	}
	delete(short, name)
	if _, err := AdaptersFrom(x.dev, x.weights.Config, x.lora, []map[string][]float32{short}); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("a missing matrix: error %v, want its name", err)
	}
}

// A sampler takes adapters of the shape that it was compiled for and no others, also where the tensors would fit.
func TestLoadRefusesOtherAdapters(t *testing.T) {
	x := openTiny(t, "go")
	full := x.sampler(t, &x.lora, x.adapter)
	kv := func(module string) (LoRA, map[string][]float32) {
		l := LoRA{Rank: 4, Alpha: 8, Targets: []string{module}}
		v := map[string][]float32{}
		for _, s := range l.Specs(x.weights.Config) {
			v[s.Name] = x.adapter[s.Name]
		}
		return l, v
	}
	k, kValues := kv("k_proj")
	v, vValues := kv("v_proj")
	onlyK := x.sampler(t, &k, kValues)
	stronger := x.lora
	stronger.Alpha = 16
	for _, c := range []struct {
		why  string
		s    *Sampler
		a    *Adapters
		want string
	}{
		{"none", full, nil, "none given"},
		{"two runs", full, x.adapters(t, x.lora, x.adapter, x.adapter), "made for 1 adapters of rank 4, alpha 8"},
		{"another alpha, which no tensor shows", full, x.adapters(t, stronger, x.adapter), "found 1 of rank 4, alpha 16"},
		{"v_proj has the shapes of k_proj", onlyK, x.adapters(t, v, vValues), "found 1 of rank 4, alpha 8 on [v_proj]"},
		{"adapters for a sampler of the base model", x.sampler(t, nil), x.adapters(t, x.lora, x.adapter), "made without adapters"},
	} {
		if err := c.s.Load(c.a); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.why, err, c.want)
		}
	}
}
