// Package bench measures the parts that an experiment's time is made of, on the machine it runs on.
package bench

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"teamtalk/model"
	"teamtalk/model/backend"
	"teamtalk/model/checkpoint"
	"teamtalk/recipe/grpo"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

// Measurement is one line of the table: the times of repetitions in milliseconds, and what they moved.
type Measurement struct {
	Name       string    `json:"name"`
	Unit       string    `json:"unit"` // of Times: "ms a step", "ms", "s"
	Times      []float64 `json:"times"`
	Compile    float64   `json:"compile_s,omitempty"`
	TokensPerS float64   `json:"tokens_per_s,omitempty"`
	TFLOPs     float64   `json:"tflop_per_s,omitempty"` // achieved, of what the products need
	GBs        float64   `json:"gb_per_s,omitempty"`    // achieved, of what must be read at least once
}

// spread is the minimum, median and maximum.
func (m Measurement) spread() (low, median, high float64) {
	s := slices.Sorted(slices.Values(m.Times))
	return s[0], s[len(s)/2], s[len(s)-1]
}

// Options say what to measure.
type Options struct {
	Device  *backend.Device
	Config  checkpoint.Config
	Source  model.Source // nil: random weights of Config's shape
	LoRA    model.LoRA
	Prompt  int // tokens of each prompt
	Reply   int // tokens of each reply
	Prompts int // of each run in a step
	Group   int // completions of a prompt
	Rows, T int // training micro-batch
	Repeat  int
	Only    []string // names to measure; empty: all
	Log     io.Writer
}

