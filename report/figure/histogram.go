package figure

import (
	"fmt"
	"math"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"teamtalk/report/stats"
)

// Histogram draws on how many tasks the arms differ by how much. The differences are multiples of 1/(runs × samples), so that every bar is one
// value or, from twenty bars on, an equal range; the bar at zero holds the ties.
func Histogram(deltas []float64) (Figure, error) {
	f := Figure{ID: "fig-histogram", Title: "Differences task by task", Data: [][]string{{"Difference", "Tasks"}}}
	if len(deltas) == 0 {
		return f, fmt.Errorf("figure: a histogram of nothing")
	}
	// Bars are centred on multiples of width, so that zero has a bar of its own.
	width := 1.0
	for _, d := range deltas {
		if a := math.Abs(d); a > 1e-9 {
			width = min(width, a)
		}
	}
	width = max(width, 0.1)
	counts := map[int]int{}
	lo, hi, wins, losses := 0, 0, 0, 0
	for _, d := range deltas {
		k := int(math.Round(d / width))
		counts[k]++
		lo, hi = min(lo, k), max(hi, k)
		switch {
		case d > 1e-9:
			wins++
		case d < -1e-9:
			losses++
		}
	}
	p := newPlot()
	top := 0
	for k := lo; k <= hi; k++ {
		n := counts[k]
		top = max(top, n)
		f.Data = append(f.Data, []string{stats.Signed(float64(k)*width, 3), fmt.Sprint(n)})
		if n == 0 {
			continue
		}
		colour := map[bool]string{true: "arm1", false: "arm0"}[k > 0]
		if k == 0 {
			colour = "base"
		}
		x0, x1 := (float64(k)-0.42)*width, (float64(k)+0.42)*width
		bar, err := plotter.NewPolygon(plotter.XYs{{X: x0, Y: 0}, {X: x1, Y: 0}, {X: x1, Y: float64(n)}, {X: x0, Y: float64(n)}})
		if err != nil {
			return f, fmt.Errorf("figure: %w", err)
		}
		bar.Color, bar.LineStyle.Width = rgb(colour), 0
		p.Add(bar)
	}
	edge := max(float64(-lo), float64(hi)) + 0.7
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -edge*width, edge*width, 0, float64(top)*1.05
	p.X.Tick.Marker, p.Y.Tick.Marker = signedTicks(9, p.X.Min, p.X.Max), plainTicks(4, 0, p.Y.Max)
	p.X.Label.Text, p.Y.Label.Text = "recipe minus baseline, share of right replies to one task", "tasks"
	ties := len(deltas) - wins - losses
	f.Desc = fmt.Sprintf("%d tasks: the recipe does better on %d, the baseline on %d, and on %d they are equal.", len(deltas), wins, losses, ties)
	var err error
	f.SVG, err = svg(f.ID, f.Title, f.Desc, 680, 220, func(c draw.Canvas) { p.Draw(draw.Crop(c, 0, -4, 0, vg.Length(-6))) })
	return f, err
}
