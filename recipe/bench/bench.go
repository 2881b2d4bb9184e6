// Package bench measures the parts that an experiment's time is made of, on the machine it runs on and on the code that
// experiments run, and holds them against what the machine can do and against the project's goals.
package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"teamtalk/model"
	"teamtalk/model/backend"
	"teamtalk/model/checkpoint"
	"teamtalk/model/tokenizer"
	"teamtalk/recipe/cost"
	"teamtalk/recipe/data"
	"teamtalk/recipe/experiment"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

// Options say what to measure.
type Options struct {
	Device *backend.Device
	Config checkpoint.Config
	Source model.Source // nil: random weights of Config's shape
	From   string       // what Source reads: gguf, safetensors; random without one
	// Tokenizer and Problems are those of a real experiment. Real says that the model answers them: replies stop where they
	// stop and rewards are the grader's. Otherwise no reply stops, and half of the groups have advantages.
	Tokenizer *tokenizer.Tokenizer
	Problems  data.Set
	Stop      []int32
	Real      bool
	Plan      experiment.Plan // whose batches and settings are used
	LoRA      model.LoRA
	Prompt    int     // tokens of each synthetic prompt
	Shapes    []Shape // of gradient passes, all runs together
	Rows      int     // of a gradient pass in whole steps; 0: the trainer's own preference
	Repeat    int
	Only      []string // names to measure; empty: all
	Goals     bool     // the machine and the shape are those that the goals are for
	Log       io.Writer
}

// Shape is a gradient pass: rows of T tokens, all runs together.
type Shape struct{ Rows, T int }

func (s Shape) String() string { return fmt.Sprintf("%dx%d", s.Rows, s.T) }

// Result is what a bench run gives, as its JSON file holds it.
type Result struct {
	Version int    `json:"version"`
	Backend string `json:"backend"`
	Plugin  string `json:"plugin"` // its own word of what it is
	From    string `json:"from"`   // the weights' source
	Shape   string `json:"shape"`  // of the batches
	Goals   []Goal `json:"goals,omitempty"`
	Lines   []Line `json:"lines"`
}

// group measures one or several lines that belong together.
type group struct {
	lines string // their names, with blanks; asking for one measures all
	run   func(*session, context.Context) error
}

// groups in the order measured: what is timed from the process's start comes first.
var groups = []group{
	{"load", (*session).load},
	{"start", (*session).start},
	{"peak-matmul peak-copy", (*session).peak},
	{"decode prefill serve", func(b *session, ctx context.Context) error {
		return b.decode(ctx, "", 1, b.Plan.Training.PromptsPerStep, 1)
	}},
	{"decode-base", func(b *session, ctx context.Context) error {
		return b.decode(ctx, "-base", 0, b.Plan.Training.PromptsPerStep, 1)
	}},
	{"decode-m4 prefill-m4 serve-m4", func(b *session, ctx context.Context) error {
		return b.decode(ctx, "-m4", 4, b.Plan.Training.PromptsPerStep, 1)
	}},
	{"decode-eval prefill-eval serve-eval", func(b *session, ctx context.Context) error {
		return b.decode(ctx, "-eval", 1, 10*b.Plan.Training.PromptsPerStep, 0.95)
	}},
	{"train update", func(b *session, _ context.Context) error { return b.train("", 1) }},
	{"train-m4 update-m4", func(b *session, _ context.Context) error { return b.train("-m4", 4) }},
	{"step memory", func(b *session, ctx context.Context) error { return b.step(ctx, "", 1) }},
	{"step-m4 step-ratio memory-m4", func(b *session, ctx context.Context) error { return b.step(ctx, "-m4", 4) }},
	{"eval-480", (*session).eval},
}

// Names lists what Options.Only can ask for.
func Names() []string {
	var names []string
	for _, g := range groups {
		names = append(names, strings.Fields(g.lines)...)
	}
	return names
}

// Run measures and returns the lines in the order measured. A line that fails ends it; the lines before are returned.
func Run(ctx context.Context, o Options) (Result, error) {
	for _, name := range o.Only {
		if !slices.Contains(Names(), name) {
			return Result{}, fmt.Errorf("bench: no line is called %q: expected some of %s", name, strings.Join(Names(), ", "))
		}
	}
	if o.Repeat < 1 {
		return Result{}, fmt.Errorf("bench: %d repetitions, expected 1 or more", o.Repeat)
	}
	if o.Source == nil {
		o.Source, o.From, o.Real = random{}, "random", false
	}
	t := o.Plan.Training
	r := Result{
		Version: 1, Backend: string(o.Device.Kind), Plugin: o.Device.Version, From: o.From,
		Shape: fmt.Sprintf("%d prompts x %d replies of %d tokens, %s", t.PromptsPerStep, t.NumGenerations, t.MaxCompletionLength, o.LoRA),
	}
	if o.Goals {
		r.Goals = h200
	}
	b := &session{Options: o, costs: cost.Model{Config: o.Config, LoRA: o.LoRA, Bytes: 4}}
	if o.Device.DType == dtypes.BFloat16 {
		b.costs.Bytes = 2
	}
	defer b.close()
	fmt.Fprint(o.Log, header)
	for _, g := range groups {
		if !b.wanted(g) {
			continue
		}
		if err := g.run(b, ctx); err != nil {
			r.Lines = b.lines
			return r, fmt.Errorf("%s: %w", g.lines, err)
		}
	}
	r.Lines = b.lines
	return r, nil
}

// wanted says whether a group is to be measured. The weights are needed by all; the peaks are, for the shares of others, unless
// the time from the start alone is asked for.
func (b *session) wanted(g group) bool {
	names := strings.Fields(g.lines)
	if len(b.Only) == 0 || names[0] == "load" {
		return true
	}
	if names[0] == "peak-matmul" {
		return slices.ContainsFunc(b.Only, func(n string) bool { return n != "load" && n != "start" })
	}
	if names[0] == "step" && slices.Contains(b.Only, "step-ratio") {
		return true
	}
	return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(b.Only, n) })
}

// session is a bench run under way.
type session struct {
	Options
	costs   cost.Model
	weights *model.Weights
	peaks   peaks
	lines   []Line
	seen    int // programs that earlier lines are told of
}

func (b *session) close() {
	if b.weights != nil {
		b.weights.Free()
	}
}

// add completes a line and prints it. tokens are those of one repetition.
func (b *session) add(l Line, tokens float64) {
	all := b.Device.Programs()
	l.Programs, b.seen = all[b.seen:], len(all)
	l.rates(tokens, b.peaks)
	if b.Goals {
		l.judge(h200)
	}
	b.lines = append(b.lines, l)
	fmt.Fprint(b.Log, l)
}

// load reads the weights.
func (b *session) load(context.Context) error {
	start := time.Now()
	var err error
	if b.weights, err = model.LoadWeights(b.Device, b.Config, b.Source); err != nil {
		return err
	}
	l := Line{Name: "load-" + b.From, Unit: "s", Times: []float64{time.Since(start).Seconds()}, Work: &cost.Work{Bytes: b.costs.Weights()}}
	b.add(l, 0)
	return nil
}

// adapters are those of runs fresh runs.
func (b *session) adapters(runs int) (*model.Adapters, error) {
	keys := make([]model.Key, runs)
	for i := range keys {
		keys[i] = model.NewKey(uint64(i))
	}
	return model.NewAdapters(b.Device, b.Config, b.LoRA, keys)
}
