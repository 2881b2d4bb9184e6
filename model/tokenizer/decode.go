package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// Decode turns ids back into text and leaves control tokens out, as Hugging Face's skip_special_tokens=True does. Bytes that
// form no UTF-8 become U+FFFD. An id that stands for nothing, in the padding of the vocabulary or outside it, gives nothing.
func (t *Tokenizer) Decode(ids []int32) string { return toUTF8(string(t.appendBytes(nil, ids, false))) }

// DecodeSpecial is Decode with the spelling of control tokens kept.
func (t *Tokenizer) DecodeSpecial(ids []int32) string {
	return toUTF8(string(t.appendBytes(nil, ids, true)))
}

func (t *Tokenizer) appendBytes(out []byte, ids []int32, special bool) []byte {
	for _, id := range ids {
		switch k := t.kindOf(id); {
		case k == unused, k == control && !special:
		default:
			out = append(out, t.pieces[id]...)
		}
	}
	return out
}

// Stream decodes ids as they come. A token may end inside a character: what is incomplete is held back until its rest comes
// or Flush is called, so the pieces joined are what Decode gives for the whole.
type Stream struct {
	t       *Tokenizer
	special bool
	held    []byte
}

// Stream begins an incremental Decode, or DecodeSpecial if special is set.
func (t *Tokenizer) Stream(special bool) *Stream { return &Stream{t: t, special: special} }

// Next returns the text that is complete once id has come.
func (s *Stream) Next(id int32) string {
	b := s.t.appendBytes(s.held, []int32{id}, s.special)
	end := len(b)
	for back := 1; back < utf8.UTFMax && back <= len(b); back++ {
		if at := len(b) - back; utf8.RuneStart(b[at]) {
			if !utf8.FullRune(b[at:]) {
				end = at
			}
			break
		}
	}
	out := toUTF8(string(b[:end]))
	s.held = append(s.held[:0], b[end:]...)
	return out
}

// Flush returns what is still held back: nothing, or a U+FFFD for a character that never became complete.
func (s *Stream) Flush() string {
	out := toUTF8(string(s.held))
	s.held = s.held[:0]
	return out
}

// toUTF8 replaces what is not UTF-8 as the Unicode standard recommends (section 3.9, U+FFFD substitution of maximal subparts)
// and Python, Rust and browsers do: one U+FFFD for each longest piece that could have begun a character.
func toUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			for n < min(len(s), utf8.UTFMax) && !utf8.FullRuneInString(s[:n]) && couldBegin(s[:n+1]) {
				n++
			}
			b.WriteRune(utf8.RuneError)
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// couldBegin says whether s, no whole character, could be the beginning of one.
func couldBegin(s string) bool { return !utf8.FullRuneInString(s) }
