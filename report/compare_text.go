package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"teamtalk/report/stats"
)

// writeText says what was read and what is missing, what the design could tell, and then the result.
func (c *comparison) writeText(w io.Writer) {
	c.writeInput(w)
	c.writeDesign(w)
	c.writeResult(w)
}

func (c *comparison) writeInput(w io.Writer) {
	missing, short := c.Gaps()
	cells := (len(c.a.Runs) + len(c.b.Runs)) * len(c.Results.Tasks)
	fmt.Fprintf(w, "%s: %d rows, %d tasks, %d samples per task and run, %d cells\n", shown(c.file), c.Rows, len(c.Results.Tasks), c.Results.Samples, cells)
	fmt.Fprintf(w, "  baseline: %s (%s); runs: %s\n", shown(c.a.Name), c.orientedBy, runList(c.a.Runs))
	fmt.Fprintf(w, "  compared with it: %s; runs: %s\n", shown(c.b.Name), runList(c.b.Runs))
	if len(c.Ignored) > 0 {
		fmt.Fprintf(w, "  ignored columns: %s\n", runList(c.Ignored))
	}
	if len(missing)+len(short)+c.Ungraded == 0 {
		fmt.Fprintf(w, "  no cell is missing\n")
	}
	if len(missing) > 0 {
		var tasks []string
		for _, t := range c.Dropped {
			tasks = append(tasks, c.Results.Tasks[t])
		}
		fmt.Fprintf(w, "  missing, without a graded answer: %d of %d cells%s\n", len(missing), cells, listed(missing, c.Results.Samples))
		fmt.Fprintf(w, "  left out of both arms: %d of %d tasks: %s\n", len(tasks), len(c.Results.Tasks), runList(tasks))
	}
	if len(short) > 0 {
		fmt.Fprintf(w, "  short of %d graded answers, counted with those they have: %d of %d cells%s\n", c.Results.Samples, len(short), cells, listed(short, c.Results.Samples))
	}
	if c.Ungraded > 0 {
		d := float64(c.Ungraded) / float64(c.Rows)
		fmt.Fprintf(w, "  ungraded: %d of the rows (%s); whatever they were, a share over all rows is off by at most %s\n", c.Ungraded, stats.Percent(d, 1), stats.Fixed(stats.UngradedBound(d), 3))
	}
}

func runList(labels []string) string {
	const most = 20
	var out []string
	for i, l := range labels {
		if i == most {
			out = append(out, fmt.Sprintf("and %d more", len(labels)-most))
			break
		}
		out = append(out, shown(l))
	}
	return strings.Join(out, ", ")
}

func (c *comparison) writeDesign(w io.Writer) {
	p := stats.Assumed
	fmt.Fprintf(w, "\nDesign, before its result\n")
	d := stats.Design{RunsA: len(c.a.Runs), RunsB: len(c.b.Runs), Tasks: c.Comparison.Tasks, Samples: c.Results.Samples}
	r, err := d.Resolve(p)
	if err != nil {
		fmt.Fprintf(w, "  %v. Whatever the numbers, the verdict is unresolved.\n", err)
		return
	}
	fmt.Fprintf(w, "  %v\n  %s\n", r, r.Equivalence(c.Margin))
	fmt.Fprintf(w, "  (Assumed, not measured: SD of training runs %s, of arm × task %s, of run × task %s; p(1−p) %s.)\n",
		stats.Fixed(p.RunSD, 3), stats.Fixed(p.ArmTaskSD, 2), stats.Fixed(p.RunTaskSD, 2), stats.Fixed(p.PerSample, 2))
}

