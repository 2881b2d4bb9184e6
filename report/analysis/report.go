package analysis

import (
	"slices"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
)

// Version is the version of report.json.
const Version = 1

// Report is everything that was computed from one run.
type Report struct {
	Version int      `json:"version"`
	Run     Identity `json:"run"`
	// Plan is the plan without the lists of tasks.
	Plan         experiment.Plan `json:"plan"`
	TrainTasks   int             `json:"train_tasks"`
	HoldoutTasks int             `json:"holdout_tasks"`
	Sessions     []artifact.Env  `json:"sessions"`
	PlannedRuns  []string        `json:"planned_runs"`
	DoneRuns     []string        `json:"done_runs"` // with a trained adapter and an evaluation under their own prompt

	Evals         map[string]*Eval     `json:"evals"`
	EvalOrder     []string             `json:"eval_order"`
	Rows          map[string]*Row      `json:"rows"`
	RowOrder      []string             `json:"row_order"`
	Contrasts     map[string]*Contrast `json:"contrasts"`
	ContrastOrder []string             `json:"contrast_order"`
	SignFlipP     Num                  `json:"sign_flip_p"` // of the primary comparison's task differences
	SignFlipExact bool                 `json:"sign_flip_exact"`
	Design        Designs              `json:"design"`
	Curves        map[string]*Curve    `json:"curves"`
	CurveOrder    []string             `json:"curve_order"`
	Cost          Cost                 `json:"cost"`
	Rounds        []artifact.Round     `json:"rounds"`
	Tasks         []Task               `json:"tasks"`
	Flips         map[string]int       `json:"flips"`
	Settings      []SettingDiff        `json:"arm_differences"` // per pair of arms at one seed
	Totals        Totals               `json:"totals"`
	// Test lists what was computed from the evaluations on the whole test split; absent where the plan has none.
	Test *TestSplit `json:"test,omitempty"`
}

// TestSplit is the part of a report that is about the whole test split. What it lists is in Evals, Rows and Contrasts; the lists beside those
// name what is about the held-out tasks alone.
type TestSplit struct {
	Tasks         int      `json:"tasks"`
	HeldOut       int      `json:"held_out"` // how many of them are held-out tasks too, compared by text
	Replies       int      `json:"replies"`
	EvalOrder     []string `json:"eval_order"`
	RowOrder      []string `json:"row_order"`
	ContrastOrder []string `json:"contrast_order"`
}

// Identity names the run by content.
type Identity struct {
	PlanSHA256     string   `json:"plan_sha256"`
	ManifestSHA256 string   `json:"manifest_sha256"`
	Complete       bool     `json:"complete"`
	Incomplete     string   `json:"incomplete,omitempty"` // why it was sealed without all that was planned
	Resealed       string   `json:"resealed,omitempty"`   // why it was sealed again after its manifest was lost
	Missing        []string `json:"missing"`
	Synthetic      bool     `json:"synthetic"` // made by a simulation, for tests
}

// Totals count what was sampled.
type Totals struct {
	Replies  int `json:"replies"`
	Rollouts int `json:"rollouts"`
}

// SettingDiff is the comparison of two runs' resolved settings.
type SettingDiff struct {
	A     string                  `json:"a"`
	B     string                  `json:"b"`
	Paths []string                `json:"paths"`
	Diffs []experiment.Difference `json:"-"`
	// Compared is how many settings the two have.
	Compared int `json:"compared"`
}

