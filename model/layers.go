package model

import (
	"math"

	"teamtalk/model/backend"
	"teamtalk/model/checkpoint"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// layer is one Qwen2 decoder layer in a graph.
type layer struct {
	inputNorm, postNorm *Node // [H]
	qkvBias             *Node // [q + 2kv]
	linears             [groupsPerLayer]linear
}

// network is the whole model in a graph. Training, scoring, prefill and decoding differ in attend alone.
type network struct {
	config checkpoint.Config
	embed  *Node // [V, H]
	norm   *Node // [H]
	head   *Node // [V, H]; embed when tied
	layers []layer
}

// attend is attention for one layer: queries [n, heads, D], keys and values [n, kv, D], rotated; the result is [n, heads·D].
type attend func(layer int, q, k, v *Node) *Node

// hidden runs tokens ids [n] at positions pos [n] through the layers and the last norm. [n, H]
func (net *network) hidden(ids, pos *Node, at attend) *Node {
	c := net.config
	x := Gather(net.embed, InsertAxes(ids, -1))
	cos, sin := rotary(pos, c.HeadDim, c.RopeTheta)
	for i, l := range net.layers {
		x = l.forward(i, c, x, cos, sin, at)
	}
	return rmsNorm(x, net.norm, c.RMSNormEps)
}

// logits of hidden states x [n, H], in f32. [n, V]
func (net *network) logits(x *Node) *Node {
	return f32(backend.Dot(x, []int{1}, nil, net.head, []int{1}, nil))
}

func (l *layer) forward(i int, c checkpoint.Config, x, cos, sin *Node, at attend) *Node {
	n, d := x.Shape().Dimensions[0], c.HeadDim
	qDim, kvDim := c.NumAttentionHeads*d, c.NumKeyValueHeads*d

	residual := x
	x = rmsNorm(x, l.inputNorm, c.RMSNormEps)
	x = Add(l.linears[groupQKV].apply(x), Reshape(l.qkvBias, 1, -1)) // [n, q + 2kv]
	q := Reshape(backend.Slice(x, 1, 0, qDim), n, c.NumAttentionHeads, d)
	k := Reshape(backend.Slice(x, 1, qDim, qDim+kvDim), n, c.NumKeyValueHeads, d)
	v := Reshape(backend.Slice(x, 1, qDim+kvDim, qDim+2*kvDim), n, c.NumKeyValueHeads, d)
	x = at(i, rotate(q, cos, sin), rotate(k, cos, sin), v) // [n, q]
	x = Add(residual, l.linears[groupO].apply(x))

	residual = x
	x = rmsNorm(x, l.postNorm, c.RMSNormEps)
	x = l.linears[groupGateUp].apply(x) // [n, 2I]
	gate := backend.Slice(x, 1, 0, c.IntermediateSize)
	up := backend.Slice(x, 1, c.IntermediateSize, 2*c.IntermediateSize)
	x = Mul(Mul(gate, Logistic(gate)), up)
	return Add(residual, l.linears[groupDown].apply(x))
}

// rmsNorm is x / sqrt(mean(x²) + eps) · w, the quotient in f32. GoMLX has no gradient for Rsqrt.
func rmsNorm(x, w *Node, eps float64) *Node {
	xf := f32(x)
	mean := InsertAxes(ReduceSum(Mul(xf, xf), -1), -1)
	mean = DivScalar(mean, float64(x.Shape().Dimensions[1]))
	xf = Div(xf, Sqrt(AddScalar(mean, eps)))
	return Mul(ConvertDType(xf, x.DType()), Reshape(w, 1, -1))
}

// rotary gives the cosines and sines of RoPE at positions pos [n] (int32), in f32. [n, 1, D]
func rotary(pos *Node, d int, theta float64) (cos, sin *Node) {
	inverse := make([]float32, d)
	for i := range inverse {
		inverse[i] = float32(math.Pow(theta, -float64(2*(i%(d/2)))/float64(d)))
	}
	angle := Mul(Reshape(f32(pos), -1, 1, 1), Reshape(Const(pos.Graph(), inverse), 1, 1, d))
	return Cos(angle), Sin(angle)
}

// rotate turns the halves of each head against each other (Hugging Face's rotate_half). x is [n, heads, D].
func rotate(x, cos, sin *Node) *Node {
	xf := f32(x)
	half := x.Shape().Dimensions[2] / 2
	turned := Concatenate([]*Node{Neg(backend.Slice(xf, 2, half, 2*half)), backend.Slice(xf, 2, 0, half)}, 2)
	return ConvertDType(Add(Mul(xf, cos), Mul(turned, sin)), x.DType())
}

// attendRows is causal attention inside the segments of rows of T tokens: a token sees the tokens at or before it that
// carry its segment's number. Segment 0 is padding and sees itself. segments is [rows, T], int32.
//
// With branches [rows, T], a segment is a prompt (branch 0) and several replies to it (branches from 1 on), each of which sees
// the prompt and itself; positions [rows, T] then say what is before what. Without, both are nil.
func attendRows(c checkpoint.Config, segments, branches, positions *Node) attend {
	rows, t := segments.Shape().Dimensions[0], segments.Shape().Dimensions[1]
	g := segments.Graph()
	asking := func(x *Node) *Node { return Reshape(x, rows, 1, t, 1, 1) }
	asked := func(x *Node) *Node { return Reshape(x, rows, 1, 1, 1, t) }
	allowed := Equal(asking(segments), asked(segments)) // [rows, 1, T, 1, T]
	if branches == nil {
		causal := Reshape(GreaterOrEqual(iota2(g, t, t, 0), iota2(g, t, t, 1)), 1, 1, t, 1, t)
		allowed = LogicalAnd(allowed, BroadcastToDims(causal, rows, 1, t, 1, t))
	} else {
		own := Equal(asking(branches), asked(branches))
		shared := BroadcastToDims(asked(Equal(branches, zeros(g, branches.DType()))), rows, 1, t, 1, t)
		allowed = LogicalAnd(allowed, LogicalAnd(LogicalOr(own, shared), GreaterOrEqual(asking(positions), asked(positions))))
	}
	bias := Where(allowed, zeros(g, dtypes.Float32), Const(g, float32(-1e30)))
	heads, kv, d := c.NumAttentionHeads, c.NumKeyValueHeads, c.HeadDim
	return func(_ int, q, k, v *Node) *Node {
		q = Reshape(q, rows, t, kv, heads/kv, d)
		k, v = Reshape(k, rows, t, kv, d), Reshape(v, rows, t, kv, d)
		s := backend.Dot(q, []int{4}, []int{0, 2}, k, []int{3}, []int{0, 2}) // [rows, kv, T, heads/kv, T]
		p := backend.Softmax(s, 1/math.Sqrt(float64(d)), bias)
		o := backend.Dot(p, []int{4}, []int{0, 1}, v, []int{1}, []int{0, 2}) // [rows, kv, T, heads/kv, D]
		return Reshape(TransposeAllAxes(o, 0, 2, 1, 3, 4), rows*t, heads*d)
	}
}
