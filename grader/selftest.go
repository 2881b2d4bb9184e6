package grader

import "fmt"

// SelfTest grades and counts planted replies: right and wrong answers of each kind that graders are known to confuse, and
// replies that talk and that do not. It returns how many checks were made, and an error for the first one that failed. It
// needs no file and no network.
func SelfTest() (checks int, err error) {
	for _, c := range []struct {
		completion, gold string
		reward           Reward
		policy           Policy
	}{
		{`4 crates of 9 make \boxed{36}.`, "36", Right, Boxed},
		{`4 crates of 9 make \boxed{35}.`, "36", Wrong, Boxed},
		{`First \boxed{35}. No, it is \boxed{36}.`, "36", Right, Boxed},
		{`First \boxed{36}. No, it is \boxed{35}.`, "36", Wrong, Boxed},
		{`It is 36: \boxed{}`, "36", Wrong, Boxed},
		{`\boxed{36} and so \boxed{`, "36", Wrong, Boxed},
		{`\boxed{35 or 36}`, "36", Wrong, Boxed},
		{`\boxed{30 + 6}`, "36", Wrong, Boxed},
		{`\boxed{136}`, "36", Wrong, Boxed},
		{`\boxed{36.0000001}`, "36", Wrong, Boxed},
		{`\boxed{\$36.00 \text{ per day}}`, "36", Right, Boxed},
		{`\boxed{36\%}`, "36", Right, Boxed},
		{`\boxed{0.36}`, "36", Wrong, Boxed},
		{`\boxed{1,250}`, "1250", Right, Boxed},
		{`\boxed{12,50}`, "1250", Wrong, Boxed},
		{`\boxed{-\frac{7}{4}}`, "-1.75", Right, Boxed},
		{`\boxed{3 1/2}`, "2", Wrong, Boxed},
		{`\boxed{9007199254740993}`, "9007199254740992", Wrong, Boxed},
		{"4 * 9 = 36\n#### 36", "36", Right, Hash},
		{"#### 36\n#### 3. Add everything", "36", Right, Hash},
		{"The answer is 36.", "6 * 6 = <<6*6=36>>36\n#### 36", Right, AnswerIs},
		{"The answer is not 36.", "36", Wrong, AnswerIs},
		{"They have 36 crates", "36", Right, LastNumber},
		{"They get 1/6", "6", Wrong, LastNumber},
		{"I do not know.", "36", Wrong, NoPolicy},
		{"Solver: \\boxed{48}\nChecker: 4 x 9 is 36, not 48.\nLead: \\boxed{36}", "36", Right, Boxed},
		{`\boxed{36}`, "thirty-six", NoReward, NoPolicy},
	} {
		checks++
		if v := MathEqual(c.completion, c.gold); v.Reward != c.reward || v.Policy != c.policy {
			return checks, fmt.Errorf("grader: planted reply %q against %q: expected reward %d by policy %s, found %d by %s (%s)",
				c.completion, c.gold, c.reward, c.policy, v.Reward, v.Policy, v.Reason)
		}
	}
	for _, c := range []struct {
		reply        string
		turns        int
		talks, speak bool // speak: talks in substance
	}{
		{"Solver: 4 x 9 is 36.\nChecker: yes, 36.\nLead: \\boxed{36}", 3, true, true},
		{"**Solver:** 4 x 9 is 36.\n- **Checker**: yes.\n### Lead: \\boxed{36}", 3, true, true},
		{"Solver: ...\nChecker: ...\nSolver: ...\nLead: ...", 4, true, false},
		{"Solver: 36\nLead: fine\nSolver: ok\nLead: \\boxed{36}", 4, false, false},
		{"Solver: 36\nChecker: yes", 2, false, false},
		{"I ask myself as Solver: 4 x 9? As Checker: 36. As Lead: \\boxed{36}", 0, false, false},
		{"solver: 36\nchecker: yes\nlead: 36", 0, false, false},
		{"4 x 9 = 36, so \\boxed{36}", 0, false, false},
	} {
		checks++
		if got := Talk(c.reply); got.Turns != c.turns || got.Talks != c.talks || got.TalksSubstantive != c.speak {
			return checks, fmt.Errorf("grader: planted reply %q: expected %d turns, talk %v, talk in substance %v; found %d, %v, %v",
				c.reply, c.turns, c.talks, c.speak, got.Turns, got.Talks, got.TalksSubstantive)
		}
	}
	return checks, nil
}
