package grader

// maxScale bounds the scale words of one number together: a million million is 10^12.
const maxScale = 24

// tail is what follows a number inside an answer span.
type tail struct {
	reason  Reason // why the span is not one number; empty if the tail is a unit, a percent sign or nothing
	power   int    // scale words: power of ten
	percent bool
	unit    bool
}

// readTail reads t[i:], everything after the number that ends at i. parens is how many parentheses are open there. The
// number before it stands only if the tail is unit words without a second value or factor in them.
func readTail(t []rune, i, parens int) tail {
	var tl tail
	start := i
	first := true // no word yet: a scale word still multiplies
	for i < len(t) {
		r := t[i]
		switch {
		case isSilent(r), r == '`', r == '"', r == '“', r == '”':
			i++
		case isLetter(r):
			j := i
			for isLetter(at(t, j)) {
				j++
			}
			if why := tl.word(t, i, j, i == start, first); why != "" {
				return tail{reason: why}
			}
			if at(t, j) == '.' { // abbreviations: ft., p.m.
				j++
			}
			if k, _ := kindOf(lower(t[i:j])); k != scaleWord {
				first = false
			}
			i = j
			if e := unitExponent(t, i); e > i {
				i = e
			}
		case r == '%':
			if tl.percent || !first {
				return tail{reason: NotANumber}
			}
			tl.percent, first = true, false
			i++
		case isCurrency(r):
			if r != '$' {
				tl.unit = true
			}
			i++
		case r == '°':
			tl.unit = true
			i++
		case r == '^' && first:
			k := skipSilent(t, i+1)
			n := ordinal(t, k)
			if at(t, k) != '°' && n == 0 {
				return tail{reason: Expression}
			}
			tl.unit, first = true, false
			i = k + max(n, 1)
		case r == '(':
			parens++
			i++
		case r == ')':
			if parens--; parens < 0 {
				return tail{reason: NotANumber}
			}
			i++
		case r == '.':
			if skipClosers(t, i+1) != len(t) {
				return tail{reason: restReason(t, i, NotANumber)}
			}
			i++
		case r == '/' && isLetter(at(t, skipSilent(t, i+1))):
			i++
		case r == '\'' || r == '’':
			if !isLetter(at(t, i-1)) && i+1 != len(t) {
				return tail{reason: UnknownUnit}
			}
			i++
		case r == '-' && isLetter(at(t, i-1)) && isLetter(at(t, i+1)):
			i++
		case r == '*' && !isLetter(at(t, i+1)) && at(t, i+1) != '(', r == '_' && !isLetter(at(t, i+1)) && at(t, i+1) != '{':
			i++
		default:
			return tail{reason: restReason(t, i, refuseRune(t, i))}
		}
	}
	if parens != 0 {
		tl.reason = NotANumber
	}
	return tl
}

// word judges the word t[i:j]. glued: it touches the number. first: no other word came before.
func (tl *tail) word(t []rune, i, j int, glued, first bool) Reason {
	w := t[i:j]
	name := lower(w)
	kind, power := kindOf(name)
	switch kind {
	case scaleWord:
		if tl.power += power; !first || tl.percent || tl.power > maxScale {
			return NumberWord
		}
		return ""
	case percentWord:
		if tl.percent {
			return NotANumber
		}
		tl.percent = true
		return ""
	case numberWord:
		return NumberWord
	case hedgeWord:
		return Several
	case changeWord:
		return UnknownUnit
	}
	initial := (at(t, j) == '.' || at(t, j) == '\'' || at(t, j) == '’') && isLetter(at(t, j+1)) || // p.m., U.S., o'clock
		at(t, i-1) == '.' && isLetter(at(t, i-2))
	switch {
	case len(w) == 1 && !knownUnit(w) && !(initial && !glued) && !(name == "a" && !first):
		return UnknownUnit
	case glued && len(w) == 2 && !knownUnit(w):
		return UnknownUnit
	case glued && at(t, i-1) == '0' && !isDigit(at(t, i-2)) && at(t, i-2) != '.' && name != "" && (name[0] == 'x' || name[0] == 'b' || name[0] == 'o') &&
		!knownUnit(w): // 0xff, 0b
		return NotANumber
	case first && (name == "squared" || name == "cubed"):
		return Expression
	case name == "cent" && lower(previousWord(t, i)) == "per":
		tl.percent = true
		return ""
	}
	tl.unit = true
	return ""
}

func previousWord(t []rune, i int) []rune {
	for i > 0 && isSilent(t[i-1]) {
		i--
	}
	j := i
	for i > 0 && isLetter(t[i-1]) {
		i--
	}
	return t[i:j]
}

// unitExponent returns the index after the exponent of a unit word that ends at i (cm^2, m², s^{-1}), or i.
func unitExponent(t []rune, i int) int {
	k := i
	for at(t, k) == '}' || at(t, k) == runeBound { // \text{ cm}^2
		k++
	}
	if s := superscript(at(t, k)); s >= 1 && s <= 3 && superscript(at(t, k+1)) < 0 {
		return k + 1
	}
	if at(t, k) != '^' {
		return i
	}
	k++
	braced := at(t, k) == '{'
	if braced {
		k++
	}
	if at(t, k) == '-' {
		k++
	}
	if r := at(t, k); r < '1' || r > '3' || isDigit(at(t, k+1)) {
		return i
	}
	k++
	if braced {
		if at(t, k) != '}' {
			return i
		}
		k++
	}
	if at(t, k) == '^' || superscript(at(t, k)) >= 0 {
		return i
	}
	return k
}

// skipClosers returns the index after a run of silent runes and closing marks.
func skipClosers(t []rune, i int) int {
	for i < len(t) {
		switch r := t[i]; {
		case isSilent(r), r == '*', r == '_', r == '`', r == '"', r == '”', r == '’', r == '\'', r == '$', r == ')':
			i++
		default:
			return i
		}
	}
	return i
}

// refuseRune says why the rune at t[i] cannot follow a number.
func refuseRune(t []rune, i int) Reason {
	switch r := t[i]; {
	case isDigit(r), r == ';', r == '±', r == '–', r == '—', r == runeFrac, isVulgar(r):
		return Several
	case r == ',':
		if isDigit(at(t, i+1)) {
			return BadGrouping
		}
		return NotANumber
	case r == ':':
		return Ratio
	case r == '-', r == '+', r == '×', r == '·', r == '÷', r == '*', r == '/', r == '!', r == '|', r == '√', r == '^', r == runeOper, r == runeCommand,
		superscript(r) >= 0:
		return Expression
	}
	return NotANumber
}

// restReason is why, or Several if a plain refusal hides a second number in the rest of the span.
func restReason(t []rune, i int, why Reason) Reason {
	if why != NotANumber {
		return why
	}
	for ; i < len(t); i++ {
		if isDigit(t[i]) {
			return Several
		}
	}
	return why
}
