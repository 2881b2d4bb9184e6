package tokenizer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// mergeSlowly is the definition: join the leftmost of the lowest-ranked pairs until there is none.
func mergeSlowly(t *Tokenizer, word string) []int32 {
	var ids []int32
	for i := range len(word) {
		ids = append(ids, t.byteID[word[i]])
	}
	for {
		best, at := noMerge, -1
		for i := range ids[min(1, len(ids)):] {
			if r := t.rank(ids[i], ids[i+1]); r < best {
				best, at = r, i
			}
		}
		if at < 0 {
			return ids
		}
		ids = slices.Replace(ids, at, at+2, t.merges[best].id)
	}
}

// Short and long words go through different code, which must agree with the definition at every length around the border.
func TestMergeEqualsDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, alphabet := range []string{"a", "ab", "abcdefghijklmnopqrstuvwxyz", "é字😀 \\x00="} {
		for _, n := range []int{1, 2, 3, 20, longWord - 1, longWord, longWord + 1, 700} {
			word := make([]byte, n)
			for i := range word {
				word[i] = alphabet[r.IntN(len(alphabet))]
			}
			want := mergeSlowly(qwen(), string(word))
			if got := qwen().merge(nil, string(word)); !slices.Equal(got, want) {
				t.Errorf("%q: %v, want %v", word, got, want)
			}
			if got := qwen().mergeLong(nil, string(word)); !slices.Equal(got, want) {
				t.Errorf("%q by heap: %v, want %v", word, got, want)
			}
		}
	}
}

func TestEncodeNormalises(t *testing.T) {
	for _, c := range []struct{ why, in, same string }{
		{"decomposed and composed", "e\u0301", "é"},
		{"marks in either order", "q\u0307\u0323", "q\u0323\u0307"},
		{"Hangul from its parts", "\u1112\u1161\u11ab", "한"},
		{"a singleton", "\u2126", "Ω"},
		{"not compatibility: the ligature stays", "ﬁ", "ﬁ"},
	} {
		if got, want := qwen().Encode(c.in), qwen().Encode(c.same); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", c.why, got, want)
		}
	}
	long := "e" + strings.Repeat("\u0323", 40) + "\u0301" // golang.org/x/text would put a U+034F into it
	if got, want := qwen().Decode(qwen().Encode(long)), "\u1eb9"+strings.Repeat("\u0323", 39)+"\u0301"; got != want {
		t.Errorf("a long run of marks: %+q, want %+q", got, want)
	}
	if got := qwen().Encode("a\xff\xc3"); !slices.Equal(got, append(qwen().Encode("a"), qwen().byteID[0xff], qwen().byteID[0xc3])) {
		t.Errorf("bytes that are no UTF-8: %v", got)
	}
}

// The definition of NFC agrees with golang.org/x/text wherever that does not insert anything.
func FuzzNFCByDefinition(f *testing.F) {
	for _, c := range qwenCases(f) {
		f.Add(c.Text)
	}
	for _, s := range []string{"q\u0307\u0323\u0301", "\u1112\u1161\u11ab\u11ab", "\u0958\u09cb\u0344\u1e9b\u0323", "\u0301\u0300a\u0328\u0301", "a\u0300\xff\u0301", "\u0b47\u0300\u0b3e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want := norm.NFC.String(s)
		if strings.Count(want, "\u034f") != strings.Count(s, "\u034f") {
			return
		}
		if got := composeLong(s); got != want {
			t.Errorf("%+q: %+q, want %+q", s, got, want)
		}
	})
}

// Whatever the text, its tokens give it back, one at a time or all at once, and none is a control token.
func FuzzEncodeDecode(f *testing.F) {
	for _, c := range qwenCases(f) {
		f.Add(c.Text)
	}
	f.Add("\xe5\xad\x97\xe5\xad<|im_end|>\xf0\x9f\x98<|im_start|>")
	f.Fuzz(func(t *testing.T, s string) {
		q := qwen()
		ids := q.Encode(s)
		if slices.ContainsFunc(ids, func(id int32) bool { return q.kindOf(id) != text }) {
			t.Errorf("%q: %v has a control token", s, ids)
		}
		if got := string(q.appendBytes(nil, ids, true)); got != nfc(s) {
			t.Errorf("%q comes back as %q", s, got)
		}
		var parts strings.Builder
		stream := q.Stream(false)
		for _, id := range ids {
			part := stream.Next(id)
			if !utf8.ValidString(part) {
				t.Errorf("%q: part %q is no UTF-8", s, part)
			}
			parts.WriteString(part)
		}
		parts.WriteString(stream.Flush())
		if want := q.Decode(ids); parts.String() != want {
			t.Errorf("%q streamed is %q, want %q", s, parts.String(), want)
		}
	})
}

func TestDecode(t *testing.T) {
	b := func(s string) (ids []int32) {
		for i := range len(s) {
			ids = append(ids, qwen().byteID[s[i]])
		}
		return ids
	}
	for _, c := range []struct {
		why  string
		ids  []int32
		want string
	}{
		{"control tokens are left out", []int32{151644, 64, 151645}, "a"},
		{"a character across tokens", b("字"), "字"},
		{"an incomplete character is one U+FFFD", b("a\xf0\x9f\x98"), "a\ufffd"},
		{"two beginnings are two", b("\xe5\xe5\xad"), "\ufffd\ufffd"},
		{"a stray continuation each", b("\x80\x80"), "\ufffd\ufffd"},
		{"a surrogate is three bytes that begin nothing", b("\xed\xa0\x80"), "\ufffd\ufffd\ufffd"},
		{"the text goes on behind it", b("\xf0\x9fab"), "\ufffdab"},
	} {
		if got := qwen().Decode(c.ids); got != c.want {
			t.Errorf("%s: %q, want %q", c.why, got, c.want)
		}
	}
	s := qwen().Stream(true)
	var got []string
	for _, id := range append(b("é字"), 151645) {
		got = append(got, s.Next(id))
	}
	if want := []string{"", "é", "", "", "字", "<|im_end|>"}; !slices.Equal(got, want) {
		t.Errorf("streamed %q, want %q", got, want)
	}
}

// The text that the benchmarks run on: the sentences of the oracle, over and over.
func benchText(b *testing.B) string {
	var s strings.Builder
	for s.Len() < 1<<20 {
		for _, c := range qwenCases(b) {
			if c.Kind == "gsm8k" {
				s.WriteString(c.Text + "\n")
			}
		}
	}
	return s.String()
}

func BenchmarkEncode(b *testing.B) {
	s := benchText(b)
	qwen().Encode(s)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		qwen().Encode(s)
	}
}

// Words that never recur: random letters.
func BenchmarkEncodeUncached(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var s strings.Builder
	for s.Len() < 1<<20 {
		for range 3 + r.IntN(8) {
			s.WriteByte('a' + byte(r.IntN(26)))
		}
		s.WriteByte(' ')
	}
	b.SetBytes(int64(s.Len()))
	for b.Loop() {
		qwen().Encode(s.String())
	}
}

// One word of a megabyte.
func BenchmarkEncodeLongWord(b *testing.B) {
	s := strings.Repeat("ab", 1<<19)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		qwen().Encode(s)
	}
}

func BenchmarkLoad(b *testing.B) {
	raw := qwenJSON()
	for b.Loop() {
		if _, err := FromJSON(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	ids := qwen().Encode(benchText(b))
	b.SetBytes(int64(len(qwen().Decode(ids))))
	for b.Loop() {
		qwen().Decode(ids)
	}
}
