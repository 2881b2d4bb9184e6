package audit

import (
	"fmt"

	"teamtalk/recipe/artifact"
)

// graded is one reply whose grade is not in doubt.
type graded struct {
	text, gold string
	reward     int
}

// gradedCases are small on purpose: the grader has its own tests; this shows that the grader linked into this program works.
var gradedCases = []graded{
	{`7+5=12. \boxed{12}`, "12", 1},
	{`7+5=13. \boxed{13}`, "12", 0},
	{`\boxed{11} no, wait: \boxed{12}`, "12", 1},
	{`\boxed{12} no, wait: \boxed{11}`, "12", 0},
	{`The cost is \boxed{1,250}`, "1250", 1},
	{`She has 12 \boxed{}`, "12", 0},
	{`\boxed{12 or 13}`, "12", 0},
	{`\boxed{12`, "12", 0},
}

type counted struct {
	text  string
	turns int
	talks bool
}

var countedCases = []counted{
	{"Solver: 7+5=12\nChecker: yes, 12\nLead: \\boxed{12}", 3, true},
	{"**Solver:** 7+5=12\n- Checker: yes\n### Lead: \\boxed{12}", 3, true},
	{"Work: 7+5=12. \\boxed{12}", 0, false},
	{"Solver: 7\nLead: 5\nSolver: 12", 3, false}, // nobody checks
	{"The Solver: said so. The Checker: agreed. Lead: no", 0, false},
}

// instruments tests the grader and the talk counter. The negative control is an instrument that cannot tell: one that always says
// the same, held against the same cases.
func instruments() []artifact.Check {
	return []artifact.Check{
		graderCheck(artifact.Grade),
		talkCheck(artifact.Grade),
	}
}

type grade func(text, gold string) (artifact.Verdict, artifact.Talk)

func graderMisses(g grade) (misses int, first string) {
	for _, c := range gradedCases {
		v, _ := g(c.text, c.gold)
		if v.Reward == nil || *v.Reward != c.reward {
			if misses++; first == "" {
				first = c.text
			}
		}
	}
	return misses, first
}

func graderCheck(g grade) artifact.Check {
	c := artifact.Check{ID: "grader_selftest", Title: "The grader tells right answers from wrong ones", Source: "lambert2025evaluation",
		Control: artifact.Control{Planted: "two graders that always say the same"}}
	misses, first := graderMisses(g)
	if c.Status, c.Value = artifact.Pass, fmt.Sprintf("%d of %d planted replies graded as they must be", len(gradedCases)-misses, len(gradedCases)); misses > 0 {
		c.Status, c.Value = artifact.Fail, c.Value+fmt.Sprintf("; first miss: %q", first)
	}
	c.Control.Caught = true
	for r := range 2 {
		always := func(string, string) (artifact.Verdict, artifact.Talk) {
			return artifact.Verdict{Reward: artifact.Graded(r)}, artifact.Talk{}
		}
		if m, _ := graderMisses(always); m == 0 {
			c.Control.Caught = false
		}
	}
	return c
}

func talkMisses(g grade) (misses int, first string) {
	for _, c := range countedCases {
		_, t := g(c.text, "12")
		if t.Turns != c.turns || t.Talks != c.talks {
			if misses++; first == "" {
				first = c.text
			}
		}
	}
	return misses, first
}

func talkCheck(g grade) artifact.Check {
	c := artifact.Check{ID: "talk_selftest", Title: "The talk counter tells conversations from monologues", Source: "kim2026",
		Control: artifact.Control{Planted: "two counters that always say the same"}}
	misses, first := talkMisses(g)
	if c.Status, c.Value = artifact.Pass, fmt.Sprintf("%d of %d planted replies counted as they must be", len(countedCases)-misses, len(countedCases)); misses > 0 {
		c.Status, c.Value = artifact.Fail, c.Value+fmt.Sprintf("; first miss: %q", first)
	}
	c.Control.Caught = true
	for _, t := range []artifact.Talk{{}, {Turns: 3, Talks: true}} {
		always := func(string, string) (artifact.Verdict, artifact.Talk) { return artifact.Verdict{}, t }
		if m, _ := talkMisses(always); m == 0 {
			c.Control.Caught = false
		}
	}
	return c
}
