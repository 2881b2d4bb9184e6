package artifact

import "teamtalk/grader"

// Grade grades a reply as stored (see [Text]) against the gold answer and counts its turns. The trainer, the evaluation and the report's
// second grading all go through here.
func Grade(text, gold string) (Verdict, Talk) {
	return NewVerdict(grader.MathEqual(text, gold)), NewTalk(grader.Talk(text))
}

// NewVerdict is the grader's verdict as recorded.
func NewVerdict(g grader.Verdict) Verdict {
	v := Verdict{Policy: string(g.Policy), Reason: string(g.Reason), Form: string(g.Form), Boxes: g.Boxes, DistinctBoxes: g.DistinctBoxes}
	if r, ok := g.Reward.Float(); ok {
		v.Reward = Graded(int(r))
	}
	for _, f := range []struct {
		on   bool
		name string
	}{{g.HasPercent, "percent"}, {g.HasUnit, "unit"}, {g.Truncated, "open"}, {g.Limit != "", "limit:" + g.Limit}} {
		if f.on {
			v.Flags = append(v.Flags, f.name)
		}
	}
	return v
}

// NewTalk is the turn counter's result as recorded.
func NewTalk(g grader.TalkCount) Talk {
	return Talk{Turns: g.Turns, Speakers: g.Speakers, Talks: g.Talks, Order: g.Order, Substantive: g.Substantive, TalksSubstantive: g.TalksSubstantive,
		Switches: g.Switches, NearMisses: g.NearMisses}
}
