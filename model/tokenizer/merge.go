package tokenizer

// Byte-pair encoding (Sennrich, Haddow, Birch 2016, algorithm 1, at encoding time): begin with one token a byte, and join, of
// all neighbours that have a merge, the pair of the lowest rank, the leftmost of several, until none has one.

const (
	noMerge  = int32(1<<31 - 1)
	longWord = 128 // bytes, from which on a heap is used
)

func (t *Tokenizer) rank(left, right int32) int32 {
	if r, ok := t.byPair[pairKey(left, right)]; ok {
		return r
	}
	return noMerge
}

// merge appends the tokens of a word.
func (t *Tokenizer) merge(out []int32, word string) []int32 {
	if len(word) >= longWord {
		return t.mergeLong(out, word)
	}
	var idBuf, rankBuf [longWord]int32
	ids, ranks := idBuf[:len(word)], rankBuf[:len(word)] // ranks[i]: of joining ids[i] and ids[i+1]
	for i := range ids {
		ids[i] = t.byteID[word[i]]
	}
	for i := range ids[1:] {
		ranks[i] = t.rank(ids[i], ids[i+1])
	}
	ranks[len(ids)-1] = noMerge
	for {
		best, at := noMerge, 0
		for i, r := range ranks[:len(ids)] {
			if r < best {
				best, at = r, i
			}
		}
		if best == noMerge {
			return append(out, ids...)
		}
		ids[at] = t.merges[best].id
		copy(ids[at+1:], ids[at+2:])
		copy(ranks[at+1:], ranks[at+2:len(ids)])
		ids = ids[:len(ids)-1]
		if at+1 < len(ids) {
			ranks[at] = t.rank(ids[at], ids[at+1])
		} else {
			ranks[at] = noMerge
		}
		if at > 0 {
			ranks[at-1] = t.rank(ids[at-1], ids[at])
		}
	}
}

// mergeLong does the same in n log n steps: a word may be a whole file without a space. Tokens form a list; the heap holds
// rank<<32|position, so that its least element is the next merge; elements whose merge is gone by then are passed over.
func (t *Tokenizer) mergeLong(out []int32, word string) []int32 {
	n := len(word)
	ids, ranks := make([]int32, n), make([]int32, n)
	prev, next := make([]int32, n), make([]int32, n)
	var h minHeap
	set := func(i int32) {
		ranks[i] = noMerge
		if int(next[i]) < n {
			if ranks[i] = t.rank(ids[i], ids[next[i]]); ranks[i] != noMerge {
				h.push(uint64(ranks[i])<<32 | uint64(i))
			}
		}
	}
	for i := range n {
		ids[i], prev[i], next[i] = t.byteID[word[i]], int32(i-1), int32(i+1)
	}
	for i := range n {
		set(int32(i))
	}
	const gone = -1
	for len(h) > 0 {
		e := h.pop()
		r, i := int32(e>>32), int32(uint32(e))
		if ids[i] == gone || ranks[i] != r {
			continue
		}
		j := next[i]
		ids[i], ids[j] = t.merges[r].id, gone
		next[i] = next[j]
		if int(next[i]) < n {
			prev[next[i]] = i
		}
		set(i)
		if prev[i] >= 0 {
			set(prev[i])
		}
	}
	for i := int32(0); int(i) < n; i = next[i] {
		out = append(out, ids[i])
	}
	return out
}

// minHeap is a binary heap of numbers.
type minHeap []uint64

func (h *minHeap) push(x uint64) {
	*h = append(*h, x)
	a, i := *h, len(*h)-1
	for i > 0 && a[(i-1)/2] > x {
		a[i] = a[(i-1)/2]
		i = (i - 1) / 2
	}
	a[i] = x
}

func (h *minHeap) pop() uint64 {
	a := *h
	least, last := a[0], a[len(a)-1]
	a = a[:len(a)-1]
	*h = a
	for i := 0; len(a) > 0; {
		c := 2*i + 1
		if c+1 < len(a) && a[c+1] < a[c] {
			c++
		}
		if c >= len(a) || a[c] >= last {
			a[i] = last
			break
		}
		a[i] = a[c]
		i = c
	}
	return least
}
