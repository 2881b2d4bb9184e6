package cell

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"teamtalk/report/page"

	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// Markdown shows Markdown.
func Markdown(text string) { show(output{protocol.MIMETextMarkdown, text, text}) }

// Sections shows parts of the report, with their figures. A part is what stands between its heading and the next one of any
// level.
func (r *Run) Sections(headings ...string) {
	files := Must(r.Report())
	for _, heading := range headings {
		text := Must(section(string(files["report.md"]), heading))
		show(Must(pieces(text, files))...)
	}
}

var headingLine = regexp.MustCompile(`(?m)^#{1,6} +(.+)$`)

// section cuts a part out of Markdown, its heading included.
func section(md, heading string) (string, error) {
	lines := headingLine.FindAllStringSubmatchIndex(md, -1)
	var known []string
	for i, at := range lines {
		title := md[at[2]:at[3]]
		known = append(known, title)
		if title != heading {
			continue
		}
		end := len(md)
		if i+1 < len(lines) {
			end = lines[i+1][0]
		}
		return strings.TrimSpace(md[at[0]:end]), nil
	}
	return "", fmt.Errorf("the report has no section %q: expected one of %q", heading, known)
}

var imageLine = regexp.MustCompile(`(?m)^!\[.*\]\(([^()\s]+)\)$`)

// pieces turns Markdown with figures into Markdown and figures in turn.
func pieces(md string, files page.Files) (out []output, err error) {
	add := func(text string) {
		if text = strings.TrimSpace(text); text != "" {
			out = append(out, output{protocol.MIMETextMarkdown, text, text})
		}
	}
	rest := 0
	for _, at := range imageLine.FindAllStringSubmatchIndex(md, -1) {
		file := md[at[2]:at[3]]
		svg, ok := files[file]
		if !ok {
			return nil, fmt.Errorf("the report names the figure %s and has none, only %q", path.Base(file), slices.Sorted(maps.Keys(files)))
		}
		add(md[rest:at[0]])
		figure, err := svgOutput(svg, path.Base(file))
		if err != nil {
			return nil, err
		}
		out = append(out, figure)
		rest = at[1]
	}
	add(md[rest:])
	return out, nil
}
