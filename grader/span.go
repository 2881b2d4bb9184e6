package grader

import (
	"math/big"
	"unicode/utf8"
)

// reading is what an answer span says: a value, or the reason why it has none.
type reading struct {
	value     *big.Rat
	form      Form
	reason    Reason
	percent   bool
	unit      bool
	unreduced bool
}

func refuse(why Reason) reading { return reading{reason: why} }

// readSpan reads s, folded, as exactly one number with an optional label, sign, currency, percent sign and unit. Equations
// count by their last side, which must be a literal. spaceGroups allows plain spaces as thousands separators.
func readSpan(s string, spaceGroups bool) reading {
	if len(s) > MaxSpan && utf8.RuneCountInString(s) > MaxSpan {
		return refuse(LimitSpan)
	}
	var buf [MaxSpan]rune
	return readSpanRunes(flatten(s, buf[:0]), spaceGroups)
}

func readSpanRunes(t []rune, spaceGroups bool) reading {
	if tooDeep(t) {
		return refuse(LimitDepth)
	}
	side, why := answerSide(t)
	if why != "" {
		return refuse(why)
	}
	return readLiteral(cutLabel(side), spaceGroups)
}

func tooDeep(t []rune) bool {
	depth := 0
	for _, r := range t {
		switch r {
		case '{', '(':
			if depth++; depth > MaxDepth {
				return true
			}
		case '}', ')':
			depth = max(depth-1, 0)
		}
	}
	return false
}

// answerSide returns the side of an equation that states the answer: the last one, or the first one of "64 = x"; t itself
// if there is no equation.
func answerSide(t []rune) (side []rune, why Reason) {
	last, relations, start := -1, 0, 0
	for i, r := range t {
		switch r {
		case '<', '>', '≠':
			return nil, Inequality
		case '=', '≈':
			if last >= 0 && len(trimSilent(t[start:i])) == 0 { // ==
				last, start = i, i+1
				continue
			}
			if hedged(t[start:i], relations == 0) {
				return nil, Several
			}
			last, start = i, i+1
			relations++
		}
	}
	if last < 0 {
		return t, ""
	}
	side = t[last+1:]
	if w := trimSilent(side); relations == 1 && t[last] == '=' && len(w) > 0 && isName(w) {
		return t[:last], ""
	}
	return side, ""
}

// isName reports a variable or label without digits: one word that is not a number.
func isName(t []rune) bool {
	for _, r := range t {
		if !isLetter(r) {
			return false
		}
	}
	kind, _ := kindOf(lower(t))
	return kind == labelWord
}

// hedged reports an earlier side of an equation that holds a second statement: "x = 5 or x", "5, x".
func hedged(t []rune, first bool) bool {
	digits := false
	for _, r := range t {
		digits = digits || isDigit(r)
	}
	for i := 0; i < len(t); i++ {
		switch r := t[i]; {
		case r == '±':
			return true
		case (r == ',' || r == ';') && (digits || !first):
			grouping := r == ',' && i > 0 && isDigit(t[i-1]) && isDigit(at(t, i+1))
			latex := r == ',' && at(t, i-1) == '{' && at(t, i+1) == '}'
			if !grouping && !latex {
				return true
			}
		case isLetter(r):
			j := i
			for isLetter(at(t, j)) {
				j++
			}
			if w := lower(t[i:j]); w == "or" || w == "and" && (digits || !first) {
				return true
			}
			i = j - 1
		}
	}
	return false
}

func trimSilent(t []rune) []rune {
	for len(t) > 0 && isSilent(t[0]) {
		t = t[1:]
	}
	for len(t) > 0 && isSilent(t[len(t)-1]) {
		t = t[:len(t)-1]
	}
	return t
}

