package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
)

// nucleus is the smallest set of the likeliest tokens of z whose probability reaches p, by sorting, in float64. Ties at the
// border are kept together, and so is what lies within slack of it.
func nucleus(z []float32, p, slack float64) []bool {
	order := make([]int, len(z))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return z[order[a]] > z[order[b]] })
	top, total := float64(z[order[0]]), 0.0
	for _, x := range z {
		total += math.Exp(float64(x) - top)
	}
	keep := make([]bool, len(z))
	mass, border := 0.0, math.Inf(-1)
	for _, i := range order {
		if mass >= p*total && float64(z[i]) < border-slack {
			break
		}
		keep[i] = true
		if mass < p*total {
			border = float64(z[i])
		}
		mass += math.Exp(float64(z[i]) - top)
	}
	return keep
}

func TestTopPEqualsSorting(t *testing.T) {
	const v = 257
	r := rand.New(rand.NewPCG(3, 4))
	normal := func(scale float64) []float32 {
		z := make([]float32, v)
		for i := range z {
			z[i] = float32(r.NormFloat64() * scale)
		}
		return z
	}
	fill := func(f func(i int) float64) []float32 {
		z := make([]float32, v)
		for i := range z {
			z[i] = float32(f(i))
		}
		return z
	}
	cases := []struct {
		why string
		z   []float32
	}{
		{"flat: all or nothing", fill(func(int) float64 { return -3 })},
		{"one spike", fill(func(i int) float64 { return map[bool]float64{true: 60}[i == 100] })},
		{"one spike over nothing at all", fill(func(i int) float64 { return map[bool]float64{false: -1e30}[i == v-1] })},
		{"two levels of ties", fill(func(i int) float64 { return float64(i % 2) })},
		{"many levels of ties", fill(func(i int) float64 { return -float64(i%16) / 4 })},
		{"a long even tail", fill(func(i int) float64 { return map[bool]float64{true: 3}[i == 7] })},
		{"geometric: each token holds the same share of what is left", fill(func(i int) float64 { return -float64(i) * 0.7 })},
		{"steep: only e^-40 counts", fill(func(i int) float64 { return -float64(i) * 11 })},
		{"large logits, whose spacing is coarse", fill(func(i int) float64 { return 1e4 - float64(i*i)/64 })},
		{"sorted the wrong way", fill(func(i int) float64 { return float64(i) / 10 })},
	}
	for i := range 54 {
		cases = append(cases, struct {
			why string
			z   []float32
		}{"random", normal([]float64{0.01, 1, 4}[i%3])})
	}
	var flat []float32
	for _, c := range cases {
		flat = append(flat, c.z...)
	}
	onBackends(t, func(t *testing.T, x *tiny) {
		n := len(cases)
		p, err := x.dev.Compile("top_p", []shapes.Shape{shapes.Make(dtypes.Float32, n, v), shapes.Make(dtypes.Float32)}, func(_ *Graph, in []*Node) []*Node {
			return []*Node{ConvertDType(topP(in[0], in[1]), dtypes.Int32)}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		sharp, all := 0, 0
		for _, top := range []float32{1e-9, 0.01, 0.1, 0.3, 0.5, 0.8, 0.9, 0.95, 0.99, 0.9999, math.Nextafter32(1, 0)} {
			in := []*tensors.Tensor{tensors.FromFlatDataAndDimensions(flat, n, v), tensors.FromScalar(top)}
			out, err := p.Run(in...)
			if err != nil {
				t.Fatal(err)
			}
			got := tensors.MustCopyFlatData[int32](out[0])
			free(in)
			free(out)
			for i, c := range cases {
				// f32 sums are off by a few 1e-7; what lies within topP's own resolution of the border may go either way.
				least, most := nucleus(c.z, float64(top)*(1-3e-6), 0), nucleus(c.z, float64(top)*(1+3e-6), 4e-6)
				if slices.Equal(least, most) {
					sharp++
				}
				all++
				for j := range v {
					kept := got[i*v+j] != 0
					// Below e^-40 there is no probability: the reference reaches there only when rounding asks for all of it.
					if least[j] && !kept && float64(c.z[j]) > float64(maxOf(c.z))-39 {
						t.Fatalf("%s (case %d), p %g: token %d with logit %g is left out", c.why, i, top, j, c.z[j])
					}
					if kept && !most[j] {
						t.Fatalf("%s (case %d), p %g: token %d with logit %g is kept", c.why, i, top, j, c.z[j])
					}
				}
			}
		}
		if sharp < all*9/10 {
			t.Errorf("the tolerance leaves one answer for only %d of %d sets", sharp, all)
		}
	})
}

func maxOf(z []float32) float32 {
	m := z[0]
	for _, x := range z {
		m = max(m, x)
	}
	return m
}

// The sampler draws from softmax(logits/T), cut to the nucleus and normalised again.
func TestSampledTokensFollowTheSoftmax(t *testing.T) {
	const n, v = 8000, 16
	logits := []float32{2, 1.5, 1.5, 0, -1, 3, -2, 0.5, 1, -0.5, 2.5, -3, 0.25, -7, 1.25, 0.75}
	onBackends(t, func(t *testing.T, x *tiny) {
		var keys []uint32
		for i := range n {
			k := NewKey(11, uint64(i))
			keys = append(keys, k[0], k[1])
		}
		scalar := shapes.Make(dtypes.Float32)
		in := []shapes.Shape{shapes.Make(dtypes.Float32, v), scalar, scalar, shapes.Make(dtypes.Uint32, n, 2), shapes.Make(dtypes.Int32)}
		p, err := x.dev.Compile("sample", in, func(_ *Graph, in []*Node) []*Node {
			token, logp, entropy := sample(BroadcastToDims(Reshape(in[0], 1, v), n, v), in[1], in[2], in[3], in[4])
			return []*Node{token, logp, entropy}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		for _, c := range []struct {
			temperature, top float64
			token            int32
		}{{1, 1 - 1e-7, 0}, {0.7, 1 - 1e-7, 1}, {1.5, 0.8, 2}, {0.9, 0.95, 511}, {0, 0.95, 3}} {
			in := []*tensors.Tensor{
				tensors.FromFlatDataAndDimensions(logits, v), tensors.FromScalar(float32(c.temperature)), tensors.FromScalar(float32(c.top)),
				tensors.FromFlatDataAndDimensions(keys, n, 2), tensors.FromScalar(c.token),
			}
			out, err := p.Run(in...)
			if err != nil {
				t.Fatal(err)
			}
			tokens := tensors.MustCopyFlatData[int32](out[0])
			logp, entropy := tensors.MustCopyFlatData[float32](out[1]), tensors.MustCopyFlatData[float32](out[2])
			free(in)
			free(out)
			what := fmt.Sprintf("temperature %g, top_p %g", c.temperature, c.top)
			heat := c.temperature
			if heat == 0 {
				heat = 1 // log-probabilities of greedy tokens are the model's own
			}
			z := make([]float32, v)
			for i := range z {
				z[i] = logits[i] / float32(heat)
			}
			whole, h := softmaxHost(z)
			for i, id := range tokens {
				near(t, what+": log-probability", logp[i:i+1], []float32{float32(math.Log(whole[id]))}, 1e-5)
				near(t, what+": entropy", entropy[i:i+1], []float32{float32(h)}, 1e-5)
			}
			counts := make([]int, v)
			for _, id := range tokens {
				counts[id]++
			}
			if c.temperature == 0 {
				if counts[5] != n {
					t.Errorf("%s: %d of %d are the likeliest token", what, counts[5], n)
				}
				continue
			}
			keep, kept := nucleus(z, c.top, 0), 0.0
			for i, k := range keep {
				if k {
					kept += whole[i]
				}
			}
			chi, freedom := 0.0, -1
			for i, k := range keep {
				if !k {
					if counts[i] > 0 {
						t.Errorf("%s: token %d is outside of the nucleus and was drawn %d times", what, i, counts[i])
					}
					continue
				}
				want := whole[i] / kept * n
				chi += (float64(counts[i]) - want) * (float64(counts[i]) - want) / want
				freedom++
			}
			// Five standard deviations above the mean of chi-square.
			if limit := float64(freedom) + 5*math.Sqrt(2*float64(freedom)); chi > limit {
				t.Errorf("%s: chi-square %g with %d degrees of freedom, want at most %g; counts %v", what, chi, freedom, limit, counts)
			}
		}
	})
}

// softmaxHost gives the probabilities of logits z and their entropy in nats.
func softmaxHost(z []float32) (p []float64, entropy float64) {
	top, total := float64(maxOf(z)), 0.0
	p = make([]float64, len(z))
	for i, x := range z {
		p[i] = math.Exp(float64(x) - top)
		total += p[i]
	}
	for i := range p {
		p[i] /= total
		if p[i] > 0 {
			entropy -= p[i] * math.Log(p[i])
		}
	}
	return p, entropy
}
