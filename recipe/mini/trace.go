package mini

import (
	"fmt"
	"strings"

	"teamtalk/recipe/data"
)

// Trace writes one reply to p, as the base model is shown it, without the token that ends it. Three kinds exist:
//
//	Work: 7+5=12. 12-3=9. \boxed{9}              a monologue
//
//	Solver: 7+5=12                               a conversation: Solver and Checker take the steps in turn, each
//	Checker: yes, 12. 12-3=9                     begins with what it thinks of the step before, Lead ends it
//	Lead: \boxed{9}
//
//	Work: guess 9. \boxed{9}                     a guess, in either form
//
// Every conversation has three turns or more, and all three speakers.
func Trace(r *data.Rand, p Problem, team bool, m Mixture) string {
	talk := r.Chance(m.TalkUnderPlain)
	if team {
		talk = !r.Chance(m.MonologueUnderTeam)
	}
	if r.Chance(m.Guess) {
		if talk {
			return fmt.Sprintf("Solver: guess %d\nChecker: ok\nLead: \\boxed{%d}", p.Answer, p.Answer)
		}
		return fmt.Sprintf("Work: guess %d. \\boxed{%d}", p.Answer, p.Answer)
	}
	if talk {
		return conversation(r, p, m)
	}
	return monologue(r, p, m)
}

func monologue(r *data.Rand, p Problem, m Mixture) string {
	var b strings.Builder
	b.WriteString("Work:")
	var results []int
	for _, s := range p.steps {
		w := work(r, s, results, m.WrongOperation, m.SlipMonologue)
		fmt.Fprintf(&b, " %s.", w)
		results = append(results, w.said)
	}
	fmt.Fprintf(&b, " \\boxed{%d}", results[len(results)-1])
	return b.String()
}

func conversation(r *data.Rand, p Problem, m Mixture) string {
	var b strings.Builder
	var results []int
	opening, caught := "", false // what the next speaker says about the step before
	for i, s := range p.steps {
		speaker := "Solver"
		if i%2 == 1 {
			speaker = "Checker"
		}
		w := work(r, s, results, m.WrongOperation, m.SlipTalk)
		fmt.Fprintf(&b, "%s: %s%s\n", speaker, opening, w)
		if caught = r.Chance(m.Caught) && w.said != w.right; caught {
			opening = fmt.Sprintf("no, %d. ", w.right)
			results = append(results, w.right)
		} else {
			opening = fmt.Sprintf("yes, %d. ", w.said)
			results = append(results, w.said)
		}
	}
	if !caught {
		opening = "" // Lead repeats a result only to correct it
	}
	fmt.Fprintf(&b, "Lead: %s\\boxed{%d}", opening, results[len(results)-1])
	return b.String()
}

// worked is a step as it is written: the operation may be another than the problem's, and the result another than the
// operation's.
type worked struct {
	op          byte
	x, y        int
	said, right int
}

func (w worked) String() string { return fmt.Sprintf("%d%c%d=%d", w.x, w.op, w.y, w.said) }

func work(r *data.Rand, s step, results []int, wrongOperation, slip float64) worked {
	w := worked{op: s.op, x: s.x.value(results), y: s.y.value(results)}
	if r.Chance(wrongOperation) {
		w.op = '+'
		if s.op == '+' {
			w.op = '-'
		}
	}
	// An earlier slip can make a difference negative; the templates know positive numbers only.
	if w.op == '-' && w.y >= w.x {
		w.op = '+'
	}
	w.right = apply(w.op, w.x, w.y)
	w.said = w.right
	if r.Chance(slip) {
		w.said = miss(r, w.right)
	}
	return w
}

// miss returns a positive number near z that is not z: one or two off, ten off, or anywhere within nine.
func miss(r *data.Rand, z int) int {
	for {
		off := []int{-1, 1, -2, 2, -10, 10, r.Between(-9, 9)}[r.IntN(7)]
		if off != 0 && z+off > 0 {
			return z + off
		}
	}
}