// New computes the report of a run.
func New(rec *artifact.Record) (*Report, error) {
	r := &Report{
		Version: Version, Plan: rec.Plan, TrainTasks: len(rec.Plan.Data.Train.Tasks), HoldoutTasks: len(rec.Plan.Data.Holdout.Tasks),
		Run: Identity{PlanSHA256: rec.PlanSHA256, ManifestSHA256: rec.ManifestSHA256, Complete: rec.Manifest != nil && len(rec.Missing) == 0, Missing: rec.Missing,
			Synthetic: rec.Plan.Model.Source == "synthetic"},
		Sessions: rec.Sessions, Evals: map[string]*Eval{}, Rows: map[string]*Row{}, Contrasts: map[string]*Contrast{}, Curves: map[string]*Curve{},
		Flips: map[string]int{string(Won): 0, string(Lost): 0, string(Both): 0, string(Neither): 0}, Rounds: rec.Rounds,
	}
	if m := rec.Manifest; m != nil {
		r.Run.Incomplete, r.Run.Resealed = m.Incomplete, m.Resealed
	}
	holdout, held := rec.Plan.Data.Holdout.Tasks, 0
	r.Plan.Data.Train.Tasks, r.Plan.Data.Holdout.Tasks = nil, nil
	r.testSplit(&rec.Plan)
	for _, x := range rec.Evals {
		e, err := newEval(x, rec.Plan.TasksOf(x.EvalRun), r.ks(x.Tasks))
		if err != nil {
			return nil, err
		}
		r.Evals[e.Name()] = e
		r.Totals.Replies += e.Replies
		if x.Tasks == experiment.TasksTest {
			r.Test.EvalOrder = append(r.Test.EvalOrder, e.Name())
			r.Test.Replies += e.Replies
			continue
		}
		r.EvalOrder = append(r.EvalOrder, e.Name())
		held += e.Replies
	}
	for _, run := range r.Plan.Runs() {
		r.PlannedRuns = append(r.PlannedRuns, run.Name)
	}
	for _, t := range rec.Runs {
		c := newCurve(t)
		r.Curves[c.Name] = c
		r.CurveOrder = append(r.CurveOrder, c.Name)
		r.Totals.Rollouts += len(t.Rollouts)
		if _, ok := r.Evals[experiment.EvalRun{Model: c.Name, Prompt: c.Arm}.Name()]; ok && t.Final {
			r.DoneRuns = append(r.DoneRuns, c.Name)
		}
	}
	r.Cost = newCost(rec.Phases, len(r.DoneRuns), held)
	var err error
	if r.RowOrder, err = r.rows(""); err != nil {
		return nil, err
	}
	if r.ContrastOrder, err = r.contrasts(""); err != nil {
		return nil, err
	}
	if r.Test != nil {
		if r.Test.RowOrder, err = r.rows(experiment.TasksTest); err != nil {
			return nil, err
		}
		if r.Test.ContrastOrder, err = r.contrasts(experiment.TasksTest); err != nil {
			return nil, err
		}
	}
	r.design()
	r.tasks(holdout)
	return r, r.armDifferences(rec)
}

// testSplit begins the part about the whole test split, where the plan has it, and takes the list of its tasks out of the report's plan.
func (r *Report) testSplit(plan *experiment.Plan) {
	if plan.Evaluation.Test == nil {
		return
	}
	var split experiment.Split
	if plan.Data.Test != nil {
		split = *plan.Data.Test
	}
	r.Test = &TestSplit{Tasks: len(split.Tasks)}
	held := map[string]bool{}
	for _, t := range plan.Data.Holdout.Tasks {
		held[t.SHA256] = true
	}
	for _, t := range split.Tasks {
		if held[t.SHA256] {
			r.Test.HeldOut++
		}
	}
	split.Tasks = nil
	r.Plan.Data.Test = &split
}

// ks are the k of pass@k that an evaluation's number of samples allows.
func (r *Report) ks(tasks string) []int {
	if tasks == "" {
		return r.Plan.Evaluation.Ks
	}
	samples := r.Plan.SamplesOf(experiment.EvalRun{Tasks: tasks})
	return slices.DeleteFunc(slices.Clone(r.Plan.Evaluation.Ks), func(k int) bool { return k > samples })
}

func (r *Report) armDifferences(rec *artifact.Record) error {
	byName := map[string]experiment.RunConfig{}
	for _, t := range rec.Runs {
		byName[t.Config.Run.Name] = t.Config
	}
	for _, seed := range r.Plan.Seeds {
		a, okA := byName[experiment.RunName(r.Plan.Primary.A, seed)]
		b, okB := byName[experiment.RunName(r.Plan.Primary.B, seed)]
		if !okA || !okB {
			continue
		}
		ds, err := experiment.ArmDiff(a, b)
		if err != nil {
			return err
		}
		flat, err := experiment.Flatten(a.Settings)
		if err != nil {
			return err
		}
		s := SettingDiff{A: a.Run.Name, B: b.Run.Name, Diffs: ds, Compared: len(flat), Paths: []string{}}
		for _, d := range ds {
			s.Paths = append(s.Paths, d.Path)
		}
		r.Settings = append(r.Settings, s)
	}
	return nil
}
