package grpo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"teamtalk/model"
	"teamtalk/model/backend"
	"teamtalk/model/tokenizer"
	"teamtalk/recipe/artifact"
	"teamtalk/recipe/data"
	"teamtalk/recipe/experiment"
)

// Run is one training run: its settings, and the folder that it is recorded in. A run whose adapter is there already trains
// along with the others, which would round differently without it, and nothing more is recorded of it.
type Run struct {
	Config experiment.RunConfig
	Out    *artifact.TrainingRun
}

// Options is what Train needs. All runs share the frozen weights, the problems and every setting but prompt and seed.
type Options struct {
	Device    *backend.Device
	Weights   *model.Weights
	Tokenizer *tokenizer.Tokenizer
	Problems  []data.Problem // the train split, in the plan's order
	// Grade judges a reply as it is stored, against a problem's answer.
	Grade func(text, gold string) (artifact.Verdict, artifact.Talk)
	// Rows is the number of rows of a micro-batch, of all runs together; 0 chooses it.
	Rows int
	// Columns reserves room for prompts up to this length, so that trainings one after another share their programs; 0 takes the
	// longest prompt's.
	Columns int
	// Progress, if set, is told of every step.
	Progress func(Progress)
	// StopAfter ends the training after this many steps, with a checkpoint, as an interruption would; 0: never.
	StopAfter int
}

// Progress is what there is to say after a step.
type Progress struct {
	Step, Steps int
	Runs        []string
	Rewards     []float64 // of each run
	Talk        []float64 // share of each run's rollouts that talk
	Sampled     int       // tokens, all runs together
	TokensPerS  float64   // sampled, all runs together
	StepTime    time.Duration
	Left        time.Duration
}

// ErrInterrupted says that training stopped before its last step and can go on from a checkpoint.
var ErrInterrupted = errors.New("interrupted")

// loop is the state of Train.
type loop struct {
	Options
	runs     []Run
	lora     model.LoRA
	settings experiment.Training
	stop     []int32
	prompts  []map[int][]int32 // for each run: a problem's position, its prompt
	columns  int               // the longest prompt
	adapters *model.Adapters
	trainer  *Trainer
	sampler  *model.Sampler
	tokens   []int64 // for each run, trained and sampled so far (TRL's num_tokens)
	// What the steps of this process took, and how many they were: what is left is estimated from all of them.
	spent  time.Duration
	steps  int
	filled filled // the gradient passes of the step under way
}

