package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Problem is something that a write-up must not have.
type Problem struct {
	File         string
	Line, Column int // from 1; column in characters
	Kind         Kind
	Text         string
}

func (p Problem) String() string {
	return fmt.Sprintf("%s:%d:%d: %s: %s", p.File, p.Line, p.Column, p.Kind, p.Text)
}

// Kind says what is wrong.
type Kind string

// The kinds of problem.
const (
	NakedNumber    Kind = "naked number"        // a digit that no claim, citation, code or label covers
	NumberInWords  Kind = "number in words"     // a quantity that is written out, which a binding would have given in digits
	WrongClaim     Kind = "claim is not there"  // claims.json says a text stands here, and another does
	DeadReference  Kind = "dead reference"      // a citation without an entry
	UnusedEntry    Kind = "uncited reference"   // an entry that nothing cites
	UnorderedCite  Kind = "reference order"     // entries are numbered by first use
	SilentFigure   Kind = "figure without text" // no description, or no caption
	NamelessTable  Kind = "table without caption"
	UnfinishedText Kind = "unfinished"
)

// Digits and number words that are part of a name, not a number that was measured. "Four times in five" is the power that designs are computed
// for.
var names = regexp.MustCompile(`pass@[0-9]+|\bfour times in five\b|\b(Table|Figure) [0-9]+\b|\bGSM8K\b|\bSHA-256\b|\bUTF-8\b|\bQwen2(\.5)?\b`)

var (
	citation = regexp.MustCompile(`\[([0-9]+)\]`)
	listMark = regexp.MustCompile(`^\s*[0-9]+\. `)
	autolink = regexp.MustCompile(`<https?://[^>]*>`)
	target   = regexp.MustCompile(`\]\([^)]*\)`)
	entity   = regexp.MustCompile(`&#[0-9]+;`)
	digits   = regexp.MustCompile(`[0-9][0-9.,%]*`)
	image    = regexp.MustCompile(`^!\[(.*)\]\([^)]*\)$`)
	// Only phrases that say how much or how many of: a lone "two" counts things that the text names, and "twice" is as often a setting.
	quantity = regexp.MustCompile(`(?i)\b(` +
		`(one|` + counts + `)( and a half)?[ -](percent|per cent|percentage points?)|` +
		`(` + counts + `)( and a half)? (times|points)|` +
		`(` + counts + `)-?fold|` +
		`half of|(an?|one|two|three|four) (half|third|quarter|fifth|sixth|eighth|tenth)s? of)\b`)
	unfinished = regexp.MustCompile(`\b(TODO|FIXME|TBD|XXX)\b`)
)

// counts are number words from two on.
const counts = `two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(thir|four|fif|six|seven|eigh|nine)teen|(twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(-(one|two|three|four|five|six|seven|eight|nine))?|hundred|thousand`

