package mini

import (
	"sync"

	"teamtalk/recipe/data"
)

// Example is one pretraining text: a problem under one of the two prompts, and a reply to it.
type Example struct {
	Problem Problem
	Team    bool // under SystemTeam, not SystemPlain
	Reply   string
}

// heldOut are the normalised texts that no example may ask.
var heldOut = sync.OnceValue(func() map[string]bool {
	texts := make(map[string]bool, HoldoutCount)
	for _, p := range preset().Holdout {
		texts[data.Normalize(p.Question)] = true
	}
	return texts
})

// ExampleAt returns the i-th example of an endless stream, a function of seed, i and m alone. Held-out problems, compared
// by normalised text, are drawn again. m must be valid.
func ExampleAt(seed uint64, i int, m Mixture) Example {
	return exampleAt(seed, i, m, heldOut())
}

func exampleAt(seed uint64, i int, m Mixture, excluded map[string]bool) Example {
	r := data.NewRand(seed, "mini example", uint64(i))
	p := Draw(r)
	for excluded[data.Normalize(p.Question)] {
		p = Draw(r)
	}
	team := r.Chance(m.Team)
	return Example{Problem: p, Team: team, Reply: Trace(r, p, team, m)}
}
