// Package lab conducts an experiment: it plans it, opens the model and the problems, trains and evaluates what the plan asks
// for, and seals the record. The command line and the notebooks are its callers.
package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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
	Resume  string // a run's folder to go on with; Preset, Out, Arm, Seeds and Steps are then the plan's
	Arm     string
	Seeds   []int64
	Steps   int
	Backend backend.Kind
	// Lockstep is how many runs share one pass through the frozen model; 0: all of them.
	Lockstep int
	// Rows of each run in a training micro-batch, and replies sampled at once in evaluations; 0 chooses.
	Rows, EvalRows int
	// Change, if set, edits the plan before it is fixed: for other experiments than the preset's.
	Change func(*experiment.Plan) error
	// StopAfter ends training after this many steps as an interruption would; 0: never.
	StopAfter int
	// PlanOnly writes the run's folder with the plan and stops: Resume goes on with it, on another machine too. The plan is
	// for Backend, which is not opened and must be named.
	PlanOnly bool
	Command  []string // the command line, for the record
	Log      io.Writer
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
}

// Open plans the experiment, or reads the plan of the one to resume, and opens what it needs. Nothing is written before every
// input was found good.
func Open(ctx context.Context, o Options) (*Lab, error) {
	if o.Log == nil {
		o.Log = io.Discard
	}
	l := &Lab{options: o}
	var err error
	if o.Resume != "" {
		if l.run, err = artifact.Open(o.Resume); err != nil {
			return nil, err
		}
		l.Plan, l.Dir = l.run.Plan(), o.Resume
	} else if l.Plan, err = l.preset(); err != nil {
		return nil, err
	}
	if err := l.openModel(ctx); err != nil {
		return nil, err
	}
	if err := l.openData(ctx); err != nil {
		l.Close()
		return nil, err
	}
	if o.PlanOnly {
		if err := l.planOnly(); err != nil {
			l.Close()
			return nil, err
		}
		return l, nil
	}
	if l.Device, err = backend.Open(o.Backend); err != nil {
		l.Close()
		return nil, err
	}
	for _, p := range l.Device.Passed {
		l.say("backend not taken: %s", p)
	}
	l.say("backend: %s", l.Device)
	l.Plan.Model.DType = dtypeName(l.Device.DType)
	if o.Resume == "" {
		err = l.create()
	} else {
		err = l.resume()
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// planOnly fixes the plan for a backend that another process, perhaps on another machine, will open.
func (l *Lab) planOnly() error {
	if l.options.Resume != "" || l.options.Backend == "" || l.options.Backend == backend.Auto {
		return errors.New("a plan alone: expected a new run and the backend it is for, found -resume or no -backend")
	}
	l.Plan.Model.DType = dtypeName(backend.DTypeOf(l.options.Backend))
	return l.create()
}

// Close gives everything back.
func (l *Lab) Close() {
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

// Run trains and evaluates what is not done yet, and seals the record. grpo.ErrInterrupted says how to go on.
func (l *Lab) Run(ctx context.Context) error {
	start := time.Now()
	weights, err := model.LoadWeights(l.Device, l.checkpoint.Config, l.checkpoint)
	if err != nil {
		return err
	}
	l.weights = weights
	if err := l.phase("load", nil, start, 0); err != nil {
		return err
	}
	if err := l.train(ctx); err != nil {
		if errors.Is(err, grpo.ErrInterrupted) || ctx.Err() != nil {
			return fmt.Errorf("%w: nothing is lost; go on with: go run ./recipe -resume %s", err, l.Dir)
		}
		return err
	}
	if err := l.evaluate(ctx); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%w during evaluation: nothing is lost; go on with: go run ./recipe -resume %s", grpo.ErrInterrupted, l.Dir)
		}
		return err
	}
	if err := l.checks(); err != nil {
		return err
	}
	return l.run.Seal()
}

// train trains the planned runs that have no adapter yet, Lockstep of them at a time.
func (l *Lab) train(ctx context.Context) error {
	var pending []grpo.Run
	defer func() {
		for _, r := range pending {
			_ = r.Out.Close()
		}
	}()
	planned := l.Plan.Runs()
	m := l.options.Lockstep
	if m <= 0 || m > len(planned) {
		m = len(planned)
	}
	rows, _, err := l.microBatch(m)
	if err != nil {
		return err
	}
	for _, r := range planned {
		config, err := l.Plan.RunConfig(r.Arm, r.Seed, experiment.Runtime{
			Backend: string(l.Device.Kind), Device: deviceName(l.Device), MicroBatch: rows, RunsLockstep: m, Deterministic: l.Device.Kind != backend.CUDA,
		})
		if err != nil {
			return err
		}
		out, err := l.run.OpenTraining(config)
		if err != nil {
			return err
		}
		if out.Done() {
			if err := out.Close(); err != nil {
				return err
			}
			continue
		}
		pending = append(pending, grpo.Run{Config: config, Out: out})
	}
	for at := 0; at < len(pending); at += m {
		group := pending[at:min(at+m, len(pending))]
		var names []string
		for _, r := range group {
			names = append(names, r.Config.Run.Name)
		}
		l.say("training %v, %d steps", names, l.Plan.Training.MaxSteps)
		start, tokens := time.Now(), int64(0)
		err := grpo.Train(ctx, group, grpo.Options{
			Device: l.Device, Weights: l.weights, Tokenizer: l.tokenizer, Problems: l.problems.Train, Grade: artifact.Grade,
			Rows: rows, StopAfter: l.options.StopAfter,
			Progress: func(p grpo.Progress) {
				l.say("%s", trainLine(p))
				tokens += int64(p.Sampled)
			},
		})
		if perr := l.phase("train", names, start, tokens); perr != nil {
			return errors.Join(err, perr)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// microBatch is the shape of a training pass of m runs.
func (l *Lab) microBatch(m int) (rows, t int, err error) {
	longest, err := l.longestPrompt(l.problems.Train)
	if err != nil {
		return 0, 0, err
	}
	rows, t = grpo.MicroBatchShape(longest+l.Plan.Training.MaxCompletionLength, m, l.options.Rows)
	return rows, t, nil
}

func (l *Lab) longestPrompt(problems []data.Problem) (int, error) {
	longest := 0
	for _, a := range l.Plan.Arms {
		for _, p := range problems {
			ids, err := l.tokenizer.ChatML([]tokenizer.Message{{Role: "system", Content: a.System}, {Role: "user", Content: p.Question}}, true)
			if err != nil {
				return 0, err
			}
			longest = max(longest, len(ids))
		}
	}
	return longest, nil
}

func trainLine(p grpo.Progress) string {
	line := fmt.Sprintf("step %d/%d ", p.Step, p.Steps)
	for i, name := range p.Runs {
		line += fmt.Sprintf(" %s reward %.2f talk %.2f ", name, p.Rewards[i], p.Talk[i])
	}
	return line + fmt.Sprintf(" %.0f tokens/s  %.2fs  %s left", p.TokensPerS, p.StepTime.Seconds(), p.Left.Round(time.Second))
}

// evaluate runs the planned evaluations that are not there yet.
func (l *Lab) evaluate(ctx context.Context) error {
	t := l.Plan.Training.LoRA
	lora := model.LoRA{Rank: t.R, Alpha: t.LoraAlpha, Targets: t.TargetModules}
	if err := lora.Validate(); err != nil {
		return err
	}
	adapters := map[string]map[string][]float32{}
	var jobs []eval.Job
	for _, e := range l.Plan.Evaluations() {
		if l.run.HasEval(e) {
			continue
		}
		arm, err := l.Plan.Arm(e.Prompt)
		if err != nil {
			return err
		}
		job := eval.Job{Run: e, System: arm.System}
		if e.Model != experiment.Base {
			if adapters[e.Model] == nil {
				_, values, err := grpo.ReadAdapter(filepath.Join(l.Dir, e.Model, artifact.FinalDir), l.weights.Config)
				if err != nil {
					return fmt.Errorf("adapter of %s: %w", e.Model, err)
				}
				adapters[e.Model] = values
			}
			job.Adapter = adapters[e.Model]
		}
		jobs = append(jobs, job)
	}
	if len(jobs) == 0 {
		return nil
	}
	var stop []int32
	for _, id := range l.Plan.Model.StopTokenIDs {
		stop = append(stop, int32(id))
	}
	rows := l.options.EvalRows
	if rows == 0 {
		rows = 480
	}
	var names []string
	for _, j := range jobs {
		names = append(names, j.Run.Name())
	}
	l.say("evaluating %v, %d problems x %d", names, len(l.problems.Holdout), l.Plan.Evaluation.Samples)
	start, tokens := time.Now(), int64(0)
	err := eval.Evaluate(ctx, jobs, eval.Options{
		Device: l.Device, Weights: l.weights, Tokenizer: l.tokenizer, LoRA: lora, Problems: l.problems.Holdout,
		Settings: l.Plan.Evaluation, Stop: stop, Slots: 4, Rows: rows, Grade: artifact.Grade,
		Progress: func(done, all int) {
			spent := time.Since(start)
			left := time.Duration(float64(spent) / float64(done) * float64(all-done))
			l.say("evaluation %d/%d  %s left", done, all, left.Round(time.Second))
		},
	}, func(j eval.Job, replies []artifact.Reply) error {
		right := 0
		for _, r := range replies {
			tokens += int64(r.Tokens)
			if r.Verdict.Correct() {
				right++
			}
		}
		l.say("%s: %d of %d right", j.Run.Name(), right, len(replies))
		return l.run.WriteEval(j.Run, replies)
	})
	if perr := l.phase("eval", names, start, tokens); perr != nil {
		return errors.Join(err, perr)
	}
	return err
}

// phase records what a phase cost.
func (l *Lab) phase(name string, runs []string, start time.Time, tokens int64) error {
	seconds := time.Since(start).Seconds()
	return l.run.AppendPhase(artifact.Phase{
		Name: name, Runs: runs, Seconds: seconds, DeviceSeconds: seconds, Tokens: tokens,
		PeakHostBytes: backend.PeakHostBytes(), PeakDeviceBytes: l.Device.PeakBytes(),
	})
}

// newDir is the first folder runs/PRESET-N that does not exist.
func newDir(preset string) (dir, unfinished string, err error) {
	for n := 1; ; n++ {
		dir := filepath.Join("runs", fmt.Sprintf("%s-%d", preset, n))
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			return dir, unfinished, nil
		} else if err != nil {
			return "", "", err
		}
		unfinished = ""
		if _, err := os.Stat(filepath.Join(dir, artifact.ManifestFile)); errors.Is(err, os.ErrNotExist) {
			unfinished = dir
		}
	}
}
