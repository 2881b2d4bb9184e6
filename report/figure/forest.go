package figure

import (
	"fmt"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"teamtalk/report/stats"
)

// ForestRow is one interval of one comparison.
type ForestRow struct {
	Group  string // the comparison
	Scope  string // stats.Interval.Key
	Label  string // stats.Interval.Over
	Point  float64
	Lo, Hi float64   // NaN: no interval
	Why    string    // why not
	Dots   []float64 // of the headline row: each run of B minus the mean of A
	Head   bool      // the interval that the verdict reads
}

// Forest draws differences with their intervals, a dot for every run, and the margin as a band around zero. Rows come top to bottom.
func Forest(rows []ForestRow, margin float64) (Figure, error) {
	f := Figure{ID: "fig-forest", Title: "Differences between the arms, with three intervals each",
		Data: [][]string{{"Comparison", "Interval", "Difference", "From", "To", "Each run"}}}
	if len(rows) == 0 {
		return f, fmt.Errorf("figure: a forest plot of nothing")
	}
	xs := []float64{0, -margin, margin}
	var said []string
	var labels, headings ticks
	ys := make([]float64, len(rows))
	y := 0.0
	for i, r := range rows {
		if i == 0 || rows[i-1].Group != r.Group {
			headings = append(headings, plot.Tick{Value: y, Label: r.Group})
			y--
		}
		ys[i] = y
		labels = append(labels, plot.Tick{Value: y, Label: r.Label})
		y--
		xs = append(append(xs, r.Lo, r.Hi, r.Point), r.Dots...)
		dots := make([]string, len(r.Dots))
		for j, d := range r.Dots {
			dots[j] = stats.Signed(d, 3)
		}
		row := []string{r.Group, r.Scope, stats.Signed(r.Point, 3), "none: " + r.Why, "", strings.Join(dots, ", ")}
		if !math.IsNaN(r.Lo) {
			row[3], row[4] = stats.Signed(r.Lo, 3), stats.Signed(r.Hi, 3)
			if r.Head {
				said = append(said, fmt.Sprintf("%s: %s, from %s to %s %s.", r.Group, row[2], row[3], row[4], r.Label))
			}
		} else if r.Head {
			said = append(said, fmt.Sprintf("%s: %s, no interval %s.", r.Group, row[2], r.Label))
		}
		f.Data = append(f.Data, row)
	}
	f.Desc = fmt.Sprintf("Points with interval bars; zero means no difference, and the band from %s to %s is the margin fixed in the plan. %s",
		stats.Signed(-margin, 3), stats.Signed(margin, 3), strings.Join(said, " "))

	p := newPlot()
	lo, hi := span(0.06, xs...)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = lo, hi, y+0.4, 0.5
	p.X.Tick.Marker, p.Y.Tick.Marker = signedTicks(7, lo, hi), labels
	p.X.Label.Text = "difference in pass@1 (recipe minus baseline)"
	p.Y.LineStyle.Width, p.Y.Tick.Length = 0, 0
	band, err := plotter.NewPolygon(plotter.XYs{{X: -margin, Y: p.Y.Min}, {X: margin, Y: p.Y.Min}, {X: margin, Y: p.Y.Max}, {X: -margin, Y: p.Y.Max}})
	if err != nil {
		return f, fmt.Errorf("figure: %w", err)
	}
	band.Color, band.LineStyle.Width = rgb("band"), 0
	zero, err := plotter.NewLine(plotter.XYs{{X: 0, Y: p.Y.Min}, {X: 0, Y: p.Y.Max}})
	if err != nil {
		return f, fmt.Errorf("figure: %w", err)
	}
	zero.Color, zero.Width = rgb("quiet"), 1
	p.Add(band, zero)
	for i, r := range rows {
		colour, width := "quiet", vg.Length(1.5)
		if r.Head {
			colour, width = "arm1", 3
		}
		if !math.IsNaN(r.Lo) {
			bar, err := plotter.NewLine(plotter.XYs{{X: r.Lo, Y: ys[i]}, {X: r.Hi, Y: ys[i]}})
			if err != nil {
				return f, fmt.Errorf("figure: %w", err)
			}
			bar.Color, bar.Width = rgb(colour), width
			p.Add(bar)
		}
		if err := points(p, []float64{r.Point}, ys[i], rgb(colour), 4, draw.CircleGlyph{}); err != nil {
			return f, err
		}
		if err := points(p, r.Dots, ys[i]+0.4, rgb("arm1"), 3, draw.RingGlyph{}); err != nil {
			return f, err
		}
	}
	height := vg.Length(56 - 23*y)
	f.SVG, err = svg(f.ID, f.Title, f.Desc, 680, height, func(c draw.Canvas) {
		c = draw.Crop(c, 4, -2, 0, 0)
		p.Draw(c)
		da := p.DataCanvas(c)
		_, tr := p.Transforms(&da)
		for _, h := range headings {
			c.FillText(textStyle(textSize, "ink"), vg.Point{X: c.Min.X + 2, Y: tr(h.Value) - 4}, h.Label)
		}
	})
	return f, err
}

func points(p *plot.Plot, xs []float64, y float64, colour color.Color, radius vg.Length, shape draw.GlyphDrawer) error {
	var xy plotter.XYs
	for _, x := range xs {
		if !math.IsNaN(x) {
			xy = append(xy, plotter.XY{X: x, Y: y})
		}
	}
	if len(xy) == 0 {
		return nil
	}
	s, err := plotter.NewScatter(xy)
	if err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	s.GlyphStyle = draw.GlyphStyle{Color: colour, Radius: radius, Shape: shape}
	p.Add(s)
	return nil
}
