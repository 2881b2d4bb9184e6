package data

import (
	"math"
	"slices"
	"testing"
)

// The published outputs of SplitMix64 for the state 1234567, as listed on Rosetta Code ("Pseudo-random numbers/Splitmix64").
func TestRandIsSplitMix64(t *testing.T) {
	s := &Rand{key: 1234567}
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		if got := s.Uint64(); got != want {
			t.Errorf("value %d: got %d, want %d", i, got, want)
		}
	}
}

// The key rule is part of every artifact's meaning: changing it changes every draw. The value is what
// printf 'teamtalk rand 1\0data order\0\x11\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0' | sha256sum begins with, read little-endian.
func TestRandKey(t *testing.T) {
	if got, want := NewRand(17, "data order", 3).key, uint64(0x310ed57ca500c8de); got != want {
		t.Errorf("key: got %#x, want %#x", got, want)
	}
}

func TestRandsAreSeparate(t *testing.T) {
	first := map[uint64]string{}
	for name, s := range map[string]*Rand{
		"base":          NewRand(17, "data order", 0),
		"another seed":  NewRand(18, "data order", 0),
		"another name":  NewRand(17, "sampling", 0),
		"another epoch": NewRand(17, "data order", 1),
		"no index":      NewRand(17, "data order"),
		"two indices":   NewRand(17, "data order", 0, 0),
	} {
		v := s.Uint64()
		if other, ok := first[v]; ok {
			t.Errorf("%s and %s are the same stream", name, other)
		}
		first[v] = name
	}
}

// Uniformity, by chi-squared against a bound that a right generator passes with these fixed seeds and a biased one (a
// modulo of few bits, an off-by-one in the bounds) does not.
func TestIntNIsUniform(t *testing.T) {
	for _, n := range []int{1, 2, 7, 12, 100} {
		const draws = 100_000
		s, count := NewRand(1, "test", uint64(n)), make([]int, n)
		for range draws {
			count[s.IntN(n)]++
		}
		chi, want := 0.0, float64(draws)/float64(n)
		for _, c := range count {
			chi += (float64(c) - want) * (float64(c) - want) / want
		}
		if dof := float64(n - 1); chi > dof+4*math.Sqrt(2*dof) {
			t.Errorf("n=%d: chi-squared %.1f for %v degrees of freedom", n, chi, dof)
		}
	}
	s, lo, hi := NewRand(1, "between"), math.MaxInt, math.MinInt
	for range 1000 {
		v := s.Between(2, 9)
		lo, hi = min(lo, v), max(hi, v)
	}
	if lo != 2 || hi != 9 {
		t.Errorf("Between(2, 9) gave %d to %d", lo, hi)
	}
}

func TestOrder(t *testing.T) {
	o := Order{N: 512, Chunk: 12, Seed: 17}
	if o.StepsPerEpoch() != 42 {
		t.Fatalf("got %d steps an epoch, 512/12 is 42 and a rest", o.StepsPerEpoch())
	}
	for epoch := range 3 {
		seen := make(map[int]bool)
		for k := range 42 {
			chunk := o.Step(epoch*42 + k)
			if len(chunk) != 12 {
				t.Fatalf("step %d has %d prompts", epoch*42+k, len(chunk))
			}
			for _, p := range chunk {
				if p < 0 || p >= 512 || seen[p] {
					t.Fatalf("epoch %d: prompt %d out of range or seen before", epoch, p)
				}
				seen[p] = true
			}
		}
	}
	if slices.Equal(o.Step(0), o.Step(42)) {
		t.Error("the second epoch repeats the first")
	}
	if slices.Equal(o.Step(0), (Order{512, 12, 18}).Step(0)) {
		t.Error("two seeds share an order")
	}
	// A resumed run asks for step 20 first; one that ran through asks for it after the others.
	late := o.Step(20)
	for i := range 20 {
		o.Step(i)
	}
	if !slices.Equal(late, o.Step(20)) {
		t.Error("a step depends on the steps before it")
	}
	for _, bad := range []Order{{N: 11, Chunk: 12}, {N: 12, Chunk: 0}, {}} {
		if bad.Validate() == nil {
			t.Errorf("%+v passes", bad)
		}
	}
	if err := (Order{N: 12, Chunk: 12}).Validate(); err != nil {
		t.Error(err)
	}
}

// Every place of a permutation is equally likely to hold every item.
func TestPermIsUniform(t *testing.T) {
	const n, draws = 5, 60_000
	count := map[[n]int]int{}
	s := NewRand(3, "perm test")
	for range draws {
		count[[n]int(s.Perm(n))]++
	}
	chi, want := 0.0, draws/120.0
	for _, c := range count {
		chi += (float64(c) - want) * (float64(c) - want) / want
	}
	if len(count) != 120 || chi > 119+4*math.Sqrt(2*119) {
		t.Errorf("%d of 120 permutations, chi-squared %.1f for 119 degrees of freedom", len(count), chi)
	}
}

// The first four moments of 200,000 normal numbers, within five standard errors of 0, 1, 0 and 3.
func TestNormFloat64(t *testing.T) {
	const n = 200_000
	r := NewRand(5, "normal test")
	var m [5]float64
	for range n {
		x := r.NormFloat64()
		for k := 1; k <= 4; k++ {
			m[k] += math.Pow(x, float64(k)) / n
		}
	}
	for _, c := range []struct {
		k        int
		want, sd float64 // sd of x^k: sqrt(E x^2k - (E x^k)^2), with moments 1, 3, 15, 105
	}{{1, 0, 1}, {2, 1, math.Sqrt(2)}, {3, 0, math.Sqrt(15)}, {4, 3, math.Sqrt(96)}} {
		if math.Abs(m[c.k]-c.want) > 5*c.sd/math.Sqrt(n) {
			t.Errorf("moment %d: got %.4f, want %v", c.k, m[c.k], c.want)
		}
	}
}
