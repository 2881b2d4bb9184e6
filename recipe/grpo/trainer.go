package grpo

import (
	"errors"
	"fmt"
	"time"

	"teamtalk/model"
	"teamtalk/model/backend"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
)

// Trainer computes gradients of M runs' adapters and steps AdamW. It is not safe for use by several goroutines.
type Trainer struct {
	dev      *backend.Device
	weights  *model.Weights
	adapters *model.Adapters
	options  TrainerOptions

	first, second []*tensors.Tensor // AdamW's moments, shaped as the adapters
	grads         []*tensors.Tensor // accumulated since the last step
	steps         int

	gradient, offPolicy, update *backend.Program
	// CompileTime is the time spent in XLA's compiler so far.
	CompileTime time.Duration
}

// TrainerOptions fix the programs' shapes and constants.
type TrainerOptions struct {
	Rows, T int // of a micro-batch: R rows of T tokens, each of any run
	Picks   int // K, predictions of a micro-batch that are learnt; 0 means one for every token
	Clip    ClipRange
	Optim   AdamW
}

// MicroBatch is R rows of T tokens, and what belongs to each of its K predictions.
type MicroBatch struct {
	model.Branched
	Weights    []float32 // share in the loss; 0 where nothing is learnt
	Advantages []float32
	OldLogp    []float32 // nil: on-policy
}

// Scores is what a gradient pass saw at each prediction, [K].
type Scores struct {
	Logp, Loss []float32
}

// NewTrainer compiles the training programs and starts the moments at zero.
func NewTrainer(dev *backend.Device, w *model.Weights, a *model.Adapters, o TrainerOptions) (*Trainer, error) {
	t := &Trainer{dev: dev, weights: w, adapters: a, options: o}
	if o.Rows < 1 || o.T < 2 {
		return nil, fmt.Errorf("trainer: micro-batch of %d rows of %d tokens; expected at least 1 of 2", o.Rows, o.T)
	}
	if t.options.Picks == 0 {
		t.options.Picks = o.Rows * o.T
	}
	start := time.Now()
	err := backend.Together(
		func() (err error) { t.gradient, err = t.compileGradient(false); return err },
		func() (err error) { t.update, err = t.compileUpdate(); return err },
	)
	if err != nil {
		return nil, err
	}
	t.CompileTime = time.Since(start)
	for _, s := range a.LoRA.Shapes(a.Config, a.Runs) {
		t.first = append(t.first, tensors.FromShape(s))
		t.second = append(t.second, tensors.FromShape(s))
		t.grads = append(t.grads, tensors.FromShape(s))
	}
	return t, nil
}

// Rows is the number of rows of a micro-batch.
func (t *Trainer) Rows() int { return t.options.Rows }

// T is the number of tokens of a row.
func (t *Trainer) T() int { return t.options.T }

// Picks is the micro-batch's number of predictions.
func (t *Trainer) Picks() int { return t.options.Picks }

// Steps is the number of optimizer steps taken.
func (t *Trainer) Steps() int { return t.steps }

func (t *Trainer) compileGradient(offPolicy bool) (*backend.Program, error) {
	runs, n := t.adapters.Runs, len(t.adapters.Tensors)
	rows, picks := t.options.Rows, t.options.Picks
	float := shapes.Make(dtypes.Float32, picks)
	var in []shapes.Shape
	var opts []backend.Option
	for i, s := range t.adapters.LoRA.Shapes(t.adapters.Config, runs) {
		in = append(in, s) // accumulated gradients
		opts = append(opts, backend.InPlace(i, i))
	}
	batch := model.BranchedShapes(rows, t.options.T, picks)
	in = append(in, batch...)
	in = append(in, float, float, float, shapes.Make(dtypes.Float32))
	in = append(in, t.weights.Shapes()...)
	in = append(in, t.adapters.LoRA.Shapes(t.adapters.Config, runs)...)
	name := fmt.Sprintf("gradient_m%d_%dx%d", runs, t.options.Rows, t.options.T)
	if offPolicy {
		name += "_off"
	}
	return t.dev.Compile(name, in, func(_ *Graph, in []*Node) []*Node {
		accumulated, in := in[:n], in[n:]
		branched, in := model.BranchedNodesOf(in), in[len(batch):]
		weight, advantage, old, temperature := in[0], in[1], in[2], in[3]
		in = in[4:]
		w, adapters := in[:len(in)-n], in[len(in)-n:]
		logp, _ := model.BranchedLogProbs(t.weights.Config, w, &t.adapters.LoRA, runs, adapters, branched, temperature)
		if !offPolicy {
			old = nil
		}
		loss := objective(logp, weight, advantage, old, t.options.Clip)
		out := Gradient(ReduceAllSum(loss), adapters...)
		for i := range out {
			out[i] = Add(accumulated[i], out[i])
		}
		return append(out, loss, logp)
	}, opts...)
}

func (t *Trainer) compileUpdate() (*backend.Program, error) {
	runs, n := t.adapters.Runs, len(t.adapters.Tensors)
	each := t.adapters.LoRA.Shapes(t.adapters.Config, runs)
	var in []shapes.Shape
	var opts []backend.Option
	for range 4 { // parameters, moments, gradients
		for _, s := range each {
			opts = append(opts, backend.InPlace(len(in), len(in)))
			in = append(in, s)
		}
	}
	scalar := shapes.Make(dtypes.Float32)
	in = append(in, scalar, scalar)
	return t.dev.Compile(fmt.Sprintf("update_m%d", runs), in, func(g *Graph, in []*Node) []*Node {
		p, m, v, norm := t.options.Optim.Update(runs, in[:n], in[n:2*n], in[2*n:3*n], in[3*n:4*n], in[4*n], in[4*n+1])
		out := append(append(p, m...), v...)
		for _, s := range each {
			out = append(out, Zeros(g, s))
		}
		return append(out, norm)
	}, opts...)
}

