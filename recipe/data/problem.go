package data

import (
	"fmt"

	"teamtalk/recipe/experiment"
)

// Problem is one question with the number that answers it.
//
// Artifacts that may not hold a data set's text name a problem by Split, Index and SHA256.
type Problem struct {
	Index    int    // row in its split, from 0
	Split    string // the source's own name for the split: "train", "test" or "holdout"
	Question string
	Gold     string // the answer as a plain number, without thousands separators
	SHA256   string // experiment.TextHash(Question), hex
}

// NewProblem fills in the hash.
func NewProblem(split string, index int, question, gold string) Problem {
	return Problem{Index: index, Split: split, Question: question, Gold: gold, SHA256: experiment.TextHash(question)}
}

// ID names the problem without its text, for messages and logs: "test[264]".
func (p Problem) ID() string { return fmt.Sprintf("%s[%d]", p.Split, p.Index) }

// Set is what one experiment uses: the prompts it trains on and the frozen ones it is measured on.
type Set struct {
	Name           string // "gsm8k" or "mini"
	Train, Holdout []Problem
	Test           []Problem // the whole split that Holdout was drawn from; empty where it is not evaluated on
}

// Tasks are the problems as an experiment's plan lists them. keepText only where this project wrote the questions.
func Tasks(problems []Problem, keepText bool) []experiment.Task {
	tasks := make([]experiment.Task, len(problems))
	for i, p := range problems {
		tasks[i] = experiment.NewTask(p.Index, p.Question, p.Gold, keepText)
	}
	return tasks
}
