package page

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Marks stand around bindings and details while the Markdown is made. They are private-use characters; Visible writes those that come
// from elsewhere out as text.
const (
	markOpen    = '\uE000' // then the claim's number
	markText    = '\uE001' // then the claim's text
	markClose   = '\uE002'
	markDetails = '\uE003' // then the summary
	markSummary = '\uE004'
	markEnd     = '\uE005'
	markCite    = '\uE006' // then the reference's number
	markCiteEnd = '\uE007'
	markBrowser = '\uE008' // where the page puts its sample browser
)

// Visible makes text of unknown origin harmless to look at: control characters, bidirectional overrides, zero-width characters and this
// package's own marks become visible escapes such as ⟨U+202E⟩. Line feeds and tabs stay. Nothing is removed.
func Visible(s string) string {
	clean := true
	for _, r := range s {
		if hidden(r) {
			clean = false
			break
		}
	}
	if clean && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20 || r == 0x7f || 0x80 <= r && r < 0xa0:
		return true
	case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r), r == '\u2028', r == '\u2029', r == utf8.RuneError:
		return true
	}
	return false
}

var inlineEscaper = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "](", `]\(`, "][", `]\[`, "]:", `]\:`, "<", "&lt;", ">", "&gt;", "&", "&amp;",
	"|", `\|`, "~", `\~`, "://", ":&#47;&#47;", "www.", "www&#46;", " @", " &#64;", "\n", " ", "\t", " ")

// blockStart is what would begin a heading, a list item or a task box if the text came first on a line.
var blockStart = regexp.MustCompile(`^(#|[-+=]([ =-]|$)|\[|@|:|[0-9]+[.)]( |$))`)

// Inline puts text of unknown origin into a line of Markdown, or a table cell, as nothing but text: no emphasis, code, link, HTML, cell border,
// or address that a reader turns into a link. A bracket that no parenthesis, bracket or colon follows is text already.
func Inline(s string) string {
	s = strings.TrimSpace(inlineEscaper.Replace(Visible(s)))
	if at := blockStart.FindStringIndex(s); at != nil {
		end := strings.TrimRight(s[:at[1]], " ")
		return end[:len(end)-1] + `\` + end[len(end)-1:] + s[len(end):]
	}
	return s
}

// Code is an inline code span that holds s, whatever backticks are in it.
func Code(s string) string {
	s = strings.NewReplacer("\n", " ", "|", "∣").Replace(Visible(s)) // a pipe would end a table cell even inside a code span
	ticks := strings.Repeat("`", longestRun(s, '`')+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") || strings.TrimSpace(s) == "" {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

// Fence is a fenced block that holds s: the fence is longer than any run of backticks inside.
func Fence(info, s string) string {
	s = Visible(s)
	ticks := strings.Repeat("`", max(3, longestRun(s, '`')+1))
	if !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return ticks + info + "\n" + s + ticks + "\n"
}

func longestRun(s string, of byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] == of {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return longest
}

// csvText is a text column of a CSV file: a cell that a spreadsheet would take for a formula gets an apostrophe in front.
func csvText(s string) string {
	s = Visible(s)
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}

// cut shortens s to n bytes at a character's border and says how much is gone.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return fmt.Sprintf("%s\n⟨%d more bytes⟩", s[:n], len(s)-n)
}
