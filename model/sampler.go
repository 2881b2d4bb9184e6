package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"teamtalk/model/backend"

	"github.com/gomlx/gomlx/pkg/core/tensors"
)

// SamplerOptions fix what the sampling programs are compiled for.
type SamplerOptions struct {
	LoRA *LoRA   // nil: the base model alone
	Runs int     // M, adapters in lockstep; 1 without adapters
	Stop []int32 // tokens that end a reply
	// RoundPrompt pads prompts to a multiple of this many columns, so that few programs serve all lengths. 0 means 16.
	RoundPrompt int
}

// Sampler draws completions. Adapters stay apart from the frozen weights. It is not safe for use by several goroutines.
type Sampler struct {
	dev      *backend.Device
	weights  *Weights
	options  SamplerOptions
	served   *served
	prefills map[batchShape]*backend.Program
	loops    map[batchShape]*backend.Program
	// CompileTime is the seconds spent in XLA's compiler so far.
	CompileTime time.Duration
	// Steps counts decoding steps so far, each of all rows; PrefillTime and LoopTime are what prefills and steps took.
	Steps                 int
	PrefillTime, LoopTime time.Duration
}

// NewSampler prepares sampling from w. Programs are compiled when a shape is first used.
func NewSampler(dev *backend.Device, w *Weights, o SamplerOptions) (*Sampler, error) {
	if o.Runs < 1 {
		o.Runs = 1
	}
	if o.RoundPrompt == 0 {
		o.RoundPrompt = 16
	}
	if o.LoRA != nil {
		l := *o.LoRA
		if err := l.Validate(); err != nil {
			return nil, err
		}
		o.LoRA = &l
	}
	sv, err := newServed(dev, w, o.LoRA, o.Runs)
	if err != nil {
		return nil, err
	}
	return &Sampler{
		dev: dev, weights: w, options: o, served: sv,
		prefills: map[batchShape]*backend.Program{}, loops: map[batchShape]*backend.Program{},
	}, nil
}

// Load makes the adapters' present values the policy that is sampled.
func (s *Sampler) Load(a *Adapters) error { return s.served.load(s.weights, a) }

// Prompt is the ids before a reply, and one noise key for each completion wanted. No ids: the row is padding.
type Prompt struct {
	IDs  []int32
	Keys []Key
}

// Request asks for completions.
type Request struct {
	// Prompts are sorted by run, as many for each run; each with the same number of keys.
	Prompts     []Prompt
	MaxTokens   int
	Temperature float64 // 0: the likeliest token
	TopP        float64 // 0 or 1: the whole distribution
	// Columns reserves room for prompts up to this length, so that batches share one program; 0 takes the longest prompt's.
	Columns int
	// Progress, if set, is called between pieces of the loop of Every tokens with the replies so far.
	Every    int
	Progress func(replies []Completion)
}

// Completion is one reply.
type Completion struct {
	IDs       []int32   // the stop token included, if it came
	LogProbs  []float32 // of each id, at the sampling temperature, under the whole distribution
	Entropies []float32 // of the distribution that each id came from, in nats
	Finish    string    // "stop" or "length"
}

// Sample draws the completions of a request: result[i][j] is completion j of prompt i.
//
// A completion depends on the weights, its prompt, its key, temperature and top_p; that other rows share the batch changes it
// only through rounding.
func (s *Sampler) Sample(ctx context.Context, r Request) ([][]Completion, error) {
	b, err := s.shapeOf(r)
	if err != nil {
		return nil, err
	}
	if s.options.LoRA != nil && s.served.wa == nil {
		return nil, errors.New("sampling: no adapters loaded")
	}
	prefill, loop, err := s.programs(b)
	if err != nil {
		return nil, err
	}
	n := b.rows()
	ids := make([]int32, b.prompts*b.prompt)
	done := make([]bool, n)
	start := make([]int32, n)
	keys := make([]uint32, 2*n)
	for i, p := range r.Prompts {
		pad := b.prompt - len(p.IDs)
		copy(ids[i*b.prompt+pad:], p.IDs)
		for j := range b.group {
			row := i*b.group + j
			start[row] = int32(pad)
			if len(p.IDs) == 0 {
				done[row] = true
				start[row] = int32(b.prompt - 1)
				continue
			}
			keys[2*row], keys[2*row+1] = p.Keys[j][0], p.Keys[j][1]
		}
	}
	consts := []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(start, n), tensors.FromFlatDataAndDimensions(keys, n, 2), nil,
		tensors.FromScalar(float32(r.Temperature)), tensors.FromScalar(float32(r.TopP)),
	}
	weights := s.served.inputs(s.weights)
	call := func(p *backend.Program, first []*tensors.Tensor, limit int) ([]*tensors.Tensor, error) {
		consts[inLimit] = tensors.FromScalar(int32(limit))
		in := append(append(first, consts...), weights...)
		out, err := p.Run(in...)
		consts[inLimit].MustFinalizeAll()
		return out, err
	}
	first := []*tensors.Tensor{tensors.FromFlatDataAndDimensions(ids, b.prompts, b.prompt), tensors.FromFlatDataAndDimensions(done, n)}
	began := time.Now()
	state, err := call(prefill, first, 0)
	s.PrefillTime += time.Since(began)
	for _, t := range first {
		t.MustFinalizeAll()
	}
	defer func() {
		for _, t := range append(state, consts...) {
			if t != nil && t.Ok() {
				t.MustFinalizeAll()
			}
		}
	}()
	if err != nil {
		return nil, err
	}
	end := b.prompt + r.MaxTokens - 1 // the last token is not fed
	column := b.prompt
	for column < end {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		limit := end
		if r.Every > 0 {
			limit = min(end, column+r.Every)
		}
		began := time.Now()
		if state, err = call(loop, state, limit); err != nil {
			return nil, err
		}
		s.LoopTime += time.Since(began)
		now := int(tensors.ToScalar[int32](state[stColumn]))
		s.Steps += now - column
		column = now
		if r.Progress != nil {
			replies, err := s.replies(b, r, state, column)
			if err != nil {
				return nil, err
			}
			r.Progress(replies)
		}
		if column < limit {
			break // every row is done
		}
	}
	flat, err := s.replies(b, r, state, column)
	if err != nil {
		return nil, err
	}
	out := make([][]Completion, b.prompts)
	for i := range out {
		out[i] = flat[i*b.group : (i+1)*b.group]
	}
	return out, nil
}

