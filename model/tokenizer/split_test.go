package tokenizer

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// qwenPattern is the pattern run by an engine that knows look-ahead. regexp2 does not fold the long s (U+017F) with s, as
// the engine of Hugging Face tokenizers does, so the pattern spells that out.
var qwenPattern = regexp2.MustCompile(strings.Replace(SplitPattern, "(?i:'s|", "(?i:'s|'ſ|", 1), regexp2.None)

func splitByPattern(t testing.TB, s string) (words []string) {
	m, err := qwenPattern.FindStringMatch(s)
	for ; m != nil && err == nil; m, err = qwenPattern.FindNextMatch(m) {
		words = append(words, m.String())
	}
	if err != nil {
		t.Fatal(err)
	}
	return words
}

func split(s string) (words []string) {
	for s != "" {
		n := nextWord(s)
		words = append(words, s[:n])
		s = s[n:]
	}
	return words
}

func TestSplit(t *testing.T) {
	for _, c := range []struct{ why, in, want string }{
		{"a word takes one rune before it", "Let's (solve) it", "Let|'s| (|solve|)| it"},
		{"digits stand alone", "12.50", "1|2|.|5|0"},
		{"contractions in any case", "I'LL they'Re 'm 'x", "I|'LL| they|'Re| '|m| '|x"},
		{"a contraction does not need a word's end", "'tis", "'t|is"},
		{"the long s is an s", "it'ſ", "it|'ſ"},
		{"the last space goes to the next word", "a   b", "a|  | b"},
		{"spaces at the end stay together", "a   ", "a|   "},
		{"a digit takes no space", "a  1", "a| | |1"},
		{"newlines end a run of space", "a \n\n  b", "a| \n\n| | b"},
		{"newlines belong to the symbols before", "a!!\r\n\nb", "a|!!\r\n\n|b"},
		{"a newline does not begin a word, a tab does", "\na\tb", "\n|a|\tb"},
		{"a no-break space is a space", "a\u00a0\u00a0b!\u00a0!", "a|\u00a0|\u00a0b|!|\u00a0|!"},
		{"a combining mark is a symbol", "x\u0301y", "x|\u0301y"},
		{"other scripts", "数字٣Ⅷ½", "数字|٣|Ⅷ|½"},
		{"a byte that is no UTF-8 is a symbol", "a\xffb", "a|\xffb"},
	} {
		if got := strings.Join(split(c.in), "|"); got != c.want {
			t.Errorf("%s: %q, want %q", c.why, got, c.want)
		}
	}
}

// The scanner against the pattern that it stands for.
func FuzzSplitEqualsPattern(f *testing.F) {
	for _, c := range qwenCases(f) {
		f.Add(c.Text)
	}
	for _, s := range []string{"'ſ'S'rE'Ll 'D", " \u0085\u2028\r\n\t\v\f \u1680\u3000x", "\u200b\u180e\ufeff", "ǅ\u0345ⅷ𝟙", "a'\u212a's"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			s = strings.ToValidUTF8(s, "?")
		}
		got, want := split(s), splitByPattern(t, s)
		if strings.Join(got, "\x00|") != strings.Join(want, "\x00|") {
			t.Errorf("%q\n got %q\nwant %q", s, got, want)
		}
	})
}
