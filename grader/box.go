package grader

import (
	"strings"
	"unicode/utf8"
)

// boxCommand returns the length of a \boxed or \fbox at the beginning of s, 0 if there is none.
func boxCommand(s string) int {
	n := 0
	switch {
	case strings.HasPrefix(s, `\boxed`):
		n = len(`\boxed`)
	case strings.HasPrefix(s, `\fbox`):
		n = len(`\fbox`)
	default:
		return 0
	}
	if n < len(s) && isASCIILetter(rune(s[n])) {
		return 0
	}
	return n
}

func skipBlanks(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t') {
		i++
	}
	return i
}

// readBoxed reads the last box. A command without braces is skipped as a mention of the word, unless a number follows it.
// At the very end of the text it is a box that was cut off.
func readBoxed(text string) (found bool, rd reading) {
	for end := len(text); ; {
		i := strings.LastIndexByte(text[:end], '\\')
		if i < 0 {
			return false, reading{}
		}
		end = i
		n := boxCommand(text[i:])
		if n == 0 {
			continue
		}
		j := skipBlanks(text, i+n)
		if j == len(text) {
			return true, refuse(BoxUnclosed)
		}
		if text[j] == '{' {
			rd = readBraces(text, j)
		} else if found, rd = readBareBox(text[j:]); !found {
			continue
		}
		if rd.value != nil && unaryMinus(text[:i]) {
			rd.value.Neg(rd.value)
		}
		return true, rd
	}
}

// readBraces reads the box whose brace opens at text[open], and a percent sign right after it.
func readBraces(text string, open int) reading {
	end := closingBrace(text, open)
	if end < 0 {
		return refuse(BoxUnclosed)
	}
	content := text[open+1 : end]
	if strings.Trim(content, " \n\t\u2009~$") == "" {
		return refuse(BoxEmpty)
	}
	rd := readSpan(content, true)
	rd.percent = rd.percent || rd.value != nil && percentAfter(text[end+1:])
	return rd
}

// closingBrace returns the index of the brace that closes the one at s[open], -1 if none does. Escaped braces do not count.
func closingBrace(s string, open int) int {
	depth := 0
	for i := open; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// percentAfter reports a percent sign or the word right after a box: \boxed{40}\%, $\boxed{40}$ percent.
func percentAfter(s string) bool {
	s = strings.TrimLeft(s, " $}*")
	s = strings.TrimPrefix(s, `\)`)
	s = strings.TrimLeft(s, " *")
	return strings.HasPrefix(s, "%") || strings.HasPrefix(s, `\%`) || strings.HasPrefix(s, "percent") || strings.HasPrefix(s, "per cent ")
}

// readBareBox reads the number of "\boxed 64", if s begins with one. A look at the first few bytes comes first, so that a text
// full of mentions stays cheap.
func readBareBox(s string) (found bool, rd reading) {
	const glance, window = 32, 4 * MaxSpan
	var few [glance]rune
	t := flatten(s[:min(len(s), glance)], few[:0])
	h := readHead(t)
	if h.reason != "" || h.parens > 0 || !startsNumber(t, h.end) {
		return false, reading{}
	}
	s, _, _ = strings.Cut(s[:min(len(s), window)], "\n")
	t = flatten(s, nil)
	if h = readHead(t); !startsNumber(t, h.end) {
		return false, reading{}
	}
	k := readToken(t, h.end)
	k.negative, k.unit = h.sign < 0, k.unit || h.unit
	return true, evaluate(t, k)
}

// unaryMinus reports whether before, the text in front of a box, ends in a minus that is the sign of the box and not a
// subtraction, a range or a hyphen.
func unaryMinus(before string) bool {
	r, n := utf8.DecodeLastRuneInString(before)
	if r != '-' && r != '–' && r != '—' {
		return false
	}
	return signCanStand(before[:len(before)-n])
}

// signCanStand reports whether a sign at the end of before can be a unary one.
func signCanStand(before string) bool {
	if before == "" {
		return true
	}
	r, n := utf8.DecodeLastRuneInString(before)
	rest := before[:len(before)-n]
	switch {
	case r == '$': // opens math, or closes it after a number: $50$-\boxed{9}
		c, _ := utf8.DecodeLastRuneInString(rest)
		return !endsOperand(c)
	case r == ' ':
		c, _ := utf8.DecodeLastRuneInString(strings.TrimRight(rest, " "))
		return !endsOperand(c) || isLetter(c)
	case r == '-' || r == '–' || r == '—':
		return false
	}
	return !endsOperand(r)
}

func endsOperand(r rune) bool {
	return isDigit(r) || isLetter(r) || r == ')' || r == '}' || r == ']' || r == '%'
}

// countBoxes counts the boxes of a text and how many different values (or texts) they hold. One pass: a box in a box costs
// nothing extra.
func countBoxes(text string) (boxes, distinct int) {
	i := strings.Index(text, `\boxed`)
	if j := strings.Index(text, `\fbox`); i < 0 || j >= 0 && j < i {
		i = j
	}
	if i < 0 {
		return 0, 0
	}
	var open []int // per open brace: where the content of its box begins, -1 if it is no box
	contents := map[string]bool{}
	add := func(s string) {
		if len(s) > 4*MaxSpan {
			s = s[:4*MaxSpan]
		}
		if len(contents) < maxDistinct {
			contents[s] = true
		}
	}
	for i < len(text) {
		switch text[i] {
		case '\\':
			n := boxCommand(text[i:])
			if n == 0 {
				i += 2
				continue
			}
			j := skipBlanks(text, i+n)
			if j == len(text) || text[j] == '{' {
				boxes++
				open = append(open, j+1)
				j++
			} else if isDigit(rune(text[j])) {
				boxes++
				k := j
				for k < len(text) && k < j+MaxDigits && isDigit(rune(text[k])) {
					k++
				}
				add(text[j:k])
			}
			i = j
			continue
		case '{':
			open = append(open, -1)
		case '}':
			if n := len(open); n > 0 {
				if open[n-1] >= 0 {
					add(text[open[n-1]:i])
				}
				open = open[:n-1]
			}
		}
		i++
	}
	if len(contents) < 2 {
		return boxes, len(contents)
	}
	values := map[string]bool{}
	for s := range contents {
		if rd := readSpan(s, true); rd.value != nil {
			values[rd.value.RatString()] = true
		} else {
			values["text "+strings.TrimSpace(s)] = true
		}
	}
	return boxes, len(values)
}
