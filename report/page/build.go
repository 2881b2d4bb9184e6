package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf16"

	"teamtalk/recipe/artifact"
	"teamtalk/report/analysis"
	"teamtalk/report/audit"
	"teamtalk/report/figure"
)

// Document is report.json: the analysis, the checks and what the figures show.
type Document struct {
	*analysis.Report
	Checks  []artifact.Check      `json:"checks"`
	Tally   map[string]int        `json:"checks_by_status"` // measurements apart
	Figures map[string]FigureText `json:"figures"`
	// CurveWindow is the width of the centred mean in the training curves, in steps.
	CurveWindow int `json:"curve_window"`
}

// FigureText is a figure's words and data.
type FigureText struct {
	Title string     `json:"title"`
	Desc  string     `json:"desc"`
	Data  [][]string `json:"data"`
}

// Options are what the caller may add to a run folder.
type Options struct {
	// Learned replaces the built-in section Learned: a template like those in prose/. Its numbers must be bindings.
	Learned string
	// Questions are texts of tasks by hash, from a data set that the reader has; they appear on the page and in no other file.
	Questions map[string]string
}

// Files are the files of a report by name, with slashes.
type Files map[string][]byte

// Build makes all files of the report of one run folder.
func Build(fsys fs.FS, o Options) (Files, error) {
	rec, err := artifact.Load(fsys)
	if err != nil {
		return nil, err
	}
	return build(fsys, rec, o)
}

func build(fsys fs.FS, rec *artifact.Record, o Options) (Files, error) {
	an, err := analysis.New(rec)
	if err != nil {
		return nil, err
	}
	doc := &Document{Report: an, CurveWindow: curveWindow, Figures: map[string]FigureText{}}
	doc.Checks = audit.Run(audit.Subject{Record: rec, Analysis: an, FS: fsys})
	doc.Tally = audit.Tally(doc.Checks)
	figs, err := figures(an)
	if err != nil {
		return nil, err
	}
	files := Files{}
	for _, f := range figs {
		doc.Figures[f.ID] = FigureText{f.Title, f.Desc, f.Data}
		files["figures/"+f.ID+".svg"] = f.Standalone()
	}
	reportJSON, err := marshal(doc)
	if err != nil {
		return nil, err
	}
	files["report.json"] = reportJSON
	sums := checksums(rec, fsys)
	r, err := newWriter(doc, reportJSON, sums, figs, o)
	if err != nil {
		return nil, err
	}
	marked, err := r.markdown(rec)
	if err != nil {
		return nil, err
	}
	md, claims := settle(marked, r.claims)
	files["report.md"] = []byte(md)
	if files["claims.json"], err = marshal(Claims{Version: analysis.Version, Report: sum(reportJSON), Artifacts: r.named(claims), Claims: claims}); err != nil {
		return nil, err
	}
	if files["report.html"], err = r.html(marked); err != nil {
		return nil, err
	}
	files["tasks.csv"] = tasksCSV(an)
	files["eval_results.yaml"] = evalResults(an)
	if files["manifest.json"], err = reportManifest(files, rec, sums, o); err != nil {
		return nil, err
	}
	return files, nil
}

// VerdictOf is the verdict's word of a report that Build made, with what the page says beside it: how many checks failed, or that the run is
// not complete or synthetic.
func VerdictOf(files Files) (string, error) {
	var doc struct {
		Run struct {
			Synthetic bool `json:"synthetic"`
			Complete  bool `json:"complete"`
		} `json:"run"`
		Contrasts map[string]struct {
			Verdict string `json:"verdict"`
		} `json:"contrasts"`
		Tally map[string]int `json:"checks_by_status"`
	}
	if err := json.Unmarshal(files["report.json"], &doc); err != nil {
		return "", fmt.Errorf("page: report.json: %w", err)
	}
	word := "none, nothing was compared"
	if c, ok := doc.Contrasts[analysis.Primary]; ok {
		word = c.Verdict
	}
	switch n := doc.Tally[string(artifact.Fail)]; {
	case !doc.Run.Complete:
		word += " (the run is not complete)"
	case n == 1:
		word += " (1 check failed)"
	case n > 1:
		word += fmt.Sprintf(" (%d checks failed)", n)
	}
	if doc.Run.Synthetic {
		word += " (synthetic, not a result)"
	}
	return word, nil
}

// marshal is indented JSON without HTML escapes; characters that would be invisible are written as escapes, which read back the same.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	if !bytes.ContainsFunc(b.Bytes(), hidden) {
		return b.Bytes(), nil
	}
	var out bytes.Buffer
	for _, r := range b.String() {
		switch {
		case !hidden(r):
			out.WriteRune(r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.Bytes(), nil
}

// settle takes the marks out of the Markdown and says where every claim stands.
func settle(marked string, claims []Claim) (string, []Claim) {
	var b strings.Builder
	out := make([]Claim, 0, len(claims))
	line, column, section := 1, 1, ""
	startOfLine := true
	heading := false
	write := func(r rune) {
		b.WriteRune(r)
		if r == '\n' {
			line, column, startOfLine, heading = line+1, 1, true, false
			return
		}
		if startOfLine {
			startOfLine = false
			if heading = r == '#'; heading {
				section = ""
			}
		}
		if heading && (section != "" || r != '#' && r != ' ') {
			section += string(r)
		}
		column++
	}
	rs := []rune(marked)
	for i := 0; i < len(rs); i++ {
		switch r := rs[i]; r {
		case markOpen:
			id := 0
			for i++; rs[i] != markText; i++ {
				id = 10*id + int(rs[i]-'0')
			}
			c := claims[id]
			c.Line, c.Column, c.Section = line, column, section
			out = append(out, c)
		case markClose:
		case markBrowser: // a paragraph of its own, which only the page has
			for i+1 < len(rs) && rs[i+1] == '\n' {
				i++
			}
		case markCite:
			write('[')
		case markCiteEnd:
			write(']')
		case markDetails:
			for _, x := range "<details>\n<summary>" {
				write(x)
			}
		case markSummary:
			for _, x := range "</summary>" {
				write(x)
			}
		case markEnd:
			for _, x := range "</details>" {
				write(x)
			}
		default:
			write(r)
		}
	}
	return b.String(), out
}

// figures draws what the analysis has numbers for.
func figures(an *analysis.Report) ([]figure.Figure, error) {
	var out []figure.Figure
	for _, draw := range []func(*analysis.Report) (figure.Figure, bool, error){forest, dumbbell, histogram, curves} {
		f, ok, err := draw(an)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, f)
		}
	}
	return out, nil
}
