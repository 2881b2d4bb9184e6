package grader

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestExtraction shows where the answer is taken from: the value that a text commits to, the policy that found it, and the
// reason if there is none.
func TestExtraction(t *testing.T) {
	for _, c := range []struct {
		why, text string
		policy    Policy
		value     string // "" if there is none
		reason    Reason // if there is no value
	}{
		// boxed
		{"the last box", `\boxed{50}. No: \boxed{64}.`, Boxed, "64", ""},
		{"the last box, whatever comes after", `\boxed{64}. The answer is 50. #### 51`, Boxed, "64", ""},
		{"a box in a box", `\boxed{\boxed{64} or 65}`, Boxed, "64", ""},
		{"fbox", `\fbox{64}`, Boxed, "64", ""},
		{"space before the brace", "\\boxed  \n {64}", Boxed, "64", ""},
		{"a box without braces", `\boxed 64 and so on`, Boxed, "64", ""},
		{"with a sign and money", `\boxed -\$64`, Boxed, "-64", ""},
		{"a doubled backslash", `\\boxed{64}`, Boxed, "64", ""},
		{"another command", `\boxedx{64}`, LastNumber, "64", ""},
		{"a mention of the word is passed over", `\boxed{64} as asked in \boxed form. 3 steps.`, Boxed, "64", ""},
		{"so is one in code", "\\boxed{64}, see `\\boxed`.", Boxed, "64", ""},
		{"only a mention", `I will use \boxed for it: 64`, LastNumber, "64", ""},
		{"cut off after the command", `It is 64, so \boxed`, Boxed, "", BoxUnclosed},
		{"cut off in the box", `\boxed{64} then \boxed{6`, Boxed, "", BoxUnclosed},
		{"an escaped brace closes nothing", `\boxed{64\}`, Boxed, "", BoxUnclosed},
		{"an empty box never falls back", `\boxed{64} \boxed{}`, Boxed, "", BoxEmpty},
		{"a blank one", `64 \boxed{ $ $ }`, Boxed, "", BoxEmpty},
		{"a placeholder", `64 \boxed{answer}`, Boxed, "", NotANumber},
		{"two values", `\boxed{5 or 64}`, Boxed, "", Several},
		{"a unary minus glued to the box", `fell to $-\boxed{9}$`, Boxed, "-9", ""},
		{"after a space", `fell to -\boxed{9}`, Boxed, "-9", ""},
		{"after an equals sign", `x=-\boxed{9}`, Boxed, "-9", ""},
		{"an en dash where a sign can stand", `fell to –\boxed{9}`, Boxed, "-9", ""},
		{"two negations", `-\boxed{-9}`, Boxed, "9", ""},
		{"a subtraction", `$50 - \boxed{9}$`, Boxed, "9", ""},
		{"a glued subtraction", `50-\boxed{9}`, Boxed, "9", ""},
		{"a subtraction after math", `$50$-\boxed{9}`, Boxed, "9", ""},
		{"a hyphen", `result-\boxed{9}`, Boxed, "9", ""},
		{"a dash of two hyphens", `so --\boxed{9}`, Boxed, "9", ""},
		{"span limit", `\boxed{64 ` + strings.Repeat("x", 600) + `}`, Boxed, "", LimitSpan},
		{"depth limit", `\boxed{` + strings.Repeat("{", 40) + "64" + strings.Repeat("}", 40) + `}`, Boxed, "", LimitDepth},
		{"digit limit", `\boxed{` + strings.Repeat("9", 257) + `}`, Boxed, "", LimitDigits},
		{"leading zeros count", `\boxed{` + strings.Repeat("0", 255) + `64}`, Boxed, "", LimitDigits},
		{"exponent limit", `\boxed{1e401}`, Boxed, "", LimitExponent},
		{"exponent limit, a power of ten", `\boxed{10^{999999999999999999999999}}`, Boxed, "", LimitExponent},

		// hash
		{"a hash line", "6 * 7 = 42\n#### 42", Hash, "42", ""},
		{"the last one", "#### 40\nNo.\n#### 42\nDone.", Hash, "42", ""},
		{"label, colon, money, bold, unit, point", "####: **Answer: $1 042.00 dollars**", Hash, "1042", ""},
		{"a heading is passed over", "#### 42\n\n#### 3. Add everything", Hash, "42", ""},
		{"a numbered step too", "#### 42\n\n#### Step 3: Check", Hash, "42", ""},
		{"and an empty one", "#### 42\n####", Hash, "42", ""},
		{"more hashes", "###### 42", Hash, "42", ""},
		{"a hedge does not qualify; the last number is still one guess", "#### 41 or 42", LastNumber, "42", ""},
		{"one number without a value decides", "#### 42\n#### 7/0", Hash, "", ZeroDivision},
		{"only 16 markers are tried", "#### 42\n" + strings.Repeat("#### x\n", 16), LastNumber, "42", ""},
		{"the 16th still is", "#### 42\n" + strings.Repeat("#### x\n", 15), Hash, "42", ""},

		// answer is
		{"answer is", "So the answer is 42.", AnswerIs, "42", ""},
		{"with words between", "The answer to the first of the questions is 42.", AnswerIs, "42", ""},
		{"a colon", "Answer: 42", AnswerIs, "42", ""},
		{"a colon after a label", "Answer (in whole dollars): 42", AnswerIs, "42", ""},
		{"a colon of another clause", "Multiply the answer by 100 to get the percentage: 0.42 * 100 = 42% of 5, so 2.1", LastNumber, "21/10", ""},
		{"an equals sign", "answer = 42 apples", AnswerIs, "42", ""},
		{"on the next line, bold", "**Final Answer:**\n\n**42**", AnswerIs, "42", ""},
		{"in math", `The answer is \(\frac{84}{2}\) cups.`, AnswerIs, "42", ""},
		{"the last one", "The answer is 40. No, the answer is 42.", AnswerIs, "42", ""},
		{"a later mention without a number's place", "The answer is 42. That answer makes sense to all 3.", AnswerIs, "42", ""},
		{"an explanation after a comma", "The answer is 42, because 6 rows of 7 fit.", AnswerIs, "42", ""},
		{"after because", "The answer is 42 because 6 rows of 7 fit.", AnswerIs, "42", ""},
		{"after a dash", "The answer is 42 — 6 rows of 7.", AnswerIs, "", Several},
		{"after a dash, in words", "The answer is 42 - all rows of 7 fit.", AnswerIs, "42", ""},
		{"a correction", "The answer is 42, not 48.", AnswerIs, "42", ""},
		{"an exclamation", "The answer is 42!", AnswerIs, "42", ""},
		{"pm", "The answer is 7:00 p.m.", AnswerIs, "7", ""},
		{"a negation", "The answer is not 42.", AnswerIs, "", Negated},
		{"another", "The answer isn't 42.", AnswerIs, "", Negated},
		{"and another", "The answer is definitely not 42.", AnswerIs, "", Negated},
		{"a hedge", "The answer is 41 or 42.", AnswerIs, "", Several},
		{"a hedge after a comma", "The answer is 41, or 42.", AnswerIs, "", Several},
		{"a list", "The answer is 41, 42", AnswerIs, "", Several},
		{"two units", "The answer is 3 hours and 42 minutes.", AnswerIs, "", Several},
		{"an expression", "The answer is 48+24.", AnswerIs, "", Expression},
		{"a chain", "The answer is 6 x 7 = 42.", AnswerIs, "42", ""},
		{"plain spaces do not group in prose", "The answer is 1 042.", AnswerIs, "", Several},
		{"no number begins there", "The answer is between 40 and 45", LastNumber, "45", ""},
		{"an equation does not begin with one", "The answer is x = 42", LastNumber, "42", ""},
		{"not the word", "He answered: 42. Then 43", LastNumber, "43", ""},
		{"a long clause", "The answer is 42" + strings.Repeat(" word", 200), AnswerIs, "", LimitSpan},

		// last number
		{"the last number", "There are 6 rows of 7, or 42 seats", LastNumber, "42", ""},
		{"on an earlier line", "42 seats\nso everybody sits.\n", LastNumber, "42", ""},
		{"a sentence's point and comma", "It is 85, in total.", LastNumber, "85", ""},
		{"money and groups", "They paid $1,250.50.", LastNumber, "2501/2", ""},
		{"a fraction is one token", `They get $\frac{1}{6}$`, LastNumber, "1/6", ""},
		{"so is a slash", "They get 1/6", LastNumber, "1/6", ""},
		{"and a mixed number", "It holds 2 2/3 pounds", LastNumber, "8/3", ""},
		{"half of a symbol", "It holds 2½ pounds", LastNumber, "5/2", ""},
		{"no piece of a refused fraction counts", `They get $\frac{x}{6}$`, LastNumber, "", Expression},
		{"nor of a root", `It is $\sqrt{16}$`, LastNumber, "", Expression},
		{"nor of a power", "It is 8^2", LastNumber, "", Expression},
		{"nor of a tower", "It is 10^10^10", LastNumber, "", Expression},
		{"a power of ten is a literal", "It is 10^3", LastNumber, "1000", ""},
		{"scientific", "It is 1.5 x 10^3 m", LastNumber, "1500", ""},
		{"nor of a subscript", "It is $x_{6}$", LastNumber, "", NotANumber},
		{"nor of a version", "Version 2.0.42", LastNumber, "", NotANumber},
		{"nor of a date", "On 3/4/2024", LastNumber, "", Expression},
		{"nor of a time", "At 6:40", LastNumber, "", Ratio},
		{"on the hour", "At 5:00 pm", LastNumber, "5", ""},
		{"nor of a mixed number in words", "It took 3 and a half hours", LastNumber, "", UnknownUnit},
		{"names are passed over", "42 km2 on map A7", LastNumber, "42", ""},
		{"a unit's exponent", "The area is 42 cm^2.", LastNumber, "42", ""},
		{"a unit's exponent, superscript", "The area is 42 m².", LastNumber, "42", ""},
		{"a scale letter", "42k visitors", LastNumber, "", UnknownUnit},
		{"a scale word", "2 million visitors", LastNumber, "2000000", ""},
		{"percent", "that is 40%", LastNumber, "40", ""},
		{"an ordinal", "on the 4th floor", LastNumber, "4", ""},
		{"a unit", "42kg", LastNumber, "42", ""},
		{"a product", "6x7", LastNumber, "", NotANumber},
		{"a sign", "giving -6", LastNumber, "-6", ""},
		{"a sign before money", "a profit of -$6", LastNumber, "-6", ""},
		{"a subtraction", "90 - 34", LastNumber, "34", ""},
		{"a glued subtraction", "90-34", LastNumber, "34", ""},
		{"a hyphen", "sub-34", LastNumber, "34", ""},
		{"a bullet", "Result:\n- 34 stickers", LastNumber, "34", ""},
		{"Chinese text", "共64。", LastNumber, "64", ""},
		{"digits of other scripts", "그것은 ٦٤", NoPolicy, "", NoAnswer},
		{"mixed digits", "it is 6٤", LastNumber, "", NotANumber},
		{"a broken byte in the number", "it is 6\xff4", LastNumber, "", NotANumber},

		// the text
		{"nothing", "", NoPolicy, "", NoAnswer},
		{"no number", "I do not know.", NoPolicy, "", NoAnswer},
		{"after the stop token", "64<|im_end|>\n\\boxed{65}", LastNumber, "64", ""},
		{"after another", "64</s> 65", LastNumber, "64", ""},
		{"after the thought", `<think>\boxed{1}</think> it is 64`, LastNumber, "64", ""},
		{"after the last thought", `<think>1</think> 2 </think> 64`, LastNumber, "64", ""},
		{"a thought without end", `\boxed{64} <think> so`, NoPolicy, "", ThinkUnclosed},
		{"all thought", `<think>64</think>`, NoPolicy, "", NoAnswer},
		{"size limit", strings.Repeat("x", MaxBytes) + "64", NoPolicy, "", LimitSize},
	} {
		a := Rule{}.Extract(c.text)
		got := ""
		if a.Value != nil {
			got = a.Value.RatString()
		}
		if got != c.value || a.Verdict.Policy != c.policy || a.Verdict.Reason != c.reason {
			t.Errorf("%s: %.120q\n got %q by %s (%s)\nwant %q by %s (%s)", c.why, c.text, got, a.Verdict.Policy, a.Verdict.Reason, c.value, c.policy, c.reason)
		}
	}
}

