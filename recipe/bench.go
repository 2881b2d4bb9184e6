package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"teamtalk/model"
	"teamtalk/model/backend"
	"teamtalk/model/checkpoint"
	"teamtalk/recipe/artifact"
	"teamtalk/recipe/bench"
	"teamtalk/recipe/data"
	"teamtalk/recipe/experiment"
	"teamtalk/recipe/mini"
)

func runBench(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	f := flag.NewFlagSet("recipe bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	preset := f.String("preset", "mini", "`mini` or qwen: whose batch sizes, and whose shape when -model is absent")
	path := f.String("model", "", "Hugging Face `folder`, GGUF file or hub:NAME; without it the preset's (qwen: random weights of Qwen2.5-1.5B's shape)")
	folder := f.String("data", "", "`folder` with GSM8K's files; with -model, steps and evaluations are those of real problems")
	kind := f.String("backend", "auto", "`auto`, cuda, xla-cpu or go")
	repeat := f.Int("repeat", 3, "`times` to measure each line, after one to warm up; a step's line takes three steps for each")
	only := f.String("only", "", "`lines` to measure, with commas, of "+strings.Join(bench.Names(), ","))
	rows := f.String("rows", "", "`shapes` of the gradient passes, rows x tokens of all runs together, with commas (default 8x704,4x1024; mini 16x192)")
	out := f.String("json", "", "`file` to write the measurements to")
	if help, err := parseFlags(f, args); help || err != nil {
		return err
	}
	if f.NArg() > 0 {
		return usagef("unexpected argument %q: expected flags", f.Arg(0))
	}
	if *repeat < 1 {
		return usagef("-repeat %d: expected 1 or more", *repeat)
	}
	plan, err := experiment.Preset(*preset)
	if err != nil {
		return usageError{err}
	}
	if *folder != "" && (*preset == "mini" || *path == "") {
		return usagef("-data: expected -preset qwen and a -model that answers the problems")
	}
	t := plan.Training
	o := bench.Options{
		LoRA: model.LoRA{Rank: t.LoRA.R, Alpha: t.LoRA.LoraAlpha, Targets: t.LoRA.TargetModules},
		Plan: plan, Prompt: 256, Repeat: *repeat, Log: stdout, Goals: *preset == "qwen",
	}
	if *preset == "mini" {
		o.Prompt = 64
	}
	if *rows == "" {
		*rows = map[string]string{"mini": "16x192", "qwen": "8x704,4x1024"}[*preset]
	}
	if o.Shapes, err = passShapes(*rows); err != nil {
		return usageError{err}
	}
	if *only != "" {
		o.Only = strings.Split(*only, ",")
		for _, name := range o.Only {
			if !slices.Contains(bench.Names(), name) {
				return usagef("-only %s: no line is called %q; expected some of %s", *only, name, strings.Join(bench.Names(), ","))
			}
		}
	}
	cp, err := benchInputs(ctx, &o, *preset, *path, *folder, stderr)
	if cp != nil {
		defer cp.Close()
	}
	if err != nil {
		return err
	}
	if o.Device, err = backend.Open(backend.Kind(*kind)); err != nil {
		return err
	}
	defer o.Device.Close()
	o.Goals = o.Goals && o.Device.Kind == backend.CUDA
	if o.Device.Kind != backend.CUDA {
		o.Rows = 1 // as experiments choose it on a CPU
	}
	result, err := bench.Run(ctx, o)
	if *out != "" && len(result.Lines) > 0 {
		raw, jerr := json.MarshalIndent(result, "", "  ")
		if jerr != nil {
			return jerr
		}
		if jerr := artifact.WriteFile(*out, append(raw, '\n')); jerr != nil {
			return jerr
		}
	}
	return err
}

// benchInputs opens the model, its tokenizer and the problems. Without a model's own, those of the mini preset make batches of a
// real form: what stands in them makes no difference to the time.
func benchInputs(ctx context.Context, o *bench.Options, preset, path, folder string, log io.Writer) (*checkpoint.Checkpoint, error) {
	if preset == "mini" && path == "" {
		path = embeddedModel
	}
	words, err := mini.OpenBase()
	if err != nil {
		return nil, err
	}
	defer words.Close()
	o.Config, o.Problems = bench.Qwen15, mini.Problems()
	o.Stop = []int32{-1} // no token: nothing stops
	var cp *checkpoint.Checkpoint
	if path != "" {
		if cp, err = openCheckpoint(ctx, path, log); err != nil {
			return nil, err
		}
		o.Config, o.Source, o.From = cp.Config, cp, "safetensors"
		if strings.HasSuffix(path, ".gguf") {
			o.From = "gguf"
		}
		o.Real = folder != "" || preset == "mini"
	}
	if !o.Real {
		o.Tokenizer, err = words.Tokenizer()
		return cp, err
	}
	if o.Tokenizer, err = cp.Tokenizer(); err != nil {
		return cp, err
	}
	o.Stop = slices.Clone(cp.Config.EOSTokenIDs)
	for _, id := range o.Tokenizer.EOS() {
		if !slices.Contains(o.Stop, id) {
			o.Stop = append(o.Stop, id)
		}
	}
	if folder != "" {
		o.Problems, err = gsm8k(folder)
	}
	return cp, err
}

// gsm8k reads the experiment's problems.
func gsm8k(folder string) (data.Set, error) {
	g, err := data.ReadGSM8K(folder, data.PinnedGSM8K)
	if err != nil {
		return data.Set{}, err
	}
	return g.Draw(data.OriginalSplit())
}

// passShapes reads shapes like 8x704,4x1024.
func passShapes(text string) ([]bench.Shape, error) {
	var out []bench.Shape
	for _, part := range strings.Split(text, ",") {
		r, t, _ := strings.Cut(part, "x")
		rows, errR := strconv.Atoi(r)
		tokens, errT := strconv.Atoi(t)
		if errR != nil || errT != nil || rows < 1 || tokens < 2 {
			return nil, fmt.Errorf("-rows %q: expected rows x tokens with commas between, at least 1x2, e.g. 8x704,4x1024", text)
		}
		out = append(out, bench.Shape{Rows: rows, T: tokens})
	}
	return out, nil
}
