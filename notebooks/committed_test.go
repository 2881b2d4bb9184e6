package notebooks_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// The notebooks as they lie here, without executing anything: outputs of a good run, short cells, links that lead somewhere.
func TestCommitted(t *testing.T) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			n := read(t, name+".ipynb")
			if !*update {
				check(t, name, n)
			}
			if len(n.Cells) < 2 || n.Cells[0].Type != "markdown" || string(n.Cells[1].Source) != setup {
				t.Errorf("expected a text first and then the cell that sets up the workspace:\n%s", setup)
			}
			code, ids := 0, map[string]bool{}
			for i, c := range n.Cells {
				if ids[c.ID] || c.ID == "" {
					t.Errorf("cell %d: id %q is empty or taken", i+1, c.ID)
				}
				ids[c.ID] = true
				if c.Type != "code" {
					links(t, i, string(c.Source))
					continue
				}
				code++
				if k := strings.Count(string(c.Source), "\n") + 1; k > 10 {
					t.Errorf("cell %d has %d lines, want one to ten", i+1, k)
				}
				for _, line := range strings.Split(string(c.Source), "\n") {
					if utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")) > 100 {
						t.Errorf("cell %d: %q is wider than a page shows", i+1, line)
					}
				}
			}
			if name == "your-experiment" && code >= 10 {
				t.Errorf("%d cells of code, want fewer than ten", code)
			}
		})
	}
}

// links checks a text's links to files of the project.
func links(t *testing.T, i int, text string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(m[1]); err != nil {
			t.Errorf("cell %d: %v", i+1, err)
		}
	}
}
