package audit

import (
	"slices"
	"strings"

	"teamtalk/recipe/artifact"
)

// The checks that only whoever has the problems' texts and the model can make; checks.json holds them.
const (
	Contamination     = "contamination"      // no held-out problem is among the train problems
	ContaminationTest = "contamination-test" // nor one of the whole test split, where the plan evaluates on it
	// Determinism is the check that the same seed gives the same replies. Until it is recorded it stands on the page as not run.
	Determinism = "determinism"
)

// asked are the checks that the plan asks the trainer for.
func asked(rec *artifact.Record) []string {
	if rec.Plan.Evaluation.Test != nil {
		return []string{Contamination, ContaminationTest, Determinism}
	}
	return []string{Contamination, Determinism}
}

// recordedChecks: each of them is there once, and one that passed has a negative control. Whether the control was caught, Run asks.
func recordedChecks(rec *artifact.Record) finding {
	switch {
	case rec.Manifest == nil:
		return notRun("the run is not complete")
	case rec.Manifest.Incomplete != "":
		return notRun("the run was sealed before it was complete")
	}
	ids := asked(rec)
	for _, id := range ids {
		i := slices.IndexFunc(rec.Checks, func(c artifact.Check) bool { return c.ID == id })
		if i < 0 {
			return fail("%s does not hold %s, which the plan asks for", artifact.ChecksFile, id)
		}
		if c := rec.Checks[i]; c.Status == artifact.Pass && c.Control.Planted == "" {
			return fail("%s says that %s passed, and names no negative control", artifact.ChecksFile, id)
		}
		if slices.ContainsFunc(rec.Checks[i+1:], func(c artifact.Check) bool { return c.ID == id }) {
			return fail("%s holds %s twice", artifact.ChecksFile, id)
		}
	}
	return pass("%s", strings.Join(ids, ", "))
}

func plantLostCheck(rec *artifact.Record) *artifact.Record {
	c := clone(rec)
	c.Checks = slices.DeleteFunc(slices.Clone(rec.Checks), func(c artifact.Check) bool { return c.ID == Contamination })
	return c
}