func TestFlags(t *testing.T) {
	for _, c := range []struct {
		why, text string
		want      Verdict
	}{
		{"a plain box", `\boxed{64}`, Verdict{Right, Boxed, Equal, Integer, false, false, 1, 1, false, ""}},
		{"a percent sign outside", `$\boxed{64}\%$`, Verdict{Right, Boxed, Equal, Integer, true, false, 1, 1, false, ""}},
		{"math delimiters are not money", `\boxed{$64$}`, Verdict{Right, Boxed, Equal, Integer, false, false, 1, 1, false, ""}},
		{"money", `\boxed{\$64.00}`, Verdict{Right, Boxed, Equal, Decimal, false, true, 1, 1, false, ""}},
		{"a unit", `\boxed{128/2 \text{ kg}}`, Verdict{Right, Boxed, Equal, Fraction, false, true, 1, 1, false, ""}},
		{"scientific", `\boxed{6.4e1}`, Verdict{Right, Boxed, Equal, Scientific, false, false, 1, 1, false, ""}},
		{"mixed", `\boxed{63 1/2}`, Verdict{Wrong, Boxed, NotEqual, Mixed, false, false, 1, 1, false, ""}},
		{"the same value twice is one", `\boxed{064} \boxed{64}`, Verdict{Right, Boxed, Equal, Integer, false, false, 2, 1, false, ""}},
		{"two values", `\boxed{48} \boxed{64}`, Verdict{Right, Boxed, Equal, Integer, false, false, 2, 2, false, ""}},
		{"texts are told apart", `\boxed{x} \boxed{y} \boxed{64}`, Verdict{Right, Boxed, Equal, Integer, false, false, 3, 3, false, ""}},
		{"a box in a box", `\boxed{\boxed{64}}`, Verdict{Right, Boxed, Equal, Integer, false, false, 2, 1, false, ""}},
		{"cut off", `\boxed{64} \boxed{`, Verdict{Wrong, Boxed, BoxUnclosed, "", false, false, 2, 1, true, ""}},
		{"cut off in thought", `<think>64`, Verdict{Wrong, NoPolicy, ThinkUnclosed, "", false, false, 0, 0, true, ""}},
		{"a limit", `\boxed{1e999}`, Verdict{Wrong, Boxed, LimitExponent, "", false, false, 1, 1, false, "exponent"}},
		{"many boxes", strings.Repeat(`\boxed{64}`, 300), Verdict{Right, Boxed, Equal, Integer, false, false, 300, 1, false, ""}},
		{"money in prose", "It costs $64.", Verdict{Right, LastNumber, Equal, Integer, false, true, 0, 0, false, ""}},
	} {
		if got := MathEqual(c.text, "64"); got != c.want {
			t.Errorf("%s: %.80q\n got %+v\nwant %+v", c.why, c.text, got, c.want)
		}
	}
	if v := MathEqual(hostile["boxes_different"], "64"); v.DistinctBoxes != maxDistinct || v.Boxes < 50_000 {
		t.Errorf("different boxes without end: %+v", v)
	}
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		why        string
		rule       Rule
		text, gold string
		want       Reward
		reason     Reason
	}{
		{"boxed only pays no bare number", BoxedOnly(), "64", "64", Wrong, NoAnswer},
		{"boxed only pays no hash line", BoxedOnly(), "#### 64", "64", Wrong, NoAnswer},
		{"an empty list of policies pays nothing", Rule{Policies: []Policy{}}, `\boxed{64}`, "64", Wrong, NoAnswer},
		{"the order is a choice", Rule{Policies: []Policy{Hash, Boxed}}, "#### 50\n\\boxed{64}", "64", Wrong, NotEqual},
		{"percent divides", Rule{Percent: PercentDivide}, `\boxed{40\%}`, "0.4", Right, Equal},
		{"in the reference too", Rule{Percent: PercentDivide}, `\boxed{0.4}`, "40%", Right, Equal},
		{"and only there", Rule{Percent: PercentDivide}, `\boxed{40\%}`, "40", Wrong, NotEqual},
		{"percent outside the box divides", Rule{Percent: PercentDivide}, `\boxed{40}\%`, "0.4", Right, Equal},
		{"percent is refused", Rule{Percent: PercentReject}, `\boxed{40\%}`, "40", Wrong, Percentage},
		{"unreduced is refused", Rule{ReducedOnly: true}, `\boxed{36/2}`, "18", Wrong, Unreduced},
		{"reduced is not", Rule{ReducedOnly: true}, `\boxed{7/4}`, "1.75", Right, Equal},
		{"the first hash line", Rule{FirstHash: true}, "#### 42\nQuestion: ...\n#### 9", "42", Right, Equal},
		{"the first that qualifies", Rule{FirstHash: true}, "##### 1. Add\n#### 42\n#### 9", "42", Right, Equal},
	} {
		if v := c.rule.Grade(c.text, c.gold); v.Reward != c.want || v.Reason != c.reason {
			t.Errorf("%s: %+v", c.why, v)
		}
	}
}

