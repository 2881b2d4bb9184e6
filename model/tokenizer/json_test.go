package tokenizer

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// smallJSON is a valid tokenizer.json of 423 tokens.
func smallJSON(t testing.TB) string {
	raw, err := os.ReadFile("testdata/train/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(json.RawMessage(raw)); err != nil { // compact
		t.Fatal(err)
	}
	return b.String()
}

func TestFromJSONRefuses(t *testing.T) {
	valid := smallJSON(t)
	if _, err := FromJSON([]byte(valid)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ why, old, new, want string }{
		{"GPT-2's pattern", `\\p{N}| ?`, `\\p{N}+| ?`, "the split pattern is"},
		{"another way to split", `"Isolated"`, `"Removed"`, `"Removed"`},
		{"no split at all", `"Sequence"`, `"Whitespace"`, "Sequence of Split and ByteLevel"},
		{"the byte level's own pattern", `"use_regex":false}]`, `"use_regex":true}]`, "use_regex"},
		{"another normal form", `"NFC"`, `"NFKC"`, "normalizer NFKC"},
		{"tokens added around every text", `"post_processor":null`, `"post_processor":{"type":"TemplateProcessing"}`, "TemplateProcessing"},
		{"another kind of model", `"type":"BPE"`, `"type":"Unigram"`, `"BPE"`},
		{"random merges", `"dropout":null`, `"dropout":0.1`, "dropout"},
		{"an unknown token", `"unk_token":null`, `"unk_token":"<unk>"`, "unk_token"},
		{"SentencePiece bytes", `"byte_fallback":false`, `"byte_fallback":true`, "byte_fallback"},
		{"whole words first", `"ignore_merges":false`, `"ignore_merges":true`, "ignore_merges"},
		{"control tokens that eat spaces", `"lstrip":false`, `"lstrip":true`, "lstrip"},
		{"an id twice", `"!":3,`, `"!":4,`, "which another token has too"},
		{"an id far out, for which no memory may be taken", `"!":3,`, `"!":2000000000,`, "without a gap"},
		{"a negative id", `"!":3,`, `"!":-3,`, "without a gap"},
		{"a byte without a token", `"!":3,`, `"!!!!":3,`, "no token for byte 0x21"},
		{"a token outside the byte alphabet", `"!":3,`, `"漢":3,`, "byte alphabet"},
		{"a control token of another id than in the vocabulary", `"<|im_end|>":2`, `"<|im_end|>":422`, "<|im_end|>"},
		{"a merge of three", `["a","b"]`, `["a","b","c"]`, "3 parts"},
		{"a merge of no token", `["a","b"]`, `["a","zzzz"]`, "merge 1"},
		{"a merge twice", `["a","b"]`, `["a","a"]`, "are the same"},
		{"text that would become a control token", `"id":2,"content":"<|im_end|>"`, `"id":260,"content":"ab"`, "text could become one"},
		{"no model", `"model":{`, `"other":{`, "model.type"},
		{"half a file", `"merges":[`, ``, "not a tokenizer.json"},
	} {
		changed := strings.Replace(valid, c.old, c.new, 1)
		if c.new == "" {
			changed, _, _ = strings.Cut(valid, c.old)
		}
		if changed == valid {
			t.Errorf("%s: %q is not in the file: the case tests nothing", c.why, c.old)
		}
		if _, err := FromJSON([]byte(changed)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", c.why, err, c.want)
		}
	}
}

// Older files write merges as strings, newer ones as pairs.
func TestMergesInBothForms(t *testing.T) {
	valid := smallJSON(t)
	older := strings.NewReplacer(`["a","b"]`, `"a b"`).Replace(valid)
	if _, err := FromJSON([]byte(older)); err == nil {
		t.Error("a file that mixes both forms was read")
	}
	tok, err := FromJSON([]byte(valid))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := tok.MarshalJSON() // writes strings
	if err != nil || !strings.Contains(string(raw), `"a b"`) {
		t.Fatalf("%v: no merge \"a b\" in %s", err, raw)
	}
	if again, err := FromJSON(raw); err != nil || again.VocabSize() != tok.VocabSize() || len(again.merges) != len(tok.merges) {
		t.Errorf("%v: the older form is read as another tokenizer", err)
	}
}

func TestFromFile(t *testing.T) {
	if _, err := FromFile("testdata/none.json"); !os.IsNotExist(err) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := FromFile("testdata/README.md"); err == nil || !strings.Contains(err.Error(), "README.md: not a tokenizer.json") {
		t.Errorf("another file: %v", err)
	}
}

// Whatever is written at any place of a file, it gives a tokenizer that works or an error.
func FuzzFromJSON(f *testing.F) {
	valid := smallJSON(f)
	f.Add(uint(0), uint(len(valid)), `{"model":{"type":"BPE","vocab":{"a":1},"merges":["a b",["c"]]},"added_tokens":[{"id":-1,"content":""}]}`)
	for _, c := range []struct{ old, new string }{
		{`"!":3`, `"!":-1`}, {`["a","a"]`, `"a a"`}, {`"id":2`, `"id":2147483647`}, {`"model":{`, `"model":[`}, {`"special":true`, `"special":false`}, {`null`, `{}`},
	} {
		f.Add(uint(strings.Index(valid, c.old)), uint(len(c.old)), c.new)
	}
	f.Fuzz(func(t *testing.T, at, cut uint, insert string) {
		at = min(at, uint(len(valid)))
		raw := valid[:at] + insert + valid[at+min(cut, uint(len(valid))-at):]
		tok, err := FromJSON([]byte(raw))
		if err != nil {
			return
		}
		s := "Let's 12 <|im_end|> \xff"
		if got := string(tok.appendBytes(nil, tok.Encode(s), true)); got != s {
			t.Errorf("%q comes back as %q", s, got)
		}
		if tok.VocabSize() > len(raw) {
			t.Errorf("%d tokens from a file of %d bytes", tok.VocabSize(), len(raw))
		}
	})
}
