package tokenizer

import (
	"container/heap"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Train makes a byte-level BPE tokenizer of vocabSize tokens: the special tokens first, from id 0, then the 256 bytes in the
// order of the byte alphabet, then one token a merge. Text is brought into NFC and cut by SplitPattern; special tokens
// written in it are left out of the count. The next merge is the most frequent pair of neighbours, of equals that with the
// smaller ids, so the same texts in any order give the same tokenizer: that of Hugging Face's BpeTrainer with these
// settings. The result has fewer tokens when the texts have no pair left to merge.
func Train(texts []string, vocabSize int, special []string) (*Tokenizer, error) {
	if least := len(special) + 256; vocabSize < least || vocabSize > 1<<24 {
		return nil, fmt.Errorf("a vocabulary of %d: want at least %d, %d special tokens and 256 bytes", vocabSize, least, len(special))
	}
	var pieces []string
	var kinds []kind
	for _, s := range special {
		if len(s) < 2 || !utf8.ValidString(s) || slices.Contains(pieces, s) {
			return nil, fmt.Errorf("special token %q: want UTF-8 text of two bytes or more, each once", s)
		}
		pieces, kinds = append(pieces, s), append(kinds, control)
	}
	counts := countWords(texts, newFinder(pieces, kinds))
	var byteID [256]int32
	for _, b := range bytesByRune() {
		byteID[b] = int32(len(pieces))
		pieces, kinds = append(pieces, string([]byte{b})), append(kinds, text)
	}
	tr := newTrainer(counts, byteID)
	ids := make(map[string]int32, vocabSize)
	for id, p := range pieces {
		ids[p] = int32(id)
	}
	var merges []merge
	done := map[uint64]int32{} // pair to the token that it became
	for len(pieces) < vocabSize {
		left, right, ok := tr.best()
		if !ok {
			break
		}
		id, again := done[pairKey(left, right)]
		if !again {
			joined := pieces[left] + pieces[right]
			if id, ok = ids[joined]; !ok {
				id = int32(len(pieces))
				pieces, kinds = append(pieces, joined), append(kinds, text)
				ids[joined] = id
			} else if kinds[id] != text { // text must not become a control token: this pair stays two tokens
				tr.forget(left, right)
				continue
			}
			merges = append(merges, merge{left, right, id})
			done[pairKey(left, right)] = id
		}
		tr.join(left, right, id)
	}
	return newTokenizer(pieces, kinds, merges, true)
}

// countWords cuts the texts into words and counts them.
func countWords(texts []string, f finder) map[string]int64 {
	counts := map[string]*int64{}
	for _, s := range texts {
		for s != "" {
			start, end, _ := f.next(s)
			for rest := nfc(s[:start]); rest != ""; {
				n := nextWord(rest)
				c := counts[rest[:n]]
				if c == nil {
					c = new(int64)
					counts[strings.Clone(rest[:n])] = c
				}
				*c++
				rest = rest[n:]
			}
			s = s[end:]
		}
	}
	out := make(map[string]int64, len(counts))
	for w, c := range counts {
		out[w] = *c
	}
	return out
}

// bytesByRune lists the bytes in the order of their runes in the byte alphabet.
func bytesByRune() []byte {
	order := make([]byte, 256)
	for b := range order {
		order[b] = byte(b)
	}
	slices.SortFunc(order, func(a, b byte) int { return int(byteRune[a] - byteRune[b]) })
	return order
}

// trainer keeps the words as tokens, the count of every pair of neighbours, and a queue of pairs by count. A pair's entry in
// the queue may be out of date, never too low: the count is looked up when it comes to the top.
type trainer struct {
	words  [][]int32
	counts []int64
	pairs  map[uint64]int64
	where  map[uint64][]int32 // words in which the pair occurs or once did
	queue  pairQueue
}

func newTrainer(counts map[string]int64, byteID [256]int32) *trainer {
	tr := &trainer{pairs: map[uint64]int64{}, where: map[uint64][]int32{}}
	for w, n := range counts {
		if len(w) < 2 {
			continue
		}
		ids := make([]int32, len(w))
		for i := range ids {
			ids[i] = byteID[w[i]]
		}
		at := int32(len(tr.words))
		tr.words, tr.counts = append(tr.words, ids), append(tr.counts, n)
		for i := range ids[1:] {
			key := pairKey(ids[i], ids[i+1])
			tr.pairs[key] += n
			tr.where[key] = appendOnce(tr.where[key], at)
		}
	}
	for key, n := range tr.pairs {
		tr.queue = append(tr.queue, pairCount{key, n})
	}
	heap.Init(&tr.queue)
	return tr
}

// appendOnce relies on words being visited one after another.
func appendOnce(list []int32, word int32) []int32 {
	if len(list) > 0 && list[len(list)-1] == word {
		return list
	}
	return append(list, word)
}

// best takes the most frequent pair off the queue.
func (tr *trainer) best() (left, right int32, ok bool) {
	for len(tr.queue) > 0 {
		top := &tr.queue[0]
		if now := tr.pairs[top.key]; now != top.n {
			if top.n = now; now > 0 {
				heap.Fix(&tr.queue, 0)
			} else {
				heap.Pop(&tr.queue)
			}
			continue
		}
		key := heap.Pop(&tr.queue).(pairCount).key
		return int32(key >> 32), int32(uint32(key)), true
	}
	return 0, 0, false
}

// forget keeps a pair from coming up again.
func (tr *trainer) forget(left, right int32) {
	delete(tr.pairs, pairKey(left, right))
	delete(tr.where, pairKey(left, right))
}

// join replaces the pair by id in every word, from left to right, and brings the counts up to date.
func (tr *trainer) join(left, right, id int32) {
	change := map[uint64]int64{}
	key := pairKey(left, right)
	for _, w := range tr.where[key] {
		ids, n := tr.words[w], tr.counts[w]
		for i := range ids[1:] {
			change[pairKey(ids[i], ids[i+1])] -= n
		}
		out := ids[:0]
		for i := 0; i < len(ids); i++ {
			if i+1 < len(ids) && ids[i] == left && ids[i+1] == right {
				out = append(out, id)
				i++
			} else {
				out = append(out, ids[i])
			}
		}
		tr.words[w] = out
		for i := range out[1:] {
			k := pairKey(out[i], out[i+1])
			change[k] += n
			if out[i] == id || out[i+1] == id {
				tr.where[k] = appendOnce(tr.where[k], w)
			}
		}
	}
	for k, d := range change {
		if d == 0 {
			continue
		}
		if tr.pairs[k] += d; tr.pairs[k] <= 0 {
			delete(tr.pairs, k)
		} else if d > 0 {
			heap.Push(&tr.queue, pairCount{k, tr.pairs[k]})
		}
	}
	delete(tr.where, key)
}

type pairCount struct {
	key uint64
	n   int64
}

// pairQueue is a heap with the most frequent pair first, of equals that with the smaller ids.
type pairQueue []pairCount

func (q pairQueue) Len() int { return len(q) }
func (q pairQueue) Less(i, j int) bool {
	if q[i].n != q[j].n {
		return q[i].n > q[j].n
	}
	return q[i].key < q[j].key
}
func (q pairQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *pairQueue) Push(x any)   { *q = append(*q, x.(pairCount)) }
func (q *pairQueue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}
