package grader

import (
	"math/big"
	"strconv"
)

// decimal is a run of digits with optional grouping and decimal point: where it stands, not yet its value.
type decimal struct {
	from, to int32 // indices: digits, separators and point
	frac     int32 // how many digits are fractional
	spaced   bool  // grouped by plain spaces
	over     bool  // a run longer than MaxDigits
}

// startsDecimal reports whether digits, or a point and digits, begin at t[i].
func startsDecimal(t []rune, i int) bool {
	r := at(t, i)
	return isDigit(r) || r == '.' && isDigit(at(t, i+1))
}

// scanDecimal reads digits at t[i]. Thousands separators are one comma ("," or "{,}") or one thin space between strict
// groups of three after a first group of one to three digits that does not begin with 0; plain spaces count where
// spaceGroups is set.
func scanDecimal(t []rune, i int, spaceGroups bool) (d decimal) {
	j := skipDigits(t, i)
	digits := j - i
	if digits >= 1 && digits <= 3 && t[i] != '0' {
		var kind rune
		for {
			sep, k := separator(t, j, spaceGroups)
			if sep == 0 || kind != 0 && sep != kind || !isDigit(at(t, k)) || !isDigit(at(t, k+1)) || !isDigit(at(t, k+2)) || isDigit(at(t, k+3)) {
				break
			}
			kind, j = sep, k+3
			digits += 3
		}
		d.spaced = kind == ' '
	}
	d.over = digits > MaxDigits
	if at(t, j) == '.' && isDigit(at(t, j+1)) {
		k := skipDigits(t, j+1)
		d.frac = int32(k - j - 1)
		d.over = d.over || d.frac > MaxDigits
		j = k
	}
	d.from, d.to = int32(i), int32(j)
	return d
}

// separator reads one thousands separator at t[i]: its kind (0 if there is none) and the index after it.
func separator(t []rune, i int, spaceGroups bool) (kind rune, end int) {
	switch r := at(t, i); {
	case r == ',', r == thin, r == ' ' && spaceGroups:
		return r, i + 1
	case r == '{' && at(t, i+1) == ',' && at(t, i+2) == '}':
		return ',', i + 3
	}
	return 0, i
}

// isTen reports whether d is written as 10.
func (d decimal) isTen(t []rune) bool {
	return d.to == d.from+2 && t[d.from] == '1' && t[d.from+1] == '0'
}

// end returns the index after d.
func (d decimal) end() int { return int(d.to) }

func (d decimal) form() Form {
	if d.frac > 0 {
		return Decimal
	}
	return Integer
}

// rat returns the exact value of d in t times ten to the exp, |exp| <= MaxExponent, if d is not over the limit.
func (d decimal) rat(t []rune, exp int) *big.Rat {
	var buf [64]byte
	digits := buf[:0]
	for _, r := range t[d.from:d.to] {
		if isDigit(r) {
			digits = append(digits, byte(r))
		}
	}
	num := new(big.Int)
	if len(digits) < len(pow10) {
		n, _ := strconv.ParseInt(string(digits), 10, 64) // fits: fewer than 19 digits
		num.SetInt64(n)
	} else {
		num.SetString(string(digits), 10)
	}
	if exp -= int(d.frac); exp >= 0 {
		if exp > 0 {
			num.Mul(num, tenTo(exp))
		}
		return new(big.Rat).SetInt(num)
	}
	return new(big.Rat).SetFrac(num, tenTo(-exp))
}

var pow10 = func() (p [19]int64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = 10 * p[i-1]
	}
	return
}()

func tenTo(n int) *big.Int {
	if n < len(pow10) {
		return big.NewInt(pow10[n])
	}
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

func skipDigits(t []rune, i int) int {
	for isDigit(at(t, i)) {
		i++
	}
	return i
}
