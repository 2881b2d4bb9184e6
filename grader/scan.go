package grader

// startsNumber reports whether a numeric token begins at t[i].
func startsNumber(t []rune, i int) bool {
	return startsDecimal(t, i) || at(t, i) == runeFrac || isVulgar(at(t, i))
}

// scanNumber reads the longest numeric token at t[i], where startsNumber holds: an integer or decimal, a fraction, a mixed
// number, a scientific literal, or a clock time on the hour. Longer tokens that contain a number but are not one (a
// version, a date, a power, a ratio) come back refused and whole.
func scanNumber(t []rune, i int, spaceGroups bool) numeral {
	if t[i] == runeFrac {
		return scanFrac(t, i)
	}
	if num, den, ok := vulgar(t[i]); ok {
		switch n := at(t, i+1); {
		case isDigit(n) || isVulgar(n):
			return refuseNumeral(NotANumber, skipAlnum(t, i+1))
		case n == '^':
			return refuseNumeral(Expression, skipTower(t, i+1))
		}
		return numeral{form: Fraction, end: i + 1, num: quantity{small: num}, den: quantity{small: den}}
	}
	d := scanDecimal(t, i, spaceGroups)
	end := d.end()
	switch next := at(t, end); {
	case next == '.' && isDigit(at(t, end+1)): // 2.0.42
		for at(t, end) == '.' && isDigit(at(t, end+1)) {
			end = skipDigits(t, end+1)
		}
		return refuseNumeral(NotANumber, end)
	case next == '_' && (isDigit(at(t, end+1)) || at(t, end+1) == '{'): // 1_250, 6_{10}
		return scanUnderscores(t, end)
	case next == ':' && isDigit(at(t, end+1)):
		return scanClock(t, d)
	case next == '^' || superscript(next) >= 0 || next == '⁻':
		if n, ok := scanPower(t, d); ok {
			return n
		}
	case (next == 'e' || next == 'E') && (isDigit(at(t, end+1)) || (at(t, end+1) == '-' || at(t, end+1) == '+') && isDigit(at(t, end+2))):
		exp, stop, why := scanExponent(t, end+1)
		return scientific(quantity{decimal: d}, exp, stop, why)
	}
	var n numeral
	var ok bool
	next := skipSpaces(t, end)
	switch r := at(t, next); {
	case r == '/':
		n, ok = scanSlash(t, d, spaceGroups)
	case r == '×' || r == '·' || r == '*' || r == 'x' || r == 'X':
		n, ok = scanTimesTen(t, d)
	case r == '{' || r == runeBound || startsNumber(t, next):
		n, ok = scanMixed(t, d)
	}
	if ok {
		return n
	}
	if d.over {
		return refuseNumeral(LimitDigits, end)
	}
	return numeral{form: d.form(), whole: quantity{decimal: d}, end: end}
}

func scientific(q quantity, exp, end int, why Reason) numeral {
	switch {
	case q.over:
		return refuseNumeral(LimitDigits, end)
	case why != "":
		return refuseNumeral(why, end)
	}
	return numeral{form: Scientific, whole: q, exp: exp, end: end}
}

// scanUnderscores refuses digits with underscores or a subscript behind them.
func scanUnderscores(t []rune, i int) numeral {
	why := BadGrouping
	if at(t, i+1) == '{' {
		why = NotANumber
	}
	for at(t, i) == '_' && (isDigit(at(t, i+1)) || at(t, i+1) == '{') {
		if i++; t[i] == '{' {
			i = skipGroup(t, i)
		} else {
			i = skipDigits(t, i)
		}
	}
	return refuseNumeral(why, i)
}

// scanClock reads h:mm after the hour d. On the hour it is the hour, as in GSM8K's references; else a time or a ratio.
func scanClock(t []rune, d decimal) numeral {
	end := d.end()
	for at(t, end) == ':' && isDigit(at(t, end+1)) {
		end = skipDigits(t, end+1)
	}
	onTheHour := end == d.end()+3 && t[d.end()+1] == '0' && t[d.end()+2] == '0'
	hour := 0
	for _, r := range t[d.from:min(d.to, d.from+3)] {
		hour = 10*hour + int(r-'0')
	}
	if !onTheHour || d.frac > 0 || d.to-d.from > 2 || hour > 24 {
		return refuseNumeral(Ratio, end)
	}
	return numeral{form: Integer, whole: quantity{decimal: d}, end: end}
}

// scanPower reads what follows a number and its ^ (or superscripts). Ten to a power is a literal; an ordinal ending or a
// degree sign is left to the unit (ok false); any other power is an expression, read to the end of the tower.
func scanPower(t []rune, d decimal) (n numeral, ok bool) {
	i := d.end()
	one := quantity{small: 1}
	if at(t, i) != '^' {
		exp, end, why, some := scanSuperscripts(t, i)
		if !some {
			return numeral{}, false
		}
		if !d.isTen(t) || at(t, end) == '^' {
			return refuseNumeral(Expression, skipTower(t, end)), true
		}
		return scientific(one, exp, end, why), true
	}
	if k := skipSilent(t, i+1); at(t, k) == '°' || ordinal(t, k) > 0 {
		return numeral{}, false
	}
	if !d.isTen(t) {
		return refuseNumeral(Expression, skipTower(t, i)), true
	}
	exp, end, why := scanExponent(t, skipSpaces(t, i+1))
	if why == Expression || at(t, end) == '^' {
		return refuseNumeral(Expression, skipTower(t, i)), true
	}
	return scientific(one, exp, end, why), true
}

// ordinal returns the length of an ordinal ending (or the letter o, typed for a degree sign) at t[i], 0 if there is none.
func ordinal(t []rune, i int) int {
	end := i
	for isLetter(at(t, end)) && end < i+3 {
		end++
	}
	if end == i {
		return 0
	}
	switch string(t[i:end]) {
	case "th", "st", "nd", "rd", "o":
		return end - i
	}
	return 0
}

