package data

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// GramWords is the usual length of the word sequences whose reuse counts as contamination: Brown et al., Language Models
// are Few-Shot Learners, arXiv:2005.14165, appendix C, take 13.
const GramWords = 13

// Hit is one train problem that gives a held-out problem away.
type Hit struct {
	Train, Holdout Problem
	Kind           string // HitText or HitGram
}

// The kinds of Hit.
const (
	HitText = "text" // the same text once both are normalised
	HitGram = "gram" // a run of at least Contamination.Words words in common
)

// Contamination is the outcome of comparing every train text with every held-out text, and of comparing them once more
// with held-out text planted among the train texts. A check that finds nothing means something only if Control is
// caught and texts were compared.
type Contamination struct {
	Words          int // length of the word runs that were compared; 0: whole texts only
	Train, Holdout int // texts compared
	Hits           []Hit
	Control        Control
}

// Control is the negative control: the same check on the same data, to which one held-out problem was added in disguise
// (upper case, other punctuation and spacing), and, where word runs are compared, a second one of which only Words words
// in a row were kept.
type Control struct {
	Planted int
	Caught  int
}

// Err is nil if the check was able to fail and did not.
func (c Contamination) Err() error {
	if c.Control.Planted == 0 || c.Control.Caught != c.Control.Planted {
		return fmt.Errorf("the contamination check caught %d of %d planted problems: its finding of %d hits means nothing",
			c.Control.Caught, c.Control.Planted, len(c.Hits))
	}
	if len(c.Hits) > 0 {
		h := c.Hits[0]
		return fmt.Errorf("%d train problems give held-out problems away, the first is %s for %s (%s): draw the train problems again without them",
			len(c.Hits), h.Train.ID(), h.Holdout.ID(), h.Kind)
	}
	return nil
}

// CheckContamination compares train with holdout by normalised text and, if words > 0, by shared runs of that many words.
// It never compares ids or rows. A set that is empty, or holds a text without a letter or digit, is an error: such a
// check would pass on nothing.
func CheckContamination(train, holdout []Problem, words int) (Contamination, error) {
	if len(train) == 0 || len(holdout) == 0 {
		return Contamination{}, fmt.Errorf("contamination check: expected train and held-out problems, found %d and %d", len(train), len(holdout))
	}
	if words < 0 {
		return Contamination{}, fmt.Errorf("contamination check: expected a run of 0 (whole texts only) or more words, found %d", words)
	}
	for _, set := range [][]Problem{train, holdout} {
		for _, p := range set {
			if Normalize(p.Question) == "" {
				return Contamination{}, fmt.Errorf("contamination check: %s has no letter or digit: nothing to compare", p.ID())
			}
		}
	}
	c := Contamination{Words: words, Train: len(train), Holdout: len(holdout), Hits: findHits(train, holdout, words)}
	planted, err := plant(holdout, words)
	if err != nil {
		return Contamination{}, err
	}
	c.Control.Planted = len(planted)
	// The planted rows go last, so that the first len(train) rows are found or not as before.
	with := append(append([]Problem(nil), train...), planted...)
	for _, h := range findHits(with, holdout, words) {
		if h.Train.Split == plantedSplit {
			c.Control.Caught++
		}
	}
	return c, nil
}

const plantedSplit = "planted"

// plant disguises held-out problems as train problems.
func plant(holdout []Problem, words int) ([]Problem, error) {
	whole := holdout[0].Question
	disguised := "  " + strings.ReplaceAll(strings.ToUpper(whole), " ", " \t") + " !"
	rows := []Problem{NewProblem(plantedSplit, 0, disguised, "0")}
	if words == 0 {
		return rows, nil
	}
	for _, p := range holdout {
		w := strings.Fields(Normalize(p.Question))
		if len(w) <= words {
			continue
		}
		run := strings.Join(w[len(w)-words:], " ")
		return append(rows, NewProblem(plantedSplit, 1, "planted "+run+" planted", "0")), nil
	}
	return nil, errors.New("contamination check: every held-out text is shorter than the runs to compare: compare shorter runs")
}

// findHits returns at most one hit per train problem: the first held-out problem it gives away.
func findHits(train, holdout []Problem, words int) []Hit {
	texts := make(map[string]int, len(holdout))
	grams := make(map[string]int)
	for i := len(holdout) - 1; i >= 0; i-- { // backwards: the first one stays
		text := Normalize(holdout[i].Question)
		texts[text] = i
		eachGram(text, words, func(g string) bool { grams[g] = i; return true })
	}
	var hits []Hit
	for _, p := range train {
		text := Normalize(p.Question)
		if i, ok := texts[text]; ok {
			hits = append(hits, Hit{p, holdout[i], HitText})
			continue
		}
		eachGram(text, words, func(g string) bool {
			i, ok := grams[g]
			if ok {
				hits = append(hits, Hit{p, holdout[i], HitGram})
			}
			return !ok
		})
	}
	return hits
}

// eachGram calls f with every run of n words of a normalised text until f returns false; n = 0 has no runs.
func eachGram(text string, n int, f func(string) bool) {
	if n == 0 {
		return
	}
	words := strings.Fields(text)
	for i := 0; i+n <= len(words); i++ {
		if !f(strings.Join(words[i:i+n], " ")) {
			return
		}
	}
}

// Normalize is the text two problems are compared by: NFKC, lower case, every run of anything but letters and digits one
// space, none at the ends. "Tom's 3 apples!" and "tom s 3  APPLES" are the same text.
func Normalize(text string) string {
	words := strings.FieldsFunc(norm.NFKC.String(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return strings.ToLower(strings.Join(words, " "))
}
