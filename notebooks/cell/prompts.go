package cell

import (
	"strconv"
	"strings"

	"teamtalk/grader"
	"teamtalk/recipe/experiment"
)

// Prompts shows what each arm's model reads for one problem, side by side, in ChatML without the control tokens.
func Prompts(p experiment.Plan, question string) {
	head := []string{"role"}
	system, user := []string{"system"}, []string{"user"}
	for _, a := range p.Arms {
		head = append(head, a.Display+", "+a.Prompt)
		system, user = append(system, a.System), append(user, question)
	}
	Table(head, system, user)
}

// Grades shows how the grader and the turn counter read replies: what each earns against the reference answer gold, which rule
// found its answer, why, and whether it is a conversation.
func Grades(gold string, replies ...string) {
	var rows [][]string
	for _, reply := range replies {
		v, t := grader.MathEqual(reply, gold), grader.Talk(reply)
		reward := "none"
		if x, ok := v.Reward.Float(); ok {
			reward = strconv.FormatFloat(x, 'f', 0, 64)
		}
		rows = append(rows, []string{strings.TrimSpace(reply), reward, string(v.Policy), string(v.Reason), strconv.Itoa(t.Turns), t.Order, yes(t.Talks)})
	}
	Table([]string{"reply", "reward", "found by", "why", "turns", "speakers", "talks"}, rows...)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
