package lab

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/data"
)

// checks records what only this side can check: it has the problems' texts and the model.
func (l *Lab) checks(ctx context.Context) error {
	start := time.Now()
	checks, err := l.check(ctx)
	if err != nil {
		return err
	}
	return errors.Join(l.run.WriteChecks(checks), l.phase("checks", nil, start, 0))
}

func (l *Lab) check(ctx context.Context) ([]artifact.Check, error) {
	apart, err := l.contamination()
	if err != nil {
		return nil, err
	}
	same, err := l.determinism(ctx)
	return append(apart, same), err
}

// contamination looks among the train problems for held-out problems and, where the plan evaluates on it, for those of the whole test
// split.
func (l *Lab) contamination() ([]artifact.Check, error) {
	held, err := l.apart("contamination", "held-out", l.problems.Holdout)
	if err != nil || l.Plan.Evaluation.Test == nil {
		return []artifact.Check{held}, err
	}
	test, err := l.apart("contamination-test", "test", l.problems.Test)
	return []artifact.Check{held, test}, err
}

// apart compares the train problems with others, which are called what.
func (l *Lab) apart(id, what string, others []data.Problem) (artifact.Check, error) {
	words := data.GramWords
	if l.Plan.Data.Source == "mini" {
		words = 0 // problems from one template share long runs of words by design
	}
	c := artifact.Check{ID: id, Source: "lambert2025evaluation", Status: artifact.Pass}
	c.Title = fmt.Sprintf("No %s problem is among the train problems, by text", what)
	if words > 0 {
		c.Title = fmt.Sprintf("No %s problem shares its text, or %d words in a row, with a train problem", what, words)
	}
	found, err := data.CheckContamination(l.problems.Train, others, words)
	if err != nil {
		return c, err
	}
	c.Value = fmt.Sprintf("%d shared, %d %s texts compared with %d train texts", len(found.Hits), found.Holdout, what, found.Train)
	c.Control = artifact.Control{
		Planted: fmt.Sprintf("%d %s problems in disguise among the train problems", found.Control.Planted, what),
		Caught:  found.Control.Caught == found.Control.Planted,
	}
	switch {
	case !c.Control.Caught:
		c.Status = artifact.Vacuous
	case len(found.Hits) > 0:
		c.Status = artifact.Fail
		c.Value += fmt.Sprintf("; first %s and %s", found.Hits[0].Train.ID(), found.Hits[0].Holdout.ID())
	}
	return c, nil
}

// determinismTokens is how far determinism looks into each reply. A different number anywhere shows in the tokens after it, and
// decoding whole replies again would cost as much as a part of the evaluation.
const determinismTokens = 24

// determinism samples the first batch of the evaluation again and holds it against what was recorded.
func (l *Lab) determinism(ctx context.Context) (artifact.Check, error) {
	c := artifact.Check{ID: "determinism", Title: "The same seed gives the same replies"}
	recorded := map[string]string{}
	at := func(name string, task, sample int) string { return fmt.Sprintf("%s %d %d", name, task, sample) }
	for _, e := range l.Plan.Evaluations() {
		if e.Tasks != "" {
			continue // the first batch is of held-out tasks
		}
		replies, err := l.run.ReadEval(e)
		if err != nil {
			return c, err
		}
		for _, r := range replies {
			recorded[at(e.Name(), r.Task, r.Sample)] = r.Text
		}
	}
	again := func(shift int64) (same, all int, models []string, err error) {
		replies, err := l.evaluator.Begin(ctx, determinismTokens, shift)
		for _, b := range replies {
			all++
			if text, ok := recorded[at(b.Job.Run.Name(), b.Task, b.Sample)]; ok && b.Of(text) {
				same++
			}
			if name := b.Job.Run.Name(); len(models) == 0 || models[len(models)-1] != name {
				models = append(models, name)
			}
		}
		return same, all, models, err
	}
	same, all, models, err := again(0)
	if err != nil {
		return c, err
	}
	other, _, _, err := again(1)
	if err != nil {
		return c, err
	}
	return judgeDeterminism(c, same, other, all, models), nil
}

// judgeDeterminism fills in a check: of all replies, same are as recorded with the recorded seed, other with another seed.
func judgeDeterminism(c artifact.Check, same, other, all int, models []string) artifact.Check {
	c.Value = fmt.Sprintf("%d of %d replies (%s) begin again as they were recorded, %d tokens each", same, all, strings.Join(models, ", "), determinismTokens)
	c.Control = artifact.Control{Planted: fmt.Sprintf("the noise of another seed: %d of %d begin as recorded", other, all), Caught: other < all}
	switch {
	case same < all:
		c.Status = artifact.Fail
	case !c.Control.Caught:
		c.Status = artifact.Vacuous
	default:
		c.Status = artifact.Pass
	}
	return c
}