// cutLabel removes a leading label: words without digits that end in a colon.
func cutLabel(t []rune) []rune {
	letters := false
	for i, r := range t {
		switch {
		case r == ':':
			if !letters {
				return t
			}
			return t[i+1:]
		case isLetter(r):
			letters = true
		case isSilent(r), r == '*', r == '_', r == '`', r == '"', r == '\'', r == '’', r == '(', r == ')', r == '-', r == '/', r == '#', isCurrency(r):
		default:
			return t
		}
	}
	return t
}

// head is what stands before the number of a literal.
type head struct {
	end    int // where the number should begin
	sign   int
	parens int // parentheses that are open
	unit   bool
	reason Reason // two signs, or a sign before a parenthesis
}

// readHead reads signs, currency, opening parentheses and Markdown at the beginning of t.
func readHead(t []rune) (h head) {
	i := 0
	for ; i < len(t); i++ {
		switch r := t[i]; {
		case isSilent(r), r == '*', r == '_', r == '`', r == '"', r == '\'', r == '“', r == '”', r == '‘', r == '’', r == '$':
		case isCurrency(r):
			h.unit = true
		case r == '-', r == '+', r == '–', r == '—':
			if h.sign != 0 {
				h.reason = Expression
			}
			if h.sign = -1; r == '+' {
				h.sign = 1
			}
		case r == '(':
			if h.sign != 0 {
				h.reason = Expression
			}
			h.parens++
		case isLetter(r):
			j := i
			for isLetter(at(t, j)) {
				j++
			}
			if !currencyCode(t[i:j]) {
				h.end = i
				return h
			}
			h.unit = true
			if i = j - 1; at(t, j) == '.' && !isDigit(at(t, j+1)) { // Rs. 5
				i = j
			}
		default:
			h.end = i
			return h
		}
	}
	h.end = i
	return h
}

// readLiteral reads t as one number and its labels.
func readLiteral(t []rune, spaceGroups bool) reading {
	h := readHead(t)
	if h.reason != "" {
		return refuse(h.reason)
	}
	if !startsNumber(t, h.end) {
		return refuse(noNumber(t, h.end))
	}
	n := scanNumber(t, h.end, spaceGroups)
	if n.form == "" {
		return refuse(n.reason)
	}
	tl := readTail(t, n.end, h.parens)
	if tl.reason != "" {
		return refuse(tl.reason)
	}
	return evaluate(t, token{numeral: n, negative: h.sign < 0, power: tl.power, percent: tl.percent, unit: h.unit || tl.unit || oddDollars(t)})
}

// oddDollars tells money from math delimiters: bare dollar signs that do not pair up are money.
func oddDollars(t []rune) bool {
	odd := false
	for _, r := range t {
		odd = odd != (r == '$')
	}
	return odd
}

// token is a numeral with the sign, scale and labels around it.
type token struct {
	numeral
	negative bool
	power    int // of ten, from scale words
	percent  bool
	unit     bool
}

// evaluate turns a token of t into a reading.
func evaluate(t []rune, k token) reading {
	v, unreduced, why := k.value(t)
	if v == nil {
		return refuse(why)
	}
	if k.power > 0 {
		v.Mul(v, new(big.Rat).SetInt(tenTo(k.power)))
	}
	if k.negative {
		v.Neg(v)
	}
	return reading{value: v, form: k.form, percent: k.percent, unit: k.unit, unreduced: unreduced}
}

// noNumber says what stands at t[i] instead of a number.
func noNumber(t []rune, i int) Reason {
	if i >= len(t) {
		return NotANumber
	}
	r := t[i]
	switch {
	case r == '±':
		return Several
	case r == '√', r == '|', r == runeOper:
		return Expression
	case !isLetter(r):
		return NotANumber
	}
	j := i
	for isLetter(at(t, j)) {
		j++
	}
	switch w := lower(t[i:j]); w {
	case "not":
		return Negated
	default:
		if kind, _ := kindOf(w); kind == numberWord || kind == scaleWord {
			return NumberWord
		}
	}
	for _, r := range t[j:] {
		if isDigit(r) {
			return Prose
		}
	}
	return NotANumber
}
