package stats

import (
	"fmt"
	"math"
)

// Comparison is B − A with everything that may be said about it. A is the baseline.
type Comparison struct {
	Kind   Kind
	Margin float64 // differences inside ±Margin were declared, before training, not to matter
	A, B   Arm
	// Tasks used, and the indexes of those left out because some run has no graded answer to them.
	Tasks   int
	Dropped []int
	Samples int // per cell; 0 when cells differ or the scale has no samples

	Delta      float64
	TaskDeltas []float64 // d[t] of the tasks used, in order

	CITasks Interval[Tasks]
	CIRuns  Interval[Runs]
	CIBoth  Interval[Both] // the headline
	CI90    Interval[Both] // the 90% interval that the equivalence test reads
	PTasks  float64        // a p value goes with its interval: where that is not shown, neither is it (Interval.P)
	PRuns   float64
	PBoth   float64

	// Variance terms of Delta (package comment) and their degrees of freedom. DFRuns is 0 without a second run.
	S2D, S2Run, MSRT             float64
	VTask, VRuns, VInt, VArmTask float64
	DFTasks, DFRuns              int

	Components         Components
	F                  FTest      // do run means differ more than run × task noise explains?
	RunSD              float64    // of one run's mean, pooled over the arms
	RunSDRange         [2]float64 // its 95% interval from the χ² distribution
	Wins, Losses, Ties int        // tasks on which B did better, worse, the same
	SignP              float64    // exact sign test on them: these models, new tasks

	Verdict Verdict
	Reason  string // why the verdict is unresolved or degenerate, when the design or what the runs are decided, and not the numbers
	moments moments
}

// Kind is how the runs of the two sides relate.
type Kind int

const (
	TwoArms    Kind = iota // each side was trained by itself
	FixedModel             // side A is one model that training does not change, such as the base model
	SameRuns               // both sides are the same trained models, asked in two ways
)

// Compare is B − A for two arms whose runs were trained separately. Task t of every run of both is the same task. Tasks with a
// missing cell anywhere are left out and named in Dropped. margin is the difference that was declared, before training, to be too
// small to matter (0.02 is two points); the verdict "equivalent" needs it. Unequal numbers of runs and of samples are allowed.
func Compare(a, b Outcomes, margin float64) (Comparison, error) {
	return CompareArms(labelled("A", a), labelled("B", b), margin)
}

// CompareArms is Compare whose reasons call the arms and their runs by name.
func CompareArms(armA, armB ArmResults, margin float64) (Comparison, error) {
	a, b := armA.Outcomes, armB.Outcomes
	if err := a.check("A"); err != nil {
		return Comparison{}, err
	}
	if err := b.check("B"); err != nil {
		return Comparison{}, err
	}
	kept, dropped, err := align(margin, a.Rates(), b.Rates())
	if err != nil {
		return Comparison{}, err
	}
	c := twoArms(armOf(a, kept).called(armA.Name, armA.Runs), armOf(b, kept).called(armB.Name, armB.Runs), margin, dropped)
	c.Samples = append(pick(a, kept), pick(b, kept)...).Samples()
	return c, nil
}

// CompareRates is Compare for any number per run and task: pass@k, share of replies with talk, mean length. The margin is on
// that scale. Nothing is known about decoding noise, so the components that need it are NaN.
func CompareRates(a, b Rates, margin float64) (Comparison, error) {
	kept, dropped, err := align(margin, a, b)
	if err != nil {
		return Comparison{}, err
	}
	return twoArms(newArm(pick(a, kept)).called("A", nil), newArm(pick(b, kept)).called("B", nil), margin, dropped), nil
}

func twoArms(a, b Arm, margin float64, dropped []int) Comparison {
	c := Comparison{Kind: TwoArms, Margin: margin, A: a, B: b, Tasks: len(a.taskMeans), Dropped: dropped}
	c.taskDeltas()
	if a.Runs < 2 || b.Runs < 2 {
		if a.Runs != b.Runs {
			c.Reason = "one of the arms has one training run: run-to-run variance is not estimable"
		}
		c.finish(nil, 0)
		return c
	}
	c.finish([]Arm{a, b}, 1/float64(a.Runs)+1/float64(b.Runs))
	return c
}

// align checks that all tables have the same tasks and finds those without a missing cell. The first two are A and B.
func align(margin float64, tables ...Rates) (kept, dropped []int, err error) {
	for i, r := range tables {
		name := fmt.Sprintf("pooled %d", i-1)
		if i < 2 {
			name = []string{"A", "B"}[i]
		}
		if err := r.check(name); err != nil {
			return nil, nil, err
		}
		if len(r[0]) != len(tables[0][0]) {
			return nil, nil, fmt.Errorf("arm A has %d tasks and arm %s %d: expected the same tasks in the same order", len(tables[0][0]), name, len(r[0]))
		}
	}
	if !(margin >= 0) || math.IsInf(margin, 0) {
		return nil, nil, fmt.Errorf("margin %v: expected a finite number ≥ 0, fixed before training", margin)
	}
	kept, dropped = complete(tables...)
	if len(kept) < 2 {
		return nil, nil, fmt.Errorf("%d of %d tasks are graded in every run: expected at least 2, since the variance between tasks needs two", len(kept), len(tables[0][0]))
	}
	return kept, dropped, nil
}

