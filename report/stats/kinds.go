package stats

import (
	"fmt"
	"math"
)

// CompareFixed is arm − base where base is one model that this training does not produce, such as the untrained one: new training
// runs move only the arm, so V_runs = S²_p/R. base may hold several evaluations of that same model; they are answers of one model
// and are averaged. The spread between runs has R−1 degrees of freedom, 1 at two runs, where t is 12.7; pooled lists other arms whose
// runs may be taken to spread alike, usually the experiment's other arm, and its degrees of freedom are added, unless its runs are copies. Task t is the same
// task everywhere; a task with a missing cell in any table is left out.
func CompareFixed(base, arm Outcomes, margin float64, pooled ...Outcomes) (Comparison, error) {
	tables := append([]Outcomes{base, arm}, pooled...)
	rates := make([]Rates, len(tables))
	for i, o := range tables {
		name := []string{"A", "B"}[min(i, 1)]
		if i > 1 {
			name = fmt.Sprintf("pooled %d", i-1)
		}
		if err := o.check(name); err != nil {
			return Comparison{}, err
		}
		rates[i] = o.Rates()
	}
	kept, dropped, err := align(margin, rates...)
	if err != nil {
		return Comparison{}, err
	}
	c := Comparison{Kind: FixedModel, Margin: margin, A: armOf(base, kept).oneModel(), B: armOf(arm, kept), Tasks: len(kept), Dropped: dropped}
	c.Samples = append(pick(base, kept), pick(arm, kept)...).Samples()
	c.taskDeltas()
	spread := []Arm{c.B}
	for _, o := range pooled {
		if lent := armOf(o, kept); len(lent.copies) == 0 {
			spread = append(spread, lent)
		}
	}
	c.finish(spread, 1/float64(c.B.Runs))
	return c, nil
}

// oneModel says that the runs of an arm are evaluations of one model: their spread is decoding noise and says nothing about
// training.
func (a Arm) oneModel() Arm {
	a.S2Run, a.MSRT = math.NaN(), math.NaN()
	return a
}

// CompareSameRuns is B − A where run i of both sides is the same trained model asked in two ways, such as under two prompts. The runs
// are crossed, so that each is its own control: the spread is that of the R differences, with R−1 degrees of freedom. At two runs
// that leaves a t of 12.7, and the sentence of such a comparison leads with ci_tasks and says that new runs are unresolved.
func CompareSameRuns(a, b Outcomes, margin float64) (Comparison, error) {
	for i, o := range []Outcomes{a, b} {
		if err := o.check([]string{"A", "B"}[i]); err != nil {
			return Comparison{}, err
		}
	}
	if len(a) != len(b) {
		return Comparison{}, fmt.Errorf("side A has %d runs and side B %d: expected the same trained models on both sides, in the same order", len(a), len(b))
	}
	kept, dropped, err := align(margin, a.Rates(), b.Rates())
	if err != nil {
		return Comparison{}, err
	}
	c := Comparison{Kind: SameRuns, Margin: margin, A: armOf(a, kept), B: armOf(b, kept), Tasks: len(kept), Dropped: dropped}
	c.Samples = append(pick(a, kept), pick(b, kept)...).Samples()
	c.taskDeltas()
	ya, yb := pick(a.Rates(), kept), pick(b.Rates(), kept)
	for i := range ya {
		for t := range ya[i] {
			yb[i][t] -= ya[i][t]
		}
	}
	differences := newArm(yb)
	differences.Decode = c.A.Decode + c.B.Decode
	c.finish([]Arm{differences}, 1/float64(len(a)))
	return c, nil
}