func (c *comparison) writeResult(w io.Writer) {
	fmt.Fprintf(w, "\nShare of right answers, every run\n")
	for _, side := range []struct {
		name string
		arm  stats.Arm
	}{{c.names().A, c.A}, {c.names().B, c.B}} {
		fmt.Fprintf(w, "  %s: mean %s  runs", side.name, stats.Fixed(side.arm.Mean, 3))
		for _, m := range side.arm.RunMeans {
			fmt.Fprintf(w, " %s", stats.Fixed(m, 3))
		}
		fmt.Fprintln(w)
	}
	if s := c.RunSpread(); s != "" {
		fmt.Fprintf(w, "  %s\n", s)
	}
	fmt.Fprintf(w, "\n%s − %s  %s\n", c.names().B, c.names().A, stats.Signed(c.Delta, 3))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	intervalRow(t, c.CITasks.Cut(), c.PTasks, "")
	intervalRow(t, c.CIRuns.Cut(), c.PRuns, "")
	intervalRow(t, c.CIBoth.Cut(), c.PBoth, ": the verdict reads this one")
	t.Flush()
	for _, end := range []float64{c.CITasks.Lo(), c.CITasks.Hi(), c.CIRuns.Lo(), c.CIRuns.Hi(), c.CIBoth.Lo(), c.CIBoth.Hi()} {
		if math.Abs(end) > 1 {
			fmt.Fprintln(w, "  (Cut at −1 and +1, since no difference of shares can lie outside; -json has the ends as computed.)")
			break
		}
	}
	fmt.Fprintf(w, "\nVerdict: %s\n  %s\n", c.Verdict, c.Sentence(c.names()))

	fmt.Fprintf(w, "\nWhere the uncertainty comes from (variances; n/a: this design cannot estimate it)\n")
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	k := c.Components
	fmt.Fprintf(t, "  V_task\t%s\tof the difference, from tasks\n", stats.Significant(c.VTask, 3))
	fmt.Fprintf(t, "  V_runs\t%s\tof the difference, from training runs\n", stats.Significant(c.VRuns, 3))
	fmt.Fprintf(t, "  V_int\t%s\tin both of them, counted once\n", stats.Significant(c.VInt, 3))
	fmt.Fprintf(t, "  σ² run\t%s\ttraining again, all tasks together\n", stats.Significant(k.Run, 3))
	fmt.Fprintf(t, "  σ² run × task\t%s\ttraining again, task by task\n", stats.Significant(k.RunTask, 3))
	fmt.Fprintf(t, "  σ² arm × task\t%s\tthe arms, task by task\n", stats.Significant(k.ArmTask, 3))
	fmt.Fprintf(t, "  p(1−p)\t%s\tone answer drawn again\n", stats.Significant(k.PerSample, 3))
	t.Flush()
	fmt.Fprintf(w, "\nTasks: %s better than %s on %d, worse on %d, equal on %d (sign test p %s, for these models only)\n", c.names().B, c.names().A, c.Wins, c.Losses, c.Ties, stats.PValue(c.SignP))
}

func intervalRow[S stats.Scope](w io.Writer, i stats.Interval[S], p float64, note string) {
	text, err := i.For(i.Key())
	if err != nil {
		fmt.Fprintf(w, "  %s\tnone\t\t%s: %s\n", i.Key(), i.Over(), i.Why())
		return
	}
	fmt.Fprintf(w, "  %s\t%s\tp %s\t%s%s\n", i.Key(), text, stats.PValue(i.P(p)), i.Over(), note)
}

// shown makes a label from the file safe to print.
func shown(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0 {
		return strconv.Quote(s)
	}
	return s
}

// listed names the first few cells.
func listed(gaps []stats.Gap, whole int) string {
	const most = 10
	var b strings.Builder
	for i, g := range gaps {
		if i == most {
			fmt.Fprintf(&b, " and %d more (all are in -json)", len(gaps)-most)
			break
		}
		sep := ";"
		if i == 0 {
			sep = ":"
		}
		fmt.Fprintf(&b, "%s arm %s run %s task %s", sep, shown(g.Arm), shown(g.Run), shown(g.Task))
		if g.Graded > 0 {
			fmt.Fprintf(&b, " (%d of %d)", g.Graded, whole)
		}
	}
	return b.String()
}