// Train trains runs in lockstep, each step's rollouts and updates of all runs together, from their last common checkpoint, and
// writes what each did. Cancelling ctx saves a checkpoint of the last whole step and returns ErrInterrupted; any other error
// leaves nothing of the step that it is about in the checkpoints.
func Train(ctx context.Context, runs []Run, o Options) error {
	if len(runs) == 0 {
		return errors.New("training: no runs; expected at least one")
	}
	l := &loop{Options: o, runs: runs, settings: runs[0].Config.Settings.Training}
	if err := l.check(); err != nil {
		return err
	}
	if err := l.encodePrompts(); err != nil {
		return err
	}
	start := l.lastCheckpoint()
	if err := l.cutAfter(start); err != nil {
		return err
	}
	defer l.close()
	if err := l.open(start); err != nil {
		return err
	}
	last := l.settings.MaxSteps
	for step := start; step < last; step++ {
		if o.StopAfter > 0 && step >= o.StopAfter {
			return l.interrupted(step)
		}
		if err := l.step(ctx, step); errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return l.interrupted(step)
		} else if err != nil {
			return fmt.Errorf("step %d: %w", step+1, err)
		}
		// After the last step the adapter itself is written.
		if done := step + 1; done%max(1, l.settings.SaveSteps) == 0 && done < last {
			if err := l.save(); err != nil {
				return err
			}
		}
	}
	for i, r := range runs {
		if r.Out.Done() {
			continue
		}
		err := r.Out.Final(func(dir string) error {
			_, err := WriteAdapter(dir, l.adapters, i, r.Config.Settings.Model.Name)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// interrupted saves what the steps so far came to, if there were any.
func (l *loop) interrupted(steps int) error {
	if steps > 0 {
		if err := l.save(); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w after step %d of %d", ErrInterrupted, steps, l.settings.MaxSteps)
}

// check refuses settings that this trainer does not have.
func (l *loop) check() error {
	s := l.settings
	for _, c := range []struct {
		bad  bool
		what string
	}{
		{s.Beta != 0, fmt.Sprintf("beta %g: expected 0, there is no KL term", s.Beta)},
		{s.NumIterations != 1, fmt.Sprintf("num_iterations %d: expected 1, training is on-policy", s.NumIterations)},
		{s.TopK != 0 || s.MinP != 0 || s.RepetitionPenalty != 1, "top_k, min_p and repetition_penalty: expected 0, 0 and 1"},
		{s.TopP != 1, fmt.Sprintf("top_p %g in training: expected 1, the trainer scores the whole distribution", s.TopP)},
		{s.LRSchedulerType != "linear" || s.WarmupSteps != 0, fmt.Sprintf("lr_scheduler_type %q with %d warm-up steps: expected linear with 0", s.LRSchedulerType, s.WarmupSteps)},
		{s.Optim != "adamw", fmt.Sprintf("optim %q: expected adamw", s.Optim)},
		{s.ImportanceSamplingLevel != "token", fmt.Sprintf("importance_sampling_level %q: expected token", s.ImportanceSamplingLevel)},
		{s.LoRA.LoraDropout != 0, "lora_dropout: expected 0, with it sampler and trainer would differ"},
		{s.Reward != "math_equal", fmt.Sprintf("reward %q: expected math_equal", s.Reward)},
	} {
		if c.bad {
			return errors.New(c.what)
		}
	}
	for _, id := range l.runs[0].Config.Settings.Model.StopTokenIDs {
		l.stop = append(l.stop, int32(id))
	}
	if len(l.stop) == 0 {
		return errors.New("the plan names no stop tokens: expected at least one")
	}
	if err := l.order(0).Validate(); err != nil {
		return err
	}
	l.lora = model.LoRA{Rank: s.LoRA.R, Alpha: s.LoRA.LoraAlpha, Targets: s.LoRA.TargetModules}
	return l.lora.Validate()
}

// encodePrompts tokenises every problem under every run's prompt.
func (l *loop) encodePrompts() error {
	l.columns = l.Columns
	for _, r := range l.runs {
		of := map[int][]int32{}
		for i, p := range l.Problems {
			ids, err := l.Tokenizer.ChatML([]tokenizer.Message{
				{Role: "system", Content: r.Config.Settings.SystemPrompt}, {Role: "user", Content: p.Question},
			}, true)
			if err != nil {
				return err
			}
			if len(ids) > l.settings.MaxPromptLength {
				return fmt.Errorf("%s under the prompt of %s has %d tokens, max_prompt_length is %d: expected a shorter system message, or a plan with a larger max_prompt_length",
					p.ID(), r.Config.Run.Arm, len(ids), l.settings.MaxPromptLength)
			}
			of[i] = ids
			l.columns = max(l.columns, len(ids))
		}
		l.prompts = append(l.prompts, of)
	}
	return nil
}

// open builds adapters, sampler and trainer, from scratch or from a checkpoint.
func (l *loop) open(start int) error {
	c := l.Weights.Config
	l.tokens = make([]int64, len(l.runs))
	var err error
	var moments []Optimizer
	if start == 0 {
		var keys []model.Key
		for _, r := range l.runs {
			keys = append(keys, model.NewKey(r.Config.Settings.Streams.LoRAInit))
		}
		l.adapters, err = model.NewAdapters(l.Device, c, l.lora, keys)
	} else {
		var values []map[string][]float32
		if values, moments, err = l.restore(start); err != nil {
			return err
		}
		l.adapters, err = model.AdaptersFrom(l.Device, c, l.lora, values)
	}
	if err != nil {
		return err
	}
	l.sampler, err = model.NewSampler(l.Device, l.Weights, model.SamplerOptions{LoRA: &l.lora, Runs: len(l.runs), Stop: l.stop})
	if err != nil {
		return err
	}
	s := l.settings
	rows, t := MicroBatchShape(l.columns+s.MaxCompletionLength, l.Rows)
	err = backend.Together(
		func() error { return l.sampler.Prepare(l.request(0)) },
		func() (err error) {
			l.trainer, err = NewTrainer(l.Device, l.Weights, l.adapters, TrainerOptions{
				Rows: rows, T: t, Picks: rows * t * 7 / 8, Clip: ClipRange{s.Epsilon, s.EpsilonHigh},
				Optim: AdamW{Beta1: s.AdamBeta1, Beta2: s.AdamBeta2, Epsilon: s.AdamEpsilon, WeightDecay: s.WeightDecay, MaxGradNorm: s.MaxGradNorm},
			})
			return err
		},
	)
	if err != nil {
		return err
	}
	if moments != nil {
		return l.trainer.Restore(moments)
	}
	return nil
}

// MicroBatchShape is the number of rows, and their length, that one gradient pass takes: rows that hold a quarter more than the
// longest sequence, rounded up to 128 tokens, so that several replies to a prompt stand in one, and about 4,000 tokens in all
// unless rows says how many.
func MicroBatchShape(longest, rows int) (r, t int) {
	t = (longest*5/4 + 127) / 128 * 128
	if rows > 0 {
		return rows, t
	}
	return max(1, 4096/t), t
}

func (l *loop) close() {
	if l.trainer != nil {
		l.trainer.Close()
	}
	if l.sampler != nil {
		l.sampler.Close()
	}
	if l.adapters != nil {
		l.adapters.Free()
	}
}
