package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// SplitPattern is Qwen2's split pattern, the only one that this package knows. nextWord is it, written out: Go's regexp has
// no (?!\S), and a scanner is an order of magnitude faster than an engine that has.
const SplitPattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`

// class is what the pattern can tell about a rune.
type class uint8

const (
	symbol  class = iota // [^\s\p{L}\p{N}]
	letter               // \p{L}
	number               // \p{N}
	space                // \s but \r and \n
	newline              // \r or \n
)

var asciiClass = func() (t [utf8.RuneSelf]class) {
	for i := range t {
		t[i] = classOf(rune(i))
	}
	return t
}()

func classOf(r rune) class {
	switch {
	case r == '\r' || r == '\n':
		return newline
	case unicode.IsLetter(r):
		return letter
	case unicode.IsNumber(r):
		return number
	case unicode.IsSpace(r): // White_Space, as \s is in Unicode-aware engines
		return space
	}
	return symbol
}

// classAt classifies the rune at s[i:] and gives its length. A byte that is no UTF-8 is a symbol of length 1.
func classAt(s string, i int) (class, int) {
	if b := s[i]; b < utf8.RuneSelf {
		return asciiClass[b], 1
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	return classOf(r), n
}

// run returns the end of the longest run of runes of class c, or also d, that begins at i.
func run(s string, i int, c, d class) int {
	for i < len(s) {
		k, n := classAt(s, i)
		if k != c && k != d {
			break
		}
		i += n
	}
	return i
}

// nextWord is the length of the first match of SplitPattern in s, which is not empty. The pattern matches at every position,
// so words follow one another without gaps. The numbers are its alternatives.
func nextWord(s string) int {
	if s[0] == '\'' { // 1: (?i:'s|'t|'re|'ve|'m|'ll|'d)
		if n := contraction(s); n > 0 {
			return n
		}
	}
	first, n := classAt(s, 0)
	if first == letter { // 2: [^\r\n\p{L}\p{N}]?\p{L}+
		return run(s, n, letter, letter)
	}
	if first == number { // 3: \p{N}
		return n
	}
	if first != newline {
		if end := run(s, n, letter, letter); end > n { // 2, with a rune before the letters
			return end
		}
	}
	start := 0
	if s[0] == ' ' {
		start = 1
	}
	if end := run(s, start, symbol, symbol); end > start { // 4:  ?[^\s\p{L}\p{N}]+[\r\n]*
		return run(s, end, newline, newline)
	}
	end := run(s, 0, space, newline) // what is left is white space
	if k := strings.LastIndexAny(s[:end], "\r\n"); k >= 0 {
		return k + 1 // 5: \s*[\r\n]+
	}
	if end < len(s) { // 6: \s+(?!\S) leaves the last space to the word after it, if there is another
		if _, last := utf8.DecodeLastRuneInString(s[:end]); last < end {
			return end - last
		}
	}
	return end // 7: \s+
}

// contraction is the length of 's, 't, 're, 've, 'm, 'll or 'd at the beginning of s, in any case; 0 if there is none.
// U+017F, the long s, is an s in another case to Unicode.
func contraction(s string) int {
	if len(s) < 2 {
		return 0
	}
	switch s[1] | 0x20 {
	case 's', 't', 'm', 'd':
		return 2
	}
	if strings.HasPrefix(s[1:], "ſ") {
		return 3
	}
	if len(s) > 2 {
		switch string([]byte{s[1] | 0x20, s[2] | 0x20}) {
		case "re", "ve", "ll":
			return 3
		}
	}
	return 0
}
