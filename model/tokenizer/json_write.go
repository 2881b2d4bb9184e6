package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// MarshalJSON writes a tokenizer.json that Hugging Face tokenizers read, tokens in the order of their ids. Control and
// user-defined tokens are listed in the vocabulary too unless they follow it: tokenizers would number them anew.
func (t *Tokenizer) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	quote := func(s string) {
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.Encode(s)             // strings and a bytes.Buffer cannot fail
		b.Truncate(b.Len() - 1) // its newline
	}
	b.WriteString(`{"version":"1.0","truncation":null,"padding":null,"added_tokens":[`)
	comma := ""
	for id, k := range t.kinds {
		if k == unused {
			return nil, fmt.Errorf("token %d stands for nothing: tokenizer.json numbers tokens without a gap", id)
		}
		if k == control || k == userDefined {
			fmt.Fprintf(&b, `%s{"id":%d,"content":`, comma, id)
			quote(t.pieces[id])
			fmt.Fprintf(&b, `,"single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":%v}`, k == control)
			comma = ","
		}
	}
	normalizer := "null"
	if t.nfc {
		normalizer = `{"type":"NFC"}`
	}
	b.WriteString(`],"normalizer":` + normalizer + `,"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":`)
	quote(SplitPattern)
	b.WriteString(`},"behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":false,"use_regex":false}]},` +
		`"post_processor":null,"decoder":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":false,"use_regex":false},` +
		`"model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,` +
		`"byte_fallback":false,"ignore_merges":false,"vocab":{`)
	last := len(t.kinds)
	for last > 0 && t.kinds[last-1] != text {
		last--
	}
	for id, k := range t.kinds[:last] {
		if id > 0 {
			b.WriteByte(',')
		}
		if k == text {
			quote(spell(t.pieces[id]))
		} else {
			quote(t.pieces[id])
		}
		fmt.Fprintf(&b, ":%d", id)
	}
	b.WriteString(`},"merges":[`)
	comma = ""
	for _, m := range t.merges {
		b.WriteString(comma)
		quote(spell(t.pieces[m.left]) + " " + spell(t.pieces[m.right]))
		comma = ","
	}
	b.WriteString("]}}")
	return b.Bytes(), nil
}
