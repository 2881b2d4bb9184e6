package tokenizer

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

// Encode tokenizes text. No control or user-defined token comes out of it, whatever is written in the text. Bytes that are
// no UTF-8 are encoded as they are.
func (t *Tokenizer) Encode(text string) []int32 {
	return t.appendText(make([]int32, 0, len(text)/3+1), text)
}

// EncodeSpecial tokenizes text in which the spellings of control and user-defined tokens stand for those tokens, as
// Hugging Face tokenizers do by default. Never give it text from outside.
func (t *Tokenizer) EncodeSpecial(text string) []int32 {
	out := make([]int32, 0, len(text)/3+1)
	for text != "" {
		start, end, id := t.finder.next(text)
		out = t.appendText(out, text[:start])
		if id >= 0 {
			out = append(out, id)
		}
		text = text[end:]
	}
	return out
}

func (t *Tokenizer) appendText(out []int32, s string) []int32 {
	if t.nfc {
		s = nfc(s)
	}
	for s != "" {
		n := nextWord(s)
		out = t.appendWord(out, s[:n])
		s = s[n:]
	}
	return out
}

func (t *Tokenizer) appendWord(out []int32, word string) []int32 {
	if len(word) == 1 {
		return append(out, t.byteID[word[0]])
	}
	if len(word) > maxCached {
		return t.merge(out, word)
	}
	slot := t.cache.slot(word)
	if e := slot.Load(); e != nil && e.word == word {
		return append(out, e.ids...)
	}
	n := len(out)
	out = t.merge(out, word)
	slot.Store(&cached{strings.Clone(word), append([]int32(nil), out[n:]...)})
	return out
}

// Words recur: a table of the last word seen at each hash answers nearly all of a text. It is of fixed size, and any
// goroutine may replace any entry, so there is nothing to lock or to evict.
const (
	cacheSlots = 1 << 15
	maxCached  = 48 // bytes
)

type cached struct {
	word string
	ids  []int32
}

type cache struct {
	slots [cacheSlots]atomic.Pointer[cached]
}

var cacheSeed = maphash.MakeSeed()

func (c *cache) slot(word string) *atomic.Pointer[cached] {
	return &c.slots[maphash.String(cacheSeed, word)%cacheSlots]
}
