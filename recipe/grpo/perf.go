package grpo

import (
	"time"

	"teamtalk/recipe/cost"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

// filled is what a step's gradient passes held, all runs together.
type filled struct {
	passes  int
	slots   int // tokens of all rows, padding included
	tokens  int // of them no padding
	learnt  int // predictions
	context int // of a row, in tokens
}

// filled counts what was packed.
func (p *packed) filled() filled {
	f := filled{passes: len(p.passes), slots: len(p.passes) * p.rows * p.t, context: p.t}
	for _, ps := range p.passes {
		for _, n := range ps.used {
			f.tokens += n
		}
		f.learnt += ps.picks
	}
	return f
}

// perf adds a step's throughput to its metrics: tokens sampled and tokens learnt from in a second, how many gradient passes there
// were and which share of their tokens was no padding, what the passes' products came to (10¹² operations in a second, without
// padding), and the most GPU memory that this process was seen to use. They are of all runs together, which share the device,
// and the same for each; like timing_s/ they are a clock's. What has no value, without a GPU or with nothing to learn, is
// left out.
func (l *loop) perf(out map[string]float64, sampled int, gen, learn time.Duration) {
	out["perf/gen_tokens_per_s"] = float64(sampled) / gen.Seconds()
	out["perf/passes"] = float64(l.filled.passes)
	if peak := l.Device.PeakBytes(); peak > 0 {
		out["perf/peak_device_gib"] = float64(peak) / (1 << 30)
	}
	if l.filled.passes == 0 {
		return
	}
	f := l.filled
	out["perf/train_fill"] = float64(f.tokens) / float64(f.slots)
	out["perf/train_tokens_per_s"] = float64(f.tokens) / learn.Seconds()
	work := l.costs().Gradient(f.tokens, f.learnt, len(l.runs), float64(f.context)/2)
	out["perf/train_tflop_per_s"] = work.FLOPs / learn.Seconds() / 1e12
}

func (l *loop) costs() cost.Model {
	m := cost.Model{Config: l.Weights.Config, LoRA: l.lora, Bytes: 4}
	if l.Weights.DType == dtypes.BFloat16 {
		m.Bytes = 2
	}
	return m
}
