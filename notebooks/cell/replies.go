package cell

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
	"teamtalk/report/figure"
)

// Reply is a reply to a held-out task, with the model that gave it and the arm whose prompt it was given under.
type Reply struct {
	artifact.Reply
	Model    string // experiment.Base or a run's name
	Prompt   string // an arm's name
	Question string // "" where the plan holds no text of the data set
	Gold     string
}

// Replies returns the evaluations' replies that keep says yes to, in the order of the plan; a nil keep is all of them.
func (r *Run) Replies(keep func(Reply) bool) []Reply {
	tasks := map[int]experiment.Task{}
	for _, t := range r.Record.Plan.Data.Holdout.Tasks {
		tasks[t.Index] = t
	}
	var out []Reply
	for _, e := range r.Record.Evals {
		if e.Tasks != "" {
			continue // on the whole test split
		}
		for _, x := range e.Replies {
			t := tasks[x.Task]
			reply := Reply{Reply: x, Model: e.Model, Prompt: e.Prompt, Question: t.Text, Gold: t.Gold}
			if keep == nil || keep(reply) {
				out = append(out, reply)
			}
		}
	}
	return out
}

// Counts shows how many replies have each key and how many of those are right: the most frequent keys first, ten at most.
func Counts(what string, replies []Reply, key func(Reply) string) {
	type group struct {
		key        string
		right, all int
	}
	var groups []*group
	byKey := map[string]*group{}
	for _, r := range replies {
		g := byKey[key(r)]
		if g == nil {
			g = &group{key: key(r)}
			byKey[g.key] = g
			groups = append(groups, g)
		}
		g.all++
		if r.Verdict.Correct() {
			g.right++
		}
	}
	slices.SortStableFunc(groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.all, a.all), cmp.Compare(a.key, b.key))
	})
	var rows [][]string
	for _, g := range groups[:min(10, len(groups))] {
		rows = append(rows, []string{g.key, strconv.Itoa(g.all), Count(g.right, g.all)})
	}
	Table([]string{what, "replies", "right"}, rows...)
}

// Read shows the first n of the replies in full.
func Read(replies []Reply, n int) {
	var rows [][]string
	for _, r := range replies[:min(n, len(replies))] {
		question := r.Question
		if question == "" {
			question = "task " + strconv.Itoa(r.Task)
		}
		rows = append(rows, []string{r.Model, r.Prompt, question, r.Gold, r.Text, string(r.Verdict.Reason)})
	}
	Table([]string{"model", "prompt", "problem", "reference", "reply", "why"}, rows...)
}

// Curves draws logged metrics over the steps, a panel for each and a line for every run; the keys are those of metrics.jsonl.
func (r *Run) Curves(keys ...string) {
	var runs []figure.Run
	perArm := map[string]int{}
	for _, t := range r.Record.Runs {
		arm := t.Config.Run.Arm
		at := slices.IndexFunc(r.Record.Plan.Arms, func(a experiment.Arm) bool { return a.Name == arm })
		runs = append(runs, figure.Run{Name: t.Config.Run.Name, Series: figure.Series{Arm: at, Run: perArm[arm]}})
		perArm[arm]++
	}
	var panels []figure.Panel
	for _, key := range keys {
		p := figure.Panel{Title: key, Decimals: 3}
		logged := false
		for _, t := range r.Record.Runs {
			v := metric(t, key)
			logged = logged || slices.ContainsFunc(v, func(x float64) bool { return !math.IsNaN(x) })
			p.Values = append(p.Values, v)
		}
		if !logged {
			OK(fmt.Errorf("no run has the metric %q: the keys are those of Record.Runs[0].Steps[0].Values", key))
		}
		panels = append(panels, p)
	}
	Figure(Must(figure.Curves(runs, panels, 5)))
}

// metric is one logged value per step; NaN where there is none.
func metric(t artifact.TrainingRecord, key string) []float64 {
	if len(t.Steps) == 0 {
		return nil
	}
	v := make([]float64, t.Steps[len(t.Steps)-1].Step)
	for i := range v {
		v[i] = math.NaN()
	}
	for _, s := range t.Steps {
		v[s.Step-1] = s.Value(key)
	}
	return v
}
