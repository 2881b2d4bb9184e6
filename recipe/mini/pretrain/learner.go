package main

import (
	"fmt"

	"teamtalk/model"
	"teamtalk/model/backend"
	"teamtalk/recipe/data"
	"teamtalk/recipe/grpo"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
)

// network trains every weight of a model on packed batches of one shape. It is a learner.
type network struct {
	weights       *model.Weights
	first, second []*tensors.Tensor // AdamW's moments
	steps         int
	program       *backend.Program
}

func newNetwork(dev *backend.Device, w *model.Weights, rows, width int, optim grpo.AdamW) (*network, error) {
	m := &network{weights: w}
	var in []shapes.Shape
	var opts []backend.Option
	for range 3 { // weights and moments stay where they are
		for _, s := range w.Shapes() {
			opts = append(opts, backend.InPlace(len(in), len(in)))
			in = append(in, s)
		}
	}
	scalar := shapes.Make(dtypes.Float32)
	in = append(in, model.RowShapes(rows, width)...)
	in = append(in, shapes.Make(dtypes.Float32, rows, width), scalar, scalar, scalar)
	n := len(w.Shapes())
	var err error
	m.program, err = dev.Compile("pretrain", in, func(g *Graph, in []*Node) []*Node {
		weights, first, second, in := in[:n], in[n:2*n], in[2*n:3*n], in[3*n:]
		batch := model.RowNodes{IDs: in[0], Segments: in[1], Positions: in[2], Targets: in[3]}
		share, norm, rate, step := Reshape(in[4], -1), in[5], in[6], in[7]
		logp, _ := model.LogProbs(w.Config, weights, nil, nil, batch, Const(g, float32(1)))
		loss := Neg(Div(ReduceAllSum(Mul(logp, share)), norm))
		grads := Gradient(loss, weights...)
		p, m1, m2, gradNorm := optim.Update(1, weights, first, second, grads, rate, step)
		return append(append(append(p, m1...), m2...), loss, gradNorm)
	}, opts...)
	if err != nil {
		return nil, err
	}
	for _, s := range w.Shapes() {
		m.first = append(m.first, tensors.FromShape(s))
		m.second = append(m.second, tensors.FromShape(s))
	}
	return m, nil
}

// Step is one AdamW update of all weights on a batch.
func (m *network) Step(b *data.Packed, learningRate, norm float64) (loss, gradNorm float64, err error) {
	rows := model.Rows{IDs: b.IDs, Segments: b.Segments, Positions: b.Positions, Targets: b.Targets}
	mine, err := rows.Tensors(b.R, b.T)
	if err != nil {
		return 0, 0, err
	}
	mine = append(mine, tensors.FromFlatDataAndDimensions(b.Weights, b.R, b.T))
	for _, v := range []float64{norm, learningRate, float64(m.steps + 1)} {
		mine = append(mine, tensors.FromScalar(float32(v)))
	}
	n := len(m.first)
	in := append(append(append([]*tensors.Tensor(nil), m.weights.Tensors()...), m.first...), m.second...)
	out, err := m.program.Run(append(in, mine...)...)
	for _, t := range mine {
		t.MustFinalizeAll()
	}
	if err != nil {
		return 0, 0, err
	}
	m.weights.Replace(out[:n:n])
	m.first, m.second = out[n:2*n:2*n], out[2*n:3*n:3*n]
	m.steps++
	loss = float64(tensors.ToScalar[float32](out[3*n]))
	norms, err := tensors.CopyFlatData[float32](out[3*n+1])
	if err != nil {
		return 0, 0, fmt.Errorf("reading the gradient's norm: %w", err)
	}
	out[3*n].MustFinalizeAll()
	out[3*n+1].MustFinalizeAll()
	return loss, float64(norms[0]), nil
}

// Weights copies the trained weights to the host.
func (m *network) Weights() (map[string][]float32, error) { return m.weights.Values() }
