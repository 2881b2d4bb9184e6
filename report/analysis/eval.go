package analysis

import (
	"fmt"
	"math"
	"strings"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
	"teamtalk/report/stats"
)

// Eval is one model under one prompt.
type Eval struct {
	experiment.EvalRun
	File      string `json:"file"`
	Replies   int    `json:"replies"`
	Ungraded  int    `json:"ungraded"` // gold answer not readable: left out of every share below that counts right answers
	Pass      PassAt `json:"pass"`     // by k
	Share     Shares `json:"share"`
	Tokens    Num    `json:"mean_tokens"`
	MaxTokens int    `json:"max_tokens"`
	Turns     Num    `json:"mean_turns"`

	// Cells per held-out task, in the plan's order.
	Right, Talk, Substantive, Cut        []stats.Cell     `json:"-"`
	Lengths                              []float64        `json:"-"` // mean tokens per task
	Record                               []artifact.Reply `json:"-"` // in the order of the file
	answered, worked, workedRight, boxes []stats.Cell
}

// PassAt maps k, as a decimal, to pass@k of one evaluation.
type PassAt map[string]Num

// Shares are shares of replies, with intervals over tasks that know that replies to one task resemble each other.
type Shares struct {
	Right       Share `json:"right"`
	Talk        Share `json:"talk"`         // conversations by the turn counter
	Substantive Share `json:"substantive"`  // conversations by their turns that say something alone
	Truncated   Share `json:"truncated"`    // hit the cap
	Answered    Share `json:"answered"`     // the grader found something to grade
	Worked      Share `json:"worked"`       // show a calculation: a digit, an equals sign, a digit
	WorkedRight Share `json:"worked_right"` // right among those that show one
	TwoBoxes    Share `json:"two_boxes"`    // two or more different boxes
}

// Share is k of n replies.
type Share struct {
	K     int                         `json:"k"`
	N     int                         `json:"n"`
	Tasks int                         `json:"tasks"`
	Rate  Num                         `json:"rate"`
	CI    stats.Interval[stats.Tasks] `json:"ci_tasks"`
	Exact bool                        `json:"exact"` // none or all: the bound counts tasks
}

func newShare(cells []stats.Cell) Share {
	p, err := stats.ClusteredProportion(cells)
	if err != nil { // no reply at all: a share of nothing
		return Share{Rate: Num(math.NaN())}
	}
	return Share{K: p.K, N: p.N, Tasks: p.Tasks, Rate: Num(p.Rate), CI: p.CI, Exact: p.Exact}
}

// Worked says whether a reply shows a calculation: a digit, then an equals sign, then a digit, with blanks or a currency sign
// between them. It tells worked answers from guesses without looking at who wrote them.
func Worked(text string) bool {
	for i := 0; ; {
		j := strings.IndexByte(text[i:], '=')
		if j < 0 {
			return false
		}
		i += j + 1
		before := strings.TrimRight(text[:i-1], " \\)]$")
		after := strings.TrimLeft(text[i:], " \\($")
		if before != "" && after != "" && isDigit(before[len(before)-1]) && isDigit(after[0]) {
			return true
		}
	}
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// NoAnswer are the grader's reasons that mean that there was nothing to grade.
func noAnswer(reason string) bool {
	return reason == "no_answer" || reason == "box_empty" || reason == "box_unclosed" || reason == "think_unclosed"
}

func newEval(rec artifact.EvalRecord, tasks []experiment.Task, ks []int) (*Eval, error) {
	e := &Eval{EvalRun: rec.EvalRun, File: rec.File, Replies: len(rec.Replies), Pass: PassAt{}, Record: rec.Replies}
	at := make(map[int]int, len(tasks))
	for i, t := range tasks {
		at[t.Index] = i
	}
	n := len(tasks)
	e.Right, e.Talk, e.Substantive, e.Cut = make([]stats.Cell, n), make([]stats.Cell, n), make([]stats.Cell, n), make([]stats.Cell, n)
	e.answered, e.worked, e.workedRight, e.boxes = make([]stats.Cell, n), make([]stats.Cell, n), make([]stats.Cell, n), make([]stats.Cell, n)
	e.Lengths = make([]float64, n)
	count := func(c *stats.Cell, yes bool) {
		c.Samples++
		if yes {
			c.Correct++
		}
	}
	tokens, turns := 0, 0
	for i := range rec.Replies {
		r := &rec.Replies[i]
		t, ok := at[r.Task]
		if !ok {
			return nil, fmt.Errorf("analysis: %s holds a reply to task %d, which the plan does not evaluate it on", rec.File, r.Task)
		}
		if r.Verdict.Reward == nil {
			e.Ungraded++
		} else {
			count(&e.Right[t], r.Verdict.Correct())
		}
		count(&e.Talk[t], r.Talk.Talks)
		count(&e.Substantive[t], r.Talk.TalksSubstantive)
		count(&e.Cut[t], r.Truncated())
		count(&e.answered[t], !noAnswer(r.Verdict.Reason))
		w := Worked(r.Text)
		count(&e.worked[t], w)
		if w && r.Verdict.Reward != nil {
			count(&e.workedRight[t], r.Verdict.Correct())
		}
		count(&e.boxes[t], r.Verdict.DistinctBoxes >= 2)
		tokens += r.Tokens
		turns += r.Talk.Turns
		e.MaxTokens = max(e.MaxTokens, r.Tokens)
		e.Lengths[t] += float64(r.Tokens)
	}
	for t := range e.Lengths {
		e.Lengths[t] /= float64(e.Talk[t].Samples) // NaN for a task without a reply
	}
	e.Tokens, e.Turns = Num(float64(tokens)/float64(e.Replies)), Num(float64(turns)/float64(e.Replies))
	e.Share = Shares{newShare(e.Right), newShare(e.Talk), newShare(e.Substantive), newShare(e.Cut), newShare(e.answered),
		newShare(e.worked), newShare(e.workedRight), newShare(e.boxes)}
	for _, k := range ks {
		rates, err := stats.Outcomes{e.Right}.PassAtK(k)
		if err != nil {
			e.Pass[fmt.Sprint(k)] = Num(math.NaN()) // some task has fewer graded samples than k
			continue
		}
		e.Pass[fmt.Sprint(k)] = Num(meanOf(rates[0]))
	}
	return e, nil
}

// meanOf is the mean of the numbers that are there.
func meanOf(xs []float64) float64 {
	sum, n := 0.0, 0
	for _, x := range xs {
		if !math.IsNaN(x) {
			sum, n = sum+x, n+1
		}
	}
	return sum / float64(n)
}
