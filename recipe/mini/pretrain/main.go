// Command pretrain makes the mini preset's base model from nothing: a tokenizer and a small Qwen2 model, trained on
// generated word problems and replies, written as a Hugging Face folder that recipe/mini embeds.
//
//	go run ./recipe/mini/pretrain -describe       what the data looks like
//	go run ./recipe/mini/pretrain -out DIR        trains, writes DIR and evaluates what was written
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"teamtalk/model/checkpoint"
	"teamtalk/model/tokenizer"
	"teamtalk/recipe/mini"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], &bench{}, os.Stdout, os.Stderr)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.As(err, new(usageError)):
		fmt.Fprintln(os.Stderr, "pretrain:", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "pretrain:", err)
		os.Exit(1)
	}
}

// usageError marks a mistake in how the command was called.
type usageError struct{ error }

// adamW are the optimizer's settings; the rate comes from the schedule.
type adamW struct {
	Beta1, Beta2, Epsilon, WeightDecay float64
	ClipNorm                           float64 // bound on the gradient's norm
}

// lab opens what needs a backend.
type lab interface {
	// Open takes the named backend and says which one it got.
	Open(backend string) (string, error)
	// Learner begins to train a model from these weights, named and laid out as in a checkpoint.
	Learner(c checkpoint.Config, weights map[string][]float32, rows, width int, o adamW) (learner, error)
	// Sampler opens a folder that was written.
	Sampler(dir string) (sampler, error)
}

// options are the command line.
type options struct {
	out, backend      string
	describe          bool
	seed              uint64
	tokenizerExamples int
	rows, width       int
	std               float64
	log               int
	schedule          schedule
	optimizer         adamW
	mixture           mini.Mixture
	sampling          sampling
}

func parse(args []string, stderr io.Writer) (options, error) {
	o := options{mixture: mini.DefaultMixture}
	f := flag.NewFlagSet("pretrain", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.out, "out", filepath.FromSlash("recipe/mini/base"), "folder to write; it must not hold a model yet")
	f.StringVar(&o.backend, "backend", "auto", "auto, cuda, xla-cpu or go")
	f.BoolVar(&o.describe, "describe", false, "describe the data and stop")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the examples and of the first weights")
	f.IntVar(&o.tokenizerExamples, "tokenizer-examples", 10000, "examples the tokenizer is trained on")
	f.IntVar(&o.rows, "batch", 13, "rows a step")
	f.IntVar(&o.width, "width", 256, "tokens a row; several examples share one")
	f.IntVar(&o.schedule.Steps, "steps", 3000, "training steps")
	f.IntVar(&o.schedule.Warmup, "warmup", 60, "steps of linear warm-up")
	f.Float64Var(&o.schedule.Peak, "lr", 2e-3, "highest learning rate")
	f.Float64Var(&o.schedule.Floor, "floor", 0.02, "share of -lr that is left at the end of the cosine")
	f.Float64Var(&o.optimizer.Beta1, "beta1", 0.9, "AdamW")
	f.Float64Var(&o.optimizer.Beta2, "beta2", 0.98, "AdamW")
	f.Float64Var(&o.optimizer.Epsilon, "epsilon", 1e-8, "AdamW")
	f.Float64Var(&o.optimizer.WeightDecay, "weight-decay", 0.01, "AdamW")
	f.Float64Var(&o.optimizer.ClipNorm, "clip", 1, "bound on the gradient's norm")
	f.Float64Var(&o.std, "init-std", 0.05, "standard deviation of the first weights")
	f.IntVar(&o.log, "log", 50, "steps between two lines of progress; 0: none")
	f.Float64Var(&o.mixture.Team, "team", o.mixture.Team, "share of examples under the team prompt")
	f.Float64Var(&o.mixture.TalkUnderPlain, "talk-under-plain", o.mixture.TalkUnderPlain, "share of conversations under the plain prompt")
	f.Float64Var(&o.mixture.MonologueUnderTeam, "monologue-under-team", o.mixture.MonologueUnderTeam, "share of monologues under the team prompt")
	f.Float64Var(&o.mixture.Guess, "guess", o.mixture.Guess, "share of replies without work")
	f.Float64Var(&o.mixture.WrongOperation, "wrong-operation", o.mixture.WrongOperation, "share of steps with the wrong operation")
	f.Float64Var(&o.mixture.SlipMonologue, "slip-monologue", o.mixture.SlipMonologue, "share of a monologue's steps with a wrong result")
	f.Float64Var(&o.mixture.SlipTalk, "slip-talk", o.mixture.SlipTalk, "share of a conversation's steps with a wrong result")
	f.Float64Var(&o.mixture.Caught, "caught", o.mixture.Caught, "share of a conversation's slips that the next speaker corrects")
	f.IntVar(&o.sampling.Samples, "samples", 4, "evaluation: replies to each held-out problem")
	f.Float64Var(&o.sampling.Temperature, "temperature", 0.9, "evaluation")
	f.Float64Var(&o.sampling.TopP, "top_p", 0.95, "evaluation")
	f.IntVar(&o.sampling.MaxNew, "max_tokens", 96, "evaluation: longest reply")
	f.Uint64Var(&o.sampling.Seed, "eval-seed", 1, "evaluation")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, usageError{err}
	}
	if f.NArg() > 0 {
		return o, usageError{fmt.Errorf("expected flags only, found %q", f.Arg(0))}
	}
	for _, err := range []error{o.schedule.validate(), o.mixture.Validate()} {
		if err != nil {
			return o, usageError{err}
		}
	}
	if o.rows < 1 || o.width < 2 || o.tokenizerExamples < 1 || o.sampling.Samples < 1 {
		return o, usageError{fmt.Errorf("expected at least 1 row, 2 tokens a row, 1 example for the tokenizer and 1 sample, found -batch %d -width %d -tokenizer-examples %d -samples %d",
			o.rows, o.width, o.tokenizerExamples, o.sampling.Samples)}
	}
	return o, nil
}

