package data

import (
	"math/bits"
	"slices"
	"strings"
	"testing"
)

// The embedded draw claims a rule. This test follows the rule: NumPy's default_rng(0).permutation(n), written down from
// NumPy's algorithms (SeedSequence, PCG64, bounded integers by masked rejection, Fisher-Yates from the end).
func TestOriginalSplitFollowsItsRule(t *testing.T) {
	s := OriginalSplit()
	if !strings.Contains(s.Rule, "default_rng(0).permutation(n)") {
		t.Fatalf("the rule changed: %q", s.Rule)
	}
	if len(s.Train) != 512 || len(s.Holdout) != 120 {
		t.Fatalf("got %d and %d rows, the experiment has 512 and 120", len(s.Train), len(s.Holdout))
	}
	if want := numpyPermutation(7473)[:512]; !slices.Equal(s.Train, want) {
		t.Errorf("train rows differ from NumPy's: got %v.., want %v..", s.Train[:8], want[:8])
	}
	if want := numpyPermutation(1319)[:120]; !slices.Equal(s.Holdout, want) {
		t.Errorf("holdout rows differ from NumPy's: got %v.., want %v..", s.Holdout[:8], want[:8])
	}
}

func TestDraw(t *testing.T) {
	g, err := ReadGSM8K("testdata/gsm8k", testHashes)
	if err != nil {
		t.Fatal(err)
	}
	set, err := g.Draw(Split{Train: []int{2, 0}, Holdout: []int{1}})
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Train) != 2 || set.Train[0].Index != 2 || set.Train[1].Index != 0 || set.Holdout[0].ID() != "test[1]" {
		t.Errorf("the draw is not in the split's order: %+v", set)
	}
	for _, c := range []struct {
		why   string
		split Split
		want  string
	}{
		{"the original's draw needs the original's data", OriginalSplit(), "names row 5441, the data has 3 rows"},
		{"negative rows do not count from the end", Split{Train: []int{-1}, Holdout: []int{0}}, "names row -1"},
		{"a row drawn twice would be trained on twice", Split{Train: []int{1, 1}, Holdout: []int{0}}, "names row 1 twice"},
		{"holdout rows index the test file", Split{Train: []int{2}, Holdout: []int{2}}, "holdout list names row 2, the data has 2 rows"},
		{"nothing held out", Split{Train: []int{0}}, "holdout list is empty"},
	} {
		if _, err := g.Draw(c.split); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.why, err, c.want)
		}
	}
}

// numpyPermutation is numpy.random.default_rng(0).permutation(n) for n < 2^32.
func numpyPermutation(n int) []int {
	g := newNumpyPCG64()
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j := g.bounded(uint32(i))
		p[i], p[j] = p[j], p[i]
	}
	return p
}

// numpyPCG64 is the 128-bit linear congruential generator with XSL-RR output (O'Neill 2014) that NumPy calls PCG64.
type numpyPCG64 struct {
	hi, lo, incHi, incLo uint64
	half                 uint32 // the upper half of the last output, handed out by the next 32-bit draw
	hasHalf              bool
}

func newNumpyPCG64() *numpyPCG64 {
	w := seedSequenceZero()
	g := &numpyPCG64{incHi: w[2]<<1 | w[3]>>63, incLo: w[3]<<1 | 1}
	g.step()
	var carry uint64
	g.lo, carry = bits.Add64(g.lo, w[1], 0)
	g.hi, _ = bits.Add64(g.hi, w[0], carry)
	g.step()
	return g
}

func (g *numpyPCG64) step() {
	const mHi, mLo = 2549297995355413924, 4865540595714422341
	hi, lo := bits.Mul64(g.lo, mLo)
	hi += g.hi*mLo + g.lo*mHi
	var carry uint64
	g.lo, carry = bits.Add64(lo, g.incLo, 0)
	g.hi, _ = bits.Add64(hi, g.incHi, carry)
}

func (g *numpyPCG64) uint32() uint32 {
	if g.hasHalf {
		g.hasHalf = false
		return g.half
	}
	g.step()
	v := bits.RotateLeft64(g.hi^g.lo, -int(g.hi>>58))
	g.half, g.hasHalf = uint32(v>>32), true
	return uint32(v)
}

// bounded returns a number in [0, most]: draws under a mask of ones, until one is not too large.
func (g *numpyPCG64) bounded(most uint32) uint32 {
	mask := uint32(1)<<bits.Len32(most) - 1
	for {
		if v := g.uint32() & mask; v <= most {
			return v
		}
	}
}

// seedSequenceZero is SeedSequence(0).generate_state(4, uint64).
func seedSequenceZero() (out [4]uint64) {
	const initA, multA, initB, multB, mixL, mixR = 0x43b0d7e5, 0x931e8875, 0x8b51f9dd, 0x58f38ded, 0xca01f9dd, 0x4973f715
	hash := uint32(initA)
	hashmix := func(v uint32) uint32 {
		v ^= hash
		hash *= multA
		v *= hash
		return v ^ v>>16
	}
	var pool [4]uint32
	for i := range pool {
		pool[i] = hashmix(0)
	}
	for src := range pool {
		for dst := range pool {
			if src != dst {
				v := mixL*pool[dst] - mixR*hashmix(pool[src])
				pool[dst] = v ^ v>>16
			}
		}
	}
	hash = initB
	var words [8]uint32
	for i := range words {
		v := pool[i%4] ^ hash
		hash *= multB
		v *= hash
		words[i] = v ^ v>>16
	}
	for i := range out {
		out[i] = uint64(words[2*i]) | uint64(words[2*i+1])<<32
	}
	return out
}
