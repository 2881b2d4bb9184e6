package notebooks_test

import (
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fault is a reason not to believe a cell.
type fault struct {
	cell int // index, from 0
	what string
}

func (f fault) String() string { return fmt.Sprintf("cell %d: %s", f.cell+1, f.what) }

var (
	failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL|^FAIL\b|\bselftest: FAIL`)
	shownError = regexp.MustCompile(`gonb-err-location|gonb-cell-line-info`) // GoNB's compile errors as HTML
)

// faults reads the outputs of an executed notebook. GoNB's kernel answers "ok" for a cell whose program failed; that it failed
// is visible in what it wrote. A good cell writes nothing to standard error, so whatever is there is a fault: a panic, the exit
// status or signal that GoNB reports, a log line.
func faults(n *notebook) (all []fault) {
	for i, c := range n.Cells {
		if c.Type != "code" {
			continue
		}
		add := func(format string, args ...any) { all = append(all, fault{i, fmt.Sprintf(format, args...)}) }
		if c.Count == nil && strings.TrimSpace(string(c.Source)) != "" {
			add("it was not executed")
		}
		for _, o := range joined(c.Outputs) {
			switch {
			case o.Type == "error":
				add("error: %s", firstLines(o.EName+": "+o.EValue))
			case o.Type == "stream" && o.Name == "stderr":
				add("standard error: %s", firstLines(string(o.Text)))
			case o.Type == "stream" && failedTest.MatchString(string(o.Text)):
				add("failed test: %s", firstLines(failedTest.FindString(string(o.Text))))
			case shownError.MatchString(o.data("text/html")):
				add("a compile error is shown as HTML")
			}
		}
	}
	return all
}

func firstLines(s string) string {
	if s = strings.TrimSpace(s); len(s) > 400 {
		s = s[:400] + "..."
	}
	return s
}

// figures counts the figures and says what is wrong with any: each is an SVG with a title that can be read as XML and asks for
// nothing from elsewhere.
func figures(n *notebook) (count int, all []fault) {
	for i, c := range n.Cells {
		for _, o := range c.Outputs {
			svg := o.data("image/svg+xml")
			if svg == "" {
				continue
			}
			count++
			if err := checkSVG(svg); err != nil {
				all = append(all, fault{i, "figure: " + err.Error()})
			}
			if o.data("text/plain") == "" {
				all = append(all, fault{i, "figure: no alternative text"})
			}
		}
	}
	return count, all
}

func checkSVG(svg string) error {
	title, marks := "", 0
	d := xml.NewDecoder(strings.NewReader(svg))
	for inTitle := false; ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			inTitle = t.Name.Local == "title"
			switch t.Name.Local {
			case "path", "circle", "line", "rect", "text":
				marks++
			case "script", "image", "foreignObject", "iframe":
				return fmt.Errorf("an element <%s>", t.Name.Local)
			}
			for _, a := range t.Attr {
				if a.Name.Local == "href" && !strings.HasPrefix(a.Value, "#") {
					return fmt.Errorf("it refers to %q", a.Value)
				}
			}
		case xml.CharData:
			if inTitle {
				title += string(t)
			}
		case xml.EndElement:
			inTitle = false
		}
	}
	if strings.TrimSpace(title) == "" {
		return fmt.Errorf("no title")
	}
	if marks < 10 {
		return fmt.Errorf("%d marks: expected a drawing", marks)
	}
	return nil
}

var (
	machinePath = regexp.MustCompile(`(?:^|[\s"'=(>:])(?:/tmp|/var|/home|/root|/Users|/opt|/usr|/mnt|/work)/\S*|gonb_[0-9a-f]{8}|\.pyenv`)
	elsewhere   = regexp.MustCompile(`(?i)<script|<link|<iframe|@import|\b(?:src|srcset|data)\s*=\s*["']?\s*(?:https?:)?//|url\(\s*["']?(?:https?:)?//`)
)

// leaks finds what must not be committed: paths of the machine, and content that a reader's browser would fetch.
func leaks(n *notebook, machine ...string) (all []fault) {
	for i, c := range n.Cells {
		for _, o := range c.Outputs {
			texts := []string{string(o.Text)}
			for mime := range o.Data {
				texts = append(texts, o.data(mime))
			}
			for _, text := range texts {
				if m := machinePath.FindString(text); m != "" {
					all = append(all, fault{i, "a path of the machine: " + m})
				}
				for _, word := range machine {
					if len(word) > 4 && strings.Contains(text, word) {
						all = append(all, fault{i, "a name of the machine: " + word})
					}
				}
				if m := elsewhere.FindString(text); m != "" {
					all = append(all, fault{i, "content from elsewhere: " + m})
				}
			}
		}
	}
	return all
}

// The checker on outputs that no kernel is needed for.
func TestChecker(t *testing.T) {
	code := func(outputs string) string {
		return `{"cell_type": "code", "id": "a", "execution_count": 1, "metadata": {}, "source": "x", "outputs": [` + outputs + `]}`
	}
	svg := func(body string) string {
		return `{"output_type": "display_data", "metadata": {}, "data": {"text/plain": "t", "image/svg+xml": "<svg xmlns='http://www.w3.org/2000/svg'>` +
			body + `</svg>"}}`
	}
	marks := strings.Repeat("<path d='M0 0'/>", 10)
	for _, c := range []struct{ why, cell, want string }{
		{"a good cell", code(`{"output_type": "stream", "name": "stdout", "text": "selftest: ok (3 checks)\n"}`), ""},
		{"a good figure", code(svg("<title>T</title>" + marks)), ""},
		{"text that only looks like a path", code(`{"output_type": "stream", "name": "stdout", "text": "../runs/a/report/b.md reads/tokens\n"}`), ""},
		{"never executed", `{"cell_type": "code", "id": "a", "execution_count": null, "metadata": {}, "source": "x", "outputs": []}`, "not executed"},
		{"standard error in pieces, as GoNB sends a panic", code(`{"output_type": "stream", "name": "stderr", "text": "panic: "}, {"output_type": "stream", "name": "stderr", "text": "boom\n"}`), "panic: boom"},
		{"a failed test without an exit status", code(`{"output_type": "stream", "name": "stdout", "text": ["=== RUN TestX\n", "--- FAIL: TestX (0.00s)\n"]}`), "failed test"},
		{"a failed subtest", code(`{"output_type": "stream", "name": "stdout", "text": "    --- FAIL: TestX/a (0.00s)\n"}`), "failed test"},
		{"the kernel's own error", code(`{"output_type": "error", "ename": "ERROR", "evalue": "undefined: x", "traceback": []}`), "undefined: x"},
		{"a compile error as HTML", code(`{"output_type": "display_data", "metadata": {}, "data": {"text/html": ["<span class='gonb-err-location'>", "</span>"]}}`), "compile error"},
		{"a figure that is no XML", code(svg("<title>T</title><g>" + marks)), "figure: "},
		{"a figure without a title", code(svg(marks)), "no title"},
		{"a figure with nothing in it", code(svg("<title>T</title>")), "expected a drawing"},
		{"a figure with a picture from elsewhere", code(svg("<title>T</title><image href='http://x/y.png'/>" + marks)), "<image>"},
		{"a figure that uses another file", code(svg("<title>T</title><use href='other.svg'/>" + marks)), "refers to"},
		{"a figure for the eye alone", code(`{"output_type": "display_data", "metadata": {}, "data": {"image/svg+xml": "<svg><title>T</title>` + marks + `</svg>"}}`), "no alternative text"},
		{"the kernel's folder", code(`{"output_type": "stream", "name": "stdout", "text": "at /tmp/gonb_0a1b2c3d/main.go:3\n"}`), "path of the machine"},
		{"a home folder in HTML", code(`{"output_type": "display_data", "metadata": {}, "data": {"text/html": "<b>/home/me/x</b>"}}`), "path of the machine"},
		{"a script", code(`{"output_type": "display_data", "metadata": {}, "data": {"text/html": "<script>1</script>"}}`), "from elsewhere"},
		{"a picture from elsewhere", code(`{"output_type": "display_data", "metadata": {}, "data": {"text/html": "<img src=\"https://x/y.png\">"}}`), "from elsewhere"},
	} {
		t.Run(c.why, func(t *testing.T) {
			n, err := parse([]byte(`{"cells": [` + c.cell + `], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}`))
			if err != nil {
				t.Fatal(err)
			}
			_, drawn := figures(n)
			got := fmt.Sprint(append(append(faults(n), drawn...), leaks(n)...))
			if c.want == "" && got != "[]" || !strings.Contains(got, c.want) {
				t.Errorf("found %s, want %q", got, c.want)
			}
		})
	}
}

// The checker on a real kernel: a notebook that fails in every way there is, with good cells between, which must not be blamed.
func TestFailingNotebook(t *testing.T) {
	need(t)
	cells := []struct{ source, want string }{
		{setup, ""},
		{"%%\nfmt.Println(1)", ""},
		{"%%\npanic(\"boom\")", "panic: boom"},
		{"%%\nvar none []int\nfmt.Println(none[3])", "index out of range"},
		{"%%\ngo func() { panic(\"elsewhere\") }()\nselect {}", "panic: elsewhere"},
		{"%%\nos.Exit(3)", "exit status 3"},
		{"%%\nlog.Fatal(\"no\")", "exit status 1"},
		{"import \"syscall\"\n%%\nsyscall.Kill(os.Getpid(), syscall.SIGKILL)", "signal: killed"},
		{"import \"testing\"\nfunc TestGood(t *testing.T) {}\n%test", ""},
		{"import \"testing\"\nfunc TestBad(t *testing.T) { t.Error(\"no\") }\n%test", "exit status 1"},
		{"%%\nfmt.Println(undefined)", "undefined: undefined"},
		{"import \"teamtalk/nowhere\"\n%%\nnowhere.Go()", "nowhere"},
		{"func broken( {", "error: "},
		{"import \"teamtalk/notebooks/cell\"\n%%\ncell.OK(errors.New(\"a said error\"))", "error: a said error"},
		{"!exit 4", "exit status 4"},
		{"%nosuch", "unknown"},
		{"%%\nfmt.Println(2)", ""},
	}
	n := &notebook{Format: 4, Minor: 5}
	for i, c := range cells {
		n.Cells = append(n.Cells, cell{Type: "code", ID: fmt.Sprintf("c%d", i), Source: lines(c.source)})
	}
	w := newWorkplace(t)
	path := filepath.Join(w.dir, "notebooks", "failing.ipynb")
	if err := os.WriteFile(path, canonical(n), 0o644); err != nil {
		t.Fatal(err)
	}
	done, err := w.execute(path, "300")
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]string{}
	for _, f := range faults(done) {
		got[f.cell] += f.what + "\n"
	}
	for i, c := range cells {
		if c.want == "" && got[i] != "" || !strings.Contains(got[i], c.want) || c.want != "" && got[i] == "" {
			t.Errorf("cell %d\n%s\nfound %q, want %q", i+1, c.source, got[i], c.want)
		}
	}
}

// A cell that never ends is an error of the execution itself.
func TestHangingNotebook(t *testing.T) {
	need(t)
	n := &notebook{Format: 4, Minor: 5, Cells: []cell{{Type: "code", ID: "a", Source: "!sleep 30"}}}
	w := newWorkplace(t)
	path := filepath.Join(w.dir, "notebooks", "hanging.ipynb")
	if err := os.WriteFile(path, canonical(n), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := w.execute(path, "2"); err == nil || !strings.Contains(err.Error(), "imeout") {
		t.Errorf("found %v, want an error that says timeout", err)
	}
}
