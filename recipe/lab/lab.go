// Package lab conducts an experiment: it plans it, opens the model and the problems, trains and evaluates what the plan asks
// for, and seals the record. The command line and the notebooks are its callers.
package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"teamtalk/model"
	"teamtalk/model/backend"
	"teamtalk/model/checkpoint"
	"teamtalk/model/tokenizer"
	"teamtalk/recipe/artifact"
	"teamtalk/recipe/data"
	"teamtalk/recipe/eval"
	"teamtalk/recipe/experiment"
	"teamtalk/recipe/grpo"
)

// Options say what to do. The zero value is the mini preset, in a new folder under runs.
type Options struct {
	Preset string // "mini" (the default) or "qwen"
	Model  string // a Hugging Face folder, a GGUF file or hub:NAME; the mini preset has its own
	Data   string // GSM8K's folder; the mini preset makes its own problems
	// AnyData accepts data files whose sums are not the published ones.
	AnyData bool
	Out     string // the run's folder, which must not exist; "" takes a new one under runs
	// Resume is a run's folder to go on with; Preset, Out, Arm, Seeds, Steps, MaxPromptLength and TestSamples are then the plan's, and what is left open of
	// Backend, Lockstep, Rows and EvalRows is what the run was begun with.
	Resume          string
	Arm             string
	Seeds           []int64
	Steps           int
	MaxPromptLength int // tokens of a prompt, 0: the preset's
	// TestSamples is the number of replies to each task of the whole test split; 0: none, nil: the preset's.
	TestSamples *int
	Backend     backend.Kind
	// Lockstep is how many runs share one pass through the frozen model; 0: all of them, divided among the processes.
	Lockstep int
	// Rows of a training micro-batch, and replies sampled at once in evaluations; 0 chooses.
	Rows, EvalRows int
	// Change, if set, edits the plan before it is fixed: for other experiments than the preset's.
	Change func(*experiment.Plan) error
	// Problems, if set, are trained on and held out instead of the preset's; to be given again to resume. Their Test is used if the plan
	// evaluates on it.
	Problems *data.Set
	// StopAfter ends training after this many steps as an interruption would; 0: never.
	StopAfter int
	// PlanOnly writes the run's folder with the plan and stops: Resume goes on with it, on another machine too. The plan is
	// for Backend, which is not opened and must be named.
	PlanOnly bool
	// Processes is how many worker processes share the runs and the evaluations; 0 and 1: this process does all itself. PerGPU
	// is one for each visible GPU on the backend cuda, and 1 on the others.
	Processes int
	// Worker is the command of a worker process, a program that calls Work; needed where there are to be several.
	Worker  []string
	Command []string // the command line, for the record
	Log     io.Writer

	watch watch // over the worker processes
}

// Lab is an opened experiment.
type Lab struct {
	Plan   experiment.Plan
	Dir    string
	Device *backend.Device

	options    Options
	run        *artifact.Run
	checkpoint *checkpoint.Checkpoint
	tokenizer  *tokenizer.Tokenizer
	problems   data.Set
	weights    *model.Weights
	evaluator  *eval.Evaluator // of the held-out tasks
	evalBegan  time.Time       // what is under way of the evaluations
	unlock     func()

	modelPath, dataDir string // where hub:NAME and fetch were found
	workers            *workers
	reporter           *reporter       // set in a worker process
	testEvaluator      *eval.Evaluator // of the whole test split; a worker keeps it
}

