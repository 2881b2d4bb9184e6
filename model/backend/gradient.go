package backend

import (
	"fmt"
	"sync"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

// products remembers, until the computation is compiled, what the nodes made by Dot, DotAppended, Slice and Softmax are made of:
// the gradient rules below need it and GoMLX keeps it to itself.
var products sync.Map // *graph.Node -> dotAxes, appended, sliceAxes or weights

type dotAxes struct {
	lhs, rhs                                     *graph.Node
	lhsContract, rhsContract, lhsBatch, rhsBatch []int
}

type sliceAxes struct {
	x            *graph.Node
	axis         int
	start, limit int
}

// Dot is a DotGeneral whose gradient is two more matrix products: the axes of the result are the batch axes, what is
// left of lhs, what is left of rhs. Axes count from 0.
//
// GoMLX v0.26's own rule multiplies and sums element by element, which XLA turns back into a product for one operand
// only (github.com/gomlx/gomlx pull request 428 measured weight gradients 18 times slower).
func Dot(lhs *graph.Node, lhsContract, lhsBatch []int, rhs *graph.Node, rhsContract, rhsBatch []int) *graph.Node {
	y := graph.DotGeneral(lhs, lhsContract, lhsBatch, rhs, rhsContract, rhsBatch)
	products.Store(y, dotAxes{lhs, rhs, lhsContract, rhsContract, lhsBatch, rhsBatch})
	return y
}

// Slice takes [start, limit) of one axis. Its gradient is a concatenation with zeros, which the Go backend has; the
// default rule's Pad it has not.
func Slice(x *graph.Node, axis, start, limit int) *graph.Node {
	if start == 0 && limit == x.Shape().Dimensions[axis] {
		return x
	}
	specs := make([]graph.SliceAxisSpec, x.Rank())
	for i := range specs {
		specs[i] = graph.AxisRange()
	}
	specs[axis] = graph.AxisRange(start, limit)
	y := graph.Slice(x, specs...)
	products.Store(y, sliceAxes{x, axis, start, limit})
	return y
}

// appended is what DotAppended was given.
type appended struct{ z, w, b *graph.Node }

// DotAppended is xW' + zB' in one product, [x|z][W|B]': x [n, in], z [n, r], W [out, in], B [out, r] give [n, out], and no sum of
// two large matrices is read and written. Backward, the same product gives both x's and z's gradient; W, which is frozen, has
// none.
func DotAppended(x, z, w, b *graph.Node) *graph.Node {
	y := graph.DotGeneral(graph.Concatenate([]*graph.Node{x, z}, 1), []int{1}, nil, graph.Concatenate([]*graph.Node{w, b}, 1), []int{1}, nil)
	products.Store(y, appended{z, w, b})
	return y
}

// weights is what Softmax gave.
type weights struct {
	p, bias *graph.Node
	scale   float64
}

// Softmax is the softmax over the last axis of scores·scale + bias, computed in the bias's type, f32 as a rule, and given in the
// scores'. The bias, which may be broadcast, has no gradient. Backward needs the result alone, as in Dao et al., arXiv:2205.14135, appendix B: with p and
// its gradient dp, that of the scores is scale · p ∘ (dp - Σ p ∘ dp). GoMLX's chain of rules would keep f32 copies of it.
func Softmax(scores *graph.Node, scale float64, bias *graph.Node) *graph.Node {
	g := scores.Graph()
	x := graph.ConvertDType(graph.StopGradient(scores), bias.DType())
	x = graph.Add(graph.MulScalar(x, scale), graph.StopGradient(bias))
	e := graph.Exp(graph.Sub(x, graph.InsertAxes(graph.ReduceMax(x, -1), -1)))
	p := graph.ConvertDType(graph.Div(e, graph.InsertAxes(graph.ReduceSum(e, -1), -1)), scores.DType())
	// A node that has p's value and whose input, for the gradient, are the scores. XLA makes it p.
	always := graph.BroadcastToDims(graph.Const(g, true), scores.Shape().Dimensions...)
	y := graph.Where(always, p, scores)
	products.Store(y, weights{p, bias, scale})
	return y
}

func init() {
	override(graph.NodeTypeWhere, func(node, v *graph.Node) []*graph.Node {
		a, ok := recorded[weights](node)
		if !ok {
			return nil
		}
		p, dp := graph.ConvertDType(a.p, a.bias.DType()), graph.ConvertDType(v, a.bias.DType())
		inner := graph.InsertAxes(graph.ReduceSum(graph.Mul(p, dp), -1), -1)
		ds := graph.MulScalar(graph.Mul(p, graph.Sub(dp, inner)), a.scale)
		return []*graph.Node{nil, nil, graph.ConvertDType(ds, v.DType())}
	})
	override(graph.NodeTypeDotGeneral, func(node, v *graph.Node) []*graph.Node {
		if a, ok := recorded[appended](node); ok {
			both := node.Inputs()[1] // [W|B]
			db := graph.DotGeneral(v, []int{0}, nil, a.z, []int{0}, nil)
			return []*graph.Node{
				graph.DotGeneral(v, []int{1}, nil, both, []int{0}, nil),
				graph.Concatenate([]*graph.Node{graph.ZerosLike(a.w), db}, 1),
			}
		}
		a, ok := recorded[dotAxes](node)
		if !ok {
			return nil
		}
		return []*graph.Node{
			a.gradient(v, true),
			a.gradient(v, false),
		}
	})
	override(graph.NodeTypeSlice, func(node, v *graph.Node) []*graph.Node {
		a, ok := recorded[sliceAxes](node)
		if !ok {
			return nil
		}
		parts := make([]*graph.Node, 0, 3)
		zeros := func(n int) {
			if n > 0 {
				s := a.x.Shape().Clone()
				s.Dimensions[a.axis] = n
				parts = append(parts, graph.Zeros(v.Graph(), s))
			}
		}
		zeros(a.start)
		parts = append(parts, v)
		zeros(a.x.Shape().Dimensions[a.axis] - a.limit)
		return []*graph.Node{graph.Concatenate(parts, a.axis)}
	})
}

// forget drops what was recorded for g.
func forget(g *graph.Graph) {
	products.Range(func(node, _ any) bool {
		if node.(*graph.Node).Graph() == g {
			products.Delete(node)
		}
		return true
	})
}

// override puts rule before GoMLX's own one, which serves where rule returns nil. It changes the process's table, as
// its documentation allows.
func override(t graph.NodeType, rule func(node, v *graph.Node) []*graph.Node) {
	before := graph.VJPRegistration[t]
	graph.VJPRegistration[t] = func(node *graph.Node, vs []*graph.Node, s shapes.Shape) []*graph.Node {
		if grads := rule(node, vs[0]); grads != nil {
			return grads
		}
		return before(node, vs, s)
	}
}

func recorded[T any](node *graph.Node) (T, bool) {
	a, ok := products.Load(node)
	if !ok {
		var none T
		return none, false
	}
	t, ok := a.(T)
	return t, ok
}

// gradient is v's product with the other operand, brought to this operand's axes.
func (a dotAxes) gradient(v *graph.Node, ofLHS bool) *graph.Node {
	this, other := a.lhs, a.rhs
	thisContract, otherContract, thisBatch, otherBatch := a.lhsContract, a.rhsContract, a.lhsBatch, a.rhsBatch
	if !ofLHS {
		this, other = other, this
		thisContract, otherContract, thisBatch, otherBatch = otherContract, thisContract, otherBatch, thisBatch
	}
	batch := len(thisBatch)
	thisFree := free(this.Rank(), thisContract, thisBatch)
	otherFree := free(other.Rank(), otherContract, otherBatch)
	// v is [batch, lhs free, rhs free].
	vBatch := span(0, batch)
	vOther := span(batch+len(thisFree), len(otherFree))
	if !ofLHS {
		vOther = span(batch, len(otherFree))
	}
	at := append([]int(nil), thisBatch...) // the axis of `this` that each axis of d is
	// What is left of other, in its own order, are its contracted axes.
	left := free(other.Rank(), otherFree, otherBatch)
	leftAt := make([]int, len(left))
	for i, axis := range left {
		for k, c := range otherContract {
			if c == axis {
				leftAt[i] = thisContract[k]
			}
		}
	}
	d := graph.DotGeneral(v, vOther, vBatch, other, otherFree, otherBatch)
	at = append(append(at, thisFree...), leftAt...)
	perm := make([]int, len(at))
	same := true
	for i, axis := range at {
		perm[axis] = i
		same = same && i == axis
	}
	if same {
		return d
	}
	if len(perm) != this.Rank() {
		panic(fmt.Errorf("gradient of a product: %v does not name every axis of %s", at, this.Shape()))
	}
	return graph.TransposeAllAxes(d, perm...)
}

func free(rank int, used ...[]int) []int {
	var out []int
next:
	for axis := range rank {
		for _, u := range used {
			for _, a := range u {
				if a == axis {
					continue next
				}
			}
		}
		out = append(out, axis)
	}
	return out
}

func span(start, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = start + i
	}
	return out
}
