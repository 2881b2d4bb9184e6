package analysis

import (
	"math"

	"teamtalk/recipe/experiment"
	"teamtalk/report/stats"
)

// Task is one held-out task across all evaluations.
type Task struct {
	Index  int                 `json:"index"`
	SHA256 string              `json:"sha256"`
	Gold   string              `json:"gold"`
	Text   string              `json:"text,omitempty"`
	Cells  map[string]TaskCell `json:"cells"` // by evaluation
	Delta  Num                 `json:"delta"` // of the primary comparison; null when it has none here
	Flip   Flip                `json:"flip"`
	Talk   bool                `json:"talk"`      // any reply of the primary comparison talks
	Cut    bool                `json:"truncated"` // any is truncated
}

// TaskCell is one evaluation's replies to one task.
type TaskCell struct {
	Right   int `json:"right"`
	Graded  int `json:"graded"`
	Talk    int `json:"talk"`
	Cut     int `json:"truncated"`
	Samples int `json:"samples"`
}

// Flip says how the majority of an arm's replies to a task changed from the baseline to the recipe, each under its own prompt.
type Flip string

// The flip classes. Solved: more than half of the graded replies of all runs are right.
const (
	Won     Flip = "won"     // the recipe solves it and the baseline does not
	Lost    Flip = "lost"    // the baseline solves it and the recipe does not
	Both    Flip = "both"    // both solve it
	Neither Flip = "neither" // neither does
	NoFlip  Flip = ""        // no comparison
)

func (r *Report) tasks(holdout []experiment.Task) {
	a, b := r.Rows[rowKey(r.Plan.Primary.A, r.Plan.Primary.A, "")], r.Rows[rowKey(r.Plan.Primary.B, r.Plan.Primary.B, "")]
	share := func(w *Row, t int) (rate float64, talk, cut bool) {
		var right, graded int
		for _, e := range w.evals {
			right, graded = right+e.Right[t].Correct, graded+e.Right[t].Samples
			talk, cut = talk || e.Talk[t].Correct > 0, cut || e.Cut[t].Correct > 0
		}
		return float64(right) / float64(graded), talk, cut
	}
	mean := func(w *Row, t int) float64 { // over runs, as the comparison does
		s := 0.0
		for _, e := range w.evals {
			s += e.Right[t].Rate()
		}
		return s / float64(len(w.evals))
	}
	for t, h := range holdout {
		task := Task{Index: h.Index, SHA256: h.SHA256, Gold: h.Gold, Text: h.Text, Cells: map[string]TaskCell{}, Delta: Num(math.NaN())}
		for _, name := range r.EvalOrder {
			e := r.Evals[name]
			task.Cells[name] = TaskCell{e.Right[t].Correct, e.Right[t].Samples, e.Talk[t].Correct, e.Cut[t].Correct, e.Talk[t].Samples}
		}
		if a != nil && b != nil {
			pa, talkA, cutA := share(a, t)
			pb, talkB, cutB := share(b, t)
			task.Delta, task.Talk, task.Cut = Num(mean(b, t)-mean(a, t)), talkA || talkB, cutA || cutB
			if math.Abs(float64(task.Delta)) < 1e-12 {
				task.Delta = 0
			}
			switch solvedA, solvedB := pa > 0.5, pb > 0.5; {
			case solvedA && solvedB:
				task.Flip = Both
			case solvedB:
				task.Flip = Won
			case solvedA:
				task.Flip = Lost
			default:
				task.Flip = Neither
			}
			r.Flips[string(task.Flip)]++
		}
		r.Tasks = append(r.Tasks, task)
	}
	if c, ok := r.Contrasts[Primary]; ok {
		p, exact := stats.SignFlip(c.Stats.TaskDeltas, 1)
		r.SignFlipP, r.SignFlipExact = Num(p), exact
	}
}
