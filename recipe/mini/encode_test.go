package mini

import (
	"strings"
	"testing"

	"teamtalk/model/tokenizer"
)

// A tokenizer from fewer examples than the embedded one, which is enough for every word of the templates.
func trained(t testing.TB) *tokenizer.Tokenizer {
	t.Helper()
	tok, err := TrainTokenizer(1, 3000, DefaultMixture)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func TestTrainTokenizer(t *testing.T) {
	tok := trained(t)
	for id, name := range special {
		if got, ok := tok.ID(name); !ok || int(got) != id || !tok.IsControl(got) {
			t.Errorf("%s has the id %d (%v), want %d, a control token", name, got, ok, id)
		}
	}
	if tok.VocabSize() != VocabSize {
		t.Errorf("%d tokens, want %d", tok.VocabSize(), VocabSize)
	}
	// What a reply is told apart by is one token each, and a number is as many as it has digits: arithmetic is learnt on them.
	for _, c := range []struct {
		text   string
		tokens int
	}{{"Solver", 1}, {"Checker", 1}, {"Lead", 1}, {"Work", 1}, {"boxed", 1}, {" guess", 1}, {"47", 2}, {"assistant", 1}} {
		if got := tok.Encode(c.text); len(got) != c.tokens {
			t.Errorf("%q is %d tokens, want %d", c.text, len(got), c.tokens)
		}
	}
	if _, err := TrainTokenizer(1, 1, DefaultMixture); err == nil || !strings.Contains(err.Error(), "use more") {
		t.Errorf("one example is not enough for 512 tokens: got %v", err)
	}
	if _, err := TrainTokenizer(1, 1, Mixture{Guess: 2}); err == nil {
		t.Error("a mixture with a probability of 2 passes")
	}
}

func TestEncode(t *testing.T) {
	tok := trained(t)
	total, promptMax, promptSum, replySum := 0, 0, 0, 0
	const n = 2000
	for i := range n {
		e := ExampleAt(5, i, DefaultMixture)
		prompt, reply, err := e.Encode(tok)
		if err != nil {
			t.Fatal(err)
		}
		want := "system\n" + System(e.Team) + "\nuser\n" + e.Problem.Question + "\nassistant\n"
		if got := tok.Decode(prompt); got != want {
			t.Fatalf("the prompt reads %q, want %q", got, want)
		}
		if got := tok.Decode(reply); got != e.Reply || reply[len(reply)-1] != 2 {
			t.Fatalf("the reply reads %q and ends in token %d, want %q and 2", got, reply[len(reply)-1], e.Reply)
		}
		// The reply's tokens are those that sampling can produce: the same text after the prompt is cut the same way.
		for _, id := range reply[:len(reply)-1] {
			if tok.IsControl(id) {
				t.Fatalf("a control token inside a reply: %q", e.Reply)
			}
		}
		total, promptMax = max(total, len(prompt)+len(reply)), max(promptMax, len(prompt))
		promptSum, replySum = promptSum+len(prompt), replySum+len(reply)
	}
	t.Logf("prompt %.1f tokens, at most %d; reply %.1f; together at most %d", float64(promptSum)/n, promptMax, float64(replySum)/n, total)
	if total > 192 {
		t.Errorf("an example has %d tokens: rows of 192 are too short", total)
	}
}
