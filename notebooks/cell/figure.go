package cell

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"regexp"
	"strings"

	"teamtalk/report/figure"

	"github.com/janpfeifer/gonb/gonbui/protocol"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure shows a figure of package figure.
func Figure(f figure.Figure) { SVG(f.Standalone(), f.Title) }

// SVG shows an SVG; text is its title if it has none.
func SVG(svg []byte, text string) { show(Must(svgOutput(svg, text))) }

// palette is package figure's, by name; its light values are what is drawn with.
var palette = func() map[string]string {
	colours := map[string]string{}
	light, _, _ := strings.Cut(figure.CSS(), "}")
	for _, m := range regexp.MustCompile(`--fig-(\w+):(#[0-9A-F]{6});`).FindAllStringSubmatch(light, -1) {
		colours[m[1]] = m[2]
	}
	return colours
}()

func ink(name string) color.NRGBA {
	c := color.NRGBA{A: 255}
	_, err := fmt.Sscanf(palette[name], "#%02X%02X%02X", &c.R, &c.G, &c.B)
	OK(err)
	return c
}

// NewPlot begins a plot of gonum's in the style of the report: without serifs, on a light grid. Title, axes, labels and grid
// follow the reader's light or dark system; what is added has the colours that it is given.
func NewPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.Transparent
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = 6
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Color, a.Tick.Color, a.Padding = ink("quiet"), ink("quiet"), 5
	}
	for _, t := range []*text.Style{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle,
		&p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		t.Font.Variant, t.Font.Size, t.Color = "Sans", 11, ink("ink")
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = ink("grid"), ink("grid")
	p.Add(grid)
	return p
}

// Plot shows a plot, width by height in points.
func Plot(p *plot.Plot, width, height vg.Length) { show(Must(plotOutput(p, width, height))) }

func plotOutput(p *plot.Plot, width, height vg.Length) (output, error) {
	c := vgsvg.New(width, height)
	p.Draw(draw.Crop(draw.New(c), 6, -6, 6, -6))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return output{}, err
	}
	s := b.String()
	for name, light := range palette {
		s = strings.ReplaceAll(s, light, "var(--fig-"+name+","+light+")")
	}
	// Liberation Sans has Arial's widths, so that the text fits where only Arial or Helvetica is installed.
	s = strings.ReplaceAll(s, "font-family:Liberation Sans;", "font-family:Liberation Sans,Arial,Helvetica,sans-serif;")
	at := svgTag.FindStringIndex(s)
	return svgOutput([]byte(s[:at[1]]+"\n<title>"+html.EscapeString(p.Title.Text)+"</title><style>"+figure.CSS()+"</style>"+s[at[1]:]), p.Title.Text)
}

var (
	svgTag   = regexp.MustCompile(`(?s)<svg\b[^>]*>`)
	viewBox  = regexp.MustCompile(`viewBox="0 0 ([0-9.]+) ([0-9.]+)"`)
	svgTitle = regexp.MustCompile(`(?s)<title\b[^>]*>(.*?)</title>`)
	svgDesc  = regexp.MustCompile(`(?s)<desc\b[^>]*>(.*?)</desc>`)
)

// paper is the figure's own ground. A notebook's theme and the reader's system may disagree about light and dark; with its own
// ground a figure is readable on either.
const paper = `<style>.paper{fill:#FFFFFF}@media (prefers-color-scheme:dark){.paper{fill:#14181D}}@media print{.paper{fill:#FFFFFF}}</style>` +
	`<rect class="paper" width="100%" height="100%"/>`

// svgOutput makes an SVG fit for a notebook: only the element, a size, a title and a ground. Its alternative text is its own
// description, else its title, which is the one given if it has none.
func svgOutput(svg []byte, title string) (output, error) {
	s := string(svg)
	at := svgTag.FindStringIndex(s)
	if at == nil {
		return output{}, fmt.Errorf("expected an SVG with an <svg> element, found %.60q", s)
	}
	tag, body := s[at[0]:at[1]], s[at[1]:]
	if size := viewBox.FindStringSubmatch(tag); size != nil && !strings.Contains(tag, " width=") {
		tag = strings.Replace(tag, "<svg", fmt.Sprintf(`<svg width="%s" height="%s" style="max-width:100%%;height:auto"`, size[1], size[2]), 1)
	}
	if !svgTitle.MatchString(body) {
		body = "\n<title>" + html.EscapeString(title) + "</title>" + body
	}
	for _, words := range []*regexp.Regexp{svgTitle, svgDesc} {
		if m := words.FindStringSubmatch(body); m != nil && strings.TrimSpace(m[1]) != "" {
			title = html.UnescapeString(m[1])
		}
	}
	end := strings.Index(body, "</title>") + len("</title>")
	return output{protocol.MIMEImageSVG, tag + body[:end] + paper + body[end:], strings.TrimSpace(title)}, nil
}
