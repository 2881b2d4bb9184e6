// Package eval samples replies of models to the held-out problems and grades them. Several models that share the frozen
// weights answer in lockstep; a reply does not depend on which others do.
package eval

import (
	"context"
	"errors"
	"fmt"

	"teamtalk/model"
	"teamtalk/model/backend"
	"teamtalk/model/tokenizer"
	"teamtalk/recipe/artifact"
	"teamtalk/recipe/data"
	"teamtalk/recipe/experiment"
)

// Job is one evaluation: a model under a system message.
type Job struct {
	Run    experiment.EvalRun
	System string
	// Adapter holds the model's LoRA matrices by PEFT name; nil is the untrained model.
	Adapter map[string][]float32
	// Done: its replies are written already. It keeps its place in the batches, so that the others' replies stay the same.
	Done bool
}

// Options is what Evaluate needs.
type Options struct {
	Device    *backend.Device
	Weights   *model.Weights
	Tokenizer *tokenizer.Tokenizer
	LoRA      model.LoRA // of all adapters
	Problems  []data.Problem
	Settings  experiment.Evaluation
	Stop      []int32
	// Columns reserves room for prompts up to this length, so that one evaluation after another shares its programs; 0 takes the
	// longest prompt's.
	Columns int
	// Slots is how many models answer in lockstep, Rows how many replies are sampled at once, all models together.
	Slots, Rows int
	// Grade judges a reply as it is stored.
	Grade func(text, gold string) (artifact.Verdict, artifact.Talk)
	// Progress, if set, is told how many replies are done.
	Progress func(done, all int)
}

// Evaluate runs jobs and hands each one's replies, every problem's samples in order, to write.
func Evaluate(ctx context.Context, jobs []Job, o Options, write func(Job, []artifact.Reply) error) error {
	e, err := New(jobs, o)
	if err != nil {
		return err
	}
	defer e.Close()
	return e.Evaluate(ctx, write)
}

func (o *Options) check(jobs []Job) error {
	s := o.Settings
	switch {
	case len(jobs) == 0:
		return errors.New("evaluation: no jobs")
	case len(o.Problems) == 0:
		return errors.New("evaluation: no held-out problems")
	case s.Samples < 1:
		return fmt.Errorf("evaluation: %d samples per task, expected 1 or more", s.Samples)
	case s.TopK != 0 || s.RepetitionPenalty != 1:
		return errors.New("evaluation: top_k and repetition_penalty: expected 0 and 1")
	}
	return nil
}

func (o *Options) reply(p data.Problem, sample int, c model.Completion) artifact.Reply {
	text := artifact.Text(o.Tokenizer.Decode(c.IDs))
	verdict, talk := o.Grade(text, p.Gold)
	return artifact.Reply{Sampled: artifact.Sampled{
		Task: p.Index, TaskSHA256: p.SHA256, Sample: sample, Text: text, Tokens: len(c.IDs),
		FinishReason: artifact.FinishReason(c.Finish), Verdict: verdict, Talk: talk,
	}}
}
