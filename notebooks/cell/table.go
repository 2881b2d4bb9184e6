package cell

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// Table shows rows under a head. A column of numbers is aligned to the right; text of several lines keeps its lines.
func Table(head []string, rows ...[]string) {
	for _, r := range rows {
		if len(r) != len(head) {
			OK(fmt.Errorf("table: a row of %d cells under %d headings: %q", len(r), len(head), r))
		}
	}
	show(output{protocol.MIMETextHTML, tableHTML(head, rows), tableText(head, rows)})
}

var number = regexp.MustCompile(`^[+−-]?[0-9][0-9,.]*%?$`)

// numeric says whether every cell of a column that holds something holds a number.
func numeric(rows [][]string, column int) bool {
	found := false
	for _, r := range rows {
		if r[column] == "" || r[column] == "n/a" {
			continue
		}
		if !number.MatchString(r[column]) {
			return false
		}
		found = true
	}
	return found
}

// tableHTML has no colour of its own: the table looks as the notebook's theme has it, light or dark. Its classes keep MathJax
// from taking dollar signs and \[ for formulas.
func tableHTML(head []string, rows [][]string) string {
	align := make([]string, len(head))
	for i := range head {
		align[i] = "left"
		if numeric(rows, i) {
			align[i] = "right"
		}
	}
	var b strings.Builder
	b.WriteString(`<table class="tex2jax_ignore mathjax_ignore">` + "\n<thead><tr>")
	for i, h := range head {
		fmt.Fprintf(&b, `<th style="text-align:%s">%s</th>`, align[i], html.EscapeString(h))
	}
	b.WriteString("</tr></thead>\n<tbody>\n")
	for _, r := range rows {
		b.WriteString("<tr>")
		for i, c := range r {
			text, wrap := html.EscapeString(c), ""
			if strings.Contains(c, "\n") {
				text = strings.ReplaceAll(text, "\n", "<br>\n")
			} else if utf8.RuneCountInString(c) <= short {
				wrap = ";white-space:nowrap"
			}
			fmt.Fprintf(&b, `<td style="text-align:%s;vertical-align:top%s">%s</td>`, align[i], wrap, text)
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody>\n</table>")
	return b.String()
}

// short is the most characters of a cell that stay on one line.
const short = 24

// tableText has one line per row, with line feeds written as " / ".
func tableText(head []string, rows [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range append([][]string{head}, rows...) {
		line := strings.ReplaceAll(strings.Join(r, "\t"), "\n", " / ")
		fmt.Fprintln(w, line)
	}
	w.Flush() // a strings.Builder does not fail
	return strings.TrimRight(b.String(), "\n")
}
