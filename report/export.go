package main

import (
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
	"teamtalk/report/stats"
)

const exportHelp = `usage: go run ./report export [-tasks holdout|test] [runs/NAME]

Writes the graded answers of a run's two arms, each under the prompt it was trained with, to standard output as the table that
go run ./report compare reads: %s, one row per answer. run is the seed, task the task's index in the data set;
correct is empty where the grader could not read the task's own answer. Of an unfinished run it writes what is there. Without a
name it takes the newest complete run.

Example:

    go run ./report export runs/mini-1 > answers.csv
    go run ./report compare answers.csv -margin 0.03

with the run's own margin, which stands on its page; compare's is another.

`

// runExport writes a run's evaluations in the form that compare reads.
func runExport(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("export", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // a mistake is reported once, by the caller
	tasks := flags.String("tasks", "holdout", "the `tasks`: holdout, or test for the whole test split")
	rest, err := parseAnywhere(flags, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(stdout)
		fmt.Fprintf(stdout, exportHelp, strings.Join(stats.Columns, ","))
		flags.PrintDefaults()
		return nil
	case err != nil:
		return usagef("%w: see go run ./report export -h", err)
	case len(rest) > 1:
		return usagef("one run at a time: found %q", rest)
	case *tasks != "holdout" && *tasks != experiment.TasksTest:
		return usagef("-tasks %s: expected holdout or test", shown(*tasks))
	case len(rest) == 0:
		newestRun, err := newest("runs", artifact.ManifestFile)
		if err != nil {
			return err
		}
		rest = []string{newestRun}
	}
	if err := isRun(rest[0]); err != nil {
		return err
	}
	rec, err := artifact.Load(os.DirFS(rest[0]))
	if err != nil {
		return err
	}
	split := map[string]string{experiment.TasksTest: experiment.TasksTest}[*tasks] // an evaluation calls the held-out tasks ""
	if split != "" && rec.Plan.Evaluation.Test == nil {
		return fmt.Errorf("%s was not evaluated on the whole test split: expected a plan that says so; leave -tasks out for the held-out tasks", rest[0])
	}
	evals := map[string]artifact.EvalRecord{}
	for _, e := range rec.Evals {
		evals[e.Name()] = e
	}
	rows := [][]string{stats.Columns}
	for _, arm := range []string{rec.Plan.Primary.A, rec.Plan.Primary.B} { // compare subtracts the first arm
		before := len(rows)
		for _, run := range rec.Plan.Runs() {
			if run.Arm != arm {
				continue
			}
			for _, r := range evals[experiment.EvalRun{Model: run.Name, Prompt: arm, Tasks: split}.Name()].Replies {
				correct := ""
				if r.Verdict.Reward != nil {
					correct = map[bool]string{true: "1", false: "0"}[r.Verdict.Correct()]
				}
				rows = append(rows, []string{arm, strconv.FormatInt(run.Seed, 10), strconv.Itoa(r.Task), strconv.Itoa(r.Sample), correct})
			}
		}
		if len(rows) == before {
			what := "its plan trains one arm: train both"
			if len(rec.Missing) > 0 {
				what = "finish the run with go run ./recipe -resume " + rest[0]
			}
			return fmt.Errorf("%s has no evaluation of arm %s under its own prompt on the %s tasks: expected one of each arm, since a comparison has two; %s", rest[0], arm, *tasks, what)
		}
	}
	if len(rec.Missing) > 0 {
		fmt.Fprintf(stderr, "report: %s is not complete; missing: %s\n", rest[0], strings.Join(rec.Missing, ", "))
	}
	return csv.NewWriter(stdout).WriteAll(rows)
}
