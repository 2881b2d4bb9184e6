package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"teamtalk/model/backend"
)

// SamplerOptions fix what the sampling programs are compiled for.
type SamplerOptions struct {
	LoRA *LoRA   // nil: the base model alone
	Runs int     // M, adapters in lockstep; 1 without adapters
	Stop []int32 // tokens that end a reply
	// RoundPrompt pads prompts to a multiple of this many columns, so that few programs serve all lengths. 0 means 16.
	RoundPrompt int
	// Chunk is how many prompts one pass takes; 0 means 16. The Go backend always takes all.
	Chunk int
	// Phases are the numbers of reply tokens after which finished rows are left behind and the cache grows; nil means a half
	// and three quarters of a reply of 256 tokens or more. Phases do not change replies but through rounding.
	Phases []int
}

// Sampler draws completions. Adapters stay apart from the frozen weights. It is not safe for use by several goroutines.
type Sampler struct {
	dev     *backend.Device
	weights *Weights
	options SamplerOptions
	served  *served

	blanks    map[batchShape]*backend.Program
	prefills  map[prefillShape]*backend.Program
	loops     map[batchShape]*backend.Program
	regroups  map[regroupShape]*backend.Program
	compiling sync.Mutex // guards the maps
	// CompileTime is the longest that a request waited for one program's compilation.
	CompileTime time.Duration
	// Steps counts decoding steps so far and RowSteps their rows; PrefillTime and LoopTime are what prefills and steps took.
	Steps, RowSteps       int
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
	if o.Chunk == 0 {
		o.Chunk = 16
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
		blanks: map[batchShape]*backend.Program{}, prefills: map[prefillShape]*backend.Program{},
		loops: map[batchShape]*backend.Program{}, regroups: map[regroupShape]*backend.Program{},
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
// only through rounding. A log-probability or entropy that is not a finite number is an error.
func (s *Sampler) Sample(ctx context.Context, r Request) ([][]Completion, error) {
	shape, err := s.shapeOf(r)
	if err != nil {
		return nil, err
	}
	if s.options.LoRA != nil && s.served.wa == nil {
		return nil, errors.New("sampling: no adapters loaded")
	}
	if err := s.Prepare(r); err != nil {
		return nil, err
	}
	b := newBatch(s, r, shape)
	defer b.free()
	if err := b.prefill(); err != nil {
		return nil, err
	}
	end := shape.prompt + r.MaxTokens - 1 // the last token is not fed
	for i, phase := range s.phases(r.MaxTokens) {
		if i > 0 {
			if err := b.regroup(shape.prompt + phase); err != nil {
				return nil, err
			}
		}
		last := min(end, shape.prompt+phase)
		for b.column < last && !b.done {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			limit := last
			if r.Every > 0 {
				limit = min(last, b.column+r.Every)
			}
			if err := b.decode(limit); err != nil {
				return nil, err
			}
			if r.Progress != nil {
				if err := b.read(); err != nil {
					return nil, err
				}
				r.Progress(slices.Clone(b.replies))
			}
		}
		if b.done {
			break
		}
	}
	if err := b.read(); err != nil {
		return nil, err
	}
	out := make([][]Completion, len(r.Prompts))
	group := len(r.Prompts[0].Keys)
	for i := range out {
		out[i] = b.replies[i*group : (i+1)*group]
	}
	return out, nil
}

// phases are the reply lengths at which a loop returns to regroup, the last one the longest reply.
func (s *Sampler) phases(reply int) []int {
	var out []int
	planned := s.options.Phases
	if planned == nil && reply >= 256 {
		planned = []int{reply / 2, reply * 3 / 4}
	}
	for _, p := range planned {
		if p > 0 && p < reply && (len(out) == 0 || p > out[len(out)-1]) {
			out = append(out, p)
		}
	}
	return append(out, reply)
}

// shapeOf checks a request and gives the shape of its first phase.
func (s *Sampler) shapeOf(r Request) (batchShape, error) {
	b := batchShape{reply: r.MaxTokens, nucleus: r.TopP > 0 && r.TopP < 1}
	if len(r.Prompts) == 0 || len(r.Prompts)%s.options.Runs != 0 {
		return b, fmt.Errorf("sampling: %d prompts for %d runs; expected as many for each run", len(r.Prompts), s.options.Runs)
	}
	if r.MaxTokens < 1 {
		return b, fmt.Errorf("sampling: max tokens is %d, expected 1 or more", r.MaxTokens)
	}
	if !(r.Temperature >= 0) || math.IsInf(r.Temperature, 1) || !(r.TopP >= 0 && r.TopP <= 1) {
		return b, fmt.Errorf("sampling: temperature %g, top_p %g; expected 0 or more, and 0 to 1", r.Temperature, r.TopP)
	}
	group := len(r.Prompts[0].Keys)
	longest := max(r.Columns, 1)
	for i, p := range r.Prompts {
		if len(p.Keys) != group || group == 0 {
			return b, fmt.Errorf("sampling: prompt %d asks for %d completions, prompt 0 for %d", i, len(p.Keys), group)
		}
		longest = max(longest, len(p.IDs))
		for _, id := range p.IDs {
			if id < 0 || int(id) >= s.weights.Config.VocabSize {
				return b, fmt.Errorf("sampling: prompt %d holds id %d, outside of the vocabulary of %d", i, id, s.weights.Config.VocabSize)
			}
		}
	}
	round := s.options.RoundPrompt
	b.rows = len(r.Prompts) * group
	b.prompt = (longest + round - 1) / round * round
	if room := s.weights.Config.MaxPositionEmbeddings; longest+r.MaxTokens > room {
		return b, fmt.Errorf("sampling: a prompt of %d tokens and %d new ones need %d positions, the model has %d", longest, r.MaxTokens, longest+r.MaxTokens, room)
	}
	b.columns = b.prompt + s.phases(r.MaxTokens)[0]
	return b, nil
}

// sizes are the numbers of rows that a batch goes on with when others have ended, largest first: all, a half, a quarter.
func sizes(rows int) []int {
	out := []int{rows}
	for range 2 {
		half := (out[len(out)-1]/2 + 7) / 8 * 8
		if half < 16 || half >= out[len(out)-1] {
			break
		}
		out = append(out, half)
	}
	return out
}

// Prepare compiles every program that a request of r's shape can come to need, side by side, so that none waits later.
func (s *Sampler) Prepare(r Request) error {
	first, err := s.shapeOf(r)
	if err != nil {
		return err
	}
	jobs := []func() error{
		func() error { _, err := compiled(s, s.blanks, first, s.compileBlank); return err },
		func() error {
			_, err := compiled(s, s.prefills, s.prefillShape(first, r), s.compilePrefill)
			return err
		},
		func() error { _, err := compiled(s, s.loops, first, s.compileLoop); return err },
	}
	before := []batchShape{first}
	for _, phase := range s.phases(r.MaxTokens)[1:] {
		var now []batchShape
		for _, rows := range sizes(first.rows) {
			to := first
			to.rows, to.columns = rows, first.prompt+phase
			now = append(now, to)
			jobs = append(jobs, func() error { _, err := compiled(s, s.loops, to, s.compileLoop); return err })
			for _, from := range before {
				if from.rows >= rows {
					jobs = append(jobs, func() error { _, err := compiled(s, s.regroups, regroupShape{from, to}, s.compileRegroup); return err })
				}
			}
		}
		before = now
	}
	return backend.Together(jobs...)
}

// prefillShape is the chunk that a request's prompts are taken in.
func (s *Sampler) prefillShape(b batchShape, r Request) prefillShape {
	chunk := len(r.Prompts)
	if s.dev.InPlaceUpdates() {
		chunk = min(chunk, s.options.Chunk)
	}
	return prefillShape{b, chunk, len(r.Prompts[0].Keys)}
}

// compiled returns the program of a shape, compiling it when the shape is new.
func compiled[K comparable](s *Sampler, of map[K]*backend.Program, shape K, compile func(K) (*backend.Program, error)) (*backend.Program, error) {
	s.compiling.Lock()
	p := of[shape]
	s.compiling.Unlock()
	if p != nil {
		return p, nil
	}
	start := time.Now()
	p, err := compile(shape)
	s.compiling.Lock()
	defer s.compiling.Unlock()
	s.CompileTime = max(s.CompileTime, time.Since(start))
	if err == nil {
		of[shape] = p
	}
	return p, err
}

// Close frees programs and the appended weights.
func (s *Sampler) Close() {
	s.served.free()
	for _, p := range s.blanks {
		_ = p.Close()
	}
	for _, p := range s.prefills {
		_ = p.Close()
	}
	for _, p := range s.loops {
		_ = p.Close()
	}
	for _, p := range s.regroups {
		_ = p.Close()
	}
}
