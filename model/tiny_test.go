package model

import (
	"fmt"
	"math"
	"os"
	"sync"
	"testing"

	"teamtalk/model/backend"
	"teamtalk/model/backend/backendtest"
	"teamtalk/model/checkpoint"
	"teamtalk/model/checkpoint/checkpointtest"
)

// tiny is the random Qwen2 checkpoint whose right answers transformers and PEFT gave (testdata/tiny-qwen2/oracle.json), on one
// backend. It is opened once for the package, and so is what tests compile for it: XLA takes a second for each program.
type tiny struct {
	dev      *backend.Device
	weights  *Weights
	lora     LoRA                 // adapter/adapter_config.json
	adapter  map[string][]float32 // adapter/adapter_model.safetensors
	samplers map[string]*Sampler
	scorers  map[string]*Scorer
	loaded   []*Adapters
}

const tinyDir = "testdata/tiny-qwen2"

var (
	opened = map[backend.Kind]*tiny{}
	opens  sync.Mutex
)

// onBackends runs a test on every backend that is to be tested: see backendtest.
func onBackends(t *testing.T, test func(t *testing.T, x *tiny)) {
	for _, name := range backendtest.Names(t) {
		t.Run(name, func(t *testing.T) { test(t, openTiny(t, backend.Kind(name))) })
	}
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, x := range opened {
		for _, s := range x.samplers {
			s.Close()
		}
		for _, s := range x.scorers {
			s.Close()
		}
		for _, a := range x.loaded {
			a.Free()
		}
		x.weights.Free()
		x.dev.Close()
	}
	os.Exit(code)
}

func openTiny(t *testing.T, kind backend.Kind) *tiny {
	t.Helper()
	opens.Lock()
	defer opens.Unlock()
	if x := opened[kind]; x != nil {
		return x
	}
	dev, err := backend.Open(kind)
	if err != nil {
		t.Fatal(err)
	}
	cp, err := checkpoint.Open(tinyDir)
	if err != nil {
		t.Fatal(err)
	}
	defer cp.Close()
	w, err := LoadWeights(dev, cp.Config, cp)
	if err != nil {
		t.Fatal(err)
	}
	x := &tiny{
		dev: dev, weights: w, lora: LoRA{Rank: 4, Alpha: 8, Targets: checkpoint.Linears},
		adapter:  checkpointtest.Read(t, tinyDir+"/adapter/adapter_model.safetensors").All(),
		samplers: map[string]*Sampler{}, scorers: map[string]*Scorer{},
	}
	opened[kind] = x
	return x
}

func (x *tiny) oracle(t *testing.T) *checkpointtest.Values {
	t.Helper()
	return checkpointtest.Read(t, tinyDir+"/oracle.safetensors")
}

// adapters puts runs on the device in a LoRA's shape.
func (x *tiny) adapters(t *testing.T, l LoRA, runs ...map[string][]float32) *Adapters {
	t.Helper()
	a, err := AdaptersFrom(x.dev, x.weights.Config, l, runs)
	if err != nil {
		t.Fatal(err)
	}
	x.loaded = append(x.loaded, a)
	return a
}

// stops end replies in these tests. Of the replies to tiny.prompts one ends with its first token, others later, others not; the
// oracle's greedy replies hold none of them.
var stops = []int32{58, 270}

// sampler is the package's sampler for adapters of a shape, or none, loaded with the given runs.
func (x *tiny) sampler(t *testing.T, l *LoRA, runs ...map[string][]float32) *Sampler {
	t.Helper()
	name := fmt.Sprint(l, len(runs))
	s := x.samplers[name]
	if s == nil {
		var err error
		if s, err = NewSampler(x.dev, x.weights, SamplerOptions{LoRA: l, Runs: len(runs), Stop: stops, RoundPrompt: 32}); err != nil {
			t.Fatal(err)
		}
		x.samplers[name] = s
	}
	if l != nil {
		if err := s.Load(x.adapters(t, *l, runs...)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// scorer is the package's scorer of a shape for the given runs of adapters of a shape; none for the base model.
func (x *tiny) scorer(t *testing.T, rows, columns int, l *LoRA, runs ...map[string][]float32) *Scorer {
	t.Helper()
	name := fmt.Sprint(rows, columns, l, len(runs))
	s := x.scorers[name]
	var a *Adapters
	if l != nil {
		a = x.adapters(t, *l, runs...)
	}
	if s == nil {
		var err error
		if s, err = NewScorer(x.dev, x.weights, a, rows, columns); err != nil {
			t.Fatal(err)
		}
		x.scorers[name] = s
	}
	s.adapters = a // of the shape that the program was compiled for
	return s
}

// scaled is an adapter like x's, but not x's.
func (x *tiny) scaled(by float32) map[string][]float32 {
	out := map[string][]float32{}
	for name, v := range x.adapter {
		for i, f := range v {
			out[name] = append(out[name], f*by*float32(1+i%3)/2)
		}
	}
	return out
}

// near fails when two values differ by more than tolerance anywhere.
func near(t *testing.T, what string, got, want []float32, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= tolerance) {
			t.Fatalf("%s: value %d is %g, want %g (off by %g, tolerance %g)", what, i, got[i], want[i], d, tolerance)
		}
	}
}

// rowsOf lays sequences into rows of t columns, one to a row; further rows are padding.
func rowsOf(t, rows int, sequences ...[]int32) Rows {
	n := rows * t
	r := Rows{make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n)}
	for i, s := range sequences {
		r.put(i*t, 1, s)
	}
	return r
}

// put lays a sequence as a segment from a column of the flat batch on.
func (r Rows) put(at int, segment int32, s []int32) {
	for j, id := range s {
		r.IDs[at+j], r.Segments[at+j], r.Positions[at+j] = id, segment, int32(j)
		if j+1 < len(s) {
			r.Targets[at+j] = s[j+1]
		}
	}
}