func TestGold(t *testing.T) {
	for _, gold := range []string{"42", " 42 ", "42.0", "$42", "42,", "$42$", "#### 42", "6*7 = <<6*7=42>>42\n#### 42", "#### 42\n", "84/2", `\frac{84}{2}`, "42%", "4.2e1", "４２", "42 apples", "x = 42"} {
		if v := MathEqual(`\boxed{42}`, gold); v.Reward != Right {
			t.Errorf("reference %q: %+v", gold, v)
		}
	}
	for _, gold := range []string{"", " ", "six", "nan", "inf", "6 or 7", "6, 7", "12,50", "7/0", "6+7", "1e401", "####", "####\n42", "42\n#### six", "\xff", strings.Repeat("9", 257), "True"} {
		v := MathEqual(`\boxed{42}`, gold)
		if v != (Verdict{Reward: NoReward, Policy: NoPolicy, Reason: GoldUnparsable}) {
			t.Errorf("reference %q is usable: %+v", gold, v)
		}
		if _, ok := v.Reward.Float(); ok {
			t.Errorf("reference %q has a reward", gold)
		}
	}
	const secret = "31337 or 31338"
	if _, err := (Rule{}).ParseGold(secret); err == nil || strings.Contains(err.Error(), "3133") {
		t.Errorf("the error is to exist and not to quote the reference: %v", err)
	}
}

func TestRewardJSON(t *testing.T) {
	for want, r := range map[string]Reward{"0": Wrong, "1": Right, "null": NoReward} {
		b, err := json.Marshal(Verdict{Reward: r, Policy: NoPolicy, Reason: NoAnswer})
		if err != nil || !strings.HasPrefix(string(b), `{"reward":`+want+`,"policy":"none","reason":"no_answer",`) {
			t.Errorf("%s: %s %v", want, b, err)
		}
		var v Verdict
		if err := json.Unmarshal(b, &v); err != nil || v.Reward != r {
			t.Errorf("%s: read back as %d, %v", b, v.Reward, err)
		}
	}
	if err := json.Unmarshal([]byte(`{"reward":2}`), new(Verdict)); err == nil {
		t.Error("a reward of 2 is read")
	}
	if _, err := json.Marshal(Reward(2)); err == nil {
		t.Error("a reward of 2 is written")
	}
}