// Lint reads a write-up and its claims and returns every problem, in the order of the text. Fenced blocks are quotations and are not read.
func Lint(file, md string, claims []Claim) []Problem {
	l := &linter{file: file, cited: map[int]bool{}, entries: map[int]int{}, claims: map[int][]Claim{}}
	for _, c := range claims {
		l.claims[c.Line] = append(l.claims[c.Line], c)
	}
	lines := strings.Split(md, "\n")
	fence, section := "", ""
	for i, text := range lines {
		n := i + 1
		marker := text[:len(text)-len(strings.TrimLeft(text, "`"))]
		switch {
		case fence != "":
			if text == fence {
				fence = ""
			}
			continue
		case len(marker) >= 3:
			fence = marker
			continue
		case strings.HasPrefix(text, "#"):
			section = strings.TrimSpace(strings.TrimLeft(text, "#"))
		}
		if section == "References" {
			l.entry(n, text)
			continue
		}
		l.line(n, text)
		l.around(lines, i)
	}
	if fence != "" {
		l.add(len(lines), 1, UnfinishedText, "a fenced block is never closed")
	}
	l.references()
	slices.SortStableFunc(l.out, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return l.out
}

type linter struct {
	file    string
	out     []Problem
	claims  map[int][]Claim // by line
	cited   map[int]bool
	first   []cite // citations in the order of the text
	entries map[int]int
}

type cite struct{ number, line, column int }

func (l *linter) add(line, column int, kind Kind, text string) {
	l.out = append(l.out, Problem{l.file, line, column, kind, text})
}

// line blanks out what may hold digits, and complains about those that are left.
func (l *linter) line(n int, text string) {
	rs := []rune(text)
	for _, c := range l.claims[n] {
		want := []rune(c.Text)
		at := c.Column - 1
		if at < 0 || at+len(want) > len(rs) || string(rs[at:at+len(want)]) != c.Text {
			l.add(n, c.Column, WrongClaim, fmt.Sprintf("%q expected from %s, found %q", c.Text, c.Pointer, string(rs[min(max(at, 0), len(rs)):min(max(at, 0)+len(want), len(rs))])))
			continue
		}
		for i := range want {
			rs[at+i] = ' '
		}
	}
	rest := blankCode(string(rs))
	for _, re := range []*regexp.Regexp{autolink, target, entity, names, listMark} {
		rest = blank(re, rest)
	}
	for _, m := range citation.FindAllStringSubmatchIndex(rest, -1) {
		number, err := strconv.Atoi(rest[m[2]:m[3]])
		if err == nil {
			l.cited[number] = true
			l.first = append(l.first, cite{number, n, len([]rune(rest[:m[0]])) + 1})
		}
	}
	rest = blank(citation, rest)
	for _, m := range digits.FindAllStringIndex(rest, -1) {
		l.add(n, len([]rune(rest[:m[0]]))+1, NakedNumber, rest[m[0]:m[1]]+", in: "+strings.TrimSpace(text[:min(len(text), 120)]))
	}
	for _, m := range quantity.FindAllStringIndex(rest, -1) {
		l.add(n, len([]rune(rest[:m[0]]))+1, NumberInWords, rest[m[0]:m[1]]+", in: "+strings.TrimSpace(text[:min(len(text), 120)]))
	}
	if m := unfinished.FindStringIndex(rest); m != nil {
		l.add(n, len([]rune(rest[:m[0]]))+1, UnfinishedText, rest[m[0]:m[1]])
	}
}

// around checks that an image has a description and a caption, and that a table has a caption.
func (l *linter) around(lines []string, i int) {
	if m := image.FindStringSubmatch(lines[i]); m != nil {
		if strings.TrimSpace(m[1]) == "" {
			l.add(i+1, 1, SilentFigure, "no description between the brackets")
		}
		if i+2 >= len(lines) || !strings.HasPrefix(lines[i+2], "**Figure ") {
			l.add(i+1, 1, SilentFigure, "no caption after it")
		}
	}
	if strings.HasPrefix(lines[i], "|---") || strings.HasPrefix(lines[i], "|--:") {
		if i < 3 || !strings.HasPrefix(lines[i-3], "**Table ") {
			l.add(i+1, 1, NamelessTable, "expected a paragraph that begins with **Table before it")
		}
	}
}

func (l *linter) entry(n int, text string) {
	m := listMark.FindString(text)
	if m == "" {
		return
	}
	number, err := strconv.Atoi(strings.Trim(m, " ."))
	if err == nil {
		l.entries[number] = n
	}
}

func (l *linter) references() {
	seen := 0
	for _, c := range l.first {
		if _, ok := l.entries[c.number]; !ok {
			l.add(c.line, c.column, DeadReference, fmt.Sprintf("[%d] is not in the list", c.number))
			continue
		}
		if c.number == seen+1 {
			seen++
		} else if c.number > seen+1 {
			l.add(c.line, c.column, UnorderedCite, fmt.Sprintf("[%d] is cited before [%d]", c.number, seen+1))
			seen = c.number
		}
	}
	for number, line := range l.entries {
		if !l.cited[number] {
			l.add(line, 1, UnusedEntry, fmt.Sprintf("%d is cited nowhere", number))
		}
	}
}

func blank(re *regexp.Regexp, s string) string {
	return re.ReplaceAllStringFunc(s, func(m string) string { return strings.Repeat(" ", len([]rune(m))) })
}

// blankCode takes code spans out: a run of backticks up to the next run of the same length.
func blankCode(s string) string {
	b := []byte(s)
	for i := 0; i < len(b); i++ {
		if b[i] != '`' || i > 0 && b[i-1] == '\\' {
			continue
		}
		n := 0
		for i+n < len(b) && b[i+n] == '`' {
			n++
		}
		end := -1
		for j := i + n; j < len(b); {
			if b[j] != '`' {
				j++
				continue
			}
			k := 0
			for j+k < len(b) && b[j+k] == '`' {
				k++
			}
			if k == n {
				end = j + k
				break
			}
			j += k
		}
		if end < 0 {
			i += n - 1
			continue
		}
		for j := i; j < end; j++ {
			if b[j] < 0x80 { // keep multi-byte characters whole, so that columns stay right
				b[j] = ' '
			}
		}
		i = end - 1
	}
	return string(b)
}

var action = regexp.MustCompile(`\{\{[^}]*\}\}`)

// LintTemplate reads a prose template: the same rules, with every action taken for bound text. It sees the branches that no run has taken yet.
func LintTemplate(file, text string) []Problem {
	var out []Problem
	for _, p := range Lint(file, blank(action, text), nil) {
		if p.Kind == NakedNumber || p.Kind == NumberInWords || p.Kind == UnfinishedText {
			out = append(out, p)
		}
	}
	return out
}

// LintStored reads a report's report.md, with its claims, and its learned.md, if there is one.
func LintStored(stored fs.FS) ([]Problem, error) {
	md, err := fs.ReadFile(stored, "report.md")
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	raw, err := fs.ReadFile(stored, "claims.json")
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	var claims Claims
	if err := json.Unmarshal(raw, &claims); err != nil {
		return nil, fmt.Errorf("page: claims.json: %w", err)
	}
	out := Lint("report.md", string(md), claims.Claims)
	learned, err := fs.ReadFile(stored, learnedFile)
	if err == nil {
		out = append(out, LintTemplate(learnedFile, string(learned))...)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("page: %w", err)
	}
	return out, nil
}

// LintProse reads the built-in templates.
func LintProse() ([]Problem, error) {
	var out []Problem
	for _, name := range sections() {
		text, err := proseFS.ReadFile("prose/" + name)
		if err != nil {
			return nil, fmt.Errorf("page: %w", err)
		}
		out = append(out, LintTemplate("prose/"+name, string(text))...)
	}
	return out, nil
}
