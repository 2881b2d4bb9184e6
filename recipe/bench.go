package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"strings"

	"teamtalk/model"
	"teamtalk/model/backend"
	"teamtalk/model/checkpoint"
	"teamtalk/recipe/artifact"
	"teamtalk/recipe/bench"
	"teamtalk/recipe/experiment"
	"teamtalk/recipe/mini"
)

// qwen15 is the shape of Qwen2.5-1.5B, for measuring without its weights.
var qwen15 = checkpoint.Config{
	HiddenSize: 1536, IntermediateSize: 8960, NumHiddenLayers: 28, NumAttentionHeads: 12, NumKeyValueHeads: 2, HeadDim: 128,
	VocabSize: 151936, MaxPositionEmbeddings: 32768, RopeTheta: 1e6, RMSNormEps: 1e-6, TieWordEmbeddings: true,
	EOSTokenIDs: []int32{151645}, BOSTokenID: -1, PadTokenID: -1, DType: "bfloat16",
}

func runBench(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	f := flag.NewFlagSet("recipe bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	preset := f.String("preset", "mini", "`mini` or qwen: whose batch sizes, and whose shape when -model is absent")
	path := f.String("model", "", "`folder` or GGUF file; without it the preset's shape (qwen: random weights of Qwen2.5-1.5B's)")
	kind := f.String("backend", "auto", "`auto`, cuda, xla-cpu or go")
	repeat := f.Int("repeat", 5, "`times` to measure each line, after one to warm up")
	only := f.String("only", "", "lines to measure, with commas: decode,decode-base,decode-m4,decode-eval,train,train-m4")
	out := f.String("json", "", "`file` to write the measurements to")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return usageError{err}
	}
	plan, err := experiment.Preset(*preset)
	if err != nil {
		return usageError{err}
	}
	t := plan.Training
	o := bench.Options{
		LoRA:    model.LoRA{Rank: t.LoRA.R, Alpha: t.LoRA.LoraAlpha, Targets: t.LoRA.TargetModules},
		Prompts: t.PromptsPerStep, Group: t.NumGenerations, Reply: t.MaxCompletionLength, Prompt: 256, Rows: 8, T: 704, Repeat: *repeat, Log: stdout,
	}
	if *only != "" {
		o.Only = strings.Split(*only, ",")
	}
	var cp *checkpoint.Checkpoint
	switch {
	case *path != "":
		cp, err = checkpoint.Open(*path)
	case *preset == "mini":
		cp, err = mini.OpenBase()
	default:
		o.Config = qwen15
	}
	if err != nil {
		return err
	}
	if cp != nil {
		defer cp.Close()
		o.Config, o.Source = cp.Config, cp
	}
	if *preset == "mini" {
		o.Prompt, o.Rows, o.T = 64, 16, 192
	}
	if o.Device, err = backend.Open(backend.Kind(*kind)); err != nil {
		return err
	}
	defer o.Device.Close()
	lines, err := bench.Run(ctx, o)
	if *out != "" && len(lines) > 0 {
		raw, jerr := json.MarshalIndent(lines, "", "  ")
		if jerr != nil {
			return jerr
		}
		if jerr := artifact.WriteFile(*out, append(raw, '\n')); jerr != nil {
			return jerr
		}
	}
	return err
}
