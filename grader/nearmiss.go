package grader

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// nearMiss reports a line that a reader would take for a turn and the counter does not: another list marker, quotes,
// brackets, a tag or underscores around the name, another case, a fullwidth colon. Their number tells a drift of format from
// talk that vanished.
func (team Team) nearMiss(line string) bool {
	s := skipMarkers(line)
	for _, name := range team.Speakers {
		if len(s) < len(name) || !strings.EqualFold(s[:len(name)], name) {
			continue
		}
		rest := skipClosing(s[len(name):])
		if strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "：") {
			return true
		}
	}
	return false
}

// skipMarkers removes what may stand before a name: white space, punctuation, bullets, list numbers ("1.", "2)") and tags.
func skipMarkers(s string) string {
	for s != "" {
		if s[0] == '<' {
			if n := tagLength(s); n > 0 {
				s = s[n:]
				continue
			}
		}
		if n := listNumber(s); n > 0 {
			s = s[n:]
			continue
		}
		if c := s[0]; c == ' ' || c > ' ' && c < '0' { // ASCII space and punctuation
			s = s[1:]
			continue
		}
		r, n := utf8.DecodeRuneInString(s)
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == utf8.RuneError || !lineSpace(r) && !unicode.IsPunct(r) && !unicode.IsSymbol(r) {
			return s
		}
		s = s[n:]
	}
	return s
}

// skipClosing removes what may stand between a name and its colon.
func skipClosing(s string) string {
	for s != "" {
		if s[0] == '<' {
			if n := tagLength(s); n > 0 {
				s = s[n:]
				continue
			}
			return s
		}
		r, n := utf8.DecodeRuneInString(s)
		if !lineSpace(r) && !strings.ContainsRune("*_`\"'”’)]}", r) {
			return s
		}
		s = s[n:]
	}
	return s
}

// tagLength returns the length of an HTML-like tag without attributes at the beginning of s, 0 if there is none.
func tagLength(s string) int {
	const longest = 16
	i := 1
	if i < len(s) && s[i] == '/' {
		i++
	}
	start := i
	for i < len(s) && i < longest && (isASCIILetter(rune(s[i])) || isDigit(rune(s[i]))) {
		i++
	}
	if i == start || i == len(s) || s[i] != '>' {
		return 0
	}
	return i + 1
}

// listNumber returns the length of "12." or "12)" at the beginning of s, 0 if there is none.
func listNumber(s string) int {
	i := 0
	for i < len(s) && i < 4 && isDigit(rune(s[i])) {
		i++
	}
	if i == 0 || i == len(s) || s[i] != '.' && s[i] != ')' {
		return 0
	}
	return i + 1
}
