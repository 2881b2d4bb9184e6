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

// Run is one training run of a curve figure.
type Run struct {
	Name   string
	Series Series
}

// Panel is one metric over steps, one series per run. NaN is a step without a value.
type Panel struct {
	Title    string
	Unit     string // words for the description, e.g. "tokens"
	Decimals int
	Share    bool        // the axis is 0 to 1
	Values   [][]float64 // [run][step-1]
}

// Curves draws every panel over the steps: raw values as points, and their centred mean over window steps as a line. There is no exponential
// average: it lags, and what it shows depends on how far it is along.
func Curves(runs []Run, panels []Panel, window int) (Figure, error) {
	f := Figure{ID: "fig-curves", Title: "Training, step by step, every run", Data: [][]string{{"Metric", "Run", "First quarter", "Last quarter"}}}
	steps := 0
	for _, p := range panels {
		for _, v := range p.Values {
			steps = max(steps, len(v))
		}
	}
	if steps == 0 || len(runs) == 0 {
		return f, fmt.Errorf("figure: curves without a step")
	}
	f.Desc = fmt.Sprintf("%d panels over %d steps. Points are single steps, lines their centred mean over %d steps.", len(panels), steps, window)
	grid := make([][]*plot.Plot, (len(panels)+1)/2)
	for i := range grid {
		grid[i] = make([]*plot.Plot, 2)
	}
	for k, panel := range panels {
		p := newPlot()
		p.X.Min, p.X.Max = 0, float64(steps)+1
		p.X.Tick.Marker = niceTicks{5, func(v float64) string { return stats.Fixed(v, 0) }}
		if k >= len(panels)-2 {
			p.X.Label.Text = "step"
		}
		var all []float64
		said := panel.Title + ":"
		for r, v := range panel.Values {
			all = append(all, v...)
			q := max(1, len(v)/4)
			a, b := mean(v[:min(q, len(v))]), mean(v[max(0, len(v)-q):])
			f.Data = append(f.Data, []string{panel.Title, runs[r].Name, stats.Fixed(a, panel.Decimals), stats.Fixed(b, panel.Decimals)})
			said += fmt.Sprintf(" %s %s to %s,", runs[r].Name, stats.Fixed(a, panel.Decimals), stats.Fixed(b, panel.Decimals))
			if err := curve(p, v, window, runs[r].Series); err != nil {
				return f, err
			}
		}
		f.Desc += " " + said[:len(said)-1] + "."
		if panel.Share {
			p.Y.Min, p.Y.Max = 0, 1
		} else {
			p.Y.Min, p.Y.Max = span(0.05, all...)
		}
		p.Y.Tick.Marker = plainTicks(5, p.Y.Min, p.Y.Max)
		grid[k/2][k%2] = p
	}
	f.Desc += " Numbers are means over the first and the last quarter of the steps."
	var err error
	f.SVG, err = svg(f.ID, f.Title, f.Desc, 680, vg.Length(40+200*len(grid)), func(c draw.Canvas) {
		legend(c, runs)
		c = draw.Crop(c, 0, 0, 0, -30)
		canvases := plot.Align(grid, draw.Tiles{Rows: len(grid), Cols: 2, PadX: 18, PadY: 26, PadTop: 18, PadRight: 4}, c)
		for i, row := range grid {
			for j, p := range row {
				if p == nil {
					continue
				}
				p.Draw(canvases[i][j])
				// The titles stand at one height above the frames; gonum/plot would put them above the tallest label.
				frame, title := p.DataCanvas(canvases[i][j]), textStyle(textSize, "ink")
				c.FillText(title, vg.Point{X: frame.Min.X, Y: frame.Max.Y + 9}, panels[2*i+j].Title)
			}
		}
	})
	return f, err
}

func curve(p *plot.Plot, v []float64, window int, s Series) error {
	var raw, smooth plotter.XYs
	for i, y := range v {
		if !math.IsNaN(y) {
			raw = append(raw, plotter.XY{X: float64(i + 1), Y: y})
		}
		if m := mean(v[max(0, i-window/2):min(len(v), i+window/2+1)]); !math.IsNaN(m) {
			smooth = append(smooth, plotter.XY{X: float64(i + 1), Y: m})
		}
	}
	if len(raw) == 0 {
		return nil
	}
	dots, err := plotter.NewScatter(raw)
	if err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	dots.GlyphStyle = draw.GlyphStyle{Color: faded(s.colour(), 90), Radius: 1.4, Shape: draw.CircleGlyph{}}
	line, err := plotter.NewLine(smooth)
	if err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	line.Color, line.Width, line.Dashes = rgb(s.colour()), 1.8, s.dashes()
	p.Add(dots, line)
	return nil
}

// legend names the runs in a line at the top. Where they do not fit, it says how many runs each colour stands for; the
// figure's table has every run by name.
func legend(c draw.Canvas, runs []Run) {
	style := textStyle(textSize, "ink")
	type entry struct {
		text  string
		style draw.LineStyle
	}
	var entries []entry
	width := vg.Length(0)
	for _, r := range runs {
		entries = append(entries, entry{r.Name, draw.LineStyle{Color: rgb(r.Series.colour()), Width: 2, Dashes: r.Series.dashes()}})
		width += 31 + style.Width(r.Name) + 18
	}
	if width > c.Max.X-c.Min.X {
		entries = nil
		for i, r := range runs {
			arm, _, _ := strings.Cut(r.Name, "-")
			n := 0
			for j, other := range runs {
				if name, _, _ := strings.Cut(other.Name, "-"); name == arm {
					if j < i {
						n = -len(runs) // named already
					}
					n++
				}
			}
			if n > 0 {
				entries = append(entries, entry{fmt.Sprintf("%s, %d runs", arm, n), draw.LineStyle{Color: rgb(r.Series.colour()), Width: 2}})
			}
		}
	}
	x, y := c.Min.X+8, c.Max.Y-16
	for _, e := range entries {
		c.StrokeLine2(e.style, x, y+4, x+26, y+4)
		c.FillText(style, vg.Point{X: x + 31, Y: y}, e.text)
		x += 31 + style.Width(e.text) + 18
	}
}

func mean(xs []float64) float64 {
	sum, n := 0.0, 0
	for _, x := range xs {
		if !math.IsNaN(x) {
			sum, n = sum+x, n+1
		}
	}
	return sum / float64(n)
}
