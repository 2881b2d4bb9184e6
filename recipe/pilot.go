package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"teamtalk/model"
	"teamtalk/model/backend"
	"teamtalk/model/checkpoint"
	"teamtalk/recipe/artifact"
	"teamtalk/recipe/data"
	"teamtalk/recipe/eval"
	"teamtalk/recipe/experiment"
)

// pilotResult is what one prompt did to the untrained model. A pilot chooses a prompt's wording; it is no result.
type pilotResult struct {
	Prompt    string  `json:"prompt"` // the file's name
	System    string  `json:"system"`
	Tasks     int     `json:"tasks"`
	Samples   int     `json:"samples_per_task"`
	Pass1     float64 `json:"pass@1"`
	Talk      float64 `json:"talk"`  // share of replies
	Turns     float64 `json:"turns"` // mean
	Truncated float64 `json:"truncated"`
	Tokens    float64 `json:"mean_tokens"`
	Boxed     float64 `json:"boxed"` // share of replies graded by a box
	TaskIndex []int   `json:"task_index"`
}

// runPilot measures candidate prompts on train problems that the experiment does not use.
func runPilot(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	f := flag.NewFlagSet("recipe pilot", flag.ContinueOnError)
	f.SetOutput(stderr)
	path := f.String("model", "", "base model: a Hugging Face `folder` or a GGUF file")
	folder := f.String("data", "", "`folder` with GSM8K's files")
	kind := f.String("backend", "auto", "`auto`, cuda, xla-cpu or go")
	tasks := f.Int("tasks", 60, "train `problems` to ask, none of them among the experiment's")
	samples := f.Int("samples", 2, "replies to each")
	if help, err := parseFlags(f, args); help || err != nil {
		return err
	}
	if *path == "" || *folder == "" || f.NArg() == 0 {
		return usagef("usage: recipe pilot -model .. -data .. PROMPT.txt ..: expected a model, the data and a file for each candidate system message")
	}
	g, err := data.ReadGSM8K(*folder, data.PinnedGSM8K)
	if err != nil {
		return err
	}
	used := data.OriginalSplit().Train
	var problems []data.Problem
	for _, i := range data.NewRand(1, "pilot").Perm(len(g.Train)) {
		if !slices.Contains(used, i) && len(problems) < *tasks {
			problems = append(problems, g.Train[i])
		}
	}
	cp, err := checkpoint.Open(*path)
	if err != nil {
		return err
	}
	defer cp.Close()
	tok, err := cp.Tokenizer()
	if err != nil {
		return err
	}
	dev, err := backend.Open(backend.Kind(*kind))
	if err != nil {
		return err
	}
	defer dev.Close()
	weights, err := model.LoadWeights(dev, cp.Config, cp)
	if err != nil {
		return err
	}
	defer weights.Free()
	plan, err := experiment.Preset("qwen")
	if err != nil {
		return err
	}
	settings := plan.Evaluation
	settings.Samples = *samples
	var jobs []eval.Job
	for i, file := range f.Args() {
		system, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		jobs = append(jobs, eval.Job{System: strings.TrimSpace(string(system)), Run: experiment.EvalRun{Model: experiment.Base, Prompt: filepath.Base(f.Arg(i)), Seed: settings.BaseSeed}})
	}
	lora := model.LoRA{Rank: 1, Alpha: 1, Targets: []string{"o_proj"}} // nothing is adapted; the sampler is shared
	out := json.NewEncoder(stdout)
	return eval.Evaluate(ctx, jobs, eval.Options{
		Device: dev, Weights: weights, Tokenizer: tok, LoRA: lora, Problems: problems, Settings: settings,
		Stop: append(slices.Clone(cp.Config.EOSTokenIDs), tok.EOS()...), Slots: 1, Rows: 480, Grade: artifact.Grade,
	}, func(j eval.Job, replies []artifact.Reply) error {
		r := pilotResult{Prompt: j.Run.Prompt, System: j.System, Tasks: len(problems), Samples: *samples}
		for _, p := range problems {
			r.TaskIndex = append(r.TaskIndex, p.Index)
		}
		n := float64(len(replies))
		for _, reply := range replies {
			r.Tokens += float64(reply.Tokens) / n
			r.Turns += float64(reply.Talk.Turns) / n
			for _, c := range []struct {
				is  bool
				sum *float64
			}{
				{reply.Verdict.Correct(), &r.Pass1}, {reply.Talk.Talks, &r.Talk}, {reply.Truncated(), &r.Truncated},
				{reply.Verdict.Policy == "boxed", &r.Boxed},
			} {
				if c.is {
					*c.sum += 1 / n
				}
			}
		}
		fmt.Fprintf(stderr, "%s: pass@1 %.3f, talk %.3f (%.1f turns), truncated %.3f, %.0f tokens, boxed %.3f\n",
			r.Prompt, r.Pass1, r.Talk, r.Turns, r.Truncated, r.Tokens, r.Boxed)
		return out.Encode(r)
	})
}
