package stats

import (
	"math"
	"strconv"
	"strings"
)

// Minus is the minus sign of every number in text (U+2212, which screen readers say and browsers do not break a line after).
// JSON and CSV have the machine's own.
const Minus = "−"

// Signed formats x with its sign and a fixed number of decimals: +0.125, −0.094. What rounds to zero is "0.000" without a sign;
// NaN is "n/a".
func Signed(x float64, decimals int) string { return format(x, decimals, true) }

// Fixed formats x with a fixed number of decimals and a sign only when negative.
func Fixed(x float64, decimals int) string { return format(x, decimals, false) }

// Percent formats a share as a percentage: Percent(0.0303, 1) is "3.0%".
func Percent(x float64, decimals int) string {
	if math.IsNaN(x) {
		return format(x, decimals, false)
	}
	return format(100*x, decimals, false) + "%"
}

// Significant formats x with a number of significant digits, for variances, whose size is not known beforehand.
func Significant(x float64, digits int) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return format(x, digits, false)
	}
	return strings.ReplaceAll(strconv.FormatFloat(noNegativeZero(x), 'g', digits, 64), "-", Minus)
}

// PValue formats a p value with three decimals, or as "< 0.001".
func PValue(p float64) string {
	switch {
	case math.IsNaN(p):
		return "n/a"
	case p < 0.001:
		return "< 0.001"
	}
	return "= " + Fixed(p, 3)
}

func format(x float64, decimals int, plus bool) string {
	if math.IsNaN(x) {
		return "n/a"
	}
	if math.IsInf(x, 0) {
		return map[bool]string{true: Minus + "∞", false: "∞"}[x < 0]
	}
	s := strconv.FormatFloat(math.Abs(x), 'f', decimals, 64)
	if strings.Trim(s, "0.") == "" {
		return s
	}
	switch {
	case x < 0:
		return Minus + s
	case plus:
		return "+" + s
	}
	return s
}

// noNegativeZero keeps -0 out of files.
func noNegativeZero(x float64) float64 {
	if x == 0 {
		return 0
	}
	return x
}
