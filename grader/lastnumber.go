package grader

import (
	"strings"
	"unicode"
)

// readLastNumber reads the last numeric token of the text. Tokens are taken whole: a version, a power, a time or a number
// with an unknown letter behind it decides too, with a verdict of 0. Names such as A7 are passed over.
func readLastNumber(text string) (found bool, rd reading) {
	var buf []rune
	for end := len(text); end >= 0; {
		begin := strings.LastIndexByte(text[:end], '\n') + 1
		if line := text[begin:end]; mayHoldNumber(line) {
			buf = flatten(line, buf[:0])
			if found, rd = lastToken(buf); found {
				return found, rd
			}
		}
		end = begin - 1
	}
	return false, reading{}
}

// mayHoldNumber reports a digit, or the first byte of a fraction character.
func mayHoldNumber(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; '0' <= c && c <= '9' || c == 0xc2 || c == 0xe2 {
			return true
		}
	}
	return false
}

// lastToken reads the last numeric token of a flattened line.
func lastToken(t []rune) (found bool, rd reading) {
	var last token
	begin, end := 0, 0 // of the last token
	plain := false     // the last token is an integer, not read yet
	for i := 0; i < len(t); {
		r := t[i]
		switch {
		case r < 0x80 && !isDigit(r) && !isASCIILetter(r) && r != '.' && r != '^' && r != '_':
			i++
		case startsNumber(t, i) && (r != '.' || !endsOperand(at(t, i-1))):
			found, begin = true, i
			if end, plain = plainInteger(t, i); !plain {
				last = readToken(t, i)
				end = last.end
			}
			i = end
		case superscript(r) >= 0 || r == '^' || r == '_' && endsOperand(at(t, i-1)):
			if e := unitExponent(t, i); e > i && unitBetween(t, end, i) {
				i = e
				continue
			}
			stop, why := skipScript(t, i)
			if hasDigit(t[i:stop]) {
				found, plain, end, last = true, false, stop, token{numeral: refuseNumeral(why, stop)}
			}
			i = stop
		case r == runeOper || r == '√':
			stop := skipArguments(t, i+1)
			if hasDigit(t[i:stop]) {
				found, plain, end, last = true, false, stop, token{numeral: refuseNumeral(Expression, stop)}
			}
			i = stop
		case r >= 0x80 && unspaced(r):
			i++
		case isWordRune(r):
			for i < len(t) && isWordRune(t[i]) && (t[i] < 0x80 || !unspaced(t[i])) {
				i++
			}
		default:
			i++
		}
	}
	if plain {
		last = readToken(t, begin)
	}
	if !found || last.form == "" {
		return found, refuse(last.reason)
	}
	last.negative = proseMinus(t, begin)
	if c := at(t, begin-1); isCurrency(c) {
		last.unit = last.unit || c != '$' || oddDollars(t)
	}
	return found, evaluate(t, last)
}

// plainInteger returns the index after the digits at t[i] if what follows cannot be part of their token; then readToken
// would find the same end. It only saves time where a line holds very many numbers.
func plainInteger(t []rune, i int) (end int, ok bool) {
	end = skipDigits(t, i)
	j := end
	for at(t, j) == ' ' {
		j++
	}
	switch next := at(t, j+1); at(t, j) {
	case 0, ';', ')', '?', '!', '$', '+', '=':
		ok = true
	case ',':
		ok = j > end || !isDigit(next) || !isDigit(at(t, j+2)) || !isDigit(at(t, j+3))
	case '.':
		ok = !isDigit(next)
	case '-':
		ok = !isLetter(next)
	case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9': // unless the second number is a fraction's numerator
		switch at(t, skipDigits(t, j)) {
		case 0, ' ', ';', ')':
			ok = true
		}
	}
	return end, ok && end > i
}

// readToken reads the numeric token at t[i], where startsNumber holds, and what is glued to it or scales it.
func readToken(t []rune, i int) token {
	k := token{numeral: scanNumber(t, i, false)}
	if k.form == "" {
		for isWordRune(at(t, k.end)) {
			k.end++
		}
		return k
	}
	if at(t, k.end) == '^' { // 18^{th}, 18^\circ
		j := skipSilent(t, k.end+1)
		n := ordinal(t, j)
		if n == 0 && at(t, j) != '°' {
			return token{numeral: refuseNumeral(Expression, skipTower(t, k.end))}
		}
		k.end, k.unit = j+max(n, 1), true
	}
	if at(t, k.end) == '°' {
		k.end, k.unit = k.end+1, true
	}
	if at(t, k.end) == '%' {
		k.end, k.percent = k.end+1, true
	}
	if j := k.end; isWordRune(at(t, j)) {
		for isWordRune(at(t, j)) {
			j++
		}
		if why := k.gluedWord(t, k.end, j); why != "" {
			return token{numeral: refuseNumeral(why, j)}
		}
		k.end = j
	}
	for !k.percent {
		power, percent, stop, why := wordAfter(t, k.end)
		if k.power += power; k.power > maxScale {
			why = NumberWord
		}
		if why != "" {
			return token{numeral: refuseNumeral(why, stop)}
		}
		if stop == k.end {
			break
		}
		k.percent, k.end = percent, stop
	}
	return k
}

