package lab

import (
	"fmt"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/data"
)

// checks records what only this side can check: it has the problems' texts.
func (l *Lab) checks() error {
	words := data.GramWords
	if l.Plan.Data.Source == "mini" {
		words = 0 // problems from one template share long runs of words by design
	}
	c := artifact.Check{ID: "contamination", Source: "lambert2025evaluation", Status: artifact.Pass}
	c.Title = "No held-out problem is among the train problems, by text"
	if words > 0 {
		c.Title = fmt.Sprintf("No held-out problem shares its text, or %d words in a row, with a train problem", words)
	}
	found, err := data.CheckContamination(l.problems.Train, l.problems.Holdout, words)
	if err != nil {
		return err
	}
	c.Value = fmt.Sprintf("%d shared, %d held-out texts compared with %d train texts", len(found.Hits), found.Holdout, found.Train)
	c.Control = artifact.Control{
		Planted: fmt.Sprintf("%d held-out problems in disguise among the train problems", found.Control.Planted),
		Caught:  found.Control.Caught == found.Control.Planted,
	}
	switch {
	case !c.Control.Caught:
		c.Status = artifact.Vacuous
	case len(found.Hits) > 0:
		c.Status = artifact.Fail
		c.Value += fmt.Sprintf("; first %s and %s", found.Hits[0].Train.ID(), found.Hits[0].Holdout.ID())
	}
	return l.run.WriteChecks([]artifact.Check{c})
}
