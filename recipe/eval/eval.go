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
	// Slots is how many models answer in lockstep, Rows how many replies are sampled at once, all models together.
	Slots, Rows int
	// Grade judges a reply as it is stored.
	Grade func(text, gold string) (artifact.Verdict, artifact.Talk)
	// Progress, if set, is told how many replies are done.
	Progress func(done, all int)
}

// Evaluate runs jobs and hands each one's replies, every problem's samples in order, to write.
func Evaluate(ctx context.Context, jobs []Job, o Options, write func(Job, []artifact.Reply) error) error {
	if err := o.check(); err != nil {
		return err
	}
	slots := max(1, min(o.Slots, len(jobs)))
	sampler, err := model.NewSampler(o.Device, o.Weights, model.SamplerOptions{LoRA: &o.LoRA, Runs: slots, Stop: o.Stop})
	if err != nil {
		return err
	}
	defer sampler.Close()
	prompts, columns, err := o.encode(jobs)
	if err != nil {
		return err
	}
	all := len(jobs) * len(o.Problems) * o.Settings.Samples
	done := 0
	for at := 0; at < len(jobs); at += slots {
		round := jobs[at:min(at+slots, len(jobs))]
		if err := o.load(sampler, round, slots); err != nil {
			return err
		}
		replies := make([][]artifact.Reply, len(round))
		per := max(1, o.Rows/(slots*o.Settings.Samples)) // problems of each model at once
		per = min(per, len(o.Problems))
		for from := 0; from < len(o.Problems); from += per {
			request := model.Request{
				MaxTokens: o.Settings.MaxCompletionLength, Temperature: o.Settings.Temperature, TopP: o.Settings.TopP, Columns: columns,
			}
			for slot := range slots {
				for i := from; i < from+per; i++ {
					p := model.Prompt{Keys: make([]model.Key, o.Settings.Samples)}
					if slot < len(round) && i < len(o.Problems) { // the others pad the batch to its shape
						p.IDs = prompts[at+slot][i]
						seed := experiment.Eval.Seed(round[slot].Run.Seed)
						for sample := range p.Keys {
							p.Keys[sample] = model.NewKey(seed, uint64(o.Problems[i].Index), uint64(sample))
						}
					}
					request.Prompts = append(request.Prompts, p)
				}
			}
			out, err := sampler.Sample(ctx, request)
			if err != nil {
				return err
			}
			for slot := range round {
				for i := from; i < min(from+per, len(o.Problems)); i++ {
					for sample, c := range out[slot*per+i-from] {
						replies[slot] = append(replies[slot], o.reply(o.Problems[i], sample, c))
						done++
					}
				}
			}
			if o.Progress != nil {
				o.Progress(done, all)
			}
		}
		for slot, job := range round {
			if err := write(job, replies[slot]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *Options) check() error {
	s := o.Settings
	switch {
	case len(o.Problems) == 0:
		return errors.New("evaluation: no held-out problems")
	case s.Samples < 1:
		return fmt.Errorf("evaluation: %d samples per task, expected 1 or more", s.Samples)
	case s.TopK != 0 || s.RepetitionPenalty != 1:
		return errors.New("evaluation: top_k and repetition_penalty: expected 0 and 1")
	}
	return nil
}

// encode tokenises every problem under every job's system message.
func (o *Options) encode(jobs []Job) (prompts [][][]int32, columns int, err error) {
	for _, j := range jobs {
		var of [][]int32
		for _, p := range o.Problems {
			ids, err := o.Tokenizer.ChatML([]tokenizer.Message{{Role: "system", Content: j.System}, {Role: "user", Content: p.Question}}, true)
			if err != nil {
				return nil, 0, err
			}
			of = append(of, ids)
			columns = max(columns, len(ids))
		}
		prompts = append(prompts, of)
	}
	return prompts, columns, nil
}

// load makes a round's adapters the sampler's; untrained models and empty slots get adapters that add nothing.
func (o *Options) load(sampler *model.Sampler, round []Job, slots int) error {
	values := make([]map[string][]float32, slots)
	for i := range values {
		if i < len(round) && round[i].Adapter != nil {
			values[i] = round[i].Adapter
			continue
		}
		values[i] = map[string][]float32{}
		for _, s := range o.LoRA.Specs(o.Weights.Config) {
			values[i][s.Name] = make([]float32, s.Rows*s.Cols)
		}
	}
	a, err := model.AdaptersFrom(o.Device, o.Weights.Config, o.LoRA, values)
	if err != nil {
		return err
	}
	defer a.Free()
	return sampler.Load(a)
}

func (o *Options) reply(p data.Problem, sample int, c model.Completion) artifact.Reply {
	text := artifact.Text(o.Tokenizer.Decode(c.IDs))
	verdict, talk := o.Grade(text, p.Gold)
	return artifact.Reply{Sampled: artifact.Sampled{
		Task: p.Index, TaskSHA256: p.SHA256, Sample: sample, Text: text, Tokens: len(c.IDs),
		FinishReason: artifact.FinishReason(c.Finish), Verdict: verdict, Talk: talk,
	}}
}
