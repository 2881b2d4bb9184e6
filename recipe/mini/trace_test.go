package mini

import (
	"math"
	"regexp"
	"strings"
	"testing"

	"teamtalk/recipe/data"
)

// A problem to write replies for: 7+5=12, 12-3=9.
func example() Problem {
	return Problem{Question: "(7 and 5, less 3)", Answer: 9, steps: []step{
		{'+', operand{number: 7}, operand{number: 5}},
		{'-', operand{from: 1}, operand{number: 3}},
	}}
}

func TestTraceForms(t *testing.T) {
	for _, c := range []struct {
		why  string
		team bool
		m    Mixture
		want string // a regular expression for the whole reply
	}{
		{"plain prompt, no imperfection", false, Mixture{}, `Work: 7\+5=12\. 12-3=9\. \\boxed\{9\}`},
		{"team prompt, no imperfection", true, Mixture{}, `Solver: 7\+5=12\nChecker: yes, 12\. 12-3=9\nLead: \\boxed\{9\}`},
		{"a monologue under the team prompt", true, Mixture{MonologueUnderTeam: 1}, `Work: 7\+5=12\. 12-3=9\. \\boxed\{9\}`},
		{"talk under the plain prompt", false, Mixture{TalkUnderPlain: 1}, `Solver: 7\+5=12\nChecker: yes, 12\. 12-3=9\nLead: \\boxed\{9\}`},
		{"a guess is right in the text, the model cannot know it", false, Mixture{Guess: 1}, `Work: guess 9\. \\boxed\{9\}`},
		{"a guess in a conversation still has three speakers", true, Mixture{Guess: 1}, `Solver: guess 9\nChecker: ok\nLead: \\boxed\{9\}`},
		{"wrong operations are carried on with", false, Mixture{WrongOperation: 1}, `Work: 7-5=2\. 2\+3=5\. \\boxed\{5\}`},
		{"slips are carried on with: the second step starts from the first one's wrong result", false, Mixture{SlipMonologue: 1},
			`Work: 7\+5=(\d+)\. (\d+)[-+]3=(\d+)\. \\boxed\{(\d+)\}`},
		{"a caught slip is put right by the next speaker, and the last one by Lead", true, Mixture{SlipTalk: 1, Caught: 1},
			`Solver: 7\+5=(\d+)\nChecker: no, 12\. 12-3=(\d+)\nLead: no, 9\. \\boxed\{9\}`},
		{"a slip that is not caught is agreed with", true, Mixture{SlipTalk: 1}, `Solver: 7\+5=(\d+)\nChecker: yes, (\d+)\. (\d+)[-+]3=(\d+)\nLead: \\boxed\{(\d+)\}`},
	} {
		re := regexp.MustCompile(`\A` + c.want + `\z`)
		for i := range uint64(50) {
			got := Trace(data.NewRand(i, "trace test"), example(), c.team, c.m)
			groups := re.FindStringSubmatch(got)
			if groups == nil {
				t.Fatalf("%s: got %q, want %s", c.why, got, c.want)
			}
			if c.m.SlipMonologue == 1 && (groups[1] == "12" || groups[1] != groups[2] || groups[3] != groups[4]) {
				t.Fatalf("%s: got %q", c.why, got)
			}
			if c.m.SlipTalk == 1 && c.m.Caught == 0 && (groups[1] == "12" || groups[1] != groups[2] || groups[2] != groups[3] || groups[4] != groups[5]) {
				t.Fatalf("%s: got %q", c.why, got)
			}
			if c.m.SlipTalk == 1 && c.m.Caught == 1 && (groups[1] == "12" || groups[2] == "9") {
				t.Fatalf("%s: got %q", c.why, got)
			}
		}
	}
}

// The replies show the shares that the mixture asks for, within four standard errors.
func TestMixtureShares(t *testing.T) {
	var team, talkTeam, talkPlain, guess, steps, slips, n count
	for i := range 20_000 {
		ex := ExampleAt(2, i, DefaultMixture)
		talk := strings.HasPrefix(ex.Reply, "Solver")
		look := Inspect(ex.Reply)
		if look.Guess == look.Worked {
			t.Fatalf("a reply is either a guess or shows work: %+v: %q", look, ex.Reply)
		}
		n++
		team.add(ex.Team)
		guess.add(look.Guess)
		if ex.Team {
			talkTeam.add(talk)
		} else {
			talkPlain.add(talk)
			if !talk && look.Worked {
				steps += count(look.Steps)
				slips += count(look.Slips)
			}
		}
	}
	m := DefaultMixture
	for _, c := range []struct {
		what  string
		k, of count
		p     float64
	}{
		{"team prompt", team, n, m.Team},
		{"talk under the team prompt", talkTeam, team, 1 - m.MonologueUnderTeam},
		{"talk under the plain prompt", talkPlain, n - team, m.TalkUnderPlain},
		{"guesses", guess, n, m.Guess},
		{"slips of monologues", slips, steps, m.SlipMonologue},
	} {
		got := float64(c.k) / float64(c.of)
		if se := math.Sqrt(c.p * (1 - c.p) / float64(c.of)); math.Abs(got-c.p) > 4*se {
			t.Errorf("%s: %.4f of %d, the mixture says %.4f", c.what, got, c.of, c.p)
		}
	}
}

type count int

func (c *count) add(yes bool) {
	if yes {
		*c++
	}
}

func TestMixtureValidate(t *testing.T) {
	if err := DefaultMixture.Validate(); err != nil {
		t.Error(err)
	}
	for _, bad := range []Mixture{{Guess: 1.1}, {Caught: -.1}, {SlipTalk: math.NaN()}} {
		if bad.Validate() == nil {
			t.Errorf("%+v passes", bad)
		}
	}
}

func TestInspect(t *testing.T) {
	for _, c := range []struct {
		why, reply string
		want       Reply
	}{
		{"a monologue", `Work: 7+5=12. 12-3=9. \boxed{9}`, Reply{Worked: true, Steps: 2}},
		{"a slip is a step whose own result is wrong", `Work: 7+5=13. 13-3=10. \boxed{10}`, Reply{Worked: true, Steps: 2, Slips: 1}},
		{"agreeing is no step", "Solver: 2*3=6\nChecker: yes, 6. 6+1=8\nLead: no, 7. \\boxed{7}", Reply{Worked: true, Steps: 2, Slips: 1}},
		{"a guess", `Work: guess 9. \boxed{9}`, Reply{Guess: true}},
		{"a guess in a conversation", "Solver: guess 9\nChecker: ok\nLead: \\boxed{9}", Reply{Guess: true}},
		{"a guess with work after it is worked", `Work: guess 9. 7+5=12. \boxed{9}`, Reply{Worked: true, Steps: 1}},
		{"neither", `\boxed{9}`, Reply{}},
		{"negative results are read as what they are not: no template gives one", `Work: 3-5=-2`, Reply{}},
		{"numbers too long to be a step", `Work: 1234567890123+1=1`, Reply{}},
	} {
		if got := Inspect(c.reply); got != c.want {
			t.Errorf("%s: Inspect(%q) = %+v, want %+v", c.why, c.reply, got, c.want)
		}
	}
}
