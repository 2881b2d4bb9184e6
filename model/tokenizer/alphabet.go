package tokenizer

import "fmt"

// The byte alphabet of GPT-2: every byte is written as one printable rune, so that tokens can be stored as text. Printable
// Latin-1 stands for itself, the other 68 bytes follow from U+0100 on.
var (
	byteRune [256]rune
	runeByte = map[rune]byte{}
)

func init() {
	next := rune(256)
	for b := range 256 {
		r := rune(b)
		if !(r >= '!' && r <= '~' || r >= 0xa1 && r <= 0xac || r >= 0xae) {
			r, next = next, next+1
		}
		byteRune[b] = r
		runeByte[r] = byte(b)
	}
}

// spell writes bytes in the alphabet.
func spell(piece string) string {
	out := make([]rune, len(piece))
	for i := range len(piece) {
		out[i] = byteRune[piece[i]]
	}
	return string(out)
}

// unspell is the inverse of spell.
func unspell(token string) (string, error) {
	out := make([]byte, 0, len(token))
	for _, r := range token {
		b, ok := runeByte[r]
		if !ok {
			return "", fmt.Errorf("token %q: %q is not in the byte alphabet: this is no byte-level BPE vocabulary", token, r)
		}
		out = append(out, b)
	}
	return string(out), nil
}
