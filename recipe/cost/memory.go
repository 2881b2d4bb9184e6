package cost

import (
	"fmt"
	"strings"
)

// Batch is what lies on the device at the same time while runs train: a gradient pass's shape and the sampler's.
type Batch struct {
	Runs    int // M, in lockstep
	Rows, T int // of a gradient pass, all runs together
	Picks   int // predictions of a gradient pass, all runs together
	// Samples is the number of replies sampled at once, Columns the length of their cache, Prompt the columns of it that hold
	// prompts, Chunk how many prompts one pass over them takes; 0: no sampler is open.
	Samples, Columns, Prompt, Chunk int
	Overhead                        Overhead
}

// Overhead is what a process takes beside what its programs ask for: Fixed bytes, and a share of what they ask for that the
// allocator loses between its blocks. Apart says that what the gradient pass and the sampler use lies apart, so that both count.
type Overhead struct {
	Fixed, Share float64
	Apart        bool
}

// The overheads that were measured. On an H200 XLA's allocator grows by regions that it does not join: a process that trained one
// run of Qwen2.5-1.5B with 4 x 1,024 tokens in a pass held 40.7 GiB (nvidia-smi), four runs in lockstep 48.7. On the CPU the most that
// a process of the mini model had resident (VmHWM) was 0.43 to 1.28 GiB for passes of 512 to 4,096 tokens.
var (
	OnGPU = Overhead{Fixed: 0.6 * (1 << 30), Share: 0.1, Apart: true}
	OnCPU = Overhead{Fixed: 0.4 * (1 << 30), Share: 0.2}
)

// Part is one part of an estimate.
type Part struct {
	Name  string
	Bytes float64
}

// Memory is an estimate by part. Of the gradient pass and the sampler only the larger counts, because they take turns, unless their
// memory lies apart.
type Memory struct {
	Kept     []Part // from the first step to the last
	Gradient []Part // while a gradient pass runs
	Sampler  []Part // while replies are sampled
	Other    []Part // the driver's, and what the allocator loses between its blocks
	Apart    bool   // the gradient pass and the sampler do not use the same memory in turn
}

// kept says how often a layer keeps a value of each width for the backward pass, or needs it at the pass's peak.
type kept struct {
	inner  float64 // of the intermediate size: gate, up, their product, the gradients of one layer
	hidden float64 // of the hidden size: two residuals and two normalised inputs
	heads  float64 // of queries, keys and values
	scores float64 // bytes of an attention score
	logits float64 // bytes of a logit, itself and its gradient
}

// They are fitted to what XLA laid out for gradient programs (PJRT_Executable_GetCompiledMemoryStats): on the CPU, in f32, of different
// widths; on an H200, in bf16, of Qwen2.5-1.5B's shape, 8 x 704 tokens of one run (24.7 GiB of temporaries) and 4 x 1,024 of four (21.5),
// which settle two numbers: scores, and one factor, 0.53, for the three widths. XLA fuses more there.
var (
	keptF32  = kept{inner: 7.7, hidden: 4.5, heads: 2.2, scores: 9.2, logits: 8}
	keptBF16 = kept{inner: 0.53 * 7.7, hidden: 0.53 * 4.5, heads: 0.53 * 2.2, scores: 6.5, logits: 6}
)