func (c *Comparison) taskDeltas() {
	c.TaskDeltas = make([]float64, c.Tasks)
	for t := range c.TaskDeltas {
		d := c.B.taskMeans[t] - c.A.taskMeans[t]
		if math.Abs(d) < 1e-13*max(1, math.Abs(c.A.taskMeans[t])) {
			d = 0 // the rounding of equal means is a tie
		}
		c.TaskDeltas[t] = d
		switch {
		case d > 0:
			c.Wins++
		case d < 0:
			c.Losses++
		default:
			c.Ties++
		}
	}
	c.SignP = SignTest(c.Wins, c.Losses)
	c.Delta = c.B.Mean - c.A.Mean
	if math.Abs(c.Delta) < 1e-13*max(1, math.Abs(c.A.Mean)) {
		c.Delta = 0
	}
}

// finish computes everything that follows from the variance between runs. spread lists the arms that show it, each with the weight of
// its degrees of freedom; share is what turns one run's variance into that of Delta: 1/R_A + 1/R_B for two arms.
func (c *Comparison) finish(spread []Arm, share float64) {
	decode := 0.0
	compared := spread
	if c.Kind == FixedModel {
		compared = spread[:1] // the others only lend their spread
	}
	if why := copied(compared); why != "" {
		c.Reason, spread = why, nil // copies say as little of training again as one run does
	} else if c.Kind == TwoArms && len(spread) == 2 {
		if why := exchanged(spread[0], spread[1]); why != "" {
			c.Reason, spread = why, nil
		}
	}
	for _, a := range spread {
		if a.Runs > 1 {
			c.S2Run += float64(float64(a.Runs-1) * a.S2Run)
			c.MSRT += float64(float64(a.Runs-1) * a.MSRT)
			decode += float64(float64(a.Runs-1) * a.Decode)
			c.DFRuns += a.Runs - 1
		}
	}
	if c.DFRuns > 0 {
		c.S2Run /= float64(c.DFRuns)
		c.MSRT /= float64(c.DFRuns)
		decode /= float64(c.DFRuns)
	}
	if c.DFRuns == 0 && c.Reason == "" {
		c.Reason = "one training run per arm: run-to-run variance is not estimable"
	}
	n := float64(c.Tasks)
	c.DFTasks = c.Tasks - 1
	c.S2D = snap(variance(c.TaskDeltas), c.A.Mean)
	c.VTask = c.S2D / n
	m := moments{delta: c.Delta, vTask: c.VTask, n: c.Tasks, dfRuns: c.DFRuns}
	c.CITasks = around[Tasks](c.Delta, m.halfTasks(alpha), Level)
	c.PTasks = m.pTasks()
	if c.DFRuns == 0 {
		nan := math.NaN()
		c.S2Run, c.MSRT, c.VRuns, c.VInt, c.VArmTask = nan, nan, nan, nan, nan
		c.PRuns, c.PBoth, c.RunSD, c.RunSDRange = nan, nan, nan, [2]float64{nan, nan}
		c.F = FTest{F: nan, P: nan}
		c.CIRuns, c.CIBoth, c.CI90 = absent[Runs](c.Reason), absent[Both](c.Reason), absent[Both](c.Reason)
	} else {
		m.vRuns = float64(c.S2Run * share)
		m.vInt = float64(c.MSRT*share) / n
		c.VRuns, c.VInt, c.VArmTask = m.vRuns, m.vInt, m.vArmTask()
		c.CIRuns = around[Runs](c.Delta, m.halfRuns(alpha), Level)
		c.CIBoth = around[Both](c.Delta, m.halfBoth(alpha), Level)
		c.CI90 = around[Both](c.Delta, m.halfBoth(0.10), 0.90)
		c.PRuns, c.PBoth = m.pRuns(), m.pBoth()
		c.RunSD = math.Sqrt(c.S2Run)
		c.RunSDRange = sdRange(c.RunSD, c.DFRuns)
		c.F = fTest(c.S2Run, c.MSRT, c.DFRuns, c.Tasks)
	}
	if c.DFRuns > 0 && c.S2Run == 0 && c.MSRT == 0 && c.VTask > 0 {
		// Run means that agree by chance leave run × task noise, which the term of the tasks holds. Without that either, ci_both would be
		// ci_tasks under a name that promises more.
		c.Reason = "no two runs of an arm differ on any task: the spread between training runs cannot be estimated"
		c.CIBoth, c.CI90 = absent[Both](c.Reason), absent[Both](c.Reason)
	}
	c.moments = m
	c.Components = newComponents(c, share, decode)
	var reason string
	c.Verdict, reason = decide(c.CIBoth, c.CI90, c.Margin)
	if c.Reason == "" {
		c.Reason = reason
	}
}

// HalfBoth is the half-width of ci_both before and after the guard that keeps it at least as wide as ci_tasks.
func (c Comparison) HalfBoth() (guarded, unguarded float64) {
	if c.DFRuns == 0 {
		return math.NaN(), math.NaN()
	}
	return c.moments.halfBoth(alpha), c.moments.halfUnguarded(alpha)
}
