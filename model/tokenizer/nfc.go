package tokenizer

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// nfc brings s into Unicode Normalization Form C. golang.org/x/text does that except for runs of more than 30 combining marks,
// into which it puts a U+034F (the Stream-Safe Text Format, UAX 15 section 13); those runs are done here by the definition.
// Bytes that are no UTF-8 stay as they are.
func nfc(s string) string {
	const joiner = "\u034f"
	t := norm.NFC.String(s)
	if len(t) > len(s) && strings.Count(t, joiner) > strings.Count(s, joiner) {
		return composeLong(s)
	}
	return t
}

// composeLong is NFC by its definition (UAX 15, sections 1.2 and 5): decompose each rune, order marks by their combining
// class, compose each with the last starter unless something of the same or a higher class stands between.
func composeLong(s string) string {
	type mark struct {
		text string
		ccc  uint8
	}
	var seq []mark
	for rest := s; rest != ""; {
		p := norm.NFD.PropertiesString(rest)
		n := max(1, p.Size())
		text := rest[:n]
		if d := p.Decomposition(); d != nil {
			text = string(d)
		}
		for text != "" {
			q := norm.NFD.PropertiesString(text)
			m := max(1, q.Size())
			seq = append(seq, mark{text[:m], q.CCC()})
			text = text[m:]
		}
		rest = rest[n:]
	}
	for i := 0; i < len(seq); i++ {
		j := i
		for j < len(seq) && seq[j].ccc != 0 {
			j++
		}
		slices.SortStableFunc(seq[i:j], func(a, b mark) int { return int(a.ccc) - int(b.ccc) })
		i = j
	}
	var out []mark
	starter := -1
	for _, m := range seq {
		if starter >= 0 {
			last := out[len(out)-1]
			adjacent := len(out)-1 == starter
			if adjacent || last.ccc != 0 && last.ccc < m.ccc {
				if c := norm.NFC.String(out[starter].text + m.text); isOneRune(c) {
					out[starter].text = c
					continue
				}
			}
		}
		if m.ccc == 0 {
			starter = len(out)
		}
		out = append(out, m)
	}
	var b strings.Builder
	for _, m := range out {
		b.WriteString(m.text)
	}
	return b.String()
}

func isOneRune(s string) bool {
	n := 0
	for range s {
		n++
	}
	return n == 1
}
