package analysis

import (
	"fmt"
	"math"

	"teamtalk/recipe/experiment"
	"teamtalk/report/stats"
)

// Row is one row of the arm table: the untrained model, or all runs of an arm, under one arm's prompt.
type Row struct {
	Key     string                      `json:"key"`
	Display string                      `json:"display"`         // how the write-up calls it
	Model   string                      `json:"model"`           // experiment.Base or an arm's name
	Prompt  string                      `json:"prompt"`          // an arm's name
	Tasks   string                      `json:"tasks,omitempty"` // as in experiment.EvalRun
	Own     bool                        `json:"own"`             // the prompt it was trained with
	Trained bool                        `json:"trained"`
	Runs    []string                    `json:"runs,omitempty"` // run names; none for the untrained model
	Evals   []string                    `json:"evals"`
	Files   []string                    `json:"files"`
	Each    []Num                       `json:"pass1_each"` // one per evaluation
	Mean    Num                         `json:"pass1"`
	CITasks stats.Interval[stats.Tasks] `json:"ci_tasks"`
	CIRuns  stats.Interval[stats.Runs]  `json:"ci_runs"`
	CIBoth  stats.Interval[stats.Both]  `json:"ci_both"`
	Pass    PassAt                      `json:"pass"`
	Share   Shares                      `json:"share"` // all runs pooled, clustered by task
	Tokens  Num                         `json:"mean_tokens"`
	Turns   Num                         `json:"mean_turns"`

	evals []*Eval
}

func (r *Report) display(w *Row) string {
	model, prompt := "Untrained", w.Prompt
	for _, a := range r.Plan.Arms {
		if a.Name == w.Model {
			model = a.Display
		}
		if a.Name == w.Prompt {
			prompt = a.Prompt
		}
	}
	return model + ", " + prompt
}

func rowKey(model, prompt, tasks string) string {
	return experiment.EvalRun{Model: model, Prompt: prompt, Tasks: tasks}.Name()
}

func (w *Row) outcomes(of func(*Eval) []stats.Cell) stats.Outcomes {
	o := make(stats.Outcomes, len(w.evals))
	for i, e := range w.evals {
		o[i] = of(e)
	}
	return o
}

func (w *Row) right() stats.Outcomes {
	return w.outcomes(func(e *Eval) []stats.Cell { return e.Right })
}

// named is right under the names that a reason about its runs needs.
func (w *Row) named() stats.ArmResults {
	return stats.ArmResults{Name: w.Model, Runs: w.Runs, Outcomes: w.right()}
}

func (w *Row) lengths() stats.Rates {
	out := make(stats.Rates, len(w.evals))
	for i, e := range w.evals {
		out[i] = e.Lengths
	}
	return out
}

// rows groups the evaluations on the held-out tasks or on the whole test split: the untrained model under each prompt, each arm under its own
// prompt, each arm under the plain one. It returns the keys of those that have replies.
func (r *Report) rows(tasks string) (order []string, err error) {
	plan := &r.Plan
	type want struct {
		model, prompt string
		runs          []experiment.Run
	}
	var wants []want
	for _, a := range plan.Arms {
		wants = append(wants, want{model: experiment.Base, prompt: a.Name})
	}
	plain := plan.BaselineArm().Name
	byArm := map[string][]experiment.Run{}
	for _, run := range plan.Runs() {
		byArm[run.Arm] = append(byArm[run.Arm], run)
	}
	for _, a := range plan.TrainArms {
		wants = append(wants, want{a, a, byArm[a]})
	}
	for _, a := range plan.TrainArms {
		if a != plain {
			wants = append(wants, want{a, plain, byArm[a]})
		}
	}
	for _, w := range wants {
		row := &Row{Key: rowKey(w.model, w.prompt, tasks), Model: w.model, Prompt: w.prompt, Tasks: tasks, Trained: w.model != experiment.Base}
		row.Own = row.Trained && w.model == w.prompt
		names := []string{w.model}
		if row.Trained {
			names = nil
			for _, run := range w.runs {
				names = append(names, run.Name)
			}
		}
		for _, model := range names {
			e, ok := r.Evals[rowKey(model, w.prompt, tasks)]
			if !ok {
				continue
			}
			row.evals = append(row.evals, e)
			row.Evals, row.Files, row.Each = append(row.Evals, e.Name()), append(row.Files, e.File), append(row.Each, e.Pass["1"])
			if row.Trained {
				row.Runs = append(row.Runs, model)
			}
		}
		if len(row.evals) == 0 {
			continue
		}
		row.Display = r.display(row)
		r.Rows[row.Key] = row
		order = append(order, row.Key)
	}
	for _, key := range order {
		row := r.Rows[key]
		var pooled []stats.Outcomes
		for _, other := range order {
			// Arms under the prompts they were trained with lend each other their degrees of freedom, as in the primary comparison.
			if o := r.Rows[other]; row.Trained && o.Own && o.Model != row.Model {
				pooled = append(pooled, o.right())
			}
		}
		m, err := stats.ArmMean(row.right(), pooled...)
		if err != nil {
			return nil, fmt.Errorf("analysis: %s: %w", key, err)
		}
		row.Mean, row.CITasks, row.CIRuns, row.CIBoth = Num(m.Value), m.CITasks, m.CIRuns, m.CIBoth
		row.pool(r.ks(tasks))
	}
	return order, nil
}

// pool adds the runs' cells task by task for shares, and averages over runs what is a mean.
func (w *Row) pool(ks []int) {
	sum := func(of func(*Eval) []stats.Cell) Share {
		total := make([]stats.Cell, len(w.evals[0].Right))
		for _, e := range w.evals {
			for t, c := range of(e) {
				total[t].Correct += c.Correct
				total[t].Samples += c.Samples
			}
		}
		return newShare(total)
	}
	w.Share = Shares{
		Right: sum(func(e *Eval) []stats.Cell { return e.Right }), Talk: sum(func(e *Eval) []stats.Cell { return e.Talk }),
		Substantive: sum(func(e *Eval) []stats.Cell { return e.Substantive }), Truncated: sum(func(e *Eval) []stats.Cell { return e.Cut }),
		Answered: sum(func(e *Eval) []stats.Cell { return e.answered }), Worked: sum(func(e *Eval) []stats.Cell { return e.worked }),
		WorkedRight: sum(func(e *Eval) []stats.Cell { return e.workedRight }), TwoBoxes: sum(func(e *Eval) []stats.Cell { return e.boxes }),
	}
	avg := func(of func(*Eval) Num) Num {
		s := 0.0
		for _, e := range w.evals {
			s += float64(of(e))
		}
		return Num(s / float64(len(w.evals)))
	}
	w.Tokens, w.Turns = avg(func(e *Eval) Num { return e.Tokens }), avg(func(e *Eval) Num { return e.Turns })
	w.Pass = PassAt{}
	for _, k := range ks {
		key := fmt.Sprint(k)
		w.Pass[key] = avg(func(e *Eval) Num {
			if v, ok := e.Pass[key]; ok {
				return v
			}
			return Num(math.NaN())
		})
	}
}
