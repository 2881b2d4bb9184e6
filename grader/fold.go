package grader

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// thin is what every space that may stand inside a number folds to: U+2009, the thin space.
const thin = '\u2009'

// fold brings a text's characters to one spelling: minus signs, fullwidth digits and signs, fraction slashes and
// non-breaking spaces; it drops invisible and control characters and turns invalid UTF-8 into U+FFFD.
// It is not Unicode's NFKC, which would read 6² as 62. Digits of other scripts stay what they are, and are no digits here.
func fold(s string) string {
	clean := true
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 0x7f || c < 0x20 && c != '\n' && c != '\t' {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case c == '\r' || c == '\v' || c == '\f':
				b.WriteByte(' ')
			case c >= 0x20 && c != 0x7f || c == '\n' || c == '\t':
				b.WriteByte(c)
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		if r = foldRune(r); r >= 0 {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// foldRune returns what r, not ASCII, folds to; -1 if it is dropped.
func foldRune(r rune) rune {
	switch {
	case r >= '０' && r <= '９':
		return r - '０' + '0'
	case r >= 0x80 && r < 0xa0:
		if r == 0x85 {
			return '\n'
		}
		return -1
	}
	switch r {
	case '\u2212', '\ufe63', '\uff0d', '\u2010', '\u2011':
		return '-'
	case '．':
		return '.'
	case '，':
		return ','
	case '＋':
		return '+'
	case '％':
		return '%'
	case '＄':
		return '$'
	case '＝':
		return '='
	case '：':
		return ':'
	case '\u2044', '\u2215':
		return '/'
	case '\u00a0', '\u202f', '\u2006', '\u2007', '\u2008', '\u2009', '\u200a':
		return thin
	case '\u2028', '\u2029':
		return '\n'
	case '\u200b', '\u200c', '\u200d', '\u2060', '\u2061', '\u2062', '\u2063', '\u2064', '\ufeff', '\u00ad', '\u180e', // invisible
		'\u200e', '\u200f', '\u061c', '\u202a', '\u202b', '\u202c', '\u202d', '\u202e', '\u2066', '\u2067', '\u2068', '\u2069': // direction
		return -1
	}
	if unicode.IsSpace(r) {
		return ' '
	}
	return r
}

// stopTokens end a turn in the chat formats in use; text after the first of them is not part of the reply.
var stopTokens = []string{"<|im_end|>", "<|im_start|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<|end|>", "<end_of_turn>", "</s>",
	"<｜end▁of▁sentence｜>"}

// replyText returns the part of a completion that may hold the answer, folded: up to the first stop token and after the
// last </think>. It returns false if a <think> is never closed.
func replyText(completion string) (string, bool) {
	s := completion
	if strings.IndexByte(s, '<') >= 0 {
		s = cutAtStop(s)
		if i := strings.LastIndex(s, "</think>"); i >= 0 {
			s = s[i+len("</think>"):]
		}
		if strings.Contains(s, "<think>") {
			return "", false
		}
	}
	return fold(s), true
}

func cutAtStop(s string) string {
	for i := 0; ; i++ {
		k := strings.IndexByte(s[i:], '<')
		if k < 0 {
			return s
		}
		i += k
		if i+1 == len(s) || strings.IndexByte("|e/\xef", s[i+1]) < 0 {
			continue
		}
		for _, t := range stopTokens {
			if strings.HasPrefix(s[i:], t) {
				return s[:i]
			}
		}
	}
}
