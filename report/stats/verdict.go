package stats

// Verdict is one of five words about B against A.
type Verdict string

const (
	Better     Verdict = "better"     // ci_both lies above 0
	Worse      Verdict = "worse"      // ci_both lies below 0
	Equivalent Verdict = "equivalent" // ci_both covers 0 and the 90% interval lies inside ±margin
	Unresolved Verdict = "unresolved" // none of the others: the design cannot tell
	Degenerate Verdict = "degenerate" // nothing varied, so there is no interval to read
)

// decide reads the interval over new runs and new tasks, and no other: its parameters have that type. A difference that is
// resolved is called better or worse even when it is smaller than the margin; Comparison.WithinMargin tells those apart.
func decide(ci, ci90 Interval[Both], margin float64) (Verdict, string) {
	switch {
	case !ci.OK():
		return Unresolved, ci.Why()
	case ci.Lo() == ci.Hi():
		return Degenerate, "no variance anywhere: every run did the same on every task, so no interval can be computed"
	case ci.Lo() > 0:
		return Better, ""
	case ci.Hi() < 0:
		return Worse, ""
	case within(ci90, margin):
		return Equivalent, ""
	}
	return Unresolved, ""
}

// WithinMargin reports whether the 90% interval over new runs and new tasks lies inside ±Margin (two one-sided 5% tests).
func (c Comparison) WithinMargin() bool { return c.Verdict != Degenerate && within(c.CI90, c.Margin) }

func within(ci90 Interval[Both], margin float64) bool {
	return ci90.OK() && ci90.Lo() > -margin && ci90.Hi() < margin
}