// Estimate is the memory that training in lockstep takes, known before anything is compiled.
//
// With V the vocabulary, H, I and Q the hidden, intermediate and query+key+value widths, r the rank summed over a layer's targets,
// L layers, h heads, N = Rows·T tokens, K picks, A adapter weights of a run, b bytes of a weight:
//
//	weights            b·params
//	sampler's weights  b·(linear + 2·M·A): every linear map again, with the adapters appended
//	adapters           4·4·M·A: values, two moments, gradients, f32
//	activations        N·L·b·(7.7·I + 4.5·H + 2.2·Q + r), in bf16 0.53 of the widths
//	attention          N·L·h·T·9.2, in bf16 6.5
//	logits             K·V·8, in bf16 6
//	adapters' work     M·A·(4 + 2·b): new gradients, matrices fused by group
//	                   and Rows·A·b of several runs: every row has its run's adapters
//	cache              Samples·Columns·(bytes of keys and values of a token), twice: it grows by being copied
//	sampling           Samples·V·12: logits, noise and order
//	prompts            Chunk·Prompt·(2·I + 3·H + 3·Q)·b + Chunk·h·Prompt²·8
func (m Model) Estimate(s Batch) Memory {
	c := m.Config
	b, runs := float64(m.Bytes), float64(s.Runs)
	adapters := runs * m.Adapters()
	inner, hidden := float64(c.IntermediateSize), float64(c.HiddenSize)
	qkv := float64((c.NumAttentionHeads + 2*c.NumKeyValueHeads) * c.HeadDim)
	layers, heads, vocab := float64(c.NumHiddenLayers), float64(c.NumAttentionHeads), float64(c.VocabSize)
	ranks := float64(m.LoRA.Rank * len(m.LoRA.Targets))
	tokens, picks := float64(s.Rows*s.T), float64(s.Picks)
	k := keptF32
	if m.Bytes < 4 {
		k = keptBF16
	}
	e := Memory{
		Kept: []Part{{"weights", m.Weights()}, {"adapters, moments and gradients", 16 * adapters}},
		Gradient: []Part{
			{"activations", tokens * layers * b * (k.inner*inner + k.hidden*hidden + k.heads*qkv + ranks)},
			{"attention", tokens * layers * heads * float64(s.T) * k.scores},
			{"logits", picks * vocab * k.logits},
			{"adapters' gradients", adapters * (4 + 2*b)},
		},
	}
	if s.Runs > 1 {
		e.Gradient = append(e.Gradient, Part{"adapters of every row", float64(s.Rows) * m.Adapters() * b})
	}
	if s.Samples > 0 {
		samples, prompts := float64(s.Samples), float64(s.Chunk*s.Prompt)
		e.Kept = append(e.Kept, Part{"weights with adapters, for sampling", b * (m.Linear() + 2*adapters)})
		e.Sampler = []Part{
			{"cache", 2 * samples * float64(s.Columns) * m.cacheBytes()},
			{"sampling", samples * vocab * 12},
			{"prompts", prompts*b*(2*inner+3*hidden+3*qkv) + prompts*heads*float64(s.Prompt)*8},
		}
	}
	e.Apart = s.Overhead.Apart
	asked := sum(e.Kept) + sum(e.turn())
	if s.Overhead != (Overhead{}) {
		e.Other = []Part{{"driver and allocator", s.Overhead.Fixed + s.Overhead.Share*asked}}
	}
	return e
}

// Total is the estimate's peak, in bytes.
func (e Memory) Total() float64 {
	return sum(e.Peak())
}

// turn lists the parts of the gradient pass or of the sampler, whichever takes more, or of both where they lie apart.
func (e Memory) turn() []Part {
	switch {
	case e.Apart:
		return append(append([]Part(nil), e.Gradient...), e.Sampler...)
	case sum(e.Sampler) > sum(e.Gradient):
		return e.Sampler
	}
	return e.Gradient
}

// Peak lists the parts that stand side by side at the peak.
func (e Memory) Peak() []Part {
	return append(append(append([]Part(nil), e.Kept...), e.turn()...), e.Other...)
}

// String is the total and its parts, in GiB.
func (e Memory) String() string {
	var parts []string
	for _, p := range e.Peak() {
		parts = append(parts, p.Name+" "+GiB(p.Bytes))
	}
	return fmt.Sprintf("%s GiB (%s)", GiB(e.Total()), strings.Join(parts, ", "))
}

// GiB is a number of bytes in GiB, with two digits after the point, three below 0.1.
func GiB(bytes float64) string {
	if x := bytes / (1 << 30); x < 0.1 {
		return fmt.Sprintf("%.3f", x)
	} else {
		return fmt.Sprintf("%.2f", x)
	}
}

func sum(parts []Part) float64 {
	total := 0.0
	for _, p := range parts {
		total += p.Bytes
	}
	return total
}
