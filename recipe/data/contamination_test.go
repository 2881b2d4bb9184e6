package data

import (
	"strings"
	"testing"
)

func problems(split string, questions ...string) []Problem {
	ps := make([]Problem, len(questions))
	for i, q := range questions {
		ps[i] = NewProblem(split, i, q, "1")
	}
	return ps
}

func TestNormalize(t *testing.T) {
	for _, c := range []struct{ why, text, want string }{
		{"case, spacing and punctuation do not make a text new", "  Tom's 3\tAPPLES! ", "tom s 3 apples"},
		{"full-width letters and digits are the same text", "Ａｐｐｌｅ ４２", "apple 42"},
		{"composed and decomposed accents are the same text", "cafe\u0301", "café"},
		{"numbers stay: problems that differ in a number are different", "7 x 8", "7 x 8"},
		{"nothing to compare", " ?! ", ""},
	} {
		if got := Normalize(c.text); got != c.want {
			t.Errorf("%s: Normalize(%q) = %q, want %q", c.why, c.text, got, c.want)
		}
	}
}

func TestCheckContamination(t *testing.T) {
	const long = "The night train from the coast carries ninety sleepers and four waiters through seven dark tunnels before it stops."
	for _, c := range []struct {
		why            string
		train, holdout []Problem
		words          int
		hits           string // kind:train>holdout ..
	}{
		{"different texts", problems("train", "How many hens?"), problems("test", "How many cows?"), 0, ""},
		{"the same text, even at another row", problems("train", "a", "How many HENS"), problems("test", "how many hens?"), 0, "text:1>0"},
		{"a shared run of words is no hit when whole texts are compared", problems("train", long+" Who?"), problems("test", long+" Where?"), 0, ""},
		{"a shared run of 13 words is a hit", problems("train", long+" Who?"), problems("test", "x", long+" Where?"), 13, "gram:0>1"},
		{"a shared run of 12 words is none",
			problems("train", "a b c d e f g h i j k l train"), problems("test", "a b c d e f g h i j k l test yes"), 13, ""},
		{"a text shorter than the runs can still be the same text",
			problems("train", "How many hens?"), problems("test", "how many hens", long), 13, "text:0>0"},
	} {
		got, err := CheckContamination(c.train, c.holdout, c.words)
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		var hits []string
		for _, h := range got.Hits {
			hits = append(hits, h.Kind+":"+string(rune('0'+h.Train.Index))+">"+string(rune('0'+h.Holdout.Index)))
		}
		if s := strings.Join(hits, " "); s != c.hits {
			t.Errorf("%s: got hits %q, want %q", c.why, s, c.hits)
		}
		want := 1
		if c.words > 0 {
			want = 2
		}
		if got.Control.Planted != want || got.Control.Caught != want {
			t.Errorf("%s: the control caught %d of %d, want %d of %d", c.why, got.Control.Caught, got.Control.Planted, want, want)
		}
		if (got.Err() == nil) != (c.hits == "") {
			t.Errorf("%s: Err() = %v", c.why, got.Err())
		}
	}
}

// A check that compared nothing must not pass: the ways in which it could have.
func TestContaminationCannotPassOnNothing(t *testing.T) {
	some := problems("train", "How many hens?")
	for _, c := range []struct {
		why            string
		train, holdout []Problem
		words          int
		want           string
	}{
		{"no train problems", nil, some, 0, "found 0 and 1"},
		{"nothing held out", some, nil, 0, "found 1 and 0"},
		{"an empty text compares with nothing", some, problems("test", "How many?", " "), 0, "test[1] has no letter or digit"},
		{"runs longer than any text compare nothing", some, problems("test", "How many cows?"), 13, "every held-out text is shorter"},
		{"negative run", some, some, -1, "found -1"},
	} {
		if _, err := CheckContamination(c.train, c.holdout, c.words); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.why, err, c.want)
		}
	}
	if err := (Contamination{}).Err(); err == nil {
		t.Error("a result without a control passes")
	}
	if err := (Contamination{Control: Control{Planted: 2, Caught: 1}}).Err(); err == nil {
		t.Error("a control that was not caught passes")
	}
}
