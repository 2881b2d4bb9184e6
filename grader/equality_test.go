package grader

import "testing"

// TestEquality goes through the spellings of an answer, class by class, inside a box.
func TestEquality(t *testing.T) {
	for _, c := range []struct {
		why       string
		gold      string
		same, not []string
	}{
		{"the same number, however its digits are written", "117",
			[]string{"117", "0117", "+117", "+ 117", "117.", "117.0", "117.00", "117 .", "{117}", "{{117}}", "(117)", `\left(117\right)`, "~117", `\ 117\,`, "117\n",
				"`117`", `"117"`, "**117**", "*117*", "_117_", `\displaystyle 117`, `{\bf 117}`, "１１７", "1\u200b17", "\ufeff117", "\u202e117\u202c", "1\x0017"},
			[]string{"11 7", "1 17", "1.17", "117.5", "1170", "17", "711", "-117", "--117", "+-117", "11{7}", "{11}{7}", `11\;7`, "117..", "117...", "1\n17",
				"11\u09ed", "117\u0301", "11\xff7", "117\xff", "116.9999999", "117.0000001", "[117]", "117,", "(117", "117)", `\{117\}`, "117?", "１１７度", "0x75", "0b1110101", "117_{10}"}},
		{"signs", "-12", []string{"-12", "- 12", "−12", "–12", "—12", "－12", "$-12", "-$12", "{-12}", "-{12}", `-\text{12}`, "(-12)", "‐12"},
			[]string{"12", "--12", "-(12)", "- -12", "-+12", "12-", "±12", `\pm 12`}},
		{"zero has no sign", "0", []string{"0", "-0", "+0", "0.00", "0/5", "-0.0", "0 apples", "0oz"}, []string{"", "0x0", "0b0", "0xff", "o", "none", "7/0", "0/0", "00:30"}},
		{"thousands: strict groups of three, one kind of separator", "1250",
			[]string{"1,250", "1{,}250", `1,\!250`, `1\,250`, "1 250", "1\u00a0250", "1\u202f250", "1\u2009250", "1~250", "1,250.0", "$1,250.00", "1，250"},
			[]string{"12,50", "1,25,0", "1, 250", "1 ,250", "1_250", "1.250,00", "1.250", "1,2500", "01,250", "1,,250", "1  250", "1, 2, 5, 0", "1;250", "1'250", `1\\250`}},
		{"more groups", "1250000", []string{"1,250,000", "1 250 000", `1{,}250{,}000`, "1.25 million", "1,250 thousand", "1.25e6"},
			[]string{"1,250 000", "1,250,00", "1,25,000", "12,50,000", "1250,000", "1,250,0000"}},
		{"a group never begins with 0", "125", []string{"125", "0125"}, []string{"0,125", "000,125"}},
		{"there is no decimal comma", "7.5", []string{"7.5", "7.50", "07.5", "15/2", "7½", "7 1/2", "７．５"}, []string{"7,5", "7.5.0", "7. 5", "7 .5", "75"}},
		{"a point may come first", "0.5", []string{".5", "0.5", "1/2", "½", ".50", `\frac12`, "5e-1"}, []string{"..5", "5", "1.5", "50%"}},
		{"exact, not near", "84", []string{"84", "84.0"}, []string{"84.0000001", "83.99999999999999999999", "84.00000000000000000000000000000001", "84e0.0"}},
		{"currency is a label", "36",
			[]string{"$36", `\$36`, "36$", `36\$`, "$36.00", "€36", "£36", "36€", "36¢", "EUR 36", "USD 36", "36 USD", "US$36", "Rs. 36", "Rs 36", "$$36$$", "$36$", `\(36\)`,
				`\textdollar 36`, `36 \text{ USD}`, `\$36 per day`, `\$36/\text{hour}`, "36 dollars and cents", "＄36"},
			[]string{"$0.36", "$36 $5", "3600 cents", "$36.5", "36 $ 5", "about $36"}},
		{"a percent sign is a label, and the value is never divided or multiplied by 100", "40",
			[]string{"40%", `40\%`, `40 \%`, "40 percent", "40 per cent", `40\text{ percent}`, "40％", "40 percentage points", `{40\%}`, `$40\%$`},
			[]string{"0.4", "0.40%", "4000", `\frac{2}{5}`, "40%%", "40 % 7", "40%5", "2/5"}},
		{"units: words without a number in them", "18",
			[]string{"18 dollars", `18\text{ dollars}`, "18 km/h", `18\text{ km/h}`, "18 cm^2", `18\text{ cm}^2`, `18 \text{ cm}^{2}`, "18 m²", "18 m^{3}", `18^\circ`, "18°", "18°C",
				`18^{\circ}\text{C}`, `18^{th}`, `18^{\text{th}}`, "18th", "18kg", "18 kg", "18 m", "18 L", "18 s", "18 h", "18 ft.", "18 sq. ft.", "18 square feet", `18\,\mathrm{km}`,
				"18 cookies a day", "18 dozen", "18 dozen eggs", "18 times", "18 o'clock", "18 students' books", "18 (dollars)", "18 niños", "18 first-year students", "18 quarters",
				"18 seconds", "18 p.m.", "18 pm", "18 U.S. dollars", "18 m/s^2", "18 m s^{-2}"},
			[]string{"18k", "18 k", "18K", "18x", "18 x", "18xy", "18²", "18^2", "18 (or 7)", "18 and a half", "18 pencils (nine each)", "18 hours 30 minutes", "18 or so", "18 or more",
				"18n", "18 bn", "18 grand", "18 plus tax", "18 minus", "18 squared", "18 half", "18 thirds", `18\pi`, "18 pi", `18\sqrt{2}`, "18 cm2", "18 x^2", "18 cm^9", "18, dollars",
				"18-x", "18 пять", "18个", "18 six", "18/x", "18 = cm^2", "18 not", "18 apples, pears"}},
		{"scale words mean what they say", "5000000", []string{"5 million", "5 million dollars", "$5 million", "5 thousand thousand", `5\text{ million}`, "5.0 Million", "5million"},
			[]string{"5 dollars million", "5", "5 mil", "5M", "5 million 2", "5 million or so", "50 lakh"}},
		{"half a million", "500000", []string{"0.5 million", "1/2 million", `\frac12 \text{ million}`, "5 hundred thousand"}, nil},
		{"a clock time on the hour is the hour", "7", []string{"7:00", "07:00", "7:00 pm", "7:00 p.m.", "7:00 AM"}, []string{"7:30", "7:0", "7:000", "7:00:00", "700:00", "14:2", "19:00"}},
		{"any other colon is a ratio", "1.5", nil, []string{"3:2", "1:30"}},
		{"fractions: exact, reduced or not", "7/4",
			[]string{"7/4", "14/8", "1.75", `\frac{7}{4}`, `\dfrac{7}{4}`, `\tfrac74`, `\cfrac{7}{4}`, `\frac74`, `\frac7{4}`, `\frac{7}4`, `\frac 7 4`, `\frac{-7}{-4}`, "7 / 4", "7⁄4", "7∕4", "-7/-4",
				"1 3/4", "1¾", "1 ¾", `1\frac34`, `1\frac{3}{4}`, `1 \frac{3}{4}`, `\frac{3.5}{2}`, "3.5/2", `\frac{7}{4} \text{ cups}`, `\frac{ 7 }{ 4 }`, `\frac{\text{7}}{4}`, "7/4 cups"},
			[]string{"7", "4", "7/-4", `\frac{7}{-4}`, `\frac{\frac{14}{2}}{4}`, `\frac{7}{4}^2`, "7/4/1", "7/4^1", `\frac{6+1}{4}`, `\frac{7}{}`, `\frac{7}`, `\frac`, `\frac745`, "7//4", "7÷4",
				`7\div4`, "7/(4)", "1-3/4", "1 7/4", "1 3/-4", `1.0\frac34`, "1 ¾ ¾", "3/4"}},
		{"integers as fractions", "18", []string{"18/1", "36/2", `\frac{36}{2}`, `\frac{1,800}{100}`}, []string{"18/0", "18/", "/18", "1/18"}},
		{"mixed numbers: the fraction is proper, and no part counts", "-3.5", []string{"-3 1/2", `-3\frac{1}{2}`, "-3½", "- 3 2/4"}, []string{"-3 5/10.0", "3 1/2", "-3 -1/2", "-3 1/2/1", "-2 3/2", "-3"}},
		{"an integer group and a fraction could be two things", "3.5", []string{"3 1/2"}, []string{"3 100/200"}},
		{"scientific literals", "1800", []string{"1.8e3", "1.8E+3", `1.8 \times 10^3`, `1.8\times10^{3}`, "1.8×10³", "1.8 x 10^3", `1.8 \cdot 10^{3}`, "18e2", "1.8*10^3", "0.18e4"},
			[]string{"1.8e", "1.8e3.0", "1.8 e3", `1.8 \times 10`, `1.8 \times 10 ^ {3 + 0}`, `1.8 \times 10^3^1`, "1.8 × 100^3", "18^2", `1.8\times10^{3}\times1`}},
		{"powers of ten", "0.001", []string{"10^{-3}", "10^-3", "10⁻³", "1e-3", "10^{ -3 }"}, []string{"10^3", "-10^3", "10^{-3", "10^{--3}"}},
		{"an equation counts by its last side", "64", []string{"x = 64", "x=64", "40+24 = 64", "40 + 24 = 64 apples", `\text{Profit} = \$64`, "64 = x", `64 = \text{Total}`, `63.7 \approx 64`, "y = 8^2 = 64",
			"1,000 - 936 = 64", "= 64", `\approx 64`, "x == 64", "Total, in all = 64", "≈ 64", "50% of 128 = 64", "1{,}064 - 1{,}000 = 64"},
			[]string{"64 = 40 + 24", "64 = 8^2", "64 =", "64 = six", "x = 64 or x = 5", "x = 5 or x = 64", "x = 5, y = 64", "x = 5; y = 64", "x = 5 and y = 64", "5, x = 64", "x > 64", `x \le 64`, `x \ne 64`,
				"64 < x", `\pm x = 64`, "x -> 64", "64 = x = y", "64 ≈ x"}},
		{"an equation that ends in 0 equals 0, as documented", "0", []string{"3x - y + 13 = 0"}, nil},
		{"expressions are not evaluated", "64", nil, []string{"40+24", `8\times8`, `8 \cdot 8`, "8*8", "8^2", `\sqrt{4096}`, "√4096", "64!", "|-64|", "|64|", `128\div2`, "128÷2", `\binom{64}{1}`, `2^6`, "64 + 0", "64 - 0", "-(-64)",
			"(lambda: 64)()", "__import__('os')", "{}.__class__", `\overline{64}`, "0.64e2x", `\frac{128}{1+1}`, "64(1)", "(8)(8)"}},
		{"a recurring decimal is not a literal", "2/3", nil, []string{`0.\overline{6}`, "0.666...", "0.6666666", "0.(6)", `0.\dot6`}},
		{"one value in one box", "6", []string{"6", "6.", "(6)"}, []string{"5 or 6", "6 or 5", "5, 6", "5; 6", "5 and 6", "5-6", "5–6", `5\pm1`, `\pm 6`, `\{6\}`, "(6,4)", "(6, 4)", "6 (or 7)", "6 % 7", `5 \text{ or } 6`, "5/6 or 6", "6 6", "5\\\\6",
			"6 = 6 or 7", "not 6", "6 (six)", "six", "Answer: 5 or 6"}},
		{"labels end in a colon; other prose before the number is not an answer span", "18", []string{`\text{Total: }18`, "**Total:** 18", "Total cost (in dollars): $18", "Answer: 18 apples", "Answer: x = 18"},
			[]string{"She bakes 18 pies", `\text{She bakes 18 pies}`, "about 18", "Step 3: 18", "Total 18", "not 18", "the 18", "18: Total"}},
		{"text wrappers", "18", []string{`\text{18}`, `\textbf{18}`, `\mathbf{18}`, `\mathrm{18}`, `\text{\textbf{18}}`, `\boldsymbol{18}`, `\underline{18}`, `\boxed{18}`}, []string{`\unknown{18}`, `\text{eighteen}`}},
		{"no other way to write a number", "1", nil, []string{"True", "true", "one", "I", "inf", "nan", "NaN", "Infinity", `\infty`, "٠١", "①", "一", "１²"}},
	} {
		for _, s := range c.same {
			if v := MathEqual(`\boxed{`+s+`}`, c.gold); v.Reward != Right {
				t.Errorf("%s: %q is to equal %s: %+v", c.why, s, c.gold, v)
			}
		}
		for _, s := range c.not {
			if v := MathEqual(`\boxed{`+s+`}`, c.gold); v.Reward != Wrong || v.Policy != Boxed {
				t.Errorf("%s: %q is not to equal %s: %+v", c.why, s, c.gold, v)
			}
		}
	}
}
