package stats

// Mean is one arm's mean over runs and tasks with its three intervals.
type Mean struct {
	Value   float64
	CITasks Interval[Tasks]
	CIRuns  Interval[Runs]
	CIBoth  Interval[Both]
	DFRuns  int
}

// ArmMean is the mean of one arm by itself. The formulas are those of a difference from a model that gets nothing right; pooled lists
// other arms whose runs may be taken to spread alike, which adds their degrees of freedom. When every answer is the same no variance
// can be estimated: then ci_tasks is the exact bound on tasks and the others are absent.
func ArmMean(arm Outcomes, pooled ...Outcomes) (Mean, error) {
	if err := arm.check("of the mean"); err != nil {
		return Mean{}, err
	}
	nothing := make([]Cell, len(arm[0]))
	for t := range nothing {
		nothing[t] = Cell{0, 1}
	}
	c, err := CompareFixed(Outcomes{nothing}, arm, 0, pooled...)
	if err != nil {
		return Mean{}, err
	}
	m := Mean{Value: c.Delta, DFRuns: c.DFRuns, CITasks: ofShare[Tasks](c.CITasks.Lo(), c.CITasks.Hi())}
	if c.Delta == 0 || c.Delta == 1 {
		k := 0
		if c.Delta == 1 {
			k = c.Tasks
		}
		m.CITasks = ofShare[Tasks](ClopperPearson(k, c.Tasks))
		why := "every answer of every run was graded the same, so that no variance can be estimated"
		m.CIRuns, m.CIBoth = absent[Runs](why), absent[Both](why)
		return m, nil
	}
	if !c.CIBoth.OK() {
		m.CIRuns, m.CIBoth = absent[Runs](c.Reason), absent[Both](c.Reason)
		return m, nil
	}
	m.CIRuns = ofShare[Runs](c.CIRuns.Lo(), c.CIRuns.Hi())
	m.CIBoth = ofShare[Both](c.CIBoth.Lo(), c.CIBoth.Hi())
	return m, nil
}
