package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
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
	f.IntVar(&o.MaxPromptLength, "max-prompt-length", 0, "`tokens` of the longest prompt, system message and problem (default: the preset's, 128 or 512)")
	f.Func("test-samples", "replies to each task of GSM8K's whole test split, `N`; 0 leaves that evaluation out (preset qwen; default 1)", func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 {
			return errors.New("expected a whole number, 0 or more")
		}
		o.TestSamples = &n
		return nil
	})
	f.Func("system-prompt", "`ARM=FILE`: the arm's system message is the file's text, and the report calls it by the file's name; once for each arm", func(s string) error {
		return systemPrompt(&o, s)
	})
	f.StringVar(&kind, "backend", "auto", "`auto`, cuda, xla-cpu or go")
	f.IntVar(&o.Lockstep, "lockstep", 0, "training runs that share one pass through the frozen model (default: all, divided among the processes)")
	f.Var((*microBatch)(&o.Rows), "micro-batch", "packed `rows` in one gradient pass, of all runs together, or auto: about 4,000 tokens (on a CPU one row), or as many as fit the device's memory")
	f.IntVar(&o.EvalRows, "eval-batch", 0, "replies sampled at once in evaluations (default 480)")
	f.IntVar(&o.Processes, "processes", 0, "worker `processes` that share runs and evaluations (default: one for each visible GPU; 1 without)")
	f.IntVar(&o.StopAfter, "stop-after", 0, "stop after this many steps with a checkpoint, as Ctrl-C would")
	f.BoolVar(&o.PlanOnly, "plan", false, "write the plan for -backend and stop; -resume goes on with it, on another machine too")
	f.BoolVar(&self, "selftest", false, "test the grader, the talk counter and the model on this machine, and stop")
	if help, err := parseFlags(f, args); help || err != nil {
		return err
	}
	if f.NArg() > 0 {
		return usagef("unexpected argument %q: expected flags, or a command first", f.Arg(0))
	}
	o.Backend = backend.Kind(kind)
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	o.Worker = []string{exe, workerCommand}
	if err := checkFlags(f, &o, seeds); err != nil {
		return err
	}
	if self {
		return selftest.Run(ctx, stdout, o.Backend)
	}
	l, err := lab.Open(ctx, o)
	if sealed := (*artifact.SealedError)(nil); errors.As(err, &sealed) {
		if sealed.Incomplete != "" {
			return fmt.Errorf("%s is sealed, unfinished: %s; expected a run that may go on: begin a new one, or read what is there with: go run ./report %s", o.Resume, sealed.Incomplete, o.Resume)
		}
		fmt.Fprintf(stdout, "%s is complete; read it with: go run ./report %s\n", o.Resume, o.Resume)
		return nil
	}
	if err != nil {
		return err
	}
	defer l.Close()
	if o.PlanOnly {
		fmt.Fprintf(stdout, "%s: planned; run it with: %s\n", l.Dir, l.GoOn())
		return nil
	}
	fmt.Fprintf(stderr, "watch it in a browser with: go run ./report watch %s\n", l.Dir)
	if err := l.Run(ctx); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: complete; write it up with: go run ./report %s\n", l.Dir, l.Dir)
	return nil
}

// checkFlags finds mistakes in what was asked before anything is opened, and fills in the seeds.
func checkFlags(f *flag.FlagSet, o *lab.Options, seeds string) error {
	set := map[string]bool{}
	f.Visit(func(f *flag.Flag) { set[f.Name] = true })
	if o.Backend != backend.Auto && !slices.Contains(backend.Kinds, o.Backend) {
		return usagef("-backend %q: expected auto, cuda, xla-cpu or go", o.Backend)
	}
	for _, n := range []struct {
		name  string
		value int
	}{{"steps", o.Steps}, {"max-prompt-length", o.MaxPromptLength}, {"lockstep", o.Lockstep}, {"eval-batch", o.EvalRows}, {"processes", o.Processes}, {"stop-after", o.StopAfter}} {
		if set[n.name] && n.value < 1 {
			return usagef("-%s %d: expected 1 or more", n.name, n.value)
		}
	}
	if !set["processes"] {
		o.Processes = lab.PerGPU
	}
	if o.PlanOnly && set["resume"] {
		return usagef("-plan: expected a new run, found -resume %s, whose plan is written: leave one of the two out", o.Resume)
	}
	if o.PlanOnly && o.Backend == backend.Auto {
		return usagef("-plan needs -backend: a plan is for the backend that will run it, which may be on another machine; expected cuda, xla-cpu or go")
	}
	if set["resume"] {
		return checkResume(o.Resume, set)
	}
	if !slices.Contains(experiment.PresetNames, o.Preset) {
		return usagef("-preset %q: expected one of %s", o.Preset, strings.Join(experiment.PresetNames, ", "))
	}
	switch own := o.Preset == "mini"; {
	case own && (o.Data != "" || o.AnyData):
		return usagef("-data and -any-data: the preset mini makes its own problems; leave them out, or take -preset qwen")
	case own && o.TestSamples != nil && *o.TestSamples > 0:
		return usagef("-test-samples %d: the preset mini has no test split beyond its held-out problems; leave it out, or take -preset qwen", *o.TestSamples)
	case !own && o.Model == "":
		return usagef("-preset %s needs a model: -model with a Hugging Face folder, a GGUF file or hub:NAME", o.Preset)
	case !own && o.Data == "":
		return usagef("-preset %s needs GSM8K: -data with the folder of its files, or -data fetch", o.Preset)
	}
	if set["seeds"] {
		for _, s := range strings.Split(seeds, ",") {
			n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
			if err != nil || n < 0 || slices.Contains(o.Seeds, n) {
				return usagef("-seeds %q: expected different whole numbers, none below 0, with commas between, e.g. 17,18", seeds)
			}
			o.Seeds = append(o.Seeds, n)
		}
	}
	plan, err := experiment.Preset(o.Preset)
	if err == nil {
		err = plan.Apply(experiment.Overrides{Arm: o.Arm})
	}
	if err != nil {
		return usagef("-arm %s: %w", o.Arm, err)
	}
	if o.Change != nil {
		if err := o.Change(&plan); err != nil {
			return usagef("-system-prompt: %w", err)
		}
		for i, a := range plan.Arms[1:] {
			if a.System == plan.Arms[0].System {
				return usagef("-system-prompt: the arms %s and %s have the same system message, and nothing else differs between arms", plan.Arms[0].Name, plan.Arms[i+1].Name)
			}
		}
	}
	if o.Out != "" {
		if _, err := os.Lstat(o.Out); err == nil {
			return fmt.Errorf("-out %s exists: expected a folder that is not there; name another, or go on with it: -resume %s", o.Out, o.Out)
		}
	}
	return nil
}

// checkResume finds what does not go together with -resume.
func checkResume(dir string, set map[string]bool) error {
	for _, name := range []string{"preset", "out", "arm", "seeds", "steps", "max-prompt-length", "test-samples", "system-prompt"} {
		if set[name] {
			return usagef("-%s cannot be changed with -resume: the plan in %s fixes it", name, dir)
		}
	}
	if dir == "" {
		return usagef("-resume is empty: expected the folder of a run; `ls runs` lists them")
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("-resume %s: no such folder; `ls runs` lists the runs", dir)
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
