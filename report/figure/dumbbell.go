package figure

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"teamtalk/report/stats"
)

// Way is what one arm went through: the untrained model under its prompt, then trained. Values are shares.
type Way struct {
	Label         string
	Series        Series
	Before, After float64
	Runs          []float64 // after, each run
	BeforeTalk    float64
	AfterTalk     float64
	RunsTalk      []float64
}

// Dumbbell draws, for pass@1 and for the share of conversations, where each arm started and where it ended.
func Dumbbell(ways []Way) (Figure, error) {
	f := Figure{ID: "fig-dumbbell", Title: "From the untrained model to the trained ones, accuracy and talk",
		Data: [][]string{{"Arm", "Measure", "Untrained", "Trained, mean", "Trained, each run"}}}
	if len(ways) == 0 {
		return f, fmt.Errorf("figure: a dumbbell plot of nothing")
	}
	var said []string
	panels := []*plot.Plot{newPlot(), newPlot()}
	for k, p := range panels {
		p.Title.Text = []string{"pass@1", "share of replies that talk"}[k]
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, float64(1-len(ways))-0.6, 0.6
		p.X.Tick.Marker = plainTicks(5, 0, 1)
		p.Y.LineStyle.Width, p.Y.Tick.Length = 0, 0
		var labels ticks
		for i, w := range ways {
			y := float64(-i)
			label := ""
			if k == 0 {
				label = w.Label
			}
			labels = append(labels, plot.Tick{Value: y, Label: label})
			before, after, runs := w.Before, w.After, w.Runs
			if k == 1 {
				before, after, runs = w.BeforeTalk, w.AfterTalk, w.RunsTalk
			}
			each := make([]string, len(runs))
			for j, r := range runs {
				each[j] = stats.Fixed(r, 3)
			}
			f.Data = append(f.Data, []string{w.Label, p.Title.Text, stats.Fixed(before, 3), stats.Fixed(after, 3), strings.Join(each, ", ")})
			said = append(said, fmt.Sprintf("%s, %s: %s untrained, %s trained.", w.Label, p.Title.Text, stats.Fixed(before, 3), stats.Fixed(after, 3)))
			if !math.IsNaN(before) && !math.IsNaN(after) {
				line, err := plotter.NewLine(plotter.XYs{{X: before, Y: y}, {X: after, Y: y}})
				if err != nil {
					return f, fmt.Errorf("figure: %w", err)
				}
				line.Color, line.Width = faded(w.Series.colour(), 130), 3
				p.Add(line)
			}
			for _, d := range []struct {
				xs    []float64
				c     string
				r     vg.Length
				shape draw.GlyphDrawer
				dy    float64
			}{{[]float64{before}, "base", 5, draw.CircleGlyph{}, 0}, {[]float64{after}, w.Series.colour(), 5, draw.CircleGlyph{}, 0},
				{runs, w.Series.colour(), 3, draw.RingGlyph{}, 0.28}} {
				if err := points(p, d.xs, y+d.dy, rgb(d.c), d.r, d.shape); err != nil {
					return f, err
				}
			}
		}
		p.Y.Tick.Marker = labels
	}
	f.Desc = "Grey: the untrained model under the arm's prompt. Coloured: the mean of the trained runs, with a ring for every run. " + strings.Join(said, " ")
	var err error
	f.SVG, err = svg(f.ID, f.Title, f.Desc, 680, vg.Length(70+44*len(ways)), func(c draw.Canvas) {
		left := c.Max.X*0.57 - c.Min.X
		panels[0].Draw(draw.Crop(c, 0, left-c.Max.X, 0, 0))
		panels[1].Draw(draw.Crop(c, left+8, -6, 0, 0))
	})
	return f, err
}
