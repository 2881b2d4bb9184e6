// Package audit checks a run's artifacts, and shows of every check that it can fail.
//
// A check is a function of the record. Its negative control is the same function on a copy of the record with one planted fault: a check
// that passes and does not see the fault is vacuous, and says so. Checks that only the trainer could make come from checks.json and keep
// their own controls.
//
// Nothing here is a statistic; the numbers of the write-up are analysis's.
package audit

import (
	"fmt"
	"io/fs"
	"slices"

	"teamtalk/recipe/artifact"
	"teamtalk/report/analysis"
)

// Subject is what is checked.
type Subject struct {
	Record   *artifact.Record
	Analysis *analysis.Report
	FS       fs.FS // the run folder
}

// finding is what a check's function says.
type finding struct {
	status artifact.Status // Pass, Fail or NotRun
	value  string
}

func pass(format string, args ...any) finding {
	return finding{artifact.Pass, fmt.Sprintf(format, args...)}
}
func fail(format string, args ...any) finding {
	return finding{artifact.Fail, fmt.Sprintf(format, args...)}
}
func notRun(format string, args ...any) finding {
	return finding{artifact.NotRun, fmt.Sprintf(format, args...)}
}

// rule is one check.
type rule struct {
	id, title, source string
	test              func(*artifact.Record) finding
	planted           string                                  // what plant does, in words
	plant             func(*artifact.Record) *artifact.Record // nil: no fault can be planted, and the value says why
}

// Run makes every check, in a fixed order. Those of checks.json come last.
func Run(s Subject) []artifact.Check {
	var out []artifact.Check
	out = append(out, instruments()...)
	for _, r := range rules(s) {
		out = append(out, r.run(s.Record))
	}
	out = append(out, measured(s.Analysis)...)
	for _, c := range s.Record.Checks {
		if c.Status == artifact.Pass && c.Control.Planted != "" && !c.Control.Caught {
			c.Status = artifact.Vacuous
		}
		out = append(out, c)
	}
	if !slices.ContainsFunc(out, func(c artifact.Check) bool { return c.ID == Determinism }) {
		out = append(out, artifact.Check{ID: Determinism, Title: "The same seed gives the same bytes", Status: artifact.NotRun, Value: "no run was made twice"})
	}
	return out
}

func (r rule) run(rec *artifact.Record) artifact.Check {
	f := r.test(rec)
	c := artifact.Check{ID: r.id, Title: r.title, Source: r.source, Status: f.status, Value: f.value}
	if r.plant == nil || f.status == artifact.NotRun {
		return c
	}
	c.Control.Planted = r.planted
	if bad := r.plant(rec); bad != nil {
		c.Control.Caught = r.test(bad).status == artifact.Fail
	}
	if c.Status == artifact.Pass && !c.Control.Caught {
		c.Status = artifact.Vacuous
	}
	return c
}

// Failed lists the checks that failed, by title.
func Failed(cs []artifact.Check) (bad []artifact.Check) {
	for _, c := range cs {
		if c.Status == artifact.Fail || c.Status == artifact.Vacuous {
			bad = append(bad, c)
		}
	}
	return bad
}

// Measurement is the key of Tally for what was measured: it says what is so, and no value of it could fail.
const Measurement = "measurement"

// IsMeasurement says whether a check passed by being made: no fault can be planted for it.
func IsMeasurement(c artifact.Check) bool {
	return c.Status == artifact.Pass && c.Control.Planted == ""
}

// Tally counts checks by status, zeros included. Measurements count apart and not as passed.
func Tally(cs []artifact.Check) map[string]int {
	n := map[string]int{Measurement: 0}
	for _, s := range []artifact.Status{artifact.Pass, artifact.Fail, artifact.Vacuous, artifact.NotRun} {
		n[string(s)] = 0
	}
	for _, c := range cs {
		if IsMeasurement(c) {
			n[Measurement]++
		} else {
			n[string(c.Status)]++
		}
	}
	return n
}

// clone copies a record deep enough for plants: run and evaluation lists, and the one run and the one evaluation that are named first.
func clone(rec *artifact.Record) *artifact.Record {
	c := *rec
	c.Runs = append([]artifact.TrainingRecord(nil), rec.Runs...)
	c.Evals = append([]artifact.EvalRecord(nil), rec.Evals...)
	c.Sessions = append([]artifact.Env(nil), rec.Sessions...)
	return &c
}

// withRollouts gives plant a record whose first run has its own rollouts, or nil when there is none.
func withRollouts(rec *artifact.Record, edit func([]artifact.Rollout)) *artifact.Record {
	c := clone(rec)
	if len(c.Runs) == 0 || len(c.Runs[0].Rollouts) == 0 {
		return nil
	}
	c.Runs[0].Rollouts = append([]artifact.Rollout(nil), c.Runs[0].Rollouts...)
	edit(c.Runs[0].Rollouts)
	return c
}

// withReplies is withRollouts for the first evaluation.
func withReplies(rec *artifact.Record, edit func([]artifact.Reply)) *artifact.Record {
	c := clone(rec)
	if len(c.Evals) == 0 || len(c.Evals[0].Replies) == 0 {
		return nil
	}
	c.Evals[0].Replies = append([]artifact.Reply(nil), c.Evals[0].Replies...)
	edit(c.Evals[0].Replies)
	return c
}

// withSteps gives the first run its own metrics and edits the last step's.
func withSteps(rec *artifact.Record, edit func(map[string]float64)) *artifact.Record {
	c := clone(rec)
	if len(c.Runs) == 0 || len(c.Runs[0].Steps) == 0 {
		return nil
	}
	steps := append([]artifact.Step(nil), c.Runs[0].Steps...)
	last := &steps[len(steps)-1]
	values := map[string]float64{}
	for k, v := range last.Values {
		values[k] = v
	}
	edit(values)
	last.Values = values
	c.Runs[0].Steps = steps
	return c
}
