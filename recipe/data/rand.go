package data

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/bits"
)

// Rand is a random stream that can be written down: value i is mix(key + (i+1)*gamma), which is SplitMix64 (Steele,
// Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014) read as a function of a counter. The key is
// the first eight bytes, little-endian, of
//
//	SHA-256("teamtalk rand 1" NUL name NUL seed index...)
//
// with seed and indices as eight little-endian bytes each. So streams with different names, seeds or indices are
// independent, none depends on how much another was read, and the values do not change with Go's version.
//
// It is for data and shuffles, not for cryptography. A Rand is not safe for concurrent use; making another is cheap.
type Rand struct {
	key, n uint64
}

const gamma = 0x9E3779B97F4A7C15

// NewRand opens the stream of a seed, a name ("data order", "mini problem") and indices such as an epoch or a row.
func NewRand(seed uint64, name string, index ...uint64) *Rand {
	b := append([]byte("teamtalk rand 1\x00"), name...)
	b = append(b, 0)
	b = binary.LittleEndian.AppendUint64(b, seed)
	for _, i := range index {
		b = binary.LittleEndian.AppendUint64(b, i)
	}
	sum := sha256.Sum256(b)
	return &Rand{key: binary.LittleEndian.Uint64(sum[:])}
}

// Uint64 returns the next value, uniform over all 64-bit numbers.
func (r *Rand) Uint64() uint64 {
	r.n++
	z := r.key + r.n*gamma
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// IntN returns an integer in [0, n), without bias: Lemire, Fast Random Integer Generation in an Interval,
// arXiv:1805.10941. It panics if n < 1.
func (r *Rand) IntN(n int) int {
	if n < 1 {
		panic("data: IntN needs n >= 1")
	}
	bound := uint64(n)
	hi, lo := bits.Mul64(r.Uint64(), bound)
	for reject := -bound % bound; lo < reject; {
		hi, lo = bits.Mul64(r.Uint64(), bound)
	}
	return int(hi)
}

// Between returns an integer in [lo, hi], both ends included.
func (r *Rand) Between(lo, hi int) int { return lo + r.IntN(hi-lo+1) }

// Float64 returns a number in [0, 1): the top 53 bits of one value.
func (r *Rand) Float64() float64 { return float64(r.Uint64()>>11) / (1 << 53) }

// Chance is true with probability p. It always uses up one value, so that what follows does not depend on p being 0 or 1.
func (r *Rand) Chance(p float64) bool { return r.Float64() < p }

// Perm returns a uniform permutation of 0..n-1: Fisher-Yates from the end (Knuth, TAOCP 2, 3.4.2, algorithm P).
func (r *Rand) Perm(n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j := r.IntN(i + 1)
		p[i], p[j] = p[j], p[i]
	}
	return p
}

// NormFloat64 returns a standard normal number: Box and Muller's cosine branch, two values used up each time.
func (r *Rand) NormFloat64() float64 {
	u := 1 - r.Float64() // in (0, 1]
	return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*r.Float64())
}