// Accumulate adds a micro-batch's gradients to those since the last Step.
func (t *Trainer) Accumulate(b MicroBatch, temperature float64) (Scores, error) {
	n, rows, picks := len(t.adapters.Tensors), t.options.Rows, t.options.Picks
	for _, run := range b.Runs {
		if run < 0 || int(run) >= t.adapters.Runs {
			return Scores{}, fmt.Errorf("micro-batch: a row of run %d, expected 0 to %d", run, t.adapters.Runs-1)
		}
	}
	program := t.gradient
	old := b.OldLogp
	if old == nil {
		old = make([]float32, picks)
	} else {
		if t.offPolicy == nil {
			p, err := t.compileGradient(true)
			if err != nil {
				return Scores{}, err
			}
			t.offPolicy = p
			t.CompileTime += p.CompileTime
		}
		program = t.offPolicy
	}
	mine, err := b.Branched.Tensors(rows, t.options.T, picks)
	if err != nil {
		return Scores{}, err
	}
	for _, x := range [][]float32{b.Weights, b.Advantages, old} {
		if len(x) != picks {
			return Scores{}, fmt.Errorf("micro-batch: %d values, expected one for each of %d predictions", len(x), picks)
		}
		mine = append(mine, tensors.FromFlatDataAndDimensions(x, picks))
	}
	mine = append(mine, tensors.FromScalar(float32(temperature)))
	defer free(mine)
	in := append(append([]*tensors.Tensor(nil), t.grads...), mine...)
	in = append(append(in, t.weights.Tensors()...), t.adapters.Tensors...)
	out, err := program.Run(in...)
	if err != nil {
		return Scores{}, err
	}
	t.grads = out[:n]
	defer free(out[n:])
	var s Scores
	for i, dst := range []*[]float32{&s.Loss, &s.Logp} {
		if *dst, err = tensors.CopyFlatData[float32](out[n+i]); err != nil {
			return Scores{}, err
		}
	}
	return s, nil
}

// Step applies the accumulated gradients at a learning rate and clears them. It returns each run's gradient norm before
// clipping.
func (t *Trainer) Step(rate float64) ([]float32, error) {
	n := len(t.adapters.Tensors)
	scalars := []*tensors.Tensor{tensors.FromScalar(float32(rate)), tensors.FromScalar(float32(t.steps + 1))}
	defer free(scalars)
	var in []*tensors.Tensor
	for _, group := range [][]*tensors.Tensor{t.adapters.Tensors, t.first, t.second, t.grads, scalars} {
		in = append(in, group...)
	}
	out, err := t.update.Run(in...)
	if err != nil {
		return nil, err
	}
	t.adapters.Tensors, t.first, t.second, t.grads = out[:n:n], out[n:2*n:2*n], out[2*n:3*n:3*n], out[3*n:4*n:4*n]
	defer out[4*n].MustFinalizeAll()
	t.steps++
	return tensors.CopyFlatData[float32](out[4*n])
}

// Gradients copies one run's accumulated gradients to the host, by PEFT name.
func (t *Trainer) Gradients(run int) (map[string][]float32, error) {
	return model.RunValues(t.adapters.LoRA.Specs(t.adapters.Config), t.grads, run)
}

// Optimizer is AdamW's memory of one run.
type Optimizer struct {
	Steps         int
	First, Second map[string][]float32 // by PEFT name
}

// Optimizer copies one run's moments to the host.
func (t *Trainer) Optimizer(run int) (Optimizer, error) {
	specs := t.adapters.LoRA.Specs(t.adapters.Config)
	first, err := model.RunValues(specs, t.first, run)
	if err != nil {
		return Optimizer{}, err
	}
	second, err := model.RunValues(specs, t.second, run)
	return Optimizer{t.steps, first, second}, err
}

// Restore puts the moments of all runs back, as Optimizer gave them.
func (t *Trainer) Restore(runs []Optimizer) error {
	if len(runs) != t.adapters.Runs {
		return fmt.Errorf("restoring %d runs, expected %d", len(runs), t.adapters.Runs)
	}
	var first, second []map[string][]float32
	for _, o := range runs {
		if o.Steps != runs[0].Steps {
			return errors.New("restoring runs that stopped at different steps; expected one step")
		}
		first, second = append(first, o.First), append(second, o.Second)
	}
	a, err := model.AdaptersFrom(t.dev, t.adapters.Config, t.adapters.LoRA, first)
	if err != nil {
		return fmt.Errorf("first moments: %w", err)
	}
	b, err := model.AdaptersFrom(t.dev, t.adapters.Config, t.adapters.LoRA, second)
	if err != nil {
		return fmt.Errorf("second moments: %w", err)
	}
	free(append(t.first, t.second...))
	t.first, t.second, t.steps = a.Tensors, b.Tensors, runs[0].Steps
	return nil
}

// Close frees programs, moments and gradients; the adapters stay.
func (t *Trainer) Close() {
	free(t.first)
	free(t.second)
	free(t.grads)
	for _, p := range []*backend.Program{t.gradient, t.offPolicy, t.update} {
		if p != nil {
			_ = p.Close()
		}
	}
}

func free(ts []*tensors.Tensor) {
	for _, t := range ts {
		t.MustFinalizeAll()
	}
}
