package model

import (
	"fmt"

	"teamtalk/model/backend"
	"teamtalk/model/checkpoint"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
)

// Branched is a batch of prompts with several replies each, for training: R rows of T tokens, flat, each row of any one of the M
// runs. A segment (from 1 on, 0 is padding) is a prompt and replies to it. The prompt stands once, as branch 0; each reply is a branch
// of its own and sees the prompt and itself. Positions are those of prompt and reply read through.
//
// Only the K predictions that matter are computed: At holds the flat index of the token that predicts, Targets what came. The
// last token of a prompt predicts the first of every reply.
type Branched struct {
	IDs, Segments, Branches, Positions []int32 // [R·T]
	Runs                               []int32 // [R] whose adapters a row uses, from 0 on
	At, Targets                        []int32 // [K]
}

// BranchedNodes is Branched in a graph: four nodes [R, T], one [R] and two [K], int32.
type BranchedNodes struct {
	IDs, Segments, Branches, Positions, Runs, At, Targets *Node
}

// BranchedNodesOf names the nodes that BranchedShapes describes.
func BranchedNodesOf(in []*Node) BranchedNodes {
	return BranchedNodes{in[0], in[1], in[2], in[3], in[4], in[5], in[6]}
}

// Tensors makes the batch's tensors, in the order of the fields.
func (b Branched) Tensors(rows, t, k int) ([]*tensors.Tensor, error) {
	var out []*tensors.Tensor
	for _, flat := range [][]int32{b.IDs, b.Segments, b.Branches, b.Positions} {
		if len(flat) != rows*t {
			return nil, fmt.Errorf("batch of %d tokens, expected %d rows of %d", len(flat), rows, t)
		}
		out = append(out, tensors.FromFlatDataAndDimensions(flat, rows, t))
	}
	if len(b.Runs) != rows {
		return nil, fmt.Errorf("batch of %d rows with the runs of %d, expected one for each", rows, len(b.Runs))
	}
	out = append(out, tensors.FromFlatDataAndDimensions(b.Runs, rows))
	for _, flat := range [][]int32{b.At, b.Targets} {
		if len(flat) != k {
			return nil, fmt.Errorf("batch of %d predictions, expected %d", len(flat), k)
		}
		out = append(out, tensors.FromFlatDataAndDimensions(flat, k))
	}
	return out, nil
}

// BranchedShapes are the shapes of Branched.Tensors.
func BranchedShapes(rows, t, k int) []shapes.Shape {
	s, p := shapes.Make(dtypes.Int32, rows, t), shapes.Make(dtypes.Int32, k)
	return []shapes.Shape{s, s, s, s, shapes.Make(dtypes.Int32, rows), p, p}
}

// BranchedLogProbs is LogProbs for a Branched batch: the log-probability of every target, and the entropy of the distribution
// it came from, both [K].
func BranchedLogProbs(c checkpoint.Config, weights []*Node, l *LoRA, runs int, adapters []*Node, in BranchedNodes, temperature *Node) (logp, entropy *Node) {
	net := newNetwork(c, weights)
	if l != nil {
		net = net.withAdapters(*l, ofRows(adapters, runs, in.Runs))
	}
	x := net.hidden(Reshape(in.IDs, -1), Reshape(in.Positions, -1), attendRows(c, in.Segments, in.Branches, in.Positions))
	return logProbs(net.logits(rowsAt(x, in.At)), in.Targets, temperature)
}

// rowsAt is the rows of x [n, H] at the places of at [K], as a product with a matrix of ones and zeros: exact, since all terms but
// one are 0. Its gradient is a product too. Where a place stands several times, as the last token of a prompt does for its
// replies, a gather's gradient adds up with atomic operations on a GPU, in an order that differs from one time to the next, and
// two runs of one seed part after their first step.
func rowsAt(x, at *Node) *Node {
	n, k := x.Shape().Dimensions[0], at.Shape().Dimensions[0]
	chosen := Equal(iota2(x.Graph(), k, n, 1), BroadcastToDims(Reshape(at, k, 1), k, n))
	return backend.Dot(ConvertDType(chosen, x.DType()), []int{1}, nil, x, []int{0}, nil)
}

// ofRows chooses for each row of a batch the adapters of its run: [M, ..] and runs [R] give [R, ..]. It is a sum in which all
// terms but one are 0, so that the values are exact, and the gradient is each run's sum over its rows, in f32 and in one order.
func ofRows(adapters []*Node, m int, runs *Node) []*Node {
	if m == 1 {
		return adapters // all rows read the one run's
	}
	rows := runs.Shape().Dimensions[0]
	own := Equal(iota2(runs.Graph(), rows, m, 1), BroadcastToDims(Reshape(runs, rows, 1), rows, m))
	out := make([]*Node, len(adapters))
	for i, a := range adapters {
		r, c := a.Shape().Dimensions[1], a.Shape().Dimensions[2]
		chosen := BroadcastToDims(Reshape(own, rows, m, 1, 1), rows, m, r, c)
		each := BroadcastToDims(InsertAxes(a, 0), rows, m, r, c)
		out[i] = ReduceSum(Where(chosen, each, ZerosLike(each)), 1)
	}
	return out
}
