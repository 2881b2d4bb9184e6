package bench

import (
	"fmt"
	"time"

	"teamtalk/recipe/grpo"
)

// train times gradient passes of every shape, and optimizer steps.
func (b *session) train(suffix string, runs int) error {
	for _, s := range b.Shapes {
		if err := b.trainShape(suffix, runs, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

func (b *session) trainShape(suffix string, runs int, shape Shape) error {
	a, err := b.adapters(runs)
	if err != nil {
		return err
	}
	defer a.Free()
	s := b.Plan.Training
	t, err := grpo.NewTrainer(b.Device, b.weights, a, grpo.TrainerOptions{
		Rows: shape.Rows, T: shape.T, Picks: shape.Rows * shape.T * 7 / 8, Clip: grpo.ClipRange{Epsilon: s.Epsilon, EpsilonHigh: s.EpsilonHigh},
		Optim: grpo.AdamW{Beta1: s.AdamBeta1, Beta2: s.AdamBeta2, Epsilon: s.AdamEpsilon, MaxGradNorm: s.MaxGradNorm},
	})
	if err != nil {
		return err
	}
	defer t.Close()
	n, k := shape.Rows*shape.T, t.Picks()
	mb := grpo.MicroBatch{Weights: make([]float32, k), Advantages: make([]float32, k)}
	for row := range shape.Rows {
		mb.Runs = append(mb.Runs, int32(row*runs/shape.Rows))
	}
	for i := range n {
		mb.IDs = append(mb.IDs, int32((i*7919)%b.Config.VocabSize))
		mb.Segments, mb.Branches = append(mb.Segments, 1), append(mb.Branches, 0)
		mb.Positions = append(mb.Positions, int32(i%shape.T))
	}
	for i := range k {
		mb.At, mb.Targets = append(mb.At, int32(i)), append(mb.Targets, int32((i*104729)%b.Config.VocabSize))
		mb.Weights[i], mb.Advantages[i] = 1/float32(n), 0.5
	}
	m := Line{Name: "train" + suffix + "-" + shape.String(), Unit: "ms", Compile: t.CompileTime.Seconds()}
	u := Line{Name: "update" + suffix + "-" + shape.String(), Unit: "ms"}
	for i := range b.Repeat + 1 {
		start := time.Now()
		if _, err := t.Accumulate(mb, s.Temperature); err != nil {
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
	pass := b.costs.Gradient(n, k, runs, float64(shape.T)/2)
	update := b.costs.Update(runs)
	m.Work, u.Work = &pass, &update
	b.add(m, float64(n))
	b.add(u, 0)
	return nil
}
