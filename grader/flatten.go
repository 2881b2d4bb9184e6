package grader

import (
	"unicode"
	"unicode/utf8"
)

// Private runes stand for LaTeX that means something to the number parser. Should they occur in a text they fold to U+FFFD.
const (
	runeFrac    = '\ue000' + iota // \frac and its sizes: two arguments
	runeOper                      // \sqrt, \binom and other functions: not a literal
	runeCommand                   // any other command
	runeLSet                      // \{
	runeRSet                      // \}
	runeBound                     // nothing visible, but digits on its two sides do not join
	runeDollar                    // \$, which is money and never a math delimiter
	runeLast    = '\ue00f'
)

// flatten appends s to buf with LaTeX commands replaced by single runes: layout commands vanish, \times becomes ×, \%
// becomes %, \text{kg} becomes {kg}. Braces stay. s is folded.
func flatten(s string, buf []rune) []rune {
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			i += n
			buf = append(buf, plainRune(r))
			continue
		}
		if c == '~' {
			buf = append(buf, thin)
			i++
			continue
		}
		if c != '\\' {
			buf = append(buf, rune(c))
			i++
			continue
		}
		j := i + 1
		for j < len(s) && isASCIILetter(rune(s[j])) {
			j++
		}
		if j > i+1 {
			buf = append(buf, commandRune(s[i+1:j]))
			i = j
			continue
		}
		if j == len(s) {
			return append(buf, runeCommand)
		}
		r, n := utf8.DecodeRuneInString(s[j:])
		i = j + n
		switch r {
		case ',', ';', ':', '>':
			r = thin
		case '!':
			if len(buf) > 0 && buf[len(buf)-1] == ',' {
				continue // 1,\!250
			}
			r = runeBound
		case ' ', '\n', '%', '#', '&':
		case '$':
			r = runeDollar
		case '\\':
			r = '\n'
		case '{':
			r = runeLSet
		case '}':
			r = runeRSet
		case '(', ')', '[', ']':
			r = runeBound
		default:
			r = runeCommand
		}
		buf = append(buf, r)
	}
	return buf
}

// plainRune maps the Unicode spelling of a sign to the one rune that stands for it.
func plainRune(r rune) rune {
	switch r {
	case '∙', '⋅', '•':
		return '·'
	case '≃', '≅', '∼', '≡':
		return '≈'
	case '≤', '⩽', '≦':
		return '<'
	case '≥', '⩾', '≧':
		return '>'
	case 'º', '˚':
		return '°'
	}
	if r >= runeFrac && r <= runeLast {
		return unicode.ReplacementChar
	}
	return r
}

// commandRune gives the rune for the LaTeX command of that name.
func commandRune(name string) rune {
	switch name {
	case "text", "textbf", "textit", "textrm", "textsf", "texttt", "textnormal", "textup", "textmd", "emph", "mathrm", "mathbf", "mathit",
		"mathsf", "mathtt", "mathnormal", "bm", "boldsymbol", "mbox", "hbox", "operatorname", "boxed", "fbox", "underline", "bf", "rm", "it",
		"bfseries", "displaystyle", "textstyle", "scriptstyle", "left", "right", "big", "Big", "bigl", "bigr", "Bigl", "Bigr", "large", "Large",
		"LARGE", "huge", "Huge", "normalsize", "small", "ensuremath", "mathop":
		return runeBound
	case "frac", "dfrac", "tfrac", "cfrac":
		return runeFrac
	case "times":
		return '×'
	case "cdot", "ast":
		return '·'
	case "div":
		return '÷'
	case "pm", "mp":
		return '±'
	case "approx", "simeq", "cong", "sim", "equiv", "doteq", "thickapprox":
		return '≈'
	case "le", "leq", "leqslant", "lt":
		return '<'
	case "ge", "geq", "geqslant", "gt":
		return '>'
	case "ne", "neq":
		return '≠'
	case "circ", "degree", "degrees":
		return '°'
	case "pounds":
		return '£'
	case "euro":
		return '€'
	case "yen":
		return '¥'
	case "cent":
		return '¢'
	case "textdollar":
		return runeDollar
	case "percent":
		return '%'
	case "colon":
		return ':'
	case "ldots", "dots", "cdots", "dotsc":
		return '…'
	case "thinspace", "thickspace", "medspace":
		return thin
	case "quad", "qquad", "hspace", "enspace":
		return '\n' // a wide space separates, so that digits on its two sides are not a grouped number
	case "textsuperscript":
		return '^'
	case "lbrace":
		return runeLSet
	case "rbrace":
		return runeRSet
	case "sqrt", "binom", "dbinom", "tbinom", "overline", "bar", "dot", "sum", "prod", "log", "ln", "exp", "sin", "cos", "tan", "max", "min", "gcd",
		"pi", "infty":
		return runeOper
	}
	return runeCommand
}

func isDigit(r rune) bool       { return '0' <= r && r <= '9' }
func isASCIILetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// isLetter reports a Latin letter, with or without an accent: what unit words and labels are made of.
func isLetter(r rune) bool {
	return isASCIILetter(r) || r >= 0xaa && r != 'ª' && r != 'º' && unicode.Is(unicode.Latin, r)
}

func isSpace(r rune) bool { return r == ' ' || r == '\n' || r == '\t' || r == thin }

// isSilent reports runes that carry no meaning between the parts of a literal.
func isSilent(r rune) bool { return isSpace(r) || r == '{' || r == '}' || r == runeBound }

// at returns t[i], or 0 outside.
func at(t []rune, i int) rune {
	if i < 0 || i >= len(t) {
		return 0
	}
	return t[i]
}

func skipSilent(t []rune, i int) int {
	for i < len(t) && isSilent(t[i]) {
		i++
	}
	return i
}

func skipSpaces(t []rune, i int) int {
	for i < len(t) && isSpace(t[i]) {
		i++
	}
	return i
}

// skipGroup returns the index after the brace group that opens at t[i], or len(t) if it does not close.
func skipGroup(t []rune, i int) int {
	depth := 0
	for ; i < len(t); i++ {
		switch t[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return i
}
