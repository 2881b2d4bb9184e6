package tokenizer

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Tokenizer turns text into token ids and back. It is safe for concurrent use.
type Tokenizer struct {
	pieces []string // the bytes of each id
	kinds  []kind
	ids    map[string]int32 // by bytes; control and user-defined tokens by their spelling
	byteID [256]int32
	merges []merge          // by rank
	byPair map[uint64]int32 // pairKey to rank
	nfc    bool
	finder finder
	cache  cache
}

// kind is what an id stands for.
type kind uint8

const (
	unused      kind = iota // nothing: padding of the vocabulary
	text                    // bytes, made by merges
	userDefined             // a spelling that EncodeSpecial recognises and Decode keeps (<tool_call>)
	control                 // a spelling that EncodeSpecial recognises and Decode leaves out (<|im_end|>)
)

// merge joins two neighbouring tokens into one.
type merge struct{ left, right, id int32 }

func pairKey(left, right int32) uint64 { return uint64(uint32(left))<<32 | uint64(uint32(right)) }

// newTokenizer checks and indexes a vocabulary: the bytes and the kind of each id, and the merges by rank as triples of ids.
func newTokenizer(pieces []string, kinds []kind, merges []merge, nfc bool) (*Tokenizer, error) {
	for len(kinds) > 0 && kinds[len(kinds)-1] == unused {
		kinds = kinds[:len(kinds)-1]
	}
	t := &Tokenizer{pieces: pieces[:len(kinds)], kinds: kinds, ids: make(map[string]int32, len(kinds)), merges: merges, byPair: make(map[uint64]int32, len(merges)), nfc: nfc}
	for id, k := range kinds {
		if k == unused {
			continue
		}
		p := pieces[id]
		if p == "" {
			return nil, fmt.Errorf("token %d is empty", id)
		}
		if k != text && !utf8.ValidString(p) {
			return nil, fmt.Errorf("token %d: %q is not UTF-8", id, p)
		}
		if other, twice := t.ids[p]; twice {
			return nil, fmt.Errorf("tokens %d and %d are both %q", other, id, p)
		}
		t.ids[p] = int32(id)
	}
	for b := range 256 {
		id, ok := t.ids[string([]byte{byte(b)})]
		if !ok || kinds[id] != text {
			return nil, fmt.Errorf("no token for byte 0x%02x: this is no byte-level BPE vocabulary", b)
		}
		t.byteID[b] = id
	}
	for rank, m := range merges {
		if kinds[m.left] != text || kinds[m.right] != text || kinds[m.id] != text {
			return nil, fmt.Errorf("merge %d makes or uses a control token: text could become one", rank)
		}
		key := pairKey(m.left, m.right)
		if other, twice := t.byPair[key]; twice {
			return nil, fmt.Errorf("merges %d and %d are the same", other, rank)
		}
		t.byPair[key] = int32(rank)
	}
	t.finder = newFinder(t.pieces, kinds)
	return t, nil
}

// VocabSize is one more than the highest id that stands for something. A model's vocabulary may be larger: it is padded
// (Qwen2.5: 151,665 tokens, 151,936 rows).
func (t *Tokenizer) VocabSize() int { return len(t.kinds) }

// ID finds a token by its text: "<|im_end|>", " the".
func (t *Tokenizer) ID(token string) (id int32, ok bool) {
	id, ok = t.ids[token]
	return id, ok
}

// IsControl says whether id is a control token, which Decode leaves out.
func (t *Tokenizer) IsControl(id int32) bool { return t.kindOf(id) == control }

func (t *Tokenizer) kindOf(id int32) kind {
	if id < 0 || int(id) >= len(t.kinds) {
		return unused
	}
	return t.kinds[id]
}

// EOS lists the control tokens that end a reply of a Qwen2 chat model, <|im_end|> before <|endoftext|>, those of them that
// the vocabulary has. A model's own list is in its configuration (checkpoint.Config.EOSTokenIDs).
func (t *Tokenizer) EOS() []int32 {
	var ids []int32
	for _, name := range []string{imEnd, endOfText} {
		if id, ok := t.ids[name]; ok && t.kinds[id] == control {
			ids = append(ids, id)
		}
	}
	return ids
}

// finder finds the spellings of control and user-defined tokens in a text.
type finder struct {
	byFirst [256][]int32 // by first byte, longest first
	first   string       // the first bytes that occur
	pieces  []string
}

func newFinder(pieces []string, kinds []kind) finder {
	f := finder{pieces: pieces}
	for id, k := range kinds {
		if k != control && k != userDefined {
			continue
		}
		list := &f.byFirst[pieces[id][0]]
		if len(*list) == 0 {
			f.first += pieces[id][:1]
		}
		*list = append(*list, int32(id))
		slices.SortFunc(*list, func(a, b int32) int { return len(pieces[b]) - len(pieces[a]) })
	}
	return f
}

// next finds the leftmost spelling in s, of several at one place the longest; id is -1 if there is none.
func (f *finder) next(s string) (start, end int, id int32) {
	for i := 0; i < len(s); i++ {
		if len(f.first) == 1 {
			skip := strings.IndexByte(s[i:], f.first[0])
			if skip < 0 {
				break
			}
			i += skip
		}
		for _, id := range f.byFirst[s[i]] {
			if strings.HasPrefix(s[i:], f.pieces[id]) {
				return i, i + len(f.pieces[id]), id
			}
		}
	}
	return len(s), len(s), -1
}