func run(ctx context.Context, args []string, l lab, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	tok, err := mini.TrainTokenizer(o.seed, o.tokenizerExamples, o.mixture)
	if err != nil {
		return err
	}
	stream := &batches{tok: tok, seed: o.seed, mixture: o.mixture, rows: o.rows, width: o.width}
	if o.describe {
		return describe(stdout, stream)
	}
	// Minutes of training must not end at a file in the way.
	for _, name := range []string{"config.json", "model.safetensors", "tokenizer.json"} {
		if path := filepath.Join(o.out, name); exists(path) {
			return fmt.Errorf("%s exists: expected a folder without a model; name another with -out, or move this one away", path)
		}
	}
	name, err := l.Open(o.backend)
	if err != nil {
		return err
	}
	fmt.Fprintln(stderr, "backend:", name)
	c := architecture(tok.VocabSize())
	weights := initialWeights(c, o.seed, o.std)
	fmt.Fprintf(stderr, "%d parameters, %d steps of %d x %d tokens\n", c.Params(), o.schedule.Steps, o.rows, o.width)
	m, err := l.Learner(c, weights, o.rows, o.width, o.optimizer)
	if err != nil {
		return err
	}
	if err := train(ctx, m, stream, o.schedule, o.log, stderr); err != nil {
		return err
	}
	if weights, err = m.Weights(); err != nil {
		return err
	}
	if err := save(o.out, c, tok, weights); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: %d steps, %d examples\n", o.out, o.schedule.Steps, stream.next)
	// What is measured is what was written: rounded to bf16, read back.
	s, err := l.Sampler(o.out)
	if err != nil {
		return err
	}
	for _, team := range []bool{false, true} {
		got, err := evaluate(s, tok, mini.Problems().Holdout, team, o.sampling)
		if err != nil {
			return err
		}
		got.print(stdout, map[bool]string{false: "plain", true: "team"}[team])
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// save writes the folder with bf16 weights.
func save(dir string, c checkpoint.Config, tok *tokenizer.Tokenizer, weights map[string][]float32) error {
	var tensors []checkpoint.Tensor
	for _, s := range c.Specs() {
		tensors = append(tensors, checkpoint.Tensor{Name: s.Name, Shape: s.Shape, Data: weights[s.Name]})
	}
	return checkpoint.WriteFolder(dir, c, tok, tensors)
}
