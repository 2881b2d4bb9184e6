package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"teamtalk/model/backend"
	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
	"teamtalk/recipe/lab"
	"teamtalk/recipe/selftest"
)

// runExperiment is `recipe` without a command: it plans, trains and evaluates, or goes on with a run.
func runExperiment(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	f := flag.NewFlagSet("recipe", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() { usage(f, stderr) }
	o := lab.Options{Command: append([]string{"recipe"}, args...), Log: stderr}
	var seeds, kind string
	var self bool
	f.StringVar(&o.Preset, "preset", "mini", "`mini`: a small model on generated problems, minutes on a CPU; qwen: Qwen2.5 on GSM8K")
	f.StringVar(&o.Model, "model", "", "base model: a Hugging Face `folder`, a GGUF file or hub:NAME (preset qwen)")
	f.StringVar(&o.Data, "data", "", "`folder` with GSM8K's train.jsonl and test.jsonl, or fetch (preset qwen)")
	f.BoolVar(&o.AnyData, "any-data", false, "accept data files whose sha256 is not the published one; the plan records what they are")
	f.StringVar(&o.Out, "out", "", "`folder` of the run; it must not exist (default: a new one under runs)")
	f.StringVar(&o.Resume, "resume", "", "go on with the run in this `folder`")
	f.StringVar(&o.Arm, "arm", "", "train only this `arm`: baseline or recipe")
	f.StringVar(&seeds, "seeds", "", "training `seeds`, e.g. 17,18")
	f.IntVar(&o.Steps, "steps", 0, "optimizer `steps` (default: the preset's, 40)")
	f.StringVar(&kind, "backend", "auto", "`auto`, cuda, xla-cpu or go")
	f.IntVar(&o.Lockstep, "lockstep", 0, "training runs that share one pass through the frozen model (default: all)")
	f.IntVar(&o.Rows, "micro-batch", 0, "packed `rows` of each run in one gradient pass (default: about 6,000 tokens of all runs)")
	f.IntVar(&o.EvalRows, "eval-batch", 0, "replies sampled at once in evaluations (default 480)")
	f.IntVar(&o.StopAfter, "stop-after", 0, "stop after this many steps with a checkpoint, as Ctrl-C would")
	f.BoolVar(&o.PlanOnly, "plan", false, "write the plan for -backend and stop; -resume goes on with it, on another machine too")
	f.BoolVar(&self, "selftest", false, "test the grader, the talk counter and the model on this machine, and stop")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return usageError{err}
	}
	if f.NArg() > 0 {
		return usagef("unexpected argument %q: expected flags, or a command first", f.Arg(0))
	}
	o.Backend = backend.Kind(kind)
	if self {
		return selftest.Run(ctx, stdout, o.Backend)
	}
	if err := checkFlags(f, &o, seeds); err != nil {
		return err
	}
	l, err := lab.Open(ctx, o)
	if errors.Is(err, artifact.ErrComplete) {
		fmt.Fprintf(stdout, "%s is complete; read it with: go run ./report %s\n", o.Resume, o.Resume)
		return nil
	}
	if err != nil {
		return err
	}
	defer l.Close()
	if o.PlanOnly {
		fmt.Fprintf(stdout, "%s: planned; run it with: go run ./recipe -resume %s\n", l.Dir, l.Dir)
		return nil
	}
	if err := l.Run(ctx); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: complete; write it up with: go run ./report %s\n", l.Dir, l.Dir)
	return nil
}

// checkFlags finds mistakes in what was asked before anything is opened.
func checkFlags(f *flag.FlagSet, o *lab.Options, seeds string) error {
	set := map[string]bool{}
	f.Visit(func(f *flag.Flag) { set[f.Name] = true })
	if o.Resume != "" {
		for _, name := range []string{"preset", "out", "arm", "seeds", "steps"} {
			if set[name] {
				return usagef("-%s cannot be changed with -resume: the plan in %s fixes it", name, o.Resume)
			}
		}
		if _, err := os.Stat(o.Resume); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("-resume %s: no such folder; `ls runs` lists the runs", o.Resume)
		}
		return nil
	}
	known := false
	for _, p := range experiment.PresetNames {
		known = known || p == o.Preset
	}
	if !known {
		return usagef("-preset %q: expected one of %s", o.Preset, strings.Join(experiment.PresetNames, ", "))
	}
	if kinds := []backend.Kind{backend.Auto, backend.CUDA, backend.XLACPU, backend.Go}; true {
		ok := false
		for _, k := range kinds {
			ok = ok || k == o.Backend
		}
		if !ok {
			return usagef("-backend %q: expected auto, cuda, xla-cpu or go", o.Backend)
		}
	}
	if set["steps"] && o.Steps < 1 {
		return usagef("-steps %d: expected 1 or more", o.Steps)
	}
	for _, s := range strings.Split(seeds, ",") {
		if s == "" {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
		if err != nil {
			return usagef("-seeds %q: expected whole numbers with commas between, e.g. 17,18", seeds)
		}
		o.Seeds = append(o.Seeds, n)
	}
	if o.Out != "" {
		if _, err := os.Lstat(o.Out); err == nil {
			return fmt.Errorf("-out %s exists: expected a folder that is not there; name another, or go on with it: -resume %s", o.Out, o.Out)
		}
	}
	return nil
}

func usage(f *flag.FlagSet, w io.Writer) {
	fmt.Fprint(w, `usage: go run ./recipe [flags]            plans, trains and evaluates an experiment
       go run ./recipe COMMAND [flags]    a tool

commands:
`)
	for _, n := range commandNames() {
		fmt.Fprintf(w, "  %-10s %s\n", n, commands[n].help)
	}
	fmt.Fprint(w, "\nflags:\n")
	f.PrintDefaults()
}
