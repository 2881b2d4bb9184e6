package stats

import (
	"math"
	"testing"
)

func TestFormat(t *testing.T) {
	negativeZero := math.Copysign(0, -1)
	for _, c := range []struct{ why, got, want string }{
		{"a gain has its plus", Signed(0.125, 3), "+0.125"},
		{"one minus sign, U+2212", Signed(-0.0942, 3), "−0.094"},
		{"zero has no sign", Signed(0, 3), "0.000"},
		{"negative zero neither", Signed(negativeZero, 3), "0.000"},
		{"nor what rounds to zero", Signed(-0.0004, 3), "0.000"},
		{"nor from above", Signed(0.0004, 3), "0.000"},
		{"unsigned", Fixed(0.5, 2), "0.50"},
		{"unsigned but negative", Fixed(-0.5, 2), "−0.50"},
		{"unsigned negative zero", Fixed(negativeZero, 1), "0.0"},
		{"no decimals", Fixed(12.4, 0), "12"},
		{"no decimals, rounds to zero", Signed(-0.4, 0), "0"},
		{"not estimable", Signed(math.NaN(), 3), "n/a"},
		{"infinite", Fixed(math.Inf(-1), 3), "−∞"},
		{"a bound as a percentage", Percent(0.030272972577419066, 1), "3.0%"},
		{"no percentage", Percent(math.NaN(), 1), "n/a"},
		{"a variance", Significant(0.0033123, 3), "0.00331"},
		{"a tiny variance keeps its digits", Significant(0.00000105, 3), "1.05e−06"},
		{"a negative estimate", Significant(-0.0167, 3), "−0.0167"},
		{"a variance of negative zero", Significant(negativeZero, 3), "0"},
		{"no variance", Significant(math.NaN(), 3), "n/a"},
		{"p", PValue(0.0416), "= 0.042"},
		{"a small p has no false digits", PValue(3e-5), "< 0.001"},
		{"p of 1", PValue(1), "= 1.000"},
		{"no p", PValue(math.NaN()), "n/a"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, expected %q", c.why, c.got, c.want)
		}
	}
}
