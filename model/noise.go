package model

import (
	"math/bits"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

// Key names one stream of sampling noise.
type Key [2]uint32

// NewKey mixes the parts (seed, stream, step, prompt, sample ...) into a key. Different parts give independent streams: each is
// absorbed by SplitMix64's finaliser (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
func NewKey(parts ...uint64) Key {
	h := uint64(0x9e3779b97f4a7c15)
	for _, p := range parts {
		h = bits.RotateLeft64(h, 23) ^ mix64(p+0x9e3779b97f4a7c15)
		h = mix64(h + 0x9e3779b97f4a7c15)
	}
	return Key{uint32(h), uint32(h >> 32)}
}

func mix64(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// threefry rotations and constant: Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC11), 2x32, 20 rounds.
var threefryRotations = [2][4]int{{13, 15, 26, 6}, {17, 29, 16, 24}}

const threefryParity = 0x1BD11BDA

// threefry2x32 encrypts the counter (c0, c1) under the key (k0, k1), element by element; all uint32, shapes that broadcast.
// Shifts are products and quotients with powers of two, which the Go backend has and compilers turn back into shifts.
func threefry2x32(k0, k1, c0, c1 *Node) (x0, x1 *Node) {
	g := k0.Graph()
	c := func(v uint32) *Node { return Const(g, v) }
	rotl := func(x *Node, r int) *Node {
		return BitwiseOr(Mul(x, c(1<<r)), Div(x, c(1<<(32-r))))
	}
	ks := [3]*Node{k0, k1, BitwiseXor(BitwiseXor(k0, k1), c(threefryParity))}
	x0, x1 = Add(c0, ks[0]), Add(c1, ks[1])
	for i := range 5 {
		for _, r := range threefryRotations[i%2] {
			x0 = Add(x0, x1)
			x1 = BitwiseXor(rotl(x1, r), x0)
		}
		x0 = Add(x0, ks[(i+1)%3])
		x1 = Add(Add(x1, ks[(i+2)%3]), c(uint32(i+1)))
	}
	return x0, x1
}

// gumbel is standard Gumbel noise [n, v] for token number t (a scalar, int32) of the rows with keys [n, 2] (uint32): a function
// of key, t and vocabulary index alone.
func gumbel(keys, t *Node, v int) *Node {
	g := keys.Graph()
	n := keys.Shape().Dimensions[0]
	half := (v + 1) / 2
	dims := []int{n, half}
	wide := func(x *Node) *Node { return BroadcastToDims(x, dims...) }
	key := func(i int) *Node { return wide(Slice(keys, AxisRange(), AxisRange(i, i+1))) }
	index := Iota(g, shapes.Make(dtypes.Uint32, dims...), 1)
	x0, x1 := threefry2x32(key(0), key(1), index, wide(Reshape(ConvertDType(t, dtypes.Uint32), 1, 1)))
	word := Concatenate([]*Node{x0, x1}, 1) // the cipher's two words serve the two halves of the vocabulary
	if 2*half != v {
		word = Slice(word, AxisRange(), AxisRange(0, v))
	}
	// 23 bits, in the middle of their cell: never 0, never 1.
	u := MulScalar(AddScalar(f32(Div(word, Const(g, uint32(512)))), 0.5), 1.0/(1<<23))
	return Neg(Log(Neg(Log(u))))
}

// sample draws a token for each row of logits [n, V] at temperature (a scalar; 0 takes the likeliest) within topP's nucleus (nil:
// none). It returns the token [n] (int32), and its log-probability and the entropy under the whole tempered distribution.
// At temperature 0 those are of temperature 1.
func sample(logits, temperature, nucleus, keys, t *Node) (token, logp, entropy *Node) {
	g := logits.Graph()
	v := logits.Shape().Dimensions[1]
	zero := zeros(g, dtypes.Float32)
	warm := GreaterThan(temperature, zero)
	heat := Where(warm, temperature, Const(g, float32(1)))
	z := Div(logits, heat)
	score := Add(z, Mul(gumbel(keys, t, v), f32(warm)))
	if nucleus != nil {
		score = Where(topP(z, nucleus), score, MulScalar(OnesLike(score), -1e30))
	}
	token = ArgMax(score, 1, dtypes.Int32)
	logp, entropy = logProbs(logits, token, heat)
	return token, logp, entropy
}