// replies reads the state's replies, whose tokens stand up to column.
func (s *Sampler) replies(b batchShape, r Request, state []*tensors.Tensor, column int) ([]Completion, error) {
	tokens, err := tensors.CopyFlatData[int32](state[stTokens])
	if err != nil {
		return nil, err
	}
	logp, err := tensors.CopyFlatData[float32](state[stLogp])
	if err != nil {
		return nil, err
	}
	entropy, err := tensors.CopyFlatData[float32](state[stEntropy])
	if err != nil {
		return nil, err
	}
	for _, i := range []int{stTokens, stLogp, stEntropy, stColumn} {
		state[i].FinalizeLocal() // the loop takes the device's copy away
	}
	written := min(column-b.prompt+1, r.MaxTokens)
	out := make([]Completion, b.rows())
	for row := range out {
		if len(r.Prompts[row/b.group].IDs) == 0 {
			continue
		}
		ids := tokens[row*b.reply : row*b.reply+written]
		c := Completion{Finish: "length"}
		for i, id := range ids {
			for _, stop := range s.options.Stop {
				if id == stop && c.Finish == "length" {
					c.Finish = "stop"
					ids = ids[:i+1]
				}
			}
			if c.Finish == "stop" {
				break
			}
		}
		c.IDs = append([]int32(nil), ids...)
		at := row * b.reply
		c.LogProbs = append([]float32(nil), logp[at:at+len(ids)]...)
		c.Entropies = append([]float32(nil), entropy[at:at+len(ids)]...)
		out[row] = c
	}
	return out, nil
}

func (s *Sampler) shapeOf(r Request) (batchShape, error) {
	b := batchShape{prompts: len(r.Prompts), reply: r.MaxTokens, nucleus: r.TopP > 0 && r.TopP < 1}
	if b.prompts == 0 || b.prompts%s.options.Runs != 0 {
		return b, fmt.Errorf("sampling: %d prompts for %d runs; expected as many for each run", b.prompts, s.options.Runs)
	}
	if r.MaxTokens < 1 {
		return b, fmt.Errorf("sampling: max tokens is %d, expected 1 or more", r.MaxTokens)
	}
	if !(r.Temperature >= 0) || math.IsInf(r.Temperature, 1) || !(r.TopP >= 0 && r.TopP <= 1) {
		return b, fmt.Errorf("sampling: temperature %g, top_p %g; expected 0 or more, and 0 to 1", r.Temperature, r.TopP)
	}
	b.group = len(r.Prompts[0].Keys)
	longest := max(r.Columns, 1)
	for i, p := range r.Prompts {
		if len(p.Keys) != b.group || b.group == 0 {
			return b, fmt.Errorf("sampling: prompt %d asks for %d completions, prompt 0 for %d", i, len(p.Keys), b.group)
		}
		longest = max(longest, len(p.IDs))
		for _, id := range p.IDs {
			if id < 0 || int(id) >= s.weights.Config.VocabSize {
				return b, fmt.Errorf("sampling: prompt %d holds id %d, outside of the vocabulary of %d", i, id, s.weights.Config.VocabSize)
			}
		}
	}
	round := s.options.RoundPrompt
	b.prompt = (longest + round - 1) / round * round
	if room := s.weights.Config.MaxPositionEmbeddings; longest+r.MaxTokens > room {
		return b, fmt.Errorf("sampling: a prompt of %d tokens and %d new ones need %d positions, the model has %d", longest, r.MaxTokens, longest+r.MaxTokens, room)
	}
	b.columns = b.prompt + b.reply
	return b, nil
}

func (s *Sampler) programs(b batchShape) (prefill, loop *backend.Program, err error) {
	prefill, loop = s.prefills[b], s.loops[b]
	if prefill != nil && loop != nil {
		return prefill, loop, nil
	}
	start := time.Now()
	defer func() { s.CompileTime += time.Since(start) }()
	err = backend.Together(
		func() (err error) { prefill, err = s.compilePrefill(b); return err },
		func() (err error) { loop, err = s.compileLoop(b); return err },
	)
	if err != nil {
		return nil, nil, err
	}
	s.prefills[b], s.loops[b] = prefill, loop
	return prefill, loop, nil
}

// Prepare compiles the programs of requests of r's shape, so that the first one does not wait.
func (s *Sampler) Prepare(r Request) error {
	b, err := s.shapeOf(r)
	if err != nil {
		return err
	}
	_, _, err = s.programs(b)
	return err
}

// Close frees programs and the appended weights.
func (s *Sampler) Close() {
	s.served.free()
	for _, p := range s.prefills {
		_ = p.Close()
	}
	for _, p := range s.loops {
		_ = p.Close()
	}
}
