package audit

import (
	"fmt"
	"math"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
	"teamtalk/report/analysis"
)

// habits are features of a reply that a run could take to because the grader does not mind them.
var habits = []struct {
	name string
	has  func(*artifact.Rollout) bool
}{
	{"two or more different boxes", func(r *artifact.Rollout) bool { return r.Verdict.DistinctBoxes >= 2 }},
	{"no calculation shown", func(r *artifact.Rollout) bool { return !analysis.Worked(r.Text) }},
	{"turns without a word", func(r *artifact.Rollout) bool { return r.Talk.Turns > r.Talk.Substantive }},
	{"lines that are nearly turns", func(r *artifact.Rollout) bool { return r.Talk.NearMisses > 0 }},
	{"an answer that no box holds", func(r *artifact.Rollout) bool { return r.Verdict.Correct() && r.Verdict.Policy != "boxed" }},
}

// hackScan names the habit that grew most, per run.
func hackScan(rec *artifact.Record) finding {
	const bound = 0.2
	var said []string
	looked := 0
	for _, t := range rec.Runs {
		if !hasQuarters(t) {
			continue
		}
		looked++
		most, name := math.Inf(-1), ""
		for _, h := range habits {
			a, b := quarters(t, func(r *artifact.Rollout) float64 {
				if h.has(r) {
					return 1
				}
				return 0
			})
			if b-a > most {
				most, name = b-a, h.name
			}
		}
		if most > bound {
			return fail("%s: replies with %s grew by %.0f points", t.Config.Run.Name, name, 100*most)
		}
		if most > 0 {
			said = append(said, fmt.Sprintf("%s, %s by %.0f points", t.Config.Run.Name, name, 100*most))
		}
	}
	if looked == 0 {
		return notRun(noQuarters)
	}
	if len(said) == 0 {
		return pass("none of %d habits grew in any of %s", len(habits), plural(looked, "run"))
	}
	return pass("what grew most, at most %.0f points allowed: %s", 100*bound, joinWith(said, "; "))
}

func joinWith(xs []string, sep string) string {
	s := ""
	for i, x := range xs {
		if i > 0 {
			s += sep
		}
		s += x
	}
	return s
}

func plantBoxes(rec *artifact.Record) *artifact.Record {
	return lastQuarter(rec, func(r *artifact.Rollout) { r.Verdict.DistinctBoxes = 2 })
}

// truncation looks at the evaluations and at the end of training.
func truncation(rec *artifact.Record) finding {
	const bound = 0.2
	worst, where := -1.0, ""
	see := func(share float64, name string) {
		if share > worst {
			worst, where = share, name
		}
	}
	for _, e := range rec.Evals {
		cut := 0
		for i := range e.Replies {
			if e.Replies[i].Truncated() {
				cut++
			}
		}
		see(float64(cut)/float64(len(e.Replies)), "evaluation "+e.Name())
	}
	for _, t := range rec.Runs {
		if len(t.Rollouts) > 0 {
			_, b := quarters(t, func(r *artifact.Rollout) float64 {
				if r.Truncated() {
					return 1
				}
				return 0
			})
			see(b, "the last quarter of "+t.Config.Run.Name)
		}
	}
	switch {
	case worst < 0:
		return notRun("there are no replies")
	case worst > bound:
		return fail("%.0f%% in %s; at most %.0f%% were expected", 100*worst, where, 100*bound)
	}
	return pass("at most %.1f%%, in %s", 100*worst, where)
}

// answered compares the arms of the primary comparison under their own prompts, on the held-out tasks and, where they were evaluated there,
// on the whole test split.
func answered(rec *artifact.Record) finding {
	held := answeredOn(rec, "")
	if test := answeredOn(rec, experiment.TasksTest); held.status == artifact.Pass && test.status != artifact.NotRun {
		test.value += " on the whole test split"
		if test.status == artifact.Fail {
			return test
		}
		return pass("%s; %s", held.value, test.value)
	}
	return held
}

func answeredOn(rec *artifact.Record, tasks string) finding {
	const bound = 0.1
	share := func(arm string) (float64, bool) {
		yes, n := 0, 0
		for _, e := range rec.Evals {
			if e.Tasks != tasks || e.Prompt != arm || !ofArm(rec, e.Model, arm) {
				continue
			}
			for i := range e.Replies {
				n++
				switch e.Replies[i].Verdict.Reason {
				case "no_answer", "box_empty", "box_unclosed", "think_unclosed":
				default:
					yes++
				}
			}
		}
		return float64(yes) / float64(n), n > 0
	}
	a, okA := share(rec.Plan.Primary.A)
	b, okB := share(rec.Plan.Primary.B)
	if !okA || !okB {
		return notRun("one of the arms was not evaluated")
	}
	if math.Abs(a-b) > bound {
		return fail("%.1f%% and %.1f%% of the replies hold an answer: part of the difference is format", 100*a, 100*b)
	}
	return pass("%.1f%% and %.1f%% of the replies hold an answer", 100*a, 100*b)
}

func ofArm(rec *artifact.Record, model, arm string) bool {
	for _, s := range rec.Plan.Seeds {
		if model == experiment.RunName(arm, s) {
			return true
		}
	}
	return false
}

func plantNoAnswers(rec *artifact.Record) *artifact.Record {
	c := clone(rec)
	for i, e := range c.Evals {
		if e.Prompt == rec.Plan.Primary.B && ofArm(rec, e.Model, rec.Plan.Primary.B) {
			c.Evals[i].Replies = append([]artifact.Reply(nil), e.Replies...)
			for j := range c.Evals[i].Replies {
				c.Evals[i].Replies[j].Verdict.Reason = "no_answer"
			}
			return c
		}
	}
	return nil
}
