package data

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Problem is one question with the number that answers it.
//
// Artifacts that may not hold a data set's text name a problem by Split, Index and SHA256.
type Problem struct {
	Index    int    // row in its split, from 0
	Split    string // the source's own name for the split: "train", "test" or "holdout"
	Question string
	Gold     string // the answer as a plain number, without thousands separators
	SHA256   string // TextSHA256(Question), hex
}

// NewProblem fills in the hash.
func NewProblem(split string, index int, question, gold string) Problem {
	return Problem{Index: index, Split: split, Question: question, Gold: gold, SHA256: TextSHA256(question)}
}

// ID names the problem without its text, for messages and logs: "test[264]".
func (p Problem) ID() string { return fmt.Sprintf("%s[%d]", p.Split, p.Index) }

// Set is what one experiment uses: the prompts it trains on and the frozen ones it is measured on.
type Set struct {
	Name           string // "gsm8k" or "mini"
	Train, Holdout []Problem
}

// TextSHA256 is the SHA-256 of the UTF-8 bytes of text, in hex, with nothing normalised.
func TextSHA256(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// SetSHA256 pins a list of problems in an experiment's plan: the SHA-256 over one line per problem, in order, of split,
// index, question hash and gold. Two lists with the same hash ask the same questions in the same order and grade alike.
func SetSHA256(problems []Problem) string {
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&b, "%s\t%d\t%s\t%s\n", p.Split, p.Index, p.SHA256, p.Gold)
	}
	return TextSHA256(b.String())
}