// Run measures and returns the lines in the order measured.
func Run(ctx context.Context, o Options) ([]Measurement, error) {
	b := &session{Options: o}
	start := time.Now()
	src := o.Source
	if src == nil {
		src = random{}
	}
	var err error
	if b.weights, err = model.LoadWeights(o.Device, o.Config, src); err != nil {
		return nil, err
	}
	defer b.weights.Free()
	b.add(Measurement{Name: "load", Unit: "s", Times: []float64{time.Since(start).Seconds()}})
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"decode", func(ctx context.Context) error { return b.decode(ctx, "decode", 1, o.Prompts, 1) }},
		{"decode-base", func(ctx context.Context) error { return b.decode(ctx, "decode-base", 0, o.Prompts, 1) }},
		{"decode-m4", func(ctx context.Context) error { return b.decode(ctx, "decode-m4", 4, o.Prompts, 1) }},
		{"decode-eval", func(ctx context.Context) error { return b.decode(ctx, "decode-eval", 1, 10*o.Prompts, 0.95) }},
		{"train", func(ctx context.Context) error { return b.train("train", 1) }},
		{"train-m4", func(ctx context.Context) error { return b.train("train-m4", 4) }},
	} {
		if len(o.Only) > 0 && !slices.Contains(o.Only, step.name) {
			continue
		}
		if err := step.run(ctx); err != nil {
			return b.lines, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return b.lines, nil
}

type session struct {
	Options
	weights *model.Weights
	lines   []Measurement
}

func (b *session) add(m Measurement) {
	b.lines = append(b.lines, m)
	low, median, high := m.spread()
	fmt.Fprintf(b.Log, "%-12s %9.3f %9.3f %9.3f %-10s compile %5.1f s  %8.0f tokens/s %6.1f TFLOP/s %7.0f GB/s  peak %.1f GiB\n",
		m.Name, low, median, high, m.Unit, m.Compile, m.TokensPerS, m.TFLOPs, m.GBs, float64(b.Device.PeakBytes())/(1<<30))
}

// layerParams counts the weights that every token passes, without the embedding.
func (b *session) layerParams() float64 {
	c := b.Config
	n := c.Params() - int64(c.VocabSize*c.HiddenSize)
	if !c.TieWordEmbeddings {
		n -= int64(c.VocabSize * c.HiddenSize)
	}
	return float64(n)
}

func (b *session) bytesPer() float64 {
	if b.Device.DType == dtypes.BFloat16 {
		return 2
	}
	return 4
}

// decode times whole replies that nothing stops. runs 0 is the base model without adapters.
func (b *session) decode(ctx context.Context, name string, runs, prompts int, topP float64) error {
	// One cache of full length from the first step to the last, so that a step is one thing.
	o := model.SamplerOptions{Runs: max(1, runs), RoundPrompt: 64, Phases: []int{}}
	var adapters *model.Adapters
	if runs > 0 {
		o.LoRA = &b.LoRA
		keys := make([]model.Key, runs)
		for i := range keys {
			keys[i] = model.NewKey(uint64(i))
		}
		var err error
		if adapters, err = model.NewAdapters(b.Device, b.Config, b.LoRA, keys); err != nil {
			return err
		}
		defer adapters.Free()
	}
	s, err := model.NewSampler(b.Device, b.weights, o)
	if err != nil {
		return err
	}
	defer s.Close()
	var serve []float64
	for range b.Repeat {
		start := time.Now()
		if err := s.Load(adapters); err != nil {
			return err
		}
		serve = append(serve, 1e3*time.Since(start).Seconds())
	}
	r := model.Request{MaxTokens: b.Reply, Temperature: 0.9, TopP: topP}
	for i := range prompts * max(1, runs) {
		p := model.Prompt{}
		for t := range b.Prompt {
			p.IDs = append(p.IDs, int32((i*7919+t*104729)%b.Config.VocabSize))
		}
		for g := range b.Group {
			p.Keys = append(p.Keys, model.NewKey(uint64(i), uint64(g)))
		}
		r.Prompts = append(r.Prompts, p)
	}
	rows := len(r.Prompts) * len(r.Prompts[0].Keys)
	m := Measurement{Name: name, Unit: "ms a step"}
	pre := Measurement{Name: name + "-prefill", Unit: "ms"}
	for i := range b.Repeat + 1 {
		loop, prefill, steps := s.LoopTime, s.PrefillTime, s.Steps
		if _, err := s.Sample(ctx, r); err != nil {
			return err
		}
		if i > 0 { // the first warms up
			m.Times = append(m.Times, 1e3*(s.LoopTime-loop).Seconds()/float64(s.Steps-steps))
			pre.Times = append(pre.Times, 1e3*(s.PrefillTime-prefill).Seconds())
		}
	}
	m.Compile = s.CompileTime.Seconds()
	_, median, _ := m.spread()
	m.TokensPerS = float64(rows) / median * 1e3
	c := b.Config
	read := b.layerParams() + float64(c.VocabSize*c.HiddenSize)
	cache := float64(rows) * float64(2*c.NumHiddenLayers*c.NumKeyValueHeads*c.HeadDim) * (float64(b.Prompt) + float64(b.Reply)/2)
	m.GBs = (read + cache) * b.bytesPer() / median / 1e6
	m.TFLOPs = 2 * read * float64(rows) / median / 1e9
	b.add(m)
	b.add(pre)
	if runs > 0 {
		b.add(Measurement{Name: name + "-serve", Unit: "ms", Times: serve})
	}
	return nil
}

// train times gradient passes and optimizer steps.
func (b *session) train(name string, runs int) error {
	keys := make([]model.Key, runs)
	for i := range keys {
		keys[i] = model.NewKey(uint64(i))
	}
	a, err := model.NewAdapters(b.Device, b.Config, b.LoRA, keys)
	if err != nil {
		return err
	}
	defer a.Free()
	rows := b.Rows
	t, err := grpo.NewTrainer(b.Device, b.weights, a, grpo.TrainerOptions{
		Rows: rows, T: b.T, Picks: rows * b.T * 7 / 8, Clip: grpo.ClipRange{Epsilon: 0.2, EpsilonHigh: 0.28},
		Optim: grpo.AdamW{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, MaxGradNorm: 1},
	})
	if err != nil {
		return err
	}
	defer t.Close()
	n, k := rows*b.T, t.Picks()
	mb := grpo.MicroBatch{Weights: make([]float32, k), Advantages: make([]float32, k)}
	for row := range rows {
		mb.Runs = append(mb.Runs, int32(row*runs/rows))
	}
	for i := range n {
		mb.IDs = append(mb.IDs, int32((i*7919)%b.Config.VocabSize))
		mb.Segments, mb.Branches = append(mb.Segments, 1), append(mb.Branches, 0)
		mb.Positions = append(mb.Positions, int32(i%b.T))
	}
	for i := range k {
		mb.At, mb.Targets = append(mb.At, int32(i)), append(mb.Targets, int32((i*104729)%b.Config.VocabSize))
		mb.Weights[i], mb.Advantages[i] = 1/float32(n), 0.5
	}
	m := Measurement{Name: name, Unit: "ms", Compile: t.CompileTime.Seconds()}
	u := Measurement{Name: name + "-update", Unit: "ms"}
	for i := range b.Repeat + 1 {
		start := time.Now()
		if _, err := t.Accumulate(mb, 0.9); err != nil {
			return err
		}
		passed := time.Since(start)
		if _, err := t.Step(1e-6); err != nil {
			return err
		}
		if i > 0 {
			m.Times = append(m.Times, 1e3*passed.Seconds())
			u.Times = append(u.Times, 1e3*(time.Since(start)-passed).Seconds())
		}
	}
	_, median, _ := m.spread()
	m.TokensPerS = float64(n) / median * 1e3
	// Forward 2 and backward 2 operations for each weight and token (no gradient of frozen weights), the head among them.
	c := b.Config
	m.TFLOPs = 4 * (b.layerParams() + float64(c.VocabSize*c.HiddenSize)) * float64(n) / median / 1e9
	b.add(m)
	b.add(u)
	return nil
}

// random is a Source of small random weights, for machines that have no checkpoint at hand: speed does not depend on values.
type random struct{}

func (random) ReadBF16(name string, dst []uint16) error {
	fill(len(dst), func(from, to int, state uint64) {
		for i := from; i < to; i++ {
			state = state*6364136223846793005 + 1442695040888963407
			dst[i] = checkpoint.BF16(value(state))
		}
	})
	return nil
}

func (random) ReadF32(name string, dst []float32) error {
	fill(len(dst), func(from, to int, state uint64) {
		for i := from; i < to; i++ {
			state = state*6364136223846793005 + 1442695040888963407
			dst[i] = value(state)
		}
	})
	return nil
}

func value(state uint64) float32 { return (float32(state>>40)/(1<<24) - 0.5) * 0.06 }

func fill(n int, part func(from, to int, state uint64)) {
	var wg sync.WaitGroup
	const block = 1 << 20
	limit := make(chan struct{}, runtime.NumCPU())
	for from := 0; from < n; from += block {
		wg.Add(1)
		limit <- struct{}{}
		go func() {
			defer wg.Done()
			part(from, min(from+block, n), uint64(from)+1)
			<-limit
		}()
	}
	wg.Wait()
}
