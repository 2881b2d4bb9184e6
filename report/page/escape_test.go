package page

import (
	"bytes"
	"encoding/csv"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
)

func TestVisible(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain −é\n\ttext", "plain −é\n\ttext"},
		{"\u202Egnp", "⟨U+202E⟩gnp"},
		{"a\u200Bb\x00c\x1b[31m", "a⟨U+200B⟩b⟨U+0000⟩c⟨U+001B⟩[31m"},
		{"\uE0003\uE001x\uE002", "⟨U+E000⟩3⟨U+E001⟩x⟨U+E002⟩"}, // this package's own marks
		{"\u2028", "⟨U+2028⟩"},
		{"\xff", "⟨U+FFFD⟩"},
		{"\r\n", "⟨U+000D⟩\n"},
	} {
		if got := Visible(c.in); got != c.want {
			t.Errorf("Visible(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

// What Inline, Code and Fence make of any text is that text and no element, by goldmark with tables and links switched on, as a reader's renderer may
// have it.
func TestMarkdownFormsAreInert(t *testing.T) {
	md := goldmark.New(goldmark.WithExtensions(extension.GFM))
	render := func(src string) string {
		var b bytes.Buffer
		if err := md.Convert([]byte(src), &b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	element := regexp.MustCompile(`<(a|img|script|h[1-6]|li|em|strong|del|b|input|hr)\b`)
	texts := append([]string{"# h", "---", "===", "- - -", "- item", "1. item", "[x](y)", "[x][y]", "[x]: http://y", "*a* _b_ ~~c~~", "`c`", "<https://evil.example>", "a@evil.example", "| a | b |", "[ ] task", "\\", "***", "http://evil.example/x"}, hostile...)
	for _, s := range texts {
		if out := render(Inline(s) + "\n"); element.MatchString(strings.Replace(out, `<a href="mailto:`, "", 1)) {
			t.Errorf("Inline(%.60q) became %.200s", s, out)
		}
		if out := render("a line\n" + Inline(s) + "\n"); element.MatchString(strings.Replace(out, `<a href="mailto:`, "", 1)) || strings.Count(out, "<p>") != 1 {
			t.Errorf("Inline(%.60q) under a line became %.200s", s, out)
		}
		table := render("| h | g |\n|---|---|\n| " + Inline(s) + " | " + Code(s) + " |\n")
		if n := strings.Count(table, "<td"); n != 2 {
			t.Errorf("%.60q in a table makes %d cells: %.300s", s, n, table)
		}
		fence := render(Fence("text", s) + "\nafter\n")
		if strings.Count(fence, "<pre>") != 1 || !strings.HasSuffix(fence, "<p>after</p>\n") || element.MatchString(fence) {
			t.Errorf("Fence(%.60q) became %.300s", s, fence)
		}
	}
}

func TestCSVText(t *testing.T) {
	for _, c := range []struct{ in, want string }{{"=1+1", "'=1+1"}, {"+1", "'+1"}, {"-1", "'-1"}, {"@SUM(A1)", "'@SUM(A1)"}, {"abc", "abc"}, {"", ""}} {
		if got := csvText(c.in); got != c.want {
			t.Errorf("csvText(%q) = %q, want %q", c.in, got, c.want)
		}
	}
	for in, want := range map[string]string{"-5": "-5", "1.5": "1.5", "=5": "'=5"} {
		if got := csvNumber(in); got != want {
			t.Errorf("csvNumber(%q) = %q, want %q", in, got, want)
		}
	}
}

// Hostile replies, prompts, golds, rounds and checks are shown in every file of a report, and are nothing but text there.
func TestHostileTextIsInertEverywhere(t *testing.T) {
	o := small()
	o.Hostile = hostile
	nasty := "</script><script>window.hacked=1</script> | `x` [a](javascript:alert(1)) http://evil.example \u202E =1+1"
	o.EditPlan = func(p *experiment.Plan) {
		p.Arms[1].Display, p.Arms[1].Prompt = nasty, nasty
		p.Arms[1].System = "```\n" + nasty + "\n````"
		p.Question.Title, p.Question.Claim = nasty, nasty
		p.Data.Draw = nasty
		p.Overrides = []string{nasty}
	}
	o.EditCheck = func(cs []artifact.Check) []artifact.Check {
		cs[0].Value, cs[0].Title, cs[0].Control.Planted = nasty, nasty, nasty
		return cs
	}
	files := mustBuild(t, os.DirFS(syntheticRun(t, o)), Options{})
	html := string(files["report.html"])
	if n := strings.Count(html, "<script"); n != strings.Count(html, `<script type="text/plain" id="block-`)+2 {
		t.Errorf("%d script elements: expected the blocks, the configuration and the page's own", n)
	}
	for _, bad := range []string{"<img", "<iframe", "onerror=", "javascript:alert(1)\"", "href=\"javascript", "href=\"http://evil", "<script>window", "\u202E", "\u2066"} {
		if at := strings.Index(html, bad); at >= 0 {
			t.Errorf("report.html holds %q: %.160q", bad, html[max(0, at-60):])
		}
	}
	for name, data := range files {
		for _, r := range string(data) {
			if hidden(r) {
				t.Errorf("%s holds the character %U", name, r)
				break
			}
		}
	}
	rows, err := csv.NewReader(bytes.NewReader(files["tasks.csv"])).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		for i, cell := range row {
			if cell != "" && strings.ContainsRune("=+@", rune(cell[0])) || strings.HasPrefix(cell, "-") && i != 3 {
				t.Errorf("tasks.csv has the cell %q", cell)
			}
		}
	}
	for _, p := range Lint("report.md", string(files["report.md"]), claimsOf(t, files).Claims) {
		t.Errorf("%s", p)
	}
	if _, bad := VerifyClaims(files); len(bad) > 0 {
		t.Errorf("claims: %v", bad)
	}
}

// FuzzInert looks for a text that becomes more than text.
func FuzzInert(f *testing.F) {
	for _, s := range hostile {
		f.Add(s[:min(len(s), 400)])
	}
	md := goldmark.New(goldmark.WithExtensions(extension.Table))
	element := regexp.MustCompile(`<(a|img|script|h[1-6]|li|em|strong|input|hr|blockquote)\b`)
	f.Fuzz(func(t *testing.T, s string) {
		inline, code := Inline(s), Code(s)
		var b bytes.Buffer
		if err := md.Convert([]byte("| h | g |\n|---|---|\n| "+inline+" | "+code+" |\n\nx "+inline+"\n\n"+inline+"\n\n"+Fence("text", s)+"\nafter\n"), &b); err != nil {
			t.Fatal(err)
		}
		out := b.String()
		if strings.Count(out, "<td") != 2 || strings.Count(out, "<pre>") != 1 || element.MatchString(out) || !strings.HasSuffix(out, "<p>after</p>\n") {
			t.Errorf("%q became %s", s, out)
		}
		for _, r := range inline + code + csvText(s) {
			if hidden(r) {
				t.Errorf("%q keeps %U", s, r)
			}
		}
	})
}
