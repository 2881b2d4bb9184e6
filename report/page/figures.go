package page

import (
	"math"
	"slices"

	"teamtalk/recipe/experiment"
	"teamtalk/report/analysis"
	"teamtalk/report/figure"
)

// contrastTitles name the comparisons between the arms.
var contrastTitles = map[string]string{
	analysis.Primary: "Each arm under its own prompt",
	analysis.Plain:   "Both arms under the plain prompt",
	analysis.Test:    "Own prompts, whole test split",
}

func forest(an *analysis.Report) (figure.Figure, bool, error) {
	var rows []figure.ForestRow
	for _, key := range []string{analysis.Primary, analysis.Plain, analysis.Test} {
		c, ok := an.Contrasts[key]
		if !ok {
			continue
		}
		var dots []float64
		for _, r := range c.RunsB {
			dots = append(dots, float64(r-c.MeanA))
		}
		d := float64(c.Delta)
		rows = append(rows,
			figure.ForestRow{Group: contrastTitles[key], Scope: c.CITasks.Key(), Label: c.CITasks.Over(), Point: d, Lo: max(-1, c.CITasks.Lo()), Hi: min(1, c.CITasks.Hi()), Why: c.CITasks.Why()},
			figure.ForestRow{Group: contrastTitles[key], Scope: c.CIRuns.Key(), Label: c.CIRuns.Over(), Point: d, Lo: max(-1, c.CIRuns.Lo()), Hi: min(1, c.CIRuns.Hi()), Why: c.CIRuns.Why()},
			figure.ForestRow{Group: contrastTitles[key], Scope: c.CIBoth.Key(), Label: c.CIBoth.Over(), Point: d, Lo: max(-1, c.CIBoth.Lo()), Hi: min(1, c.CIBoth.Hi()), Why: c.CIBoth.Why(), Dots: dots, Head: true})
	}
	if len(rows) == 0 {
		return figure.Figure{}, false, nil
	}
	f, err := figure.Forest(rows, an.Plan.Margin)
	return f, true, err
}

// series is the colour and the dash of a run.
func series(an *analysis.Report, arm string, run int) figure.Series {
	return figure.Series{Arm: slices.IndexFunc(an.Plan.Arms, func(a experiment.Arm) bool { return a.Name == arm }), Run: run}
}

func dumbbell(an *analysis.Report) (figure.Figure, bool, error) {
	var ways []figure.Way
	for _, a := range an.Plan.Arms {
		before, after := an.Rows["base-"+a.Name], an.Rows[a.Name+"-"+a.Name]
		if before == nil || after == nil {
			continue
		}
		w := figure.Way{Label: Visible(a.Display), Series: series(an, a.Name, 0), Before: float64(before.Mean), After: float64(after.Mean),
			BeforeTalk: float64(before.Share.Talk.Rate), AfterTalk: float64(after.Share.Talk.Rate)}
		for _, name := range after.Evals {
			e := an.Evals[name]
			w.Runs, w.RunsTalk = append(w.Runs, float64(e.Share.Right.Rate)), append(w.RunsTalk, float64(e.Share.Talk.Rate))
		}
		ways = append(ways, w)
	}
	if len(ways) == 0 {
		return figure.Figure{}, false, nil
	}
	f, err := figure.Dumbbell(ways)
	return f, true, err
}

func histogram(an *analysis.Report) (figure.Figure, bool, error) {
	c, ok := an.Contrasts[analysis.Primary]
	if !ok {
		return figure.Figure{}, false, nil
	}
	f, err := figure.Histogram(c.Stats.TaskDeltas)
	return f, true, err
}

// curveWindow is the width of the centred mean in the training curves, in steps.
const curveWindow = 5

func curves(an *analysis.Report) (figure.Figure, bool, error) {
	var runs []figure.Run
	panels := []figure.Panel{{Title: "Reward (share right)", Decimals: 3, Share: true}, {Title: "Mean length (tokens)", Decimals: 0},
		{Title: "Share of replies cut off", Decimals: 3, Share: true}, {Title: "Share of replies that talk", Decimals: 3, Share: true}}
	keys := []string{analysis.Reward, analysis.Length, analysis.Clipped, analysis.Talk}
	perArm := map[string]int{}
	for _, name := range an.CurveOrder {
		c := an.Curves[name]
		if len(c.Steps) == 0 {
			continue
		}
		runs = append(runs, figure.Run{Name: name, Series: series(an, c.Arm, perArm[c.Arm])})
		perArm[c.Arm]++
		for i, key := range keys {
			v := make([]float64, c.Steps[len(c.Steps)-1])
			for j := range v {
				v[j] = math.NaN()
			}
			for j, s := range c.Steps {
				v[s-1] = float64(c.Values[key][j])
			}
			panels[i].Values = append(panels[i].Values, v)
		}
	}
	if len(runs) == 0 {
		return figure.Figure{}, false, nil
	}
	f, err := figure.Curves(runs, panels, curveWindow)
	return f, true, err
}
