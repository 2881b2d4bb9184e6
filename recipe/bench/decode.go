package bench

import (
	"context"
	"time"

	"teamtalk/model"
)

// decode times whole replies that nothing stops: their prefill, their steps and, with adapters, what it takes to make the
// adapters those that are sampled. runs 0 is the base model without adapters.
func (b *session) decode(ctx context.Context, suffix string, runs, prompts int, topP float64) error {
	t := b.Plan.Training
	// One cache of full length from the first step to the last, so that a step is one thing.
	o := model.SamplerOptions{Runs: max(1, runs), RoundPrompt: 64, Phases: []int{}}
	var adapters *model.Adapters
	if runs > 0 {
		o.LoRA = &b.LoRA
		var err error
		if adapters, err = b.adapters(runs); err != nil {
			return err
		}
		defer adapters.Free()
	}
	s, err := model.NewSampler(b.Device, b.weights, o)
	if err != nil {
		return err
	}
	defer s.Close()
	serve := Line{Name: "serve" + suffix, Unit: "ms"}
	for i := range b.Repeat + 1 {
		start := time.Now()
		if err := s.Load(adapters); err != nil {
			return err
		}
		if i > 0 {
			serve.Times = append(serve.Times, 1e3*time.Since(start).Seconds())
		}
	}
	r := b.synthetic(prompts*max(1, runs), topP)
	rows := prompts * max(1, runs) * t.NumGenerations
	m := Line{Name: "decode" + suffix, Unit: "ms a step"}
	pre := Line{Name: "prefill" + suffix, Unit: "ms"}
	for i := range b.Repeat + 1 {
		loop, prefill, steps := s.LoopTime, s.PrefillTime, s.Steps
		if _, err := s.Sample(ctx, r); err != nil {
			return err
		}
		if i > 0 { // the first warms up
			m.Times = append(m.Times, 1e3*(s.LoopTime-loop).Seconds()/float64(max(1, s.Steps-steps)))
			pre.Times = append(pre.Times, 1e3*(s.PrefillTime-prefill).Seconds())
		}
	}
	m.Compile = s.CompileTime.Seconds()
	step := b.costs.Decode(rows, runs, float64(b.Prompt)+float64(t.MaxCompletionLength)/2)
	read := b.costs.Prefill(len(r.Prompts), runs, b.Prompt)
	m.Work, pre.Work = &step, &read
	b.add(m, float64(rows))
	b.add(pre, float64(len(r.Prompts)*b.Prompt))
	if runs > 0 {
		b.add(serve, 0)
	}
	return nil
}

// synthetic asks for replies of full length to prompts of b.Prompt ids.
func (b *session) synthetic(prompts int, topP float64) model.Request {
	t := b.Plan.Training
	r := model.Request{MaxTokens: t.MaxCompletionLength, Temperature: t.Temperature, TopP: topP}
	for i := range prompts {
		p := model.Prompt{}
		for at := range b.Prompt {
			p.IDs = append(p.IDs, int32((i*7919+at*104729)%b.Config.VocabSize))
		}
		for g := range t.NumGenerations {
			p.Keys = append(p.Keys, model.NewKey(uint64(i), uint64(g)))
		}
		r.Prompts = append(r.Prompts, p)
	}
	return r
}
