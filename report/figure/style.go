// Package figure draws the write-up's figures with gonum/plot in one style: sans serif, a light grid, the colour-blind-safe palette of Okabe and Ito,
// nothing clipped at the frame. Every figure comes with a title, a description in words and its data as a table, all three made from the same
// numbers as the drawing, so that a reader who does not see it loses nothing.
//
// One SVG serves light and dark: colours are CSS variables, with the light value as fallback. The same input gives the same bytes.
package figure

import (
	"bytes"
	"fmt"
	"image/color"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is one drawing and its words.
type Figure struct {
	ID    string     // "forest"
	Title string     // one line
	Desc  string     // what the drawing shows, with its numbers
	Data  [][]string // a header row and the data
	SVG   []byte     // an <svg> element: viewBox, no size, title and desc inside
}

// ink is a colour of the style: a CSS variable with its values in light and dark.
type ink struct {
	name, light, dark string
}

// The palette. Light values are the ones drawn with; svg() turns them into variables.
var palette = []ink{
	{"ink", "#1B1F24", "#E6EAEE"},
	{"quiet", "#57606A", "#9AA4AE"},
	{"grid", "#D8DEE4", "#3A424B"},
	{"band", "#E8EDF2", "#2A323B"},
	{"base", "#6E7781", "#A9B3BD"},
	{"arm0", "#0072B2", "#56B4E9"},
	{"arm1", "#B84E00", "#F0A048"}, // Okabe-Ito vermillion, darker on light paper for text contrast
	{"arm2", "#00795A", "#3ECFA0"},
	{"arm3", "#8A4A78", "#E2A6CF"},
}

// CSS declares the palette, for a page that holds figures.
func CSS() string {
	var light, dark strings.Builder
	for _, p := range palette {
		fmt.Fprintf(&light, "--fig-%s:%s;", p.name, p.light)
		fmt.Fprintf(&dark, "--fig-%s:%s;", p.name, p.dark)
	}
	return ":root{" + light.String() + "}\n@media (prefers-color-scheme:dark){:root{" + dark.String() + "}}\n@media print{:root{" + light.String() + "}}\n"
}

// Standalone is the SVG as a file of its own, with the palette inside.
func (f Figure) Standalone() []byte {
	return bytes.Replace(f.SVG, []byte("</desc>"), []byte("</desc>\n<style>"+CSS()+"</style>"), 1)
}

func rgb(name string) color.NRGBA {
	for _, p := range palette {
		if p.name == name {
			var c color.NRGBA
			fmt.Sscanf(p.light, "#%02X%02X%02X", &c.R, &c.G, &c.B)
			c.A = 255
			return c
		}
	}
	panic("figure: no colour is called " + name) // a misspelt constant of this package
}

func faded(name string, alpha uint8) color.NRGBA {
	c := rgb(name)
	c.A = alpha
	return c
}

// Series tells arms and runs apart: an arm has a colour, a run of it a dash.
type Series struct {
	Arm int // index of the arm; -1 is the untrained model
	Run int // index of the run in its arm
}

func (s Series) colour() string {
	if s.Arm < 0 {
		return "base"
	}
	return fmt.Sprintf("arm%d", s.Arm%4)
}

func (s Series) dashes() []vg.Length {
	return [][]vg.Length{nil, {5, 3}, {1.5, 2.5}, {7, 2, 1.5, 2}}[s.Run%4]
}

const (
	textSize  = 11
	smallSize = 10
)

func face(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

func textStyle(size vg.Length, colour string) text.Style {
	return text.Style{Color: rgb(colour), Font: face(size), Handler: plot.DefaultTextHandler}
}

// newPlot is plot.New in the style.
func newPlot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.Transparent
	p.Title.TextStyle.Font, p.Title.TextStyle.Color = face(textSize), rgb("ink")
	p.Title.Padding = 6
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Color = rgb("quiet")
		a.LineStyle.Width = 0.75
		a.Label.TextStyle.Font, a.Label.TextStyle.Color = face(smallSize), rgb("quiet")
		a.Label.Padding = 4
		a.Tick.Label.Font, a.Tick.Label.Color = face(smallSize), rgb("quiet")
		a.Tick.LineStyle.Color, a.Tick.LineStyle.Width, a.Tick.Length = rgb("grid"), 0.75, 3
		a.Padding = 5
	}
	g := plotter.NewGrid()
	g.Horizontal.Color, g.Vertical.Color = rgb("grid"), rgb("grid")
	g.Horizontal.Width, g.Vertical.Width = 0.5, 0.5
	p.Add(g)
	return p
}

// svg draws on a canvas of w by h points and returns the finished element.
func svg(id, title, desc string, w, h vg.Length, paint func(draw.Canvas)) ([]byte, error) {
	c := vgsvg.New(w, h)
	paint(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("figure %s: %w", id, err)
	}
	s := b.String()
	at := strings.Index(s, "<svg")
	end := strings.Index(s[at:], ">") + at + 1
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" role="img" aria-labelledby="%s-t %s-d">`+"\n<title id=\"%s-t\">%s</title>\n<desc id=\"%s-d\">%s</desc>",
		float64(w), float64(h), id, id, id, escape(title), id, escape(desc))
	body := s[end:]
	for _, p := range palette {
		body = strings.ReplaceAll(body, p.light, "var(--fig-"+p.name+","+p.light+")")
	}
	body = strings.ReplaceAll(body, "font-family:Liberation Sans;font-variant:normal;font-weight:normal;font-style:normal;", "font-family:Liberation Sans,Arial,Helvetica,sans-serif;")
	return []byte(head + body), nil
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

func escape(s string) string { return escaper.Replace(s) }

// ticks are labelled marks.
type ticks []plot.Tick

func (t ticks) Ticks(min, max float64) []plot.Tick { return t }

// niceTicks are about n round numbers with fixed decimals between min and max.
type niceTicks struct {
	n      int
	format func(float64) string
}

func (t niceTicks) Ticks(lo, hi float64) []plot.Tick {
	step := niceStep((hi - lo) / float64(t.n))
	if step <= 0 {
		return nil
	}
	var out []plot.Tick
	for i := int64(ceil(lo/step - 1e-9)); ; i++ {
		v := float64(i) * step
		if v > hi+step*1e-9 {
			return out
		}
		out = append(out, plot.Tick{Value: v, Label: t.format(v)})
	}
}