// Open plans the experiment, or reads the plan of the one to resume, and opens what it needs. Nothing is written before every
// input was found good.
func Open(ctx context.Context, o Options) (*Lab, error) {
	if o.Log == nil {
		o.Log = io.Discard
	}
	l := &Lab{options: o}
	if err := l.open(ctx); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

func (l *Lab) open(ctx context.Context) (err error) {
	resumed := l.options.Resume != ""
	if resumed {
		err = l.reopen(ctx)
	} else {
		l.Plan, err = l.preset()
		if err == nil { // without Out the name itself is chosen when it is made: others may be under way
			err = canMake(cmp.Or(l.options.Out, filepath.Join(runsDir, l.Plan.Preset)))
		}
	}
	if err != nil {
		return err
	}
	if err := l.openModel(ctx); err != nil {
		return err
	}
	if err := l.openData(ctx); err != nil {
		return err
	}
	if l.options.PlanOnly {
		return l.planOnly(ctx)
	}
	places, err := l.places()
	if err != nil {
		return err
	}
	if len(places) > 1 {
		if err := l.openWorkers(ctx, places); err != nil {
			return err
		}
		if resumed {
			return l.resume()
		}
		return l.create(ctx)
	}
	if l.Device, err = backend.Open(l.options.Backend); err != nil {
		if resumed {
			return fmt.Errorf("%s was begun on the backend %s: %w", l.Dir, l.options.Backend, err)
		}
		return err
	}
	for _, p := range l.Device.Passed {
		l.say("backend not taken: %s", p)
	}
	l.say("backend: %s", l.Device)
	l.Plan.Model.DType = dtypeName(l.Device.DType)
	if resumed {
		return l.resume()
	}
	return l.create(ctx)
}

// planOnly fixes the plan for a backend that another process, perhaps on another machine, will open.
func (l *Lab) planOnly(ctx context.Context) error {
	if l.options.Resume != "" || l.options.Backend == "" || l.options.Backend == backend.Auto {
		return errors.New("a plan alone: expected a new run and the backend it is for, found -resume or no -backend")
	}
	l.Plan.Model.DType = dtypeName(backend.DTypeOf(l.options.Backend))
	return l.create(ctx)
}

// Close gives everything back.
func (l *Lab) Close() {
	if l.workers != nil {
		l.workers.close()
	}
	if l.unlock != nil {
		l.unlock()
	}
	for _, e := range []*eval.Evaluator{l.evaluator, l.testEvaluator} {
		if e != nil {
			e.Close()
		}
	}
	if l.weights != nil {
		l.weights.Free()
	}
	if l.Device != nil {
		l.Device.Close()
	}
	if l.checkpoint != nil {
		l.checkpoint.Close()
	}
}

func (l *Lab) say(format string, args ...any) { fmt.Fprintf(l.options.Log, format+"\n", args...) }

// Run trains and evaluates what is not done yet, and seals the record. An error that is grpo.ErrInterrupted says how to go on.
func (l *Lab) Run(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() {
		l.say("stopping when what is under way is done; Ctrl-C again stops at once and loses it")
	})()
	parts := []func(context.Context) error{l.load, l.train, l.evaluate, l.evaluateTest, l.checks}
	if l.workers != nil {
		parts = []func(context.Context) error{l.workers.train, l.workers.evaluate, l.workers.evaluateTest, l.workers.checks}
	}
	for _, part := range parts {
		if err := part(ctx); errors.Is(err, grpo.ErrInterrupted) {
			return fmt.Errorf("%w: finished steps and runs are kept; go on with: %s", err, l.GoOn())
		} else if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("%w after the training: finished runs and evaluations are kept; go on with: %s", grpo.ErrInterrupted, l.GoOn())
		} else if err != nil {
			return err
		}
	}
	return l.run.Seal()
}

// load puts the frozen weights on the device.
func (l *Lab) load(context.Context) (err error) {
	start := time.Now()
	if l.weights, err = model.LoadWeights(l.Device, l.checkpoint.Config, l.checkpoint); err != nil {
		return err
	}
	return l.phase("load", nil, start, 0)
}

// phase records what a phase cost.
func (l *Lab) phase(name string, runs []string, start time.Time, tokens int64) error {
	seconds := time.Since(start).Seconds()
	p := artifact.Phase{
		Name: name, Runs: runs, Seconds: seconds, DeviceSeconds: seconds, Tokens: tokens,
		PeakHostBytes: backend.PeakHostBytes(), PeakDeviceBytes: l.Device.PeakBytes(),
	}
	if l.reporter != nil { // the coordinator alone writes what all share
		return l.reporter.phase(p, start)
	}
	return l.run.AppendPhase(p)
}
