package grader

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
)

// seedTexts are hostile and ordinary completions; they run in every plain `go test`.
var seedTexts = []string{
	"", " ", "64", `\boxed{64}`, `\boxed{64`, `\boxed`, `\boxed 64`, `-\boxed{64}`, `\boxed{\boxed{64}}`, `\boxed{64\}`, `\boxed{}`, `\boxed{5 or 6}`, `\boxed{40\%}`, `\boxed{1,250}`,
	`\boxed{\frac{7}{4}}`, `\boxed{\frac`, `\boxed{\frac{\frac{1}{2}}{3}}`, `\boxed{3 1/2}`, `\boxed{1.8 \times 10^{3}}`, `\boxed{10^10^10}`, `\boxed{1e400}`, `\boxed{1e-401}`, `\boxed{x = 64}`,
	`\boxed{7:00 pm}`, "\\boxed{6\xff4}", "\xff\xfe", "\\boxed{6\u200b4}", "\\boxed{\ue000\ue001}", "#### 42", "#### 41 or 42", "####", "the answer is 42.", "Answer:\n**42**", "the answer is not 42", "answer is",
	"2 2/3", "1/6", "½", "3½", "2.0.42", "A7 x_{6} 8^2 10^3 5k 6x7", "-$5", "90 - 34", "1,1,1,64", "<think>64", "<think>1</think>64", "64<|im_end|>65", "Solver: 42\nChecker: \\boxed{42}\nLead: 42",
	`\`, `{`, `}`, `^`, `_`, `\boxed{^}`, `\boxed{_}`, `10^`, `10^{`, `10^{-`, `5/`, `5/-`, `5 {`, `\frac`, `\frac{`, `\frac1`, `\sqrt`, `5^{`, `5^\circ`, `5 million million million`, "5²³", "⁻", "1:00", "1:", "1_", "1_{",
	`\boxed{` + strings.Repeat("9", 300) + `}`, strings.Repeat("{", 100) + "64" + strings.Repeat("}", 100), strings.Repeat(`\boxed{`, 50), strings.Repeat("#", 50), strings.Repeat("answer is ", 20),
}

var pool = []string{"0", "1", "5", "6", "7", "9", "10", "17", "34", "40", "41", "42", "50", "64", "65", "100", "117", "250", "1000", "1250", "1800", "-6", "-9", "-64", "0.4", "0.5", "1/6", "2/3", "7/4", "3.5", "8/3"}

// FuzzOneGold: of any set of different references, a completion is paid for at most one; it is the one that Extract reads;
// and the verdict depends on nothing but the arguments. No input panics.
func FuzzOneGold(f *testing.F) {
	for _, s := range seedTexts {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range []Rule{{}, BoxedOnly(), {Percent: PercentDivide}} {
			a := r.Extract(text)
			if (a.Value == nil) == (a.Verdict.Reason == "") {
				t.Fatalf("%q: value %v with reason %q", text, a.Value, a.Verdict.Reason)
			}
			paid := 0
			for _, gold := range pool {
				v := r.Grade(text, gold)
				if v.Reward == Right {
					paid++
				}
				want, err := r.ParseGold(gold)
				if err != nil {
					t.Fatal(err)
				}
				if (v.Reward == Right) != (a.Value != nil && a.Value.Cmp(want) == 0) {
					t.Fatalf("%q against %s: %+v, but it reads %v", text, gold, v, a.Value)
				}
				if again := r.Grade(text, gold); again != v {
					t.Fatalf("%q against %s: %+v, then %+v", text, gold, v, again)
				}
			}
			if paid > 1 {
				t.Fatalf("%q is paid for %d different references", text, paid)
			}
			if a.Value != nil {
				// What was read, written as a reference, is paid: the two sides read numbers alike.
				if v := (Rule{}).Grade(`\boxed{`+a.Value.RatString()+`}`, a.Value.RatString()); v.Reward != Right && v.Limit == "" && v.Reason != GoldUnparsable {
					t.Fatalf("%q: its value %s is not equal to itself: %+v", text, a.Value.RatString(), v)
				}
			}
		}
	})
}

// FuzzBytes: the reference is hostile too.
func FuzzBytes(f *testing.F) {
	for i, s := range seedTexts {
		f.Add(s, seedTexts[len(seedTexts)-1-i])
	}
	f.Fuzz(func(t *testing.T, text, gold string) {
		v := MathEqual(text, gold)
		_, err := Rule{}.ParseGold(gold)
		if (v.Reward == NoReward) != (err != nil) || (v.Reason == GoldUnparsable) != (err != nil) || (v.Reward == Right) != (v.Reason == Equal) {
			t.Fatalf("%q against %q: %+v, gold error %v", text, gold, v, err)
		}
	})
}

// FuzzTextBeforeLastBox: what stands before the last box does not matter. A minus glued to the box, <think> and stop tokens
// are part of the rule and are left out.
func FuzzTextBeforeLastBox(f *testing.F) {
	for _, s := range seedTexts {
		f.Add(s, "64")
		f.Add("before", s)
	}
	f.Fuzz(func(t *testing.T, before, content string) {
		if strings.Contains(before, "<") || strings.Contains(content, "<") || len(before)+len(content) > 1<<20 {
			return
		}
		box := `. \boxed{` + content + `}`
		want, got := MathEqual(box, "64"), MathEqual(before+box, "64")
		got.Boxes, got.DistinctBoxes, want.Boxes, want.DistinctBoxes = 0, 0, 0, 0
		if got != want {
			t.Fatalf("%q alone %+v, after %q %+v", box, want, before, got)
		}
	})
}

// FuzzGoldDress: commas, dollar signs and white space around the reference do not matter.
func FuzzGoldDress(f *testing.F) {
	for _, s := range seedTexts {
		f.Add(s, int64(64))
	}
	f.Add(`\boxed{1,250}`, int64(1250))
	f.Fuzz(func(t *testing.T, text string, gold int64) {
		plain := fmt.Sprint(gold)
		want := MathEqual(text, plain)
		for _, g := range []string{" " + plain + "\n", "$" + plain, plain + " $", "$" + plain + "$", plain + ",", ", " + plain, grouped(gold), "\t$ " + grouped(gold) + " ,"} {
			if got := MathEqual(text, g); got != want {
				t.Fatalf("%q against %q: %+v; against %q: %+v", text, plain, want, g, got)
			}
		}
	})
}

// FuzzOpenBox: a box left open at the end turns every 1 into 0.
func FuzzOpenBox(f *testing.F) {
	for _, s := range seedTexts {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "<") { // after a stop token the box would not be part of the reply
			return
		}
		a := Rule{}.Extract(text)
		gold := "64"
		if a.Value != nil {
			gold = a.Value.RatString()
		}
		for _, r := range []Rule{{}, BoxedOnly()} {
			if v := r.Grade(text+`\boxed{`, gold); v.Reward == Right {
				t.Fatalf("%q and an open box: %+v", text, v)
			}
		}
	})
}

// FuzzSpellings: every accepted spelling of a random integer or fraction equals every other one, and not its neighbour.
func FuzzSpellings(f *testing.F) {
	for _, n := range []int64{0, 1, -1, 7, 12, 999, 1000, 1250, -1250, 999999, 1000000, 192000000, 1 << 40, -1 << 62} {
		f.Add(n, int64(1))
		f.Add(n, int64(4))
		f.Add(n, int64(-997))
	}
	f.Fuzz(func(t *testing.T, n, d int64) {
		if d == 0 {
			return
		}
		value := big.NewRat(n, d)
		next := new(big.Rat).Add(value, big.NewRat(1, 1)).RatString()
		spellings := []string{fmt.Sprintf("%d/%d", n, d), value.RatString(), fmt.Sprintf(`\frac{%d}{%d}`, n, d), fmt.Sprintf("x = %d/%d", n, d), fmt.Sprintf("%d/%d cups", n, d)}
		if value.IsInt() {
			s := value.Num().String()
			digits, sign := strings.TrimPrefix(s, "-"), ""
			if digits != s {
				sign = "-"
			}
			spellings = append(spellings, s, s+".", s+".00", sign+"00"+digits, sign+"$"+digits, "$"+s, s+"%", s+`\%`, s+" dollars", `\text{`+s+`}`, "{"+s+"}", "("+s+")", "**"+s+"**", "$"+s+"$",
				s+"e0", s+`\times 10^0`, s+"/1", "Total: "+s, strings.Replace(s, "-", "−", 1), fullwidth(s))
			if value.Num().IsInt64() {
				g := grouped(value.Num().Int64())
				spellings = append(spellings, g, strings.ReplaceAll(g, ",", "{,}"), strings.ReplaceAll(g, ",", `\,`), strings.ReplaceAll(g, ",", " "), strings.ReplaceAll(g, ",", "\u202f"), g+".0")
			}
		}
		for _, s := range spellings {
			for _, text := range []string{`\boxed{` + s + `}`, "#### " + s, `so \fbox{` + s + "} it is"} {
				if v := MathEqual(text, spellings[0]); v.Reward != Right {
					t.Fatalf("%q against %q: %+v", text, spellings[0], v)
				}
				if v := MathEqual(text, next); v.Reward != Wrong {
					t.Fatalf("%q against %q: %+v", text, next, v)
				}
			}
			if v := MathEqual(`\boxed{`+value.RatString()+`}`, s); v.Reward != Right {
				t.Fatalf("reference %q against %s: %+v", s, value.RatString(), v)
			}
		}
		for _, text := range []string{"It is " + value.RatString() + ".", "The answer is " + value.RatString() + ".", "It is $" + spellings[2] + "$"} {
			if v := MathEqual(text, spellings[0]); v.Reward != Right {
				t.Fatalf("%q against %q: %+v", text, spellings[0], v)
			}
		}
	})
}

// FuzzPlainInteger: the short cut over plain integers ends where the long way ends.
func FuzzPlainInteger(f *testing.F) {
	for _, s := range append(seedTexts, "1 2 3/4", "5 6", "5 6 7/8", "1,234,5", "5 -and a half", "5 - 6", "5 $6", "5. 6", "1 ,234") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line := flatten(fold(text), nil)
		for i, r := range line {
			if end, ok := plainInteger(line, i); ok {
				if k := readToken(line, i); k.end != end || !isDigit(r) {
					t.Fatalf("%q at %d: plain up to %d, but the token ends at %d", text, i, end, k.end)
				}
			}
		}
	})
}

// grouped writes n with commas.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	digits := strings.TrimPrefix(s, "-")
	var b strings.Builder
	b.WriteString(s[:len(s)-len(digits)])
	for i, c := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

func fullwidth(s string) string {
	return strings.Map(func(r rune) rune {
		if isDigit(r) {
			return r - '0' + '０'
		}
		return r
	}, s)
}