// scanTimesTen reads "10^n" after d, spaces and a multiplication sign.
func scanTimesTen(t []rune, d decimal) (n numeral, ok bool) {
	i := skipSpaces(t, skipSpaces(t, d.end())+1) // after the sign
	if at(t, i) != '1' || at(t, i+1) != '0' {
		return numeral{}, false
	}
	ten := decimal{from: int32(i), to: int32(i + 2)}
	if r := at(t, ten.end()); r != '^' && superscript(r) < 0 && r != '⁻' {
		return numeral{}, false
	}
	p, ok := scanPower(t, ten)
	if !ok || p.form == "" {
		return p, ok
	}
	return scientific(quantity{decimal: d}, p.exp, p.end, ""), true
}

// scanSlash reads the denominator after d, spaces and a slash. A letter after the slash is a unit (18/hour) and not a fraction.
func scanSlash(t []rune, d decimal, spaceGroups bool) (n numeral, ok bool) {
	i := skipSpaces(t, skipSpaces(t, d.end())+1) // after the slash
	negative := at(t, i) == '-'
	if negative {
		i = skipSpaces(t, i+1)
	}
	if !startsDecimal(t, i) {
		return numeral{}, false
	}
	b := scanDecimal(t, i, spaceGroups)
	end := b.end()
	for at(t, end) == '/' && isDigit(at(t, end+1)) { // a date, or a/b/c
		end = skipDigits(t, end+1)
	}
	switch {
	case end != b.end(), at(t, end) == '^', superscript(at(t, end)) >= 0:
		return refuseNumeral(Expression, skipTower(t, end)), true
	case at(t, end) == '.' && isDigit(at(t, end+1)):
		return refuseNumeral(NotANumber, skipAlnum(t, end)), true
	case d.over || b.over:
		return refuseNumeral(LimitDigits, end), true
	case d.spaced || b.spaced: // 3 100/200 could be a mixed number
		return refuseNumeral(Several, end), true
	}
	return numeral{form: Fraction, end: end, num: quantity{decimal: d}, den: quantity{decimal: b, negative: negative}}, true
}

// scanMixed reads the fraction of a mixed number after the integer d.
func scanMixed(t []rune, d decimal) (n numeral, ok bool) {
	i := d.end()
	for i < len(t) && i < d.end()+8 && (isSpace(t[i]) || t[i] == '{' || t[i] == runeBound) {
		i++
	}
	switch r := at(t, i); {
	case r == runeFrac:
		n = scanFrac(t, i)
	case isVulgar(r):
		n = scanNumber(t, i, false)
	case i > d.end() && isDigit(r):
		a := scanDecimal(t, i, false)
		if at(t, a.end()) != '/' || !isDigit(at(t, a.end()+1)) {
			return numeral{}, false
		}
		if n, ok = scanSlash(t, a, false); !ok {
			return numeral{}, false
		}
	default:
		return numeral{}, false
	}
	switch {
	case n.form == "":
		return n, true
	case d.over:
		return refuseNumeral(LimitDigits, n.end), true
	case d.frac > 0 || d.spaced || n.num.frac > 0 || n.den.frac > 0:
		return refuseNumeral(Several, n.end), true
	}
	n.form, n.whole = Mixed, quantity{decimal: d}
	return n, true
}

// scanFrac reads \frac{a}{b}, \frac ab, \frac{a}b at t[i]. Its arguments are plain numbers; anything else is an expression.
func scanFrac(t []rune, i int) numeral {
	a, j, okA := fracArgument(t, i+1)
	b, k, okB := fracArgument(t, j)
	switch {
	case !okA || !okB:
		return refuseNumeral(Expression, k)
	case at(t, k) == '^':
		return refuseNumeral(Expression, skipTower(t, k))
	case a.over || b.over:
		return refuseNumeral(LimitDigits, k)
	}
	return numeral{form: Fraction, end: k, num: a, den: b}
}

// fracArgument reads one argument of \frac. end is after the argument, also when it is not a number (ok false).
func fracArgument(t []rune, i int) (q quantity, end int, ok bool) {
	i = skipSpaces(t, i)
	if isDigit(at(t, i)) {
		return quantity{decimal: decimal{from: int32(i), to: int32(i + 1)}}, i + 1, true
	}
	if at(t, i) != '{' {
		return quantity{}, i, false
	}
	end = skipGroup(t, i)
	j := skipSilent(t, i)
	if at(t, j) == '-' {
		q.negative = true
		j = skipSilent(t, j+1)
	}
	if !startsDecimal(t, j) {
		return quantity{}, end, false
	}
	q.decimal = scanDecimal(t, j, false)
	return q, end, skipSilent(t[:end], q.end()) == end
}

// skipAlnum returns the index after a run of digits, letters, points and fraction characters.
func skipAlnum(t []rune, i int) int {
	for r := at(t, i); isDigit(r) || isLetter(r) || r == '.' && isDigit(at(t, i+1)) || isVulgar(r); r = at(t, i) {
		i++
	}
	return i
}

// skipTower returns the index after any number of "^ exponent" and superscripts at t[i].
func skipTower(t []rune, i int) int {
	for at(t, i) == '^' || superscript(at(t, i)) >= 0 {
		if superscript(t[i]) >= 0 {
			i++
			continue
		}
		i = skipSpaces(t, i+1)
		if at(t, i) == '{' {
			i = skipGroup(t, i)
			continue
		}
		if r := at(t, i); r == '-' || r == '+' {
			i++
		}
		i = skipAlnum(t, i)
	}
	return i
}
