package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"teamtalk/recipe/artifact"
)

const sealUsage = "recipe seal -because WHY runs/NAME"

// runSeal closes a run that will not be finished, or that has lost its manifest, so that what is there can be published and verified.
func runSeal(_ context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	f := flag.NewFlagSet("recipe seal", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprintln(stderr, "usage: "+sealUsage)
		f.PrintDefaults()
	}
	because := f.String("because", "", "`why` the run will not be finished, or is sealed again after its manifest was lost; it stands on every page made of the run")
	if help, err := parseFlags(f, args); help || err != nil {
		return err
	}
	if f.NArg() != 1 || *because == "" {
		return usagef("usage: " + sealUsage + ": expected a reason and one run folder")
	}
	run, err := artifact.Open(f.Arg(0))
	if errors.As(err, new(*artifact.LostManifestError)) {
		err = run.SealAnew(*because)
	} else if err == nil {
		err = run.SealIncomplete(*because)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: sealed as it is; what is planned and missing stays named\n", f.Arg(0))
	return nil
}
