package analysis

import (
	"math"
	"slices"

	"teamtalk/report/stats"
)

// Designs says what the primary comparison could tell: before the result, from assumed components, and after it, from measured ones.
type Designs struct {
	Planned  *Resolution `json:"planned,omitempty"`  // this design at assumed components
	Measured *Resolution `json:"measured,omitempty"` // this design at the measured ones
	Assumed  PlanValues  `json:"assumed"`
	Used     PlanValues  `json:"used"` // for Measured, Options and Resolving
	// Options are this design and larger ones at the measured components, with what they cost on this machine.
	Options []Resolution `json:"options,omitempty"`
	// Cheapest would separate the observed difference in 80% of repetitions; absent when none of the options would.
	Cheapest *Resolution `json:"cheapest,omitempty"`
	// RunsToResolve is the least number of runs per arm that would, at these tasks and samples; 0 for none up to 100.
	RunsToResolve int    `json:"runs_to_resolve"`
	Delta         Num    `json:"delta"`                // the observed difference, taken as if it were the true one
	RunsTable     []Runs `json:"runs_table,omitempty"` // what R runs per arm can tell, in units of the SD of a run's mean
	Why           string `json:"why,omitempty"`        // why there are no measured components
}

// PlanValues are the standard deviations a design is judged by.
type PlanValues struct {
	RunSD     Num `json:"run_sd"`
	ArmTaskSD Num `json:"arm_task_sd"`
	RunTaskSD Num `json:"run_task_sd"`
	PerSample Num `json:"per_sample"`
}

// Resolution is what one design can tell.
type Resolution struct {
	Runs    int    `json:"runs_per_arm"`
	Tasks   int    `json:"tasks"`
	Samples int    `json:"samples"`
	Half    Num    `json:"half_width"`
	MDE80   Num    `json:"mde80"` // the smallest true difference found in 80% of repetitions
	Seconds Num    `json:"device_seconds"`
	Actual  bool   `json:"actual"`
	Text    string `json:"text"` // what it can tell, in words
}

// Runs is stats.RunsRow.
type Runs struct {
	Runs      int `json:"runs"`
	DF        int `json:"df"`
	T         Num `json:"t"`
	Half      Num `json:"half"`
	MDE80     Num `json:"mde80"`
	SDFactor0 Num `json:"sd_factor_lo"`
	SDFactor1 Num `json:"sd_factor_hi"`
	MinP      Num `json:"min_p"`
}

func planValues(p stats.Plan) PlanValues {
	return PlanValues{Num(p.RunSD), Num(p.ArmTaskSD), Num(p.RunTaskSD), Num(p.PerSample)}
}

func resolution(d stats.Design, p stats.Plan) (*Resolution, error) {
	res, err := d.Resolve(p)
	if err != nil {
		return nil, err
	}
	return &Resolution{Runs: d.RunsA, Tasks: d.Tasks, Samples: d.Samples, Half: Num(res.Half), MDE80: Num(res.MDE80), Text: res.String()}, nil
}

func (r *Report) design() {
	plan := &r.Plan
	d := &r.Design
	d.Assumed, d.Used = planValues(stats.Assumed), planValues(stats.Assumed)
	planned := stats.Design{RunsA: len(plan.Seeds), RunsB: len(plan.Seeds), Tasks: r.HoldoutTasks, Samples: plan.Evaluation.Samples}
	if res, err := resolution(planned, stats.Assumed); err == nil {
		d.Planned = res
	} else {
		d.Why = err.Error()
	}
	for _, n := range []int{2, 3, 4, 5, 8} {
		if row, err := stats.NewRunsRow(n); err == nil {
			d.RunsTable = append(d.RunsTable, Runs{row.Runs, row.DF, Num(row.T), Num(row.Half), Num(row.MDE80), Num(row.SDFactor[0]), Num(row.SDFactor[1]), Num(row.MinP)})
		}
	}
	c, ok := r.Contrasts[Primary]
	if !ok {
		d.Why = "the primary comparison has no result"
		return
	}
	measured, err := stats.PlanFrom(c.Stats)
	if err != nil {
		d.Why = err.Error()
		return
	}
	d.Used = planValues(measured)
	actual := stats.Design{RunsA: len(c.RunsA), RunsB: len(c.RunsB), Tasks: c.Tasks, Samples: plan.Evaluation.Samples}
	if d.Measured, err = resolution(actual, measured); err != nil {
		d.Why = err.Error()
		return
	}
	d.Delta = c.Delta
	d.RunsToResolve = stats.RunsToResolve(measured, actual, math.Abs(float64(c.Delta)))
	cost := r.Cost.designSeconds(2)
	d.Measured.Seconds, d.Measured.Actual = Num(cost(actual)), true
	tasks := []int{actual.Tasks}
	if more := map[string]int{"gsm8k": 1319, "mini": 600}[plan.Data.Source]; more > actual.Tasks {
		tasks = append(tasks, more)
	}
	var candidates []stats.Design
	for _, n := range tasks {
		sizes := []int{2, 3, 4, 5, 8, 16}
		if n == actual.Tasks && d.RunsToResolve > 0 && !slices.Contains(sizes, d.RunsToResolve) {
			sizes = append(sizes, d.RunsToResolve)
			slices.Sort(sizes)
		}
		for _, runs := range sizes {
			for _, s := range []int{actual.Samples, 4 * actual.Samples} {
				candidates = append(candidates, stats.Design{RunsA: runs, RunsB: runs, Tasks: n, Samples: s})
			}
		}
	}
	best, found, err := stats.Cheapest(measured, math.Abs(float64(c.Delta)), candidates, cost)
	if found && err == nil {
		d.Cheapest, _ = resolution(best.Design, measured)
		d.Cheapest.Seconds = Num(cost(best.Design))
	}
	for _, cand := range candidates {
		if cand.Samples != actual.Samples && cand.RunsA != 2 && !(found && cand == best.Design) {
			continue // the table shows one thing changed at a time, runs with all tasks, and the cheapest
		}
		res, err := resolution(cand, measured)
		if err != nil {
			continue
		}
		res.Seconds, res.Actual = Num(cost(cand)), cand == actual
		d.Options = append(d.Options, *res)
	}
}
