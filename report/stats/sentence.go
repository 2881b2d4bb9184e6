package stats

import (
	"fmt"
	"math"
	"strings"
)

// Names are the words a sentence needs: the two sides and what the numbers measure, such as "pass@1".
type Names struct{ A, B, Metric string }

// Sentence is what may be said about the difference, every interval with its scope. Its first sentence carries the verdict.
func (c Comparison) Sentence(n Names) string {
	delta := fmt.Sprintf("%s %s", Signed(c.Delta, 3), n.Metric)
	if strings.HasPrefix(n.Metric, "pass@") {
		c.CITasks, c.CIBoth, c.CI90 = c.CITasks.Cut(), c.CIBoth.Cut(), c.CI90.Cut()
	}
	if c.Kind == SameRuns && c.Verdict != Degenerate {
		return c.sameRunsSentence(n, delta)
	}
	both := fmt.Sprintf("%v (%s)", c.CIBoth, c.runsInWords())
	switch c.Verdict {
	case Better, Worse:
		s := fmt.Sprintf("%s is %s than %s: %s, %s.", n.B, c.Verdict, n.A, delta, both)
		if c.WithinMargin() {
			s += fmt.Sprintf(" The difference is resolved but small: %v lies inside ±%s, the margin declared not to matter.", c.CI90, Fixed(c.Margin, 3))
		}
		return s
	case Equivalent:
		return fmt.Sprintf("%s and %s are equivalent within the declared margin of ±%s: %s, %v (%s).", n.B, n.A, Fixed(c.Margin, 3), delta, c.CI90, c.runsInWords())
	case Degenerate:
		return fmt.Sprintf("Nothing varied, so there is no interval to judge %s against %s by: %s. %s", n.B, n.A, delta, c.exactBounds(n))
	}
	if !c.CIBoth.OK() && c.CITasks.OK() && !c.CITasks.Contains(0) {
		return fmt.Sprintf("No interval over new training runs exists, so %s and %s can be compared as trained models only: %s, %v. %s", n.B, n.A, delta, c.CITasks, c.oneRun())
	}
	if !c.CIBoth.OK() {
		return fmt.Sprintf("%s and %s are not separated, and no interval over new training runs exists: %s, %v. %s", n.B, n.A, delta, c.CITasks, c.oneRun())
	}
	s := fmt.Sprintf("%s and %s are not separated: %s, %s.", n.B, n.A, delta, both)
	if c.CITasks.Why() == "" {
		s += fmt.Sprintf(" A narrower claim, which says nothing about training again: %v.", c.CITasks)
	}
	guarded, _ := c.HalfBoth()
	s += fmt.Sprintf(" By the variances measured here, a difference has to exceed about %s to be resolved.", Fixed(guarded, 3))
	if w := c.WouldResolve(); w != "" {
		s += " " + w
	}
	return s
}

// oneRun says what is lost without a second run.
func (c Comparison) oneRun() string {
	return strings.ToUpper(c.Reason[:1]) + c.Reason[1:] + ", so that nothing can be said about training again."
}

// sameRunsSentence leads with these trained models, since new training runs of a crossed comparison have R−1 degrees of freedom.
func (c Comparison) sameRunsSentence(n Names, delta string) string {
	s := fmt.Sprintf("%s − %s is %s, %v.", n.B, n.A, delta, c.CITasks)
	switch {
	case !c.CIBoth.OK():
		return s + " " + c.oneRun()
	case c.Verdict == Unresolved:
		return s + fmt.Sprintf(" Whether models trained again would show it is unresolved: %v (%s).", c.CIBoth, c.runsInWords())
	}
	return s + fmt.Sprintf(" For models trained again the verdict is %s: %v (%s).", c.Verdict, c.CIBoth, c.runsInWords())
}

