package grader

// wordKind is what a Latin word does after a number.
type wordKind int

const (
	labelWord   wordKind = iota // a unit or any other word: changes nothing
	scaleWord                   // million: multiplies, when it comes first
	percentWord                 // percent
	numberWord                  // six, half: a second value
	hedgeWord                   // or
	changeWord                  // minus, pi, k: changes the value in a way that is not read
)

// lower returns the word in t as lower-case ASCII, or "" if it is longer than any word that is looked up.
func lower(t []rune) string {
	var buf [16]byte
	if len(t) > len(buf) {
		return ""
	}
	for i, r := range t {
		switch {
		case r >= 'A' && r <= 'Z':
			buf[i] = byte(r) + 'a' - 'A'
		case r < 0x80:
			buf[i] = byte(r)
		default:
			return ""
		}
	}
	return string(buf[:len(t)])
}

// kindOf classifies a lower-case word; for a scale word it returns the power of ten.
func kindOf(word string) (kind wordKind, power int) {
	switch word {
	case "hundred", "hundreds":
		return scaleWord, 2
	case "thousand", "thousands":
		return scaleWord, 3
	case "million", "millions":
		return scaleWord, 6
	case "billion", "billions":
		return scaleWord, 9
	case "trillion", "trillions":
		return scaleWord, 12
	case "percent", "percentage", "percents", "pct":
		return percentWord, 0
	case "or":
		return hedgeWord, 0
	case "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen",
		"fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
		"half", "halves", "quarter", "third", "thirds", "fourth", "fourths", "fifth", "fifths", "sixth", "sixths", "seventh", "sevenths",
		"eighth", "eighths", "ninth", "ninths", "tenth", "tenths", "hundredth", "hundredths", "thousandth", "thousandths", "millionth",
		"millionths":
		return numberWord, 0
	case "minus", "plus", "negative", "not", "never", "twice", "thrice", "double", "triple", "quadruple", "pi", "sqrt", "root", "mod", "modulo",
		"infinity", "inf", "nan", "true", "false", "k", "kk", "bn", "mn", "mln", "bln", "tn", "mil", "mill", "grand", "lakh", "crore":
		return changeWord, 0
	}
	return labelWord, 0
}

// knownUnit reports the one- and two-letter units that may stand where algebra would put a variable (18 m, 18kg).
func knownUnit(t []rune) bool {
	switch string(t) {
	case "m", "g", "L", "l", "s", "h", "d", "c", "C", "F", "W", "V", "J", "N", "A",
		"kg", "mg", "km", "cm", "mm", "dm", "ml", "mL", "cl", "cL", "dl", "dL", "kW", "lb", "oz", "ft", "in", "yd", "mi", "hr", "pt", "qt", "gal",
		"th", "st", "nd", "rd", "am", "pm", "AM", "PM", "KB", "MB", "GB", "TB", "kB", "Hz", "sq", "cu", "pc", "pg":
		return true
	}
	return false
}

// currencyCode reports the codes that may stand before a number.
func currencyCode(t []rune) bool {
	switch string(t) {
	case "USD", "EUR", "GBP", "JPY", "CNY", "RMB", "INR", "CAD", "AUD", "NZD", "CHF", "SEK", "NOK", "DKK", "MXN", "BRL", "ZAR", "KRW", "SGD", "HKD",
		"US", "Rs", "RM", "Php", "PHP":
		return true
	}
	return false
}

func isCurrency(r rune) bool {
	switch r {
	case '$', runeDollar, '€', '£', '¥', '₹', '¢', '₩', '₽', '₱', '₦', '₺', '฿', '₫':
		return true
	}
	return false
}
