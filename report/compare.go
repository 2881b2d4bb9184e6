package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"teamtalk/report/stats"
)

//go:embed testdata/tiny.csv
var compareExample string

const compareHelp = `usage: go run ./report compare FILE.csv [-json] [-baseline ARM] [-margin M]

Compares two arms from a table of answers, one row per answer (FILE "-" is standard input):

%s    ...

arm      the two recipes. The baseline is the one that -baseline names, else the one called "baseline", else the first in
         the file; the difference is the other arm minus the baseline, in share of right answers.
run      a training run of that arm (its seed, say); arms may have different numbers of runs. One model evaluated again is not
         another run: runs that are identical on every task, of one arm or of both, are named, and say nothing about training again.
task     the problem; both arms answer the same ones.
sample   which answer of that run to that task.
correct  1 or 0 (true or false); empty for an answer that was not graded.

Columns may come in any order. A cell (arm, run, task) without a graded answer is counted and named, and its task is left out of
both arms; nothing is filled in.

It prints three intervals, which say different things: ci_tasks is over new tasks for these models, ci_runs over new
training runs on these tasks, ci_both over both. The verdict reads ci_both: better, worse, equivalent (90%% interval inside
±margin), unresolved, degenerate (nothing varied). Where text says none, -json has null. The exit code is 0 whatever the verdict.

Example: the whole table above (2 runs × 6 tasks × 4 samples per arm) comes with the command:

    go run ./report compare -example > tiny.csv
    go run ./report compare tiny.csv          delta +0.125, ci_both [−0.202, +0.452]: unresolved

`

// runCompare analyses results made elsewhere; see compareHelp.
func runCompare(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // a mistake is reported once, by the caller
	asJSON := flags.Bool("json", false, "write JSON: delta, ci_tasks, ci_runs, ci_both, p_both, V_task, V_runs, V_int, df_runs, verdict, components and more")
	baseline := flags.String("baseline", "", "the `arm` to subtract from the other")
	margin := flags.Float64("margin", 0.02, "differences inside ±`M` do not matter; fix it before looking at the result")
	example := flags.Bool("example", false, "write the example table and stop")
	files, err := parseAnywhere(flags, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(stdout)
		fmt.Fprintf(stdout, compareHelp, "    "+strings.Join(strings.SplitAfter(compareExample, "\n")[:4], "    "))
		flags.PrintDefaults()
		return nil
	case err != nil:
		return usagef("%w: see go run ./report compare -h", err)
	case *example:
		_, err := io.WriteString(stdout, compareExample)
		return err
	case len(files) != 1:
		return usagef("compare got %d files: expected one CSV file, or - for standard input; see go run ./report compare -h", len(files))
	case !(*margin >= 0 && *margin <= 1):
		return usagef("-margin %v: expected a difference of shares between 0 and 1, such as 0.02", *margin)
	}
	name, in := files[0], stdin
	if name == "-" {
		name = "standard input"
	} else {
		f, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("%w: expected a CSV file with the header %s", err, strings.Join(stats.Columns, ","))
		}
		defer f.Close()
		in = f
	}
	results, err := stats.ReadResults(ctx, in)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	c := comparison{file: name, Results: results}
	if err := c.orient(*baseline); err != nil {
		return err
	}
	if c.Comparison, err = stats.CompareArms(printable(c.a), printable(c.b), *margin); err != nil {
		missing, _ := results.Gaps()
		return fmt.Errorf("%s: baseline %s, other arm %s: %w (%d cells have no graded answer%s)", name, shown(c.a.Name), shown(c.b.Name), err, len(missing), listed(missing, results.Samples))
	}
	var out bytes.Buffer
	if *asJSON {
		err = c.writeJSON(&out)
	} else {
		c.writeText(&out)
	}
	if err != nil {
		return err
	}
	_, err = out.WriteTo(stdout)
	return err
}

// parseAnywhere parses flags before and after the other arguments, which it returns.
func parseAnywhere(flags *flag.FlagSet, args []string) (rest []string, err error) {
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		if args = flags.Args(); len(args) == 0 {
			return rest, nil
		}
		rest, args = append(rest, args[0]), args[1:]
	}
}

// comparison is a table of answers with its analysis.
type comparison struct {
	file string
	stats.Results
	stats.Comparison
	a, b       stats.ArmResults
	orientedBy string
}

// orient decides which arm is A, the baseline.
func (c *comparison) orient(baseline string) error {
	first, second := c.Arms[0], c.Arms[1]
	c.a, c.b, c.orientedBy = first, second, "first in the file"
	switch {
	case baseline != "" && baseline == first.Name:
		c.orientedBy = "named by -baseline"
	case baseline != "" && baseline == second.Name:
		c.a, c.b, c.orientedBy = second, first, "named by -baseline"
	case baseline != "":
		return usagef("-baseline %s: the file has the arms %s and %s", shown(baseline), shown(first.Name), shown(second.Name))
	case strings.EqualFold(first.Name, "baseline"):
		c.orientedBy = "by its name"
	case strings.EqualFold(second.Name, "baseline"):
		c.a, c.b, c.orientedBy = second, first, "by its name"
	}
	return nil
}

// printable is the arm under labels that are safe to print.
func printable(a stats.ArmResults) stats.ArmResults {
	a.Name = shown(a.Name)
	runs := make([]string, len(a.Runs))
	for i, r := range a.Runs {
		runs[i] = shown(r)
	}
	a.Runs = runs
	return a
}

func (c *comparison) names() stats.Names {
	return stats.Names{A: shown(c.a.Name), B: shown(c.b.Name), Metric: "pass@1"}
}

func (c *comparison) writeJSON(w io.Writer) error {
	missing, short := c.Gaps()
	dropped := []string{}
	for _, t := range c.Dropped {
		dropped = append(dropped, c.Results.Tasks[t])
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(struct {
		Arms       map[string]string `json:"arms"`
		OrientedBy string            `json:"baseline_is"`
		RunLabels  [2][]string       `json:"runs"`
		stats.ComparisonJSON
		Dropped  []string    `json:"dropped_tasks"`
		Missing  []stats.Gap `json:"missing_cells"`
		Short    []stats.Gap `json:"short_cells"`
		Ungraded int         `json:"ungraded_rows"`
		Sentence string      `json:"sentence"`
	}{map[string]string{"A": c.a.Name, "B": c.b.Name}, c.orientedBy, [2][]string{c.a.Runs, c.b.Runs}, c.Comparison.JSON(), dropped,
		append([]stats.Gap{}, missing...), append([]stats.Gap{}, short...), c.Ungraded, c.Sentence(c.names())})
}
