package cost

// Work is what a computation cannot do without: operations of its products (a multiplication and an addition are two) and bytes
// that it must read or write at least once. What a program does beyond that is not counted, so that a share of the roofline is a
// share of what the hardware could have done.
type Work struct {
	FLOPs float64 `json:"flops"`
	Bytes float64 `json:"bytes"`
}

// Decode is one decoding step of rows sequences of runs runs, that have context tokens on average. Every weight is read once,
// the adapters of each run once, every row's keys and values once. runs 0: without adapters.
func (m Model) Decode(rows, runs int, context float64) Work {
	n, adapters := float64(rows), 0.0
	if runs > 0 {
		adapters = m.Adapters()
	}
	return Work{
		FLOPs: n * (2*(m.Linear()+adapters+m.Head()) + m.attention(context)),
		Bytes: float64(m.Bytes)*(m.Linear()+float64(runs)*adapters+m.Head()) + n*context*m.cacheBytes(),
	}
}

// Prefill reads prompts of length tokens, each once whatever the number of its replies, and gives the logits of their last.
func (m Model) Prefill(prompts, runs, length int) Work {
	n, adapters := float64(prompts*length), 0.0
	if runs > 0 {
		adapters = m.Adapters()
	}
	return Work{
		FLOPs: n*(2*(m.Linear()+adapters)+m.attention(float64(length)/2)) + 2*float64(prompts)*m.Head(),
		Bytes: float64(m.Bytes)*(m.Linear()+float64(runs)*adapters+m.Head()) + n*m.cacheBytes(),
	}
}

// Gradient is the forward and backward pass over tokens that attend to context tokens on average, with logits at picks of them.
// Frozen weights have no gradient, so that each costs 2 operations forward and 2 backward; an adapter's weight costs 6, attention
// three times its forward pass.
func (m Model) Gradient(tokens, picks, runs int, context float64) Work {
	n := float64(tokens)
	return Work{
		FLOPs: n*(4*m.Linear()+6*m.Adapters()+3*m.attention(context)) + 4*float64(picks)*m.Head(),
		Bytes: 2*float64(m.Bytes)*(m.Linear()+m.Head()) + 3*4*float64(runs)*m.Adapters(),
	}
}

// Update is a step of AdamW: parameters, two moments and gradients of every run read and written, f32.
func (m Model) Update(runs int) Work {
	n := float64(runs) * m.Adapters()
	return Work{FLOPs: 12 * n, Bytes: 8 * 4 * n}
}

// Weights is the size of the frozen weights, in bytes.
func (m Model) Weights() float64 { return float64(m.Config.Params()) * float64(m.Bytes) }
