package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// FromFile reads a Hugging Face tokenizer.json.
func FromFile(path string) (*Tokenizer, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t, err := FromJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// tokenizerJSON is the part of tokenizer.json that decides how a text is encoded.
type tokenizerJSON struct {
	Added         []addedToken    `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Decoder       json.RawMessage `json:"decoder"`
	Model         *modelJSON      `json:"model"`
}

type addedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

type modelJSON struct {
	Type                    string           `json:"type"`
	Dropout                 *float64         `json:"dropout"`
	UnkToken                *string          `json:"unk_token"`
	ContinuingSubwordPrefix *string          `json:"continuing_subword_prefix"`
	EndOfWordSuffix         *string          `json:"end_of_word_suffix"`
	FuseUnk                 bool             `json:"fuse_unk"`
	ByteFallback            bool             `json:"byte_fallback"`
	IgnoreMerges            bool             `json:"ignore_merges"`
	Vocab                   map[string]int32 `json:"vocab"`
	Merges                  mergeStrings     `json:"merges"`
}

// mergeStrings reads merges as "left right" or, as newer files have them, ["left", "right"].
type mergeStrings []string

func (m *mergeStrings) UnmarshalJSON(b []byte) error {
	if first := bytes.TrimLeft(b[min(1, len(b)):], " \t\r\n"); len(first) == 0 || first[0] != '[' {
		return json.Unmarshal(b, (*[]string)(m))
	}
	var pairs [][]string
	if err := json.Unmarshal(b, &pairs); err != nil {
		return fmt.Errorf("merges: want \"left right\" or [\"left\", \"right\"]: %w", err)
	}
	*m = make([]string, len(pairs))
	for i, p := range pairs {
		if len(p) != 2 {
			return fmt.Errorf("merge %d: %d parts, want 2", i, len(p))
		}
		(*m)[i] = p[0] + " " + p[1]
	}
	return nil
}

// FromJSON reads the contents of a Hugging Face tokenizer.json.
func FromJSON(raw []byte) (*Tokenizer, error) {
	var j tokenizerJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return nil, fmt.Errorf("not a tokenizer.json: %w", err)
	}
	nfc, err := j.supported()
	if err != nil {
		return nil, err
	}
	n := len(j.Model.Vocab)
	for _, a := range j.Added {
		if _, inVocab := j.Model.Vocab[a.Content]; !inVocab {
			n++
		}
	}
	pieces, kinds := make([]string, n), make([]kind, n)
	claim := func(id int32, token string) error {
		if id < 0 || int(id) >= n {
			return fmt.Errorf("token %q has the id %d, but there are %d tokens: ids must run from 0 without a gap", token, id, n)
		}
		if kinds[id] != unused {
			return fmt.Errorf("token %q has the id %d, which another token has too", token, id)
		}
		return nil
	}
	for _, a := range j.Added {
		if err := claim(a.ID, a.Content); err != nil {
			return nil, err
		}
		if id, inVocab := j.Model.Vocab[a.Content]; inVocab && id != a.ID {
			return nil, fmt.Errorf("added token %q has the id %d, in the vocabulary %d", a.Content, a.ID, id)
		}
		pieces[a.ID], kinds[a.ID] = a.Content, userDefined
		if a.Special {
			kinds[a.ID] = control
		}
	}
	for tok, id := range j.Model.Vocab {
		if id >= 0 && int(id) < n && kinds[id] > text && pieces[id] == tok {
			continue // an added token that is also listed in the vocabulary
		}
		if err := claim(id, tok); err != nil {
			return nil, err
		}
		if pieces[id], err = unspell(tok); err != nil {
			return nil, err
		}
		kinds[id] = text
	}
	ms, err := parseMerges(j.Model.Merges, j.Model.Vocab)
	if err != nil {
		return nil, err
	}
	return newTokenizer(pieces, kinds, ms, nfc)
}

// parseMerges turns "left right" into ids; the result of a merge is the token that is spelled like both parts joined.
func parseMerges(merges []string, ids map[string]int32) ([]merge, error) {
	out := make([]merge, len(merges))
	var joined []byte
	for rank, m := range merges {
		left, right, ok := strings.Cut(m, " ")
		if !ok || left == "" || right == "" || strings.Contains(right, " ") {
			return nil, fmt.Errorf("merge %d is %q, want two tokens", rank, m)
		}
		joined = append(append(joined[:0], left...), right...)
		l, okL := ids[left]
		r, okR := ids[right]
		id, ok := ids[string(joined)]
		if !okL || !okR || !ok {
			return nil, fmt.Errorf("merge %d, %q: its parts and its result must be tokens of the vocabulary", rank, m)
		}
		out[rank] = merge{l, r, id}
	}
	return out, nil
}

// supported names the first part of the file that this package does not implement, and says whether text is normalised.
func (j *tokenizerJSON) supported() (nfc bool, err error) {
	m := j.Model
	switch {
	case m == nil || m.Type != "BPE" && m.Type != "":
		return false, fmt.Errorf("model.type: want \"BPE\"")
	case m.Dropout != nil && *m.Dropout != 0:
		return false, fmt.Errorf("model.dropout is %g: not supported", *m.Dropout)
	case m.UnkToken != nil:
		return false, fmt.Errorf("model.unk_token is %q: a byte-level vocabulary has no unknown token", *m.UnkToken)
	case m.ContinuingSubwordPrefix != nil && *m.ContinuingSubwordPrefix != "":
		return false, fmt.Errorf("model.continuing_subword_prefix is %q: not supported", *m.ContinuingSubwordPrefix)
	case m.EndOfWordSuffix != nil && *m.EndOfWordSuffix != "":
		return false, fmt.Errorf("model.end_of_word_suffix is %q: not supported", *m.EndOfWordSuffix)
	case m.ByteFallback:
		return false, fmt.Errorf("model.byte_fallback is true: not supported")
	case m.IgnoreMerges:
		return false, fmt.Errorf("model.ignore_merges is true: not supported")
	}
	for _, a := range j.Added {
		if a.SingleWord || a.LStrip || a.RStrip || a.Normalized {
			return false, fmt.Errorf("added token %q: single_word, lstrip, rstrip and normalized must be false", a.Content)
		}
	}
	if nfc, err = parseNormalizer(j.Normalizer); err != nil {
		return false, err
	}
	if err := checkPreTokenizer(j.PreTokenizer); err != nil {
		return false, err
	}
	if kind := typeOf(j.PostProcessor); kind != "" && kind != "ByteLevel" { // ByteLevel only trims offsets
		return false, fmt.Errorf("post_processor %s: not supported", kind)
	}
	if kind := typeOf(j.Decoder); kind != "ByteLevel" {
		return false, fmt.Errorf("decoder %q: want ByteLevel", kind)
	}
	return nfc, nil
}

// typeOf is the "type" of a component; "" for null.
func typeOf(raw json.RawMessage) string {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return ""
	}
	var c struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &c); err != nil || c.Type == "" {
		return "of no known type"
	}
	return c.Type
}

func parseNormalizer(raw json.RawMessage) (nfc bool, err error) {
	switch kind := typeOf(raw); kind {
	case "":
		return false, nil
	case "NFC":
		return true, nil
	default:
		return false, fmt.Errorf("normalizer %s: not supported, want NFC or none", kind)
	}
}

// checkPreTokenizer wants Qwen2's: split by SplitPattern, then bytes.
func checkPreTokenizer(raw json.RawMessage) error {
	var p struct {
		Type string `json:"type"`
		List []struct {
			Type    string `json:"type"`
			Pattern struct {
				Regex *string
			} `json:"pattern"`
			Behavior       string `json:"behavior"`
			Invert         bool   `json:"invert"`
			AddPrefixSpace bool   `json:"add_prefix_space"`
			UseRegex       *bool  `json:"use_regex"`
		} `json:"pretokenizers"`
	}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &p); err != nil {
			return fmt.Errorf("pre_tokenizer: %w", err)
		}
	}
	if p.Type != "Sequence" || len(p.List) != 2 || p.List[0].Type != "Split" || p.List[1].Type != "ByteLevel" {
		return fmt.Errorf("pre_tokenizer: want Qwen2's: a Sequence of Split and ByteLevel")
	}
	split, bl := p.List[0], p.List[1]
	if split.Pattern.Regex == nil || *split.Pattern.Regex != SplitPattern {
		got := "none"
		if split.Pattern.Regex != nil {
			got = *split.Pattern.Regex
		}
		return fmt.Errorf("pre_tokenizer: the split pattern is %q; only Qwen2's is supported: %q", got, SplitPattern)
	}
	if split.Behavior != "Isolated" || split.Invert {
		return fmt.Errorf("pre_tokenizer: Split with behavior %q, invert %v: want Isolated, false", split.Behavior, split.Invert)
	}
	if bl.AddPrefixSpace || bl.UseRegex == nil || *bl.UseRegex {
		return fmt.Errorf("pre_tokenizer: ByteLevel with add_prefix_space %v: want add_prefix_space and use_regex false", bl.AddPrefixSpace)
	}
	return nil
}
