package audit

import (
	"slices"

	"teamtalk/recipe/artifact"
)

// ledger: attempts are numbered as they are noted, each one higher than the last, so that one that was taken out from among them leaves a
// gap. One that is taken out at the end leaves none, nor does it where the others were numbered again: who can write the ledger can.
func ledger(rec *artifact.Record) finding {
	for i, r := range rec.Rounds {
		if r.Round != i+1 {
			return fail("line %d of %s is attempt %d; expected %d: they are numbered from 1 on, in order and without a gap", i+1, artifact.RoundsFile, r.Round, i+1)
		}
	}
	if len(rec.Rounds) == 0 {
		return notRun("no attempt is noted")
	}
	return pass("%s, from 1 to %d; that one is missing after the last cannot be seen", plural(len(rec.Rounds), "attempt"), len(rec.Rounds))
}

func plantGap(rec *artifact.Record) *artifact.Record {
	if len(rec.Rounds) == 0 {
		return nil
	}
	c := clone(rec)
	c.Rounds = slices.Clone(rec.Rounds)
	c.Rounds[len(c.Rounds)-1].Round++
	return c
}
