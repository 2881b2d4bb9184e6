package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"teamtalk/recipe/data"
)

// learner is the model while it is pretrained.
type learner interface {
	// Step makes one AdamW update. The loss is the sum over the batch of weight times cross-entropy, divided by norm;
	// gradNorm is the gradient's norm before clipping.
	Step(batch *data.Packed, learningRate, norm float64) (loss, gradNorm float64, err error)
	// Weights returns what was learnt, named and laid out as in a checkpoint.
	Weights() (map[string][]float32, error)
}

// source yields batches of one shape.
type source interface {
	Next() (*data.Packed, error)
}

// train runs the whole schedule and prints a line every logEvery steps. The norm is the first batch's weight for all
// batches: dividing each by its own would make a token count more in a batch of short replies.
func train(ctx context.Context, m learner, batches source, s schedule, logEvery int, w io.Writer) error {
	if err := s.validate(); err != nil {
		return err
	}
	norm, smooth, began := 0.0, 0.0, time.Now()
	for step := range s.Steps {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped before step %d of %d, nothing was written: %w", step+1, s.Steps, err)
		}
		b, err := batches.Next()
		if err != nil {
			return err
		}
		if norm == 0 {
			norm = b.WeightSum()
		}
		rate := s.rate(step)
		loss, gradNorm, err := m.Step(b, rate, norm)
		if err != nil {
			return fmt.Errorf("step %d: %w", step+1, err)
		}
		if math.IsNaN(loss) || math.IsInf(loss, 0) {
			return fmt.Errorf("step %d: the loss is %v: expected a finite number, try a lower -lr", step+1, loss)
		}
		if step == 0 {
			smooth = loss
		}
		smooth += 0.05 * (loss - smooth)
		if logEvery > 0 && (step%logEvery == 0 || step == s.Steps-1) {
			spent := time.Since(began)
			left := time.Duration(float64(spent) / float64(step+1) * float64(s.Steps-step-1))
			fmt.Fprintf(w, "step %d/%d  loss %.4f  lr %.2e  gradient %.2f  %s, %s left\n",
				step+1, s.Steps, smooth, rate, gradNorm, spent.Round(time.Second), left.Round(time.Second))
		}
	}
	return nil
}