func (c Comparison) runsInWords() string {
	var runs string
	switch {
	case c.Kind == FixedModel:
		runs = counted(c.B.Runs, "run") + " against one fixed model"
	case c.Kind == SameRuns:
		runs = counted(c.B.Runs, "run") + ", the same on both sides"
	case c.A.Runs == c.B.Runs:
		runs = counted(c.A.Runs, "run") + " per arm"
	default:
		runs = fmt.Sprintf("%d and %d runs", c.A.Runs, c.B.Runs)
	}
	return fmt.Sprintf("%s, ν = %d", runs, c.DFRuns)
}

// exactBounds is what can still be said of an arm whose answers were all right or all wrong.
func (c Comparison) exactBounds(n Names) string {
	var parts []string
	for i, a := range []Arm{c.A, c.B} {
		k, what := 0, "wrong"
		switch a.Mean {
		case 0:
		case 1:
			k, what = c.Tasks, "right"
		default:
			continue
		}
		bound := ofShare[Tasks](ClopperPearson(k, c.Tasks))
		parts = append(parts, fmt.Sprintf("%s: every answer %s on %d tasks, exact %v.", []string{n.A, n.B}[i], what, c.Tasks, bound))
	}
	return strings.Join(append(parts, "Use harder or easier tasks, or more samples."), " ")
}

// RunSpread says how much runs differ and how little a few runs tell of it; empty when there is one run per arm.
func (c Comparison) RunSpread() string {
	if c.DFRuns == 0 {
		return ""
	}
	if c.RunSD == 0 {
		return fmt.Sprintf("The run means agree exactly (ν = %d), which does not mean that new runs would.", c.DFRuns)
	}
	what := "mean"
	if c.Kind == SameRuns {
		what = "difference"
	}
	s := fmt.Sprintf("The standard deviation of a run's %s is %s and known only to be within %s to %s (95%%, ν = %d).",
		what, Fixed(c.RunSD, 3), Fixed(c.RunSDRange[0], 3), Fixed(c.RunSDRange[1], 3), c.DFRuns)
	if !math.IsNaN(c.F.P) {
		s += fmt.Sprintf(" Do runs differ beyond task and sampling noise? F test: p %s; a large p does not show that they do not.", PValue(c.F.P))
	}
	return s
}

// WouldResolve says how many runs per arm would resolve the difference seen, by the components estimated here; empty when they could not be
// estimated, when nothing differs, or when the sides are not two arms.
func (c Comparison) WouldResolve() string {
	p, err := PlanFrom(c)
	if err != nil || c.Delta == 0 || c.Kind != TwoArms || c.Samples == 0 {
		return ""
	}
	d := Design{c.A.Runs, c.B.Runs, c.Tasks, c.Samples}
	size := Fixed(math.Abs(c.Delta), 3)
	if runs := RunsToResolve(p, d, c.Delta); runs > 0 {
		return fmt.Sprintf("By the components estimated here, %d runs per arm would resolve a true difference of %s four times in five.", runs, size)
	}
	return fmt.Sprintf("By the components estimated here, no number of runs up to %d per arm would resolve a true difference of %s on %d tasks: it takes more tasks.", MostRuns, size, c.Tasks)
}

// String says what the design can tell, for print before the result.
func (r Resolution) String() string {
	return fmt.Sprintf("%s (ν = %d) resolve about ±%s %s; a true difference of %s is found four times in five.",
		r.Design, r.DFRuns, Fixed(r.Half, 3), Both{}.words(), Fixed(r.MDE80, 3))
}

// Equivalence says whether the design can be expected to show that two equal arms are equivalent within ±margin.
func (r Resolution) Equivalence(margin float64) string {
	if r.Half90 < margin {
		return fmt.Sprintf("It can be expected to show two equal arms equivalent within ±%s: its 90%% interval reaches about ±%s.", Fixed(margin, 3), Fixed(r.Half90, 3))
	}
	return fmt.Sprintf("It cannot be expected to show two equal arms equivalent within ±%s: its 90%% interval reaches about ±%s.", Fixed(margin, 3), Fixed(r.Half90, 3))
}
