package cell

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"gonum.org/v1/plot/plotter"
)

// A figure of the report and a plot of the reader's: one element with a size, a ground and words, and it is XML.
func TestSVG(t *testing.T) {
	p := NewPlot("A & B", "x", "y")
	line, err := plotter.NewLine(plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}})
	if err != nil {
		t.Fatal(err)
	}
	p.Add(line)
	plot, err := plotOutput(p, 300, 200)
	if err != nil {
		t.Fatal(err)
	}
	again, err := plotOutput(p, 300, 200)
	if err != nil || again != plot {
		t.Errorf("drawn twice, two different figures (%v)", err)
	}
	described, err := svgOutput([]byte(`<?xml version="1.0"?><svg viewBox="0 0 680 240"><title>T</title><desc>All &lt;of&gt; it.</desc><g/></svg>`), "x")
	if err != nil {
		t.Fatal(err)
	}
	bare, err := svgOutput([]byte(`<svg width="1" viewBox="0 0 3 4"><g/></svg>`), "a < b")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why   string
		got   output
		text  string
		parts []string
	}{
		{"a plot", plot, "A & B", []string{"<title>A &amp; B</title>", "var(--fig-ink,#", "prefers-color-scheme:dark", `<rect class="paper"`, "Liberation Sans,Arial"}},
		{"a figure with a description", described, "All <of> it.", []string{`<svg width="680" height="240" style="max-width:100%;height:auto" viewBox`, `<rect class="paper"`}},
		{"a figure without words, with a size", bare, "a < b", []string{`<svg width="1" viewBox`, "<title>a &lt; b</title>"}},
	} {
		if c.got.text != c.text {
			t.Errorf("%s: its text is %q, want %q", c.why, c.got.text, c.text)
		}
		for _, part := range c.parts {
			if !strings.Contains(c.got.rich, part) {
				t.Errorf("%s: no %s in\n%s", c.why, part, c.got.rich)
			}
		}
		if !strings.HasPrefix(c.got.rich, "<svg") {
			t.Errorf("%s begins with %.40q", c.why, c.got.rich)
		}
		for d := xml.NewDecoder(strings.NewReader(c.got.rich)); ; {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Errorf("%s is no XML: %v\n%s", c.why, err, c.got.rich)
				break
			}
		}
	}
}

// A section ends at the next heading of any level; its figures stand where the text has them.
func TestSections(t *testing.T) {
	files := map[string][]byte{"figures/a.svg": []byte(`<svg viewBox="0 0 1 1"><title>A</title></svg>`)}
	md := "# T\n\n## One\n\nfirst\n\n![alt](figures/a.svg)\n\nlast\n\n### Two\n\nmore\n"
	text, err := section(md, "One")
	if err != nil || text != "## One\n\nfirst\n\n![alt](figures/a.svg)\n\nlast" {
		t.Errorf("found %q, %v", text, err)
	}
	all, err := pieces(text, files)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, p := range all {
		kinds = append(kinds, string(p.mime)+" "+p.text)
	}
	want := "text/markdown ## One\n\nfirst|image/svg+xml A|text/markdown last"
	if got := strings.Join(kinds, "|"); got != want {
		t.Errorf("found %q, want %q", got, want)
	}
	if _, err := section(md, "Three"); err == nil || !strings.Contains(err.Error(), `"Two"`) {
		t.Errorf("found %v, want an error that lists the sections", err)
	}
	if _, err := pieces("![alt](figures/b.svg)", files); err == nil || !strings.Contains(err.Error(), "b.svg") {
		t.Errorf("found %v, want an error that names the figure", err)
	}
}
