package audit

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
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

// What the trainer writes into the values of its checks; recipe/lab has the words.
var (
	sharedValue     = regexp.MustCompile(`^([0-9]+) shared, ([0-9]+) (held-out|test) texts compared with ([0-9]+) train texts(?:; first .*)?$`)
	repeatedValue   = regexp.MustCompile(`^([0-9]+) of ([0-9]+) replies \(([^)]*)\) begin again as they were recorded, [0-9]+ tokens each$`)
	repeatedControl = regexp.MustCompile(`^the noise of another seed: ([0-9]+) of ([0-9]+) begin as recorded$`)
)

// recordedValues holds what the recorded checks say against the plan, the replies and each other. What they counted, which needs the problems'
// texts and the model, is not counted again here.
func recordedValues(rec *artifact.Record) finding {
	var said []string
	for _, c := range rec.Checks {
		if c.Status != artifact.Pass && c.Status != artifact.Fail {
			continue // it says why it was not made
		}
		what, err := "", error(nil)
		switch c.ID {
		case Contamination:
			what, err = sharedTexts(c, "held-out", len(rec.Plan.Data.Holdout.Tasks), len(rec.Plan.Data.Train.Tasks))
		case ContaminationTest:
			what, err = sharedTexts(c, "test", len(testTasks(rec)), len(rec.Plan.Data.Train.Tasks))
		case Determinism:
			what, err = repeatedReplies(rec, c)
		default:
			continue
		}
		if err != nil {
			return fail("%s: %s is recorded as %s: %v", artifact.ChecksFile, c.ID, c.Status, err)
		}
		said = append(said, c.ID+": "+what)
	}
	if len(said) == 0 {
		return notRun("no check of the trainer's is recorded as made")
	}
	return pass("%s; what was counted stands there as the trainer wrote it, since it takes the problems' texts and the model to count it again", strings.Join(said, "; "))
}

// sharedTexts: a check passes where nothing is shared and fails where something is, and it compared all texts of the plan.
func sharedTexts(c artifact.Check, kind string, others, train int) (string, error) {
	m := sharedValue.FindStringSubmatch(c.Value)
	if m == nil || m[3] != kind {
		return "", fmt.Errorf("%q does not say how many of which texts are shared", c.Value)
	}
	shared, n, of := number(m[1]), number(m[2]), number(m[4])
	switch {
	case n != others || of != train:
		return "", fmt.Errorf("it compared %d texts with %d, the plan has %d and %d", n, of, others, train)
	case (shared == 0) != (c.Status == artifact.Pass):
		return "", fmt.Errorf("it found %d shared", shared)
	}
	return fmt.Sprintf("%d shared, all %d and %d texts of the plan compared", shared, n, of), nil
}

// repeatedReplies: a check passes where all replies are as they were recorded and, with another seed's noise, not all are.
func repeatedReplies(rec *artifact.Record, c artifact.Check) (string, error) {
	m, k := repeatedValue.FindStringSubmatch(c.Value), repeatedControl.FindStringSubmatch(c.Control.Planted)
	if m == nil || k == nil {
		return "", fmt.Errorf("%q, with the control %q, does not say how many replies are repeated", c.Value, c.Control.Planted)
	}
	same, all, other, of := number(m[1]), number(m[2]), number(k[1]), number(k[2])
	there := 0
	for _, name := range strings.Split(m[3], ", ") {
		planned := rec.Plan.Evaluations() // one that was lost since was there when the check was made
		i := slices.IndexFunc(planned, func(e experiment.EvalRun) bool { return e.Tasks != experiment.TasksTest && e.Name() == name })
		if i < 0 {
			return "", fmt.Errorf("it repeated %s, which is no planned evaluation of the held-out tasks", name)
		}
		there += len(rec.Plan.TasksOf(planned[i])) * rec.Plan.SamplesOf(planned[i])
	}
	switch {
	case all == 0 || all > there || of != all:
		return "", fmt.Errorf("it repeated %d replies and %d with another seed's noise; %s hold %d", all, of, m[3], there)
	case same > all || (same == all) != (c.Status == artifact.Pass):
		return "", fmt.Errorf("%d of %d replies begin again as they were recorded", same, all)
	case c.Control.Caught != (other < all):
		return "", fmt.Errorf("its control is recorded as caught: %v, with %d of %d as recorded", c.Control.Caught, other, all)
	}
	return fmt.Sprintf("%d of %d replies repeated", same, all), nil
}

// number reads digits that a pattern matched; more than fit are none that a run could have.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}

func plantShared(rec *artifact.Record) *artifact.Record {
	c := clone(rec)
	c.Checks = slices.Clone(rec.Checks)
	for i, k := range c.Checks {
		if sharedValue.MatchString(k.Value) {
			c.Checks[i].Value, c.Checks[i].Status = "9"+k.Value, artifact.Pass
			return c
		}
	}
	return nil
}
