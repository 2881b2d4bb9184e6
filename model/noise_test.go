package model

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
)

// compute builds, compiles and runs a computation once.
func (x *tiny) compute(t *testing.T, name string, in []*tensors.Tensor, build func(g *Graph, in []*Node) []*Node) []*tensors.Tensor {
	t.Helper()
	p, err := x.dev.Compile(name, shapesOf(in), build)
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Run(in...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		free(in)
		free(out)
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return out
}

// threefryHost is threefry2x32 of 20 rounds, written from the paper's figure without regard to the graph.
func threefryHost(k0, k1, c0, c1 uint32) (uint32, uint32) {
	rotations := [8]int{13, 15, 26, 6, 17, 29, 16, 24}
	key := [3]uint32{k0, k1, 0x1BD11BDA ^ k0 ^ k1}
	x0, x1 := c0+k0, c1+k1
	for round := range 20 {
		x0 += x1
		x1 = bits.RotateLeft32(x1, rotations[round%8]) ^ x0
		if round%4 == 3 {
			s := round/4 + 1
			x0 += key[s%3]
			x1 += key[(s+1)%3] + uint32(s)
		}
	}
	return x0, x1
}

// threefryKnown are the vectors of Random123's kat_vectors (threefry 2x32 20): key, counter, result.
var threefryKnown = [][6]uint32{
	{0, 0, 0, 0, 0x6b200159, 0x99ba4efe},
	{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x1cb996fc, 0xbb002be7},
	{0x13198a2e, 0x03707344, 0x243f6a88, 0x85a308d3, 0xc4923a9c, 0x483df7a0},
}

func TestThreefryKnownAnswers(t *testing.T) {
	cases := threefryKnown
	r := rand.New(rand.NewPCG(1, 2))
	for range 997 { // backends that give the host's integers give each other's
		c := [6]uint32{r.Uint32(), r.Uint32(), r.Uint32(), r.Uint32()}
		c[4], c[5] = threefryHost(c[0], c[1], c[2], c[3])
		cases = append(cases, c)
	}
	for _, c := range threefryKnown {
		if x0, x1 := threefryHost(c[0], c[1], c[2], c[3]); x0 != c[4] || x1 != c[5] {
			t.Fatalf("the test's own threefry of %x gives %x %x, want %x", c[:4], x0, x1, c[4:])
		}
	}
	onBackends(t, func(t *testing.T, x *tiny) {
		var in []*tensors.Tensor
		for i := range 4 {
			flat := make([]uint32, len(cases))
			for j, c := range cases {
				flat[j] = c[i]
			}
			in = append(in, tensors.FromFlatDataAndDimensions(flat, len(flat)))
		}
		out := x.compute(t, "threefry", in, func(_ *Graph, in []*Node) []*Node {
			x0, x1 := threefry2x32(in[0], in[1], in[2], in[3])
			return []*Node{x0, x1}
		})
		x0, x1 := tensors.MustCopyFlatData[uint32](out[0]), tensors.MustCopyFlatData[uint32](out[1])
		for i, c := range cases {
			if x0[i] != c[4] || x1[i] != c[5] {
				t.Fatalf("key %08x %08x, counter %08x %08x: %08x %08x, want %08x %08x", c[0], c[1], c[2], c[3], x0[i], x1[i], c[4], c[5])
			}
		}
	})
}

// gumbelHost is the noise of one key and token, from the cipher.
func gumbelHost(k Key, token uint32, v int) []float64 {
	half := (v + 1) / 2
	out := make([]float64, v)
	for i := range half {
		x0, x1 := threefryHost(k[0], k[1], uint32(i), token)
		for j, word := range []uint32{x0, x1} {
			if at := j*half + i; at < v {
				u := (float64(word>>9) + 0.5) / (1 << 23)
				out[at] = -math.Log(-math.Log(u))
			}
		}
	}
	return out
}

// noise is gumbel on a device, for consecutive tokens from first on: [tokens][len(keys)·v].
func (x *tiny) noise(t *testing.T, keys []Key, first, count, v int) [][]float32 {
	t.Helper()
	var flat []uint32
	for _, k := range keys {
		flat = append(flat, k[0], k[1])
	}
	p, err := x.dev.Compile("gumbel", []shapes.Shape{shapes.Make(dtypes.Uint32, len(keys), 2), shapes.Make(dtypes.Int32)}, func(_ *Graph, in []*Node) []*Node {
		return []*Node{gumbel(in[0], in[1], v)}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var all [][]float32
	for i := range count {
		in := []*tensors.Tensor{tensors.FromFlatDataAndDimensions(flat, len(keys), 2), tensors.FromScalar(int32(first + i))}
		out, err := p.Run(in...)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, tensors.MustCopyFlatData[float32](out[0]))
		free(in)
		free(out)
	}
	return all
}

func TestGumbelNoise(t *testing.T) {
	const rows, v = 128, 1001 // an odd vocabulary: the cipher's words come in pairs
	var keys []Key
	for i := range rows {
		keys = append(keys, NewKey(7, uint64(i)))
	}
	moments := func(x []float32) (mean, variance float64) {
		for _, f := range x {
			mean += float64(f)
		}
		mean /= float64(len(x))
		for _, f := range x {
			variance += (float64(f) - mean) * (float64(f) - mean)
		}
		return mean, variance / float64(len(x)-1)
	}
	correlation := func(a, b []float32) float64 {
		ma, va := moments(a)
		mb, vb := moments(b)
		sum := 0.0
		for i := range a {
			sum += (float64(a[i]) - ma) * (float64(b[i]) - mb)
		}
		return sum / float64(len(a)) / math.Sqrt(va*vb)
	}
	onBackends(t, func(t *testing.T, x *tiny) {
		all := x.noise(t, keys, 41, 2, v)
		for i, k := range keys {
			for token := range all {
				for j, want := range gumbelHost(k, uint32(41+token), v) {
					got := float64(all[token][i*v+j])
					if math.IsNaN(got) || math.IsInf(got, 0) || math.Abs(got-want) > 1e-4 {
						t.Fatalf("row %d, token %d, index %d: %g, want %g", i, 41+token, j, got, want)
					}
				}
			}
		}
		n := float64(rows * v)
		mean, variance := moments(all[0])
		// Standard Gumbel: mean Euler's constant, variance pi^2/6, kurtosis 27/5. Five standard errors.
		if want, e := 0.5772156649, 5*math.Sqrt(math.Pi*math.Pi/6/n); math.Abs(mean-want) > e {
			t.Errorf("mean %g, want %g within %g", mean, want, e)
		}
		if want, e := math.Pi*math.Pi/6, 5*math.Pi*math.Pi/6*math.Sqrt(4.4/n); math.Abs(variance-want) > e {
			t.Errorf("variance %g, want %g within %g", variance, want, e)
		}
		for _, c := range []struct {
			what string
			a, b []float32
		}{
			{"one token and the next", all[0], all[1]},
			{"a row and the next", all[0][:(rows-1)*v], all[0][v:]},
			{"an index and the next", all[0][:rows*v-1], all[0][1:]},
			{"the two halves of the vocabulary", all[0][:rows*v-(v+1)/2], all[0][(v+1)/2:]},
		} {
			if r, e := correlation(c.a, c.b), 5/math.Sqrt(n); math.Abs(r) > e {
				t.Errorf("%s: correlation %g, want 0 within %g", c.what, r, e)
			}
		}
	})
}

// A row's noise is a function of its key, the token and the index: the batch around it does not matter.
func TestGumbelNoiseIsTheRows(t *testing.T) {
	onBackends(t, func(t *testing.T, x *tiny) {
		const v = 320
		keys := []Key{NewKey(1), NewKey(2), NewKey(3), NewKey(4)}
		together := x.noise(t, keys, 5, 1, v)[0]
		turned := x.noise(t, []Key{keys[2], keys[0], keys[3], keys[2]}, 5, 1, v)[0]
		alone := x.noise(t, keys[2:3], 5, 1, v)[0]
		near(t, "alone", alone, together[2*v:3*v], 0)
		near(t, "first of another batch", turned[:v], together[2*v:3*v], 0)
		near(t, "last of another batch", turned[3*v:], together[2*v:3*v], 0)
		near(t, "another row", turned[v:2*v], together[:v], 0)
	})
}

func TestNewKeysAreDistinct(t *testing.T) {
	seen := map[Key]string{}
	add := func(parts ...uint64) {
		t.Helper()
		k := NewKey(parts...)
		if other, ok := seen[k]; ok {
			t.Fatalf("NewKey(%v) is NewKey(%s)", parts, other)
		}
		seen[k] = fmt.Sprint(parts)
	}
	add()
	for n := 1; n <= 6; n++ { // how many parts there are matters too
		add(make([]uint64, n)...)
	}
	for seed := uint64(1); seed <= 4; seed++ {
		for step := uint64(0); step < 40; step++ {
			for prompt := uint64(0); prompt < 120; prompt++ {
				for sample := uint64(0); sample < 4; sample++ {
					add(seed, step, prompt, sample)
				}
			}
		}
	}
	for bit := range 64 {
		add(1<<bit, 9)
		add(9, 1<<bit)
	}
	// Neighbouring parts flip half of the key's bits, each flip a fair coin: standard deviation 4 of 64 coins.
	flips, n := 0, 0
	for p := uint64(0); p < 1000; p++ {
		a, b := NewKey(17, p), NewKey(17, p+1)
		flips += bits.OnesCount32(a[0]^b[0]) + bits.OnesCount32(a[1]^b[1])
		n++
	}
	if mean := float64(flips) / float64(n); math.Abs(mean-32) > 5*4/math.Sqrt(float64(n)) {
		t.Errorf("a change of one part flips %g of 64 bits on average, want 32", mean)
	}
	if NewKey(3, 4) != NewKey(3, 4) {
		t.Error("a key is not a function of its parts")
	}
	// The derivation, computed in Python: were it to change, recorded runs would no longer repeat from their seeds.
	if got, want := NewKey(17, 1, 2, 3), (Key{0xe1d9a490, 0x16c1ff20}); got != want {
		t.Errorf("NewKey(17, 1, 2, 3) is %#x, want %#x", got, want)
	}
}
