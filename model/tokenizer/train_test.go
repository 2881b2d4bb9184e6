package tokenizer

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

var chatSpecials = []string{endOfText, imStart, imEnd}

func trainingTexts(t testing.TB) []string {
	raw, err := os.ReadFile("testdata/train/corpus.txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(raw), "\x00")
}

// Merge for merge what Hugging Face's BpeTrainer makes of the same texts, ties included.
func TestTrainEqualsHuggingFace(t *testing.T) {
	got, err := Train(trainingTexts(t), 512, chatSpecials)
	if err != nil {
		t.Fatal(err)
	}
	want, err := FromFile("testdata/train/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.pieces, want.pieces) || !slices.Equal(got.kinds, want.kinds) {
		t.Errorf("%d tokens %q, want %d %q", len(got.pieces), got.pieces, len(want.pieces), want.pieces)
	}
	if !slices.Equal(got.merges, want.merges) {
		t.Errorf("merges %v, want %v", got.merges, want.merges)
	}
}

// The order of the texts does not count, a smaller vocabulary is a prefix, and control tokens in the texts are no evidence.
func TestTrainIsDeterministic(t *testing.T) {
	texts := trainingTexts(t)
	want, err := Train(texts, 330, chatSpecials)
	if err != nil {
		t.Fatal(err)
	}
	if want.VocabSize() != 330 {
		t.Fatalf("%d tokens, want 330", want.VocabSize())
	}
	json, err := want.MarshalJSON()
	if err != nil || !bytes.Contains(json, []byte(`"vocab":{"<|endoftext|>":0,"<|im_start|>":1,"<|im_end|>":2,"!":3,`)) {
		t.Errorf("control tokens before the text must be listed in the vocabulary, or Hugging Face numbers them anew (%v): %.2000s", err, json)
	}
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
	for i := range texts {
		texts[i] = imStart + texts[i] + imEnd + imEnd
	}
	again, err := Train(texts, 330, chatSpecials)
	if err != nil {
		t.Fatal(err)
	}
	if json2, _ := again.MarshalJSON(); !bytes.Equal(json, json2) {
		t.Error("the same texts in another order, between control tokens, give another tokenizer")
	}
	larger, err := Train(texts, 350, chatSpecials)
	if err != nil || !slices.Equal(larger.pieces[:330], want.pieces) {
		t.Errorf("a larger vocabulary does not begin with the smaller one (%v)", err)
	}
	if ids := want.Encode(texts[0]); want.Decode(ids) != nfc(texts[0]) {
		t.Errorf("%q comes back as %q", texts[0], want.Decode(ids))
	}
}

func TestTrainMergesLikeItEncodes(t *testing.T) {
	// "aaaa" can be cut in two ways, and "abc" made in two: the pairs counted must be those that encoding makes.
	tok, err := Train([]string{"aaaa aaaa aaaa abc abc bc bc bc"}, 300, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []string{"aaaa", " aaaa", " abc", " bc"} {
		if ids := tok.Encode(w); len(ids) != 1 {
			t.Errorf("%q is %d tokens after all pairs were merged", w, len(ids))
		}
	}
}

func TestTrainRefuses(t *testing.T) {
	for _, c := range []struct {
		why     string
		size    int
		special []string
		want    string
	}{
		{"no room for the bytes", 258, chatSpecials, "want at least 259"},
		{"a control token that is a byte", 512, []string{"a"}, `"a"`},
		{"a control token that is nothing", 512, []string{""}, `""`},
		{"one name for two", 512, []string{"<a>", "<a>"}, `"<a>"`},
	} {
		if _, err := Train([]string{"text"}, c.size, c.special); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", c.why, err, c.want)
		}
	}
	if tok, err := Train([]string{"<ab <ab <ab <a"}, 300, []string{"<ab", "xy"}); err != nil || tok.VocabSize() != 259 {
		t.Errorf("text next to control tokens: %v; only \"<a\" was left to merge", err)
	}
}

// Normalisation can write a control token that was not in the text before: it must not become one by merging.
func TestTrainMakesNoControlToken(t *testing.T) {
	tok, err := Train([]string{"e\u0301e\u0301 e\u0301"}, 300, []string{"\u00e9"})
	if err != nil {
		t.Fatal(err)
	}
	if ids := tok.Encode("e\u0301"); slices.ContainsFunc(ids, tok.IsControl) || tok.Decode(ids) != "\u00e9" {
		t.Errorf("%v decodes to %q", ids, tok.Decode(ids))
	}
	if ids := tok.EncodeSpecial("\u00e9"); !slices.Equal(ids, []int32{0}) {
		t.Errorf("the control token itself is %v", ids)
	}
}

// Two megabytes of sentences with made-up words, a vocabulary of 4,096.
func BenchmarkTrain(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 20000)
	for i := range words {
		for range 2 + r.IntN(8) {
			words[i] += string(rune('a' + r.IntN(26)))
		}
	}
	var s strings.Builder
	for s.Len() < 2<<20 {
		fmt.Fprintf(&s, "%s %s %d, ", words[r.IntN(len(words))], words[r.IntN(200)], r.IntN(100))
	}
	b.SetBytes(int64(s.Len()))
	for b.Loop() {
		if _, err := Train([]string{s.String()}, 4096, chatSpecials); err != nil {
			b.Fatal(err)
		}
	}
}