// gluedWord judges t[i:j], which touches the number before it: 18kg and 18th stand, 5k and 6x7 do not.
func (k *token) gluedWord(t []rune, i, j int) Reason {
	for _, r := range t[i:j] {
		if !isLetter(r) {
			return NotANumber
		}
	}
	var tl tail
	if why := tl.word(t, i, j, true, true); why != "" {
		return why
	}
	k.power += tl.power
	k.percent, k.unit = k.percent || tl.percent, k.unit || tl.unit
	return ""
}

// wordAfter reads the word after a number if it changes the value: a scale word, percent, a lone k, "and a half".
// stop is i if it does not.
func wordAfter(t []rune, i int) (power int, percent bool, stop int, why Reason) {
	w, j := nextWord(t, i)
	name := lower(w)
	switch kind, p := kindOf(name); {
	case kind == scaleWord:
		return p, false, j, ""
	case kind == percentWord:
		return 0, true, j, ""
	case name == "k":
		return 0, false, j, UnknownUnit
	case name == "and":
		if a, k := nextWord(t, j); lower(a) == "a" || lower(a) == "one" {
			if part, end := nextWord(t, k); isFractionWord(lower(part)) {
				return 0, false, end, UnknownUnit
			}
		}
	}
	return 0, false, i, ""
}

func isFractionWord(w string) bool {
	switch w {
	case "half", "third", "quarter", "fourth", "fifth", "sixth", "eighth", "tenth":
		return true
	}
	return false
}

// nextWord returns the Latin word within a few spaces or a hyphen of t[i], and the index after it.
func nextWord(t []rune, i int) (word []rune, end int) {
	j := i
	for j < i+4 && j < len(t) && (isSilent(t[j]) || t[j] == '-' && isLetter(at(t, j+1))) {
		j++
	}
	end = j
	for isLetter(at(t, end)) {
		end++
	}
	return t[j:end], end
}

// proseMinus reports a minus sign that belongs to the number at t[i]: it touches the number (or its currency sign), and
// what stands before it is not an operand. A hyphen with a space behind it is a bullet or a subtraction.
func proseMinus(t []rune, i int) bool {
	i--
	for isCurrency(at(t, i)) {
		i--
	}
	if r := at(t, i); r != '-' && r != '–' && r != '—' {
		return false
	}
	before := at(t, i-1)
	if before == '$' {
		before = at(t, i-2)
	}
	return !endsOperand(before)
}

// unitBetween reports whether t[from:to] is a short run of unit words, so that an exponent at to belongs to a unit.
func unitBetween(t []rune, from, to int) bool {
	if from == 0 || to-from > 40 {
		return false
	}
	words := 0
	for i := from; i < to; i++ {
		switch r := t[i]; {
		case isLetter(r):
			if !isLetter(at(t, i-1)) {
				words++
			}
		case !isSilent(r) && r != '/' && r != '.':
			return false
		}
	}
	return words >= 1 && words <= 3
}

// skipScript returns the index after the sub- or superscript at t[i], and why it is not a number.
func skipScript(t []rune, i int) (end int, why Reason) {
	if t[i] != '_' {
		return skipTower(t, i), Expression
	}
	if at(t, i+1) == '{' {
		return skipGroup(t, i+1), NotANumber
	}
	return skipAlnum(t, i+1), NotANumber
}

// skipArguments returns the index after the brace groups, or else the number, at t[i].
func skipArguments(t []rune, i int) int {
	i = skipSpaces(t, i)
	if at(t, i) != '{' {
		if at(t, i) == '(' {
			i++
		}
		return skipAlnum(t, i)
	}
	for at(t, i) == '{' {
		i = skipGroup(t, i)
	}
	return i
}

func hasDigit(t []rune) bool {
	for _, r := range t {
		if isDigit(r) {
			return true
		}
	}
	return false
}

// isWordRune reports runes that join with digits into one token: letters and digits of any script, marks, broken bytes.
func isWordRune(r rune) bool {
	if r < 0x80 {
		return isASCIILetter(r) || isDigit(r)
	}
	if r >= 0x2000 && r < 0x2070 { // punctuation and spaces
		return false
	}
	return r == unicode.ReplacementChar || unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) ||
		unicode.Is(unicode.No, r) && !isVulgar(r) && superscript(r) < 0
}

// unspaced reports letters of scripts that are written without spaces, where a number touches the word before it.
func unspaced(r rune) bool {
	return r >= 0x0e00 && (r < 0x2000 || r > 0x206f) && r != unicode.ReplacementChar && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}
