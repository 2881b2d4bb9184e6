package grader

import "math/big"

// numeral is one numeric token: how it is written, or the reason why it is no number. Scanning and arithmetic are apart, so
// that passing over a million numbers costs no arithmetic.
type numeral struct {
	form     Form // empty if it is refused
	reason   Reason
	end      int // index after the whole token: no piece of a refused token is ever read as a number of its own
	whole    quantity
	exp      int // power of ten, of a scientific literal
	num, den quantity
}

// quantity is a part of a numeral: a decimal with a sign, or a small integer that is not written in digits (½, 10^3).
type quantity struct {
	decimal
	negative bool
	small    int32 // used if the decimal is empty
}

func (q quantity) rat(t []rune, exp int) *big.Rat {
	if q.from == q.to {
		return new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(int64(q.small)), tenTo(max(exp, 0))), tenTo(max(-exp, 0)))
	}
	v := q.decimal.rat(t, exp)
	if q.negative {
		v.Neg(v)
	}
	return v
}

func refuseNumeral(why Reason, end int) numeral { return numeral{reason: why, end: end} }

// value evaluates the literal, which stands in t. It is nil with a reason if there is no value: a zero denominator, an improper mixed number, an
// hour after 24.
func (n numeral) value(t []rune) (v *big.Rat, unreduced bool, why Reason) {
	switch n.form {
	case "":
		return nil, false, n.reason
	case Fraction, Mixed:
		a, b := n.num.rat(t, 0), n.den.rat(t, 0)
		if b.Sign() == 0 {
			return nil, false, ZeroDivision
		}
		v = new(big.Rat).Quo(a, b)
		unreduced = a.IsInt() && b.IsInt() && b.Num().CmpAbs(v.Denom()) != 0
		if n.form == Mixed {
			if v.Sign() < 0 || v.Cmp(big.NewRat(1, 1)) >= 0 {
				return nil, false, Several
			}
			v.Add(v, n.whole.rat(t, 0))
		}
		return v, unreduced, ""
	}
	return n.whole.rat(t, n.exp), false, ""
}

// vulgar returns numerator and denominator of a one-character fraction; ok is false for other characters.
func vulgar(r rune) (num, den int32, ok bool) {
	if r < 0xbc || r > 0x215e || r > 0xbe && r < 0x2150 {
		return 0, 0, false
	}
	f, ok := vulgarFractions[r]
	return f[0], f[1], ok
}

func isVulgar(r rune) bool { _, _, ok := vulgar(r); return ok }

var vulgarFractions = map[rune][2]int32{'¼': {1, 4}, '½': {1, 2}, '¾': {3, 4}, '⅐': {1, 7}, '⅑': {1, 9}, '⅒': {1, 10}, '⅓': {1, 3}, '⅔': {2, 3},
	'⅕': {1, 5}, '⅖': {2, 5}, '⅗': {3, 5}, '⅘': {4, 5}, '⅙': {1, 6}, '⅚': {5, 6}, '⅛': {1, 8}, '⅜': {3, 8}, '⅝': {5, 8}, '⅞': {7, 8}}

// scanExponent reads an optionally braced and signed integer at t[i], the power of ten of a scientific literal.
func scanExponent(t []rune, i int) (exp, end int, why Reason) {
	braced := at(t, i) == '{'
	if braced {
		i = skipSpaces(t, i+1)
	}
	negative := false
	switch at(t, i) {
	case '-', '–':
		negative = true
		i++
	case '+':
		i++
	}
	start := i
	for ; isDigit(at(t, i)); i++ {
		if exp = 10*exp + int(t[i]-'0'); exp > MaxExponent {
			why, exp = LimitExponent, MaxExponent
		}
	}
	if i == start {
		return 0, i, Expression
	}
	if braced {
		i = skipSpaces(t, i)
		if at(t, i) != '}' {
			return 0, i, Expression
		}
		i++
	}
	if negative {
		exp = -exp
	}
	return exp, i, why
}

// superscript returns the digit that a superscript character shows, -1 for others.
func superscript(r rune) int {
	switch r {
	case '²':
		return 2
	case '³':
		return 3
	case '¹':
		return 1
	case '⁰':
		return 0
	}
	if r >= '⁴' && r <= '⁹' {
		return int(r-'⁴') + 4
	}
	return -1
}

// scanSuperscripts reads an exponent written in superscript characters; ok is false if there is none.
func scanSuperscripts(t []rune, i int) (exp, end int, why Reason, ok bool) {
	negative := at(t, i) == '⁻'
	if negative || at(t, i) == '⁺' {
		i++
	}
	for ; superscript(at(t, i)) >= 0; i++ {
		ok = true
		if exp = 10*exp + superscript(t[i]); exp > MaxExponent {
			why, exp = LimitExponent, MaxExponent
		}
	}
	if negative {
		exp = -exp
	}
	return exp, i, why, ok
}
