package model

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

// logProbs gives, for logits [n, V] divided by temperature (a scalar), the log-probability of targets [n] and the entropy of
// the whole distribution, both [n]. The entropy carries no gradient.
func logProbs(logits, targets, temperature *Node) (logp, entropy *Node) {
	z := Div(logits, temperature)
	z = Sub(z, rowMax(z))
	n, v := z.Shape().Dimensions[0], z.Shape().Dimensions[1]
	e := Exp(z)
	sum := ReduceSum(e, -1) // [n]
	lse := Log(sum)
	chosen := Equal(Iota(z.Graph(), shapes.Make(dtypes.Int32, n, v), 1), Reshape(targets, n, 1))
	target := ReduceSum(Where(chosen, z, ZerosLike(z)), -1)
	mean := Div(ReduceSum(Mul(StopGradient(e), StopGradient(z)), -1), StopGradient(sum))
	return Sub(target, lse), Sub(StopGradient(lse), mean)
}

// topP keeps, in each row of z [n, V] (log-probabilities up to a constant), the smallest set of likeliest tokens whose
// probability reaches p (nucleus sampling, Holtzman et al., arXiv:1904.09751); true where kept.
//
// The set is found through its threshold, eight-fold narrowing by eight-fold narrowing, with no sort: tokens within 3e-6 of
// the threshold's log-probability are kept together. p is a scalar below 1.
func topP(z, p *Node) *Node {
	const depth, ways, rounds = 40.0, 8, 8 // e^-40 and less is no probability
	n, v := z.Shape().Dimensions[0], z.Shape().Dimensions[1]
	z = Sub(z, rowMax(z))
	e := Exp(z)
	target := Mul(ReduceSum(e, -1), p) // [n]
	low := MulScalar(OnesLike(target), -depth)
	step := MulScalar(OnesLike(target), depth/ways)
	none := ZerosLike(z)
	for range rounds {
		// The thresholds low + i·step that still leave enough; their number moves low. The sums are apart so that a compiler can
		// take them in one reading of z.
		moves := ZerosLike(low)
		for i := 1; i < ways; i++ {
			mark := Add(low, MulScalar(step, float64(i)))
			above := GreaterOrEqual(z, BroadcastToDims(Reshape(mark, n, 1), n, v))
			mass := ReduceSum(Where(above, e, none), -1)
			moves = Add(moves, f32(GreaterOrEqual(mass, target)))
		}
		low = Add(low, Mul(step, moves))
		step = DivScalar(step, ways)
	}
	return GreaterOrEqual(z, BroadcastToDims(Reshape(low, n, 1), n, v))
}

// scored is the training and scoring forward: rows of T tokens with segments, positions and each token's successor, flattened
// to [rows·T]; log-probability and entropy of every successor at temperature.
func (net *network) scored(ids, segments, positions, targets, temperature *Node) (logp, entropy *Node) {
	flat := func(x *Node) *Node { return Reshape(x, -1) }
	x := net.hidden(flat(ids), flat(positions), attendRows(net.config, segments, nil, nil))
	return logProbs(net.logits(x), flat(targets), temperature)
}

// logitsOf is scored without the softmax, for tests against other implementations. [rows·T, V]
func (net *network) logitsOf(ids, segments, positions *Node) *Node {
	return net.logits(net.hidden(Reshape(ids, -1), Reshape(positions, -1), attendRows(net.config, segments, nil, nil)))
}
