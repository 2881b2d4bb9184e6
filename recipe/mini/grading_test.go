package mini

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"teamtalk/grader"
)

// The same talk counter and grader that measure the model accept what it is taught: a conversation counts as talk, a
// monologue does not, and every box is an answer.
func TestTracesUnderTheGrader(t *testing.T) {
	boxed := regexp.MustCompile(`\\boxed\{(\d+)\}\z`)
	for i := range 4000 {
		ex := ExampleAt(1, i, DefaultMixture)
		conversation := strings.HasPrefix(ex.Reply, "Solver: ")
		if !conversation && !strings.HasPrefix(ex.Reply, "Work: ") {
			t.Fatalf("neither a conversation nor a monologue: %q", ex.Reply)
		}
		talk := grader.Talk(ex.Reply)
		if talk.Talks != conversation {
			t.Fatalf("talks is %v: %q", talk.Talks, ex.Reply)
		}
		if conversation && (talk.Substantive != talk.Turns || talk.NearMisses > 0) {
			t.Fatalf("%d of %d turns say something: %q", talk.Substantive, talk.Turns, ex.Reply)
		}
		box := boxed.FindStringSubmatch(ex.Reply)
		if box == nil {
			t.Fatalf("no box at the end: %q", ex.Reply)
		}
		if v := grader.MathEqual(ex.Reply, box[1]); v.Reward != 1 {
			t.Fatalf("the box does not equal its own number, %s: %q", v.Reason, ex.Reply)
		}
		if right := box[1] == strconv.Itoa(ex.Problem.Answer); right != (grader.MathEqual(ex.Reply, strconv.Itoa(ex.Problem.Answer)).Reward == 1) {
			t.Fatalf("the answer is %d, right is %v: %q", ex.Problem.Answer, right, ex.Reply)
		}
	}
	// Without imperfections every reply is right.
	for i := range 2000 {
		ex := ExampleAt(1, i, Mixture{Team: .5, Guess: .3})
		if v := grader.MathEqual(ex.Reply, strconv.Itoa(ex.Problem.Answer)); v.Reward != 1 {
			t.Fatalf("%s: %q for %s", v.Reason, ex.Reply, ex.Problem.Question)
		}
	}
}
