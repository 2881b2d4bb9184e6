package grader

import (
	"fmt"
	"strings"
	"testing"
)

// replyBoxed and replyPlain are replies of the length that GSM8K brings out (about 1,100 characters).
var (
	replySteps = strings.Repeat("First I work out how many crates there are: 4 rows of 9 crates is 4 * 9 = 36 crates. "+
		"Each crate weighs 12.5 kg, so they weigh $36 \\times 12.5 = 450$ kg together.\nThen 1,250 more kg arrive on Tuesday. ", 5)
	replyBoxed = replySteps + "\nSo the total is $450 + 1250 = 1700$ kg.\n\n\\boxed{1,700 \\text{ kg}}"
	replyPlain = replySteps + "\nSo the total weight in the yard is 1,700 kg"
	replyTeam  = strings.Repeat("Solver: 4 rows of 9 crates is \\boxed{36}.\nChecker: 4 * 9 = 36, correct.\n", 14) + "Lead: \\boxed{36}"
)

func BenchmarkMathEqual(b *testing.B) {
	for _, c := range []struct{ name, text, gold string }{
		{"boxed", replyBoxed, "1700"}, {"last_number", replyPlain, "1,700"}, {"team", replyTeam, "36"},
		{"gsm8k_gold", replyBoxed, replySteps + "\n#### 1,700"},
	} {
		b.Run(c.name, func(b *testing.B) {
			if MathEqual(c.text, c.gold).Reward != Right {
				b.Fatal("the reply is not graded right")
			}
			b.ReportAllocs()
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				MathEqual(c.text, c.gold)
			}
		})
	}
}

func BenchmarkTalk(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(replyTeam)))
	for b.Loop() {
		Talk(replyTeam)
	}
}

// megabyte repeats unit up to one million bytes between a beginning and an end.
func megabyte(begin, unit, end string) string {
	return begin + strings.Repeat(unit, (1_000_000-len(begin)-len(end))/len(unit)) + end
}

// hostile are texts of a megabyte, each aimed at one loop of the grader or of the talk counter.
var hostile = map[string]string{
	"digits":            megabyte("", "9", ""),
	"boxed_digits":      megabyte(`\boxed{`, "9", "}"),
	"words":             megabyte("", "word ", ""),
	"open_braces":       megabyte("", "{", ""),
	"boxed_open_braces": megabyte(`\boxed`, "{", ""),
	"nested_braces":     `\boxed` + strings.Repeat("{", 499_990) + "64" + strings.Repeat("}", 499_990),
	"power_braces":      megabyte("2^", "{", ""),
	"backslashes":       megabyte("", `\`, ""),
	"boxes":             megabyte("", `\boxed{64} `, ""),
	"boxes_different":   manyBoxes(),
	"boxes_long":        megabyte("", `\boxed{`+strings.Repeat("6", 500)+`}`, ""),
	"boxes_nested":      megabyte("", strings.Repeat(`\boxed{`, 100)+strings.Repeat("}", 100), ""),
	"open_boxes":        megabyte("", `\boxed{`, ""),
	"box_mentions":      megabyte("", `\fbox `, "x"),
	"box_spaces":        megabyte("", `\boxed    `, "x"),
	"commas":            megabyte("", ",", ""),
	"digit_commas":      megabyte("", "1,", "64"),
	"groups":            megabyte("1", ",000", ""),
	"newlines":          megabyte("", "\n", ""),
	"number_lines":      megabyte("", "64\n", "x"),
	"identifiers":       megabyte("", "A7 ", ""),
	"identifier_lines":  megabyte("", "A7\n", ""),
	"spaces":            megabyte("5", " ", "1/2"),
	"number_spaces":     megabyte("", "5    ", "x"),
	"dollars":           megabyte("", "$", "64"),
	"dollar_numbers":    megabyte("", "-$5 ", ""),
	"minus":             megabyte("", "-", "64"),
	"dots":              megabyte("", "1.", "64"),
	"slashes":           megabyte("", "1/", "64"),
	"colons":            megabyte("", "1:", "64"),
	"towers":            megabyte("10", "^10", ""),
	"subscripts":        megabyte("", "x_6", ""),
	"fractions":         megabyte("", `\frac{1}{2}`, ""),
	"nested_fractions":  megabyte("", `\frac{`, ""),
	"scale_words":       megabyte("5", " million", ""),
	"hashes":            megabyte("", "#", "64"),
	"hash_lines":        megabyte("", "#### x\n", ""),
	"answers":           megabyte("", "answer ", ""),
	"answers_is":        megabyte("", "the answer is ", "64"),
	"answer_long":       megabyte("the answer is 64", " word", ""),
	"angle_brackets":    megabyte("", "<", ""),
	"stop_prefixes":     megabyte("", "<|im_en", ""),
	"thinks":            megabyte("", "</think>", "64"),
	"zero_width":        megabyte("", "\u200b", "64"),
	"invalid_utf8":      megabyte("", "\xff", "64"),
	"wide_digits":       megabyte("", "\uff16", ""),
	"halves":            megabyte("", "½", ""),
	"superscripts":      megabyte("6", "²", ""),
	"quotes":            megabyte("", "“", ""),
	"nul":               megabyte("", "\x00", "64"),
	"solver_lines":      megabyte("", "Solver: ok\n", ""),
	"solver_mid_line":   megabyte("", "Solver: ", ""),
	"solver_markers":    megabyte("", "> - * # ", "Solver"),
	"list_numbers":      megabyte("", "1. ", "Solver:"),
	"tags":              megabyte("", "<b>", "Solver:"),
	"name_stars":        megabyte("Solver", "*", ":"),
}

func manyBoxes() string {
	var b strings.Builder
	for i := 0; b.Len() < 1_000_000; i++ {
		fmt.Fprintf(&b, `\boxed{%d}`, i)
	}
	return b.String()
}

// BenchmarkHostile grades and counts one megabyte of each kind; a verdict and a count together are to take less than 50 ms.
func BenchmarkHostile(b *testing.B) {
	for name, text := range hostile {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				MathEqual(text, "64")
				Talk(text)
			}
		})
	}
	b.Run("gold_digits", func(b *testing.B) {
		for b.Loop() {
			MathEqual("64", hostile["digits"])
		}
	})
}
