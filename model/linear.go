package model

import (
	"teamtalk/model/backend"
	"teamtalk/model/checkpoint"

	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// group is a set of linear maps that read the same input, kept as one matrix: their rows below each other.
type group struct {
	modules []string // Hugging Face names, in the order of the rows
	outs    []int    // rows of each
	in, out int
}

// The groups of a decoder layer, in the order in which weights and adapters list them.
const (
	groupQKV = iota
	groupO
	groupGateUp
	groupDown
	groupsPerLayer
)

func groups(c checkpoint.Config) [groupsPerLayer]group {
	make := func(modules ...string) group {
		g := group{modules: modules}
		for _, m := range modules {
			in, out, _ := c.Linear(m)
			g.in, g.out, g.outs = in, g.out+out, append(g.outs, out)
		}
		return g
	}
	return [groupsPerLayer]group{
		make("q_proj", "k_proj", "v_proj"), make("o_proj"), make("gate_proj", "up_proj"), make("down_proj"),
	}
}

// linear is one group of linear maps in a graph: y = xW' and, with adapters, y += (xA')B' of the row's own run.
//
// With adapters apart, x is B equal parts, one after another, each with adapters of its own: row i of n belongs to part
// i / (n/B). Appended, each row's run is in runOf.
type linear struct {
	w *Node // [out, in]; when the adapters are appended, [out + M·k·r, in]
	// Adapters apart, as training wants them: two products batched over the parts.
	a, b *Node // [B, k·r, in], [B, out, k·r]
	// Adapters appended, as decoding wants them: A's rows stand below W's, so that one product gives y and z = xA' of every
	// run; z is masked to the row's own run and goes through one product with all B's.
	stacked *Node // [out, M·k·r]
	runOf   *Node // [n], int32; nil when there is one run
	runs    int
	out     int
}

// apply maps x [n, in] to [n, out].
func (l linear) apply(x *Node) *Node {
	n := x.Shape().Dimensions[0]
	base := func() *Node { return backend.Dot(x, []int{1}, nil, l.w, []int{1}, nil) }
	switch {
	case l.a != nil:
		in, parts := x.Shape().Dimensions[1], l.a.Shape().Dimensions[0]
		if parts == 1 && l.out > in { // a wide y is not read and written once more, for a narrow x that is
			z := backend.Dot(x, []int{1}, nil, Squeeze(l.a, 0), []int{1}, nil)
			return backend.DotAppended(x, z, l.w, Squeeze(l.b, 0))
		}
		z := backend.Dot(Reshape(x, parts, n/parts, in), []int{2}, []int{0}, l.a, []int{2}, []int{0})
		delta := backend.Dot(z, []int{2}, []int{0}, l.b, []int{2}, []int{0})
		return Add(base(), Reshape(delta, n, l.out))
	case l.stacked != nil:
		y := base()
		width := y.Shape().Dimensions[1] - l.out
		z := backend.Slice(y, 1, l.out, l.out+width)
		if l.runOf != nil {
			own := Equal(DivScalar(iota2(x.Graph(), n, width, 1), width/l.runs), BroadcastToDims(Reshape(l.runOf, n, 1), n, width))
			z = Mul(z, ConvertDType(own, z.DType()))
		}
		delta := backend.Dot(z, []int{1}, nil, l.stacked, []int{1}, nil)
		return Add(backend.Slice(y, 1, 0, l.out), delta)
	}
	return base()
}

// fused joins the adapters of a group: A [M, k·r, in] and B [M, out, k·r], block-diagonal, times the scale. a and b hold one
// node per module of the group, nil where the module has no adapter; all nil gives nil.
func (g group) fused(a, b []*Node, scale float64) (fa, fb *Node) {
	var as []*Node
	for _, n := range a {
		if n != nil {
			as = append(as, n)
		}
	}
	if len(as) == 0 {
		return nil, nil
	}
	fa = as[0]
	if len(as) > 1 {
		fa = Concatenate(as, 1)
	}
	runs, rank := as[0].Shape().Dimensions[0], as[0].Shape().Dimensions[1]
	graph := as[0].Graph()
	var rows []*Node
	at := 0
	for i, n := range b {
		if n == nil {
			rows = append(rows, zeros(graph, as[0].DType(), runs, g.outs[i], len(as)*rank))
			continue
		}
		var parts []*Node
		if at > 0 {
			parts = append(parts, zeros(graph, n.DType(), runs, g.outs[i], at*rank))
		}
		parts = append(parts, n)
		if left := len(as) - at - 1; left > 0 {
			parts = append(parts, zeros(graph, n.DType(), runs, g.outs[i], left*rank))
		}
		row := parts[0]
		if len(parts) > 1 {
			row = Concatenate(parts, 2)
		}
		rows = append(rows, row)
		at++
	}
	fb = rows[0]
	if len(rows) > 1 {
		fb = Concatenate(rows, 1)
	}
	return fa, MulScalar(fb, scale)
}
