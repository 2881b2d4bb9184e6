package grader

import (
	"strings"
	"unicode/utf8"
)

// How far from the word "answer" its verb or sign may stand, in bytes: "answer to the first of the questions is", "answer (in
// dollars):". A sign further away belongs to something else: "multiply the answer by 100 to get the percentage: ...".
const (
	maxVerbBridge = 80
	maxSignBridge = 24
)

// readAnswerIs reads the number after the last "answer is", "answer:" or "answer =". If no number begins there it has found
// nothing; a number followed by a second one, or a negation, is a verdict.
func readAnswerIs(text string) (found bool, rd reading) {
	for end := len(text); ; {
		i := lastAnswer(text[:end])
		if i < 0 {
			return false, reading{}
		}
		end = i
		if i+len("answer") < len(text) && isASCIILetter(rune(text[i+len("answer")])) {
			continue // answers, answered
		}
		start, ok := bridge(text, i+len("answer"))
		if !ok {
			continue
		}
		if negated(text[start:]) {
			return true, refuse(Negated)
		}
		return readClause(text[start:])
	}
}

// lastAnswer returns the index of the last "answer" in any case that begins a word, -1 if there is none.
func lastAnswer(s string) int {
	const word = "answer"
	for i := len(s) - len(word); i >= 0; i-- {
		if s[i]|0x20 != 'a' || s[i+1]|0x20 != 'n' || s[i+2]|0x20 != 's' || !strings.EqualFold(s[i:i+len(word)], word) {
			continue
		}
		if i == 0 || !isASCIILetter(rune(s[i-1])) {
			return i
		}
	}
	return -1
}

// bridge looks in the rest of the clause at s[i:] for the word or sign that introduces the answer, and returns the index
// after it.
func bridge(s string, i int) (start int, ok bool) {
	begin := i
	for stop := min(len(s), i+maxVerbBridge); i < stop; {
		c := s[i]
		switch {
		case c == ':' || c == '=':
			return skipIntro(s, i+1), i-begin <= maxSignBridge
		case c == '\n' || c == '.' || c == '!' || c == '?' || c == ';':
			return 0, false
		case isASCIILetter(rune(c)):
			j := i
			for j < len(s) && isASCIILetter(rune(s[j])) {
				j++
			}
			switch {
			case strings.EqualFold(s[i:j], "is"):
				return skipIntro(s, j), true
			case strings.EqualFold(s[i:j], "isn"):
				return j, true
			case strings.EqualFold(s[i:j], "answer"):
				return 0, false
			}
			i = j
		default:
			i++
		}
	}
	return 0, false
}

// skipIntro passes over spaces, line ends, Markdown and repeated signs ("is: **").
func skipIntro(s string, i int) int {
	for i < len(s) && strings.IndexByte(" \n\t*_`\":=", s[i]) >= 0 {
		i++
	}
	return i
}

// negated reports "not" among the first three words at s, before any number or punctuation; "'t" is the end of isn't.
func negated(s string) bool {
	if strings.HasPrefix(s, "'t") || strings.HasPrefix(s, "’t") {
		return true
	}
	i := 0
	for range 3 {
		j := i
		for j < len(s) && j < i+16 && isASCIILetter(rune(s[j])) {
			j++
		}
		if w := s[i:j]; strings.EqualFold(w, "not") || strings.EqualFold(w, "never") {
			return true
		}
		if j == i || j == len(s) || s[j] != ' ' {
			return false
		}
		i = skipBlanks(s, j)
	}
	return false
}

// readClause reads the clause that begins s as one number. found is false if it does not begin with one.
func readClause(s string) (found bool, rd reading) {
	end, over := clauseEnd(s)
	var buf [MaxSpan]rune
	t := flatten(s[:end], buf[:0])
	if h := readHead(t); h.reason != "" || !startsNumber(t, h.end) {
		return false, reading{}
	}
	if over {
		return true, refuse(LimitSpan)
	}
	return true, readSpanRunes(t, false)
}

// clauseEnd returns where the statement that begins s ends: at the end of the line or sentence, or at a comma, dash or
// conjunction that opens an explanation. over is set if that is beyond MaxSpan characters.
func clauseEnd(s string) (end int, over bool) {
	depth, count := 0, 0
	for i, r := range s {
		if count++; count > MaxSpan {
			return i, true
		}
		rest := s[i+utf8.RuneLen(r):]
		switch r {
		case '\n':
			return i, false
		case '!', '?':
			return i, false
		case '.':
			next, _ := utf8.DecodeRuneInString(rest)
			if isDigit(next) || isLetter(next) && i > 0 && !isDigit(rune(s[i-1])) { // 3.5, p.m.
				continue
			}
			return i, false
		case '(':
			depth++
		case ')':
			depth--
		case ',', ';':
			if depth <= 0 && strings.HasPrefix(rest, " ") && opensExplanation(rest[1:]) {
				return i, false
			}
		case ' ':
			if depth <= 0 && (dashBreak(rest) || reasonWord(rest)) {
				return i, false
			}
		}
	}
	return len(s), false
}

// opensExplanation reports whether the text after a comma leaves the value before it alone: it begins with neither a second
// number nor a word that offers an alternative.
func opensExplanation(s string) bool {
	if beginsNumber(s) {
		return false
	}
	n := 0
	for n < len(s) && isASCIILetter(rune(s[n])) {
		n++
	}
	switch strings.ToLower(s[:min(n, 16)]) {
	case "or", "maybe", "perhaps", "possibly", "alternatively", "otherwise":
		return false
	case "and", "to", "but":
		return !beginsNumber(s[n:])
	}
	return true
}

// beginsNumber reports whether a digit follows after spaces, signs and currency.
func beginsNumber(s string) bool {
	s = strings.TrimLeft(s, " $\\*(+-")
	return s != "" && (isDigit(rune(s[0])) || s[0] == '.' && len(s) > 1 && isDigit(rune(s[1])) || strings.HasPrefix(s, "frac"))
}

// dashBreak reports a dash between spaces that is not followed by a number, which would make it a minus or a range.
func dashBreak(s string) bool {
	for _, d := range []string{"- ", "– ", "— "} {
		if strings.HasPrefix(s, d) {
			return !beginsNumber(s[len(d):])
		}
	}
	return false
}

func reasonWord(s string) bool {
	return strings.HasPrefix(s, "because ") || strings.HasPrefix(s, "since ") || strings.HasPrefix(s, "which ")
}
