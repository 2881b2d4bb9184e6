package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"html/template"
	"regexp"
	"strconv"
	"strings"

	"teamtalk/report/figure"
)

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

//go:embed page.html
var pageHTML string

// pageTemplate is the page around the rendered Markdown.
var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// html makes the one-file page. Everything it shows comes from the marked Markdown, the figures and the replies; it loads nothing.
func (r *writer) html(marked string) ([]byte, error) {
	body, toc, err := r.renderMarkdown(marked)
	if err != nil {
		return nil, err
	}
	browser, data, err := r.browser()
	if err != nil {
		return nil, err
	}
	body = r.unmark(body, browser)
	digest := sha256.Sum256([]byte(pageJS))
	csp := "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'; img-src data:; base-uri 'none'; form-action 'none'"
	var b bytes.Buffer
	err = pageTemplate.Execute(&b, map[string]any{
		"Title": r.plainTitle(), "CSP": csp, "TOC": toc,
		// Made here, from escaped parts; the template must not escape them again.
		"CSS": template.CSS(figure.CSS() + pageCSS), "Body": template.HTML(body), "Data": template.HTML(data), "Script": template.JS(pageJS),
		"Mini": r.doc.Plan.Preset == "mini", "Synthetic": r.doc.Run.Synthetic,
	})
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	return b.Bytes(), nil
}

// plainTitle is the page's title without marks and escapes.
func (r *writer) plainTitle() string {
	t := Visible(r.doc.Plan.Question.Title)
	if r.doc.Plan.Preset == "mini" {
		t = "Mini run. " + t
	}
	if r.doc.Run.Synthetic {
		t = "Synthetic. " + t
	}
	return t
}

var markedClaim = regexp.MustCompile("\uE000([0-9]+)\uE001")

// unmark turns the marks into elements.
func (r *writer) unmark(body, browser string) string {
	body = markedClaim.ReplaceAllStringFunc(body, func(m string) string {
		id, err := strconv.Atoi(markedClaim.FindStringSubmatch(m)[1])
		if err != nil || id >= len(r.claims) {
			return ""
		}
		c := r.claims[id]
		class := ` class="n"` // a number or a pair stays on one line
		if name, _, _ := strings.Cut(c.Format, ":"); name == "text" || name == "list" || name == "scoped" || name == "code" {
			class = ""
		}
		return `<data` + class + ` value="` + html.EscapeString(claimValue(c)) + `" title="` + html.EscapeString(c.Pointer) + `">`
	})
	return strings.NewReplacer(
		string(markClose), "</data>",
		"<p>"+string(markDetails), "<details>\n<summary>", string(markSummary)+"</p>", "</summary>",
		"<p>"+string(markEnd)+"</p>", "</details>",
		"<p>"+string(markBrowser)+"</p>", browser,
	).Replace(regexp.MustCompile("\uE006([0-9]+)\uE007").ReplaceAllString(body, `<a class="cite" href="#ref-$1">[$1]</a>`))
}

// claimValue is the number itself; of long values only that there is one.
func claimValue(c Claim) string {
	if len(c.Value) > 60 {
		return "text"
	}
	return strings.Trim(string(c.Value), `"`)
}
