package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"reflect"

	"teamtalk/recipe/artifact"
)

const roundUsage = "recipe round -changed WHAT [-of runs/OTHER] runs/NAME"

// runRound notes an attempt in a run's Climb ledger. Its value is not typed in: it is computed from the attempt's own run folder.
func runRound(_ context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	f := flag.NewFlagSet("recipe round", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprintln(stderr, "usage: "+roundUsage)
		f.PrintDefaults()
	}
	changed := f.String("changed", "", "`what` was changed in the attempt, and why")
	of := f.String("of", "", "the attempt's own run `folder`, from which its value is taken; without it the attempt has none")
	if help, err := parseFlags(f, args); help || err != nil {
		return err
	}
	if f.NArg() != 1 || *changed == "" {
		return usagef("usage: " + roundUsage + ": expected what was changed and one run folder")
	}
	dir := f.Arg(0)
	// Before anything is read of the run, which may be the attempt's own: until then it is not what its manifest says.
	finished, err := artifact.FinishNote(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	rd := artifact.Round{Changed: *changed}
	if *of != "" {
		rec, err := artifact.Load(os.DirFS(*of))
		if err != nil {
			return fmt.Errorf("%s: %w", *of, err)
		}
		rd = rec.Outcome()
		if *of == dir { // of the run itself the page computes it
			rd = artifact.Round{Metric: rd.Metric, Plan: rd.Plan}
		}
		rd.Changed = *changed
	}
	if finished != nil {
		rd.Round = finished.Round
		if !reflect.DeepEqual(rd, *finished) { // not the command that was stopped, repeated
			fmt.Fprintf(stderr, "%s: another attempt, which was being noted when its process was stopped, is noted too: %s\n", dir, finished.Changed)
			finished = nil
		}
	}
	if finished == nil {
		if err := artifact.Note(dir, rd); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	fmt.Fprintf(stdout, "%s: noted; a report made before is stale, make it again with: go run ./report %s\n", dir, dir)
	return nil
}
