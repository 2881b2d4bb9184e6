package model

import (
	"fmt"
	"math"

	"teamtalk/model/backend"
	"teamtalk/model/checkpoint"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
)

// Rows is a batch for training or scoring: M·R rows of T tokens, flat, the rows of run 0 first. Several sequences can share a
// row: Segments numbers them from 1, 0 is padding; Positions restart with each. Targets holds each token's successor.
type Rows struct {
	IDs, Segments, Positions, Targets []int32
}

// RowNodes are Rows in a graph, each [M·R, T], int32.
type RowNodes struct {
	IDs, Segments, Positions, Targets *Node
}

// Tensors makes the batch's tensors of rows x t, in the order IDs, Segments, Positions, Targets.
func (r Rows) Tensors(rows, t int) ([]*tensors.Tensor, error) {
	var out []*tensors.Tensor
	for _, flat := range [][]int32{r.IDs, r.Segments, r.Positions, r.Targets} {
		if len(flat) != rows*t {
			return nil, fmt.Errorf("batch of %d tokens, expected %d rows of %d", len(flat), rows, t)
		}
		out = append(out, tensors.FromFlatDataAndDimensions(flat, rows, t))
	}
	return out, nil
}

// RowShapes are the shapes of Rows.Tensors.
func RowShapes(rows, t int) []shapes.Shape {
	s := shapes.Make(dtypes.Int32, rows, t)
	return []shapes.Shape{s, s, s, s}
}

// Tensors are the frozen weights on the device, for a program that takes them as inputs. They stay w's.
func (w *Weights) Tensors() []*tensors.Tensor { return w.tensors }

// Shapes are the shapes of Tensors.
func (w *Weights) Shapes() []shapes.Shape { return shapesOf(w.tensors) }

// LogProbs builds the training forward: the log-probability of every successor and the entropy of the distribution it came
// from, at temperature (an f32 scalar), both [R·T], f32, rows sorted by run. The entropy carries no gradient; the log-probability has one for
// weights and adapters. weights are nodes of Weights.Tensors; adapters those of Adapters.Tensors of M runs, or none.
func LogProbs(c checkpoint.Config, weights []*Node, l *LoRA, adapters []*Node, in RowNodes, temperature *Node) (logp, entropy *Node) {
	net := newNetwork(c, weights)
	if l != nil {
		net = net.withAdapters(*l, adapters)
	}
	return net.scored(in.IDs, in.Segments, in.Positions, in.Targets, temperature)
}

// Scorer computes log-probabilities of given tokens, with the layers that training uses.
type Scorer struct {
	dev      *backend.Device
	weights  *Weights
	adapters *Adapters // nil: the base model
	rows, t  int
	program  *backend.Program
	logits   *backend.Program
}

// NewScorer compiles scoring of batches of rows x t tokens with the adapters of M runs, or none. rows counts those of all
// runs, as many for each.
func NewScorer(dev *backend.Device, w *Weights, a *Adapters, rows, t int) (*Scorer, error) {
	if rows < 1 || t < 1 {
		return nil, fmt.Errorf("scoring: batches of %d rows of %d tokens, expected at least 1 of 1", rows, t)
	}
	if a != nil && rows%a.Runs != 0 {
		return nil, fmt.Errorf("scoring: %d rows for %d runs, expected as many for each run", rows, a.Runs)
	}
	s := &Scorer{dev: dev, weights: w, adapters: a, rows: rows, t: t}
	var err error
	s.program, err = dev.Compile(fmt.Sprintf("score_%dx%d", rows, t), s.shapes(), func(_ *Graph, in []*Node) []*Node {
		ids, temperature, net := s.arrange(in)
		logp, entropy := net.scored(ids.IDs, ids.Segments, ids.Positions, ids.Targets, temperature)
		return []*Node{logp, entropy}
	})
	return s, err
}

func (s *Scorer) shapes() []shapes.Shape {
	in := append(RowShapes(s.rows, s.t), shapes.Make(dtypes.Float32))
	in = append(in, s.weights.Shapes()...)
	if s.adapters != nil {
		in = append(in, shapesOf(s.adapters.Tensors)...)
	}
	return in
}

func (s *Scorer) arrange(in []*Node) (RowNodes, *Node, *network) {
	n := len(s.weights.tensors)
	net := newNetwork(s.weights.Config, in[5:5+n])
	if s.adapters != nil {
		net = net.withAdapters(s.adapters.LoRA, in[5+n:])
	}
	return RowNodes{in[0], in[1], in[2], in[3]}, in[4], net
}

// Score returns the log-probability of every token's successor and the entropy of its distribution at temperature, each
// [rows·T]. Values at padding mean nothing. The temperature is above 0: at 0 there is no distribution.
func (s *Scorer) Score(r Rows, temperature float64) (logp, entropy []float32, err error) {
	if !(temperature > 0) || math.IsInf(temperature, 1) {
		return nil, nil, fmt.Errorf("scoring: temperature is %g, expected a number above 0", temperature)
	}
	out, err := s.run(s.program, r, temperature)
	if err != nil {
		return nil, nil, err
	}
	defer free(out)
	if logp, err = tensors.CopyFlatData[float32](out[0]); err != nil {
		return nil, nil, err
	}
	entropy, err = tensors.CopyFlatData[float32](out[1])
	return logp, entropy, err
}

// Logits returns the model's output itself, f32, [rows·T, V]. It is for comparing implementations.
func (s *Scorer) Logits(r Rows) ([]float32, error) {
	if s.logits == nil {
		p, err := s.dev.Compile(fmt.Sprintf("logits_%dx%d", s.rows, s.t), s.shapes(), func(_ *Graph, in []*Node) []*Node {
			ids, _, net := s.arrange(in)
			return []*Node{net.logitsOf(ids.IDs, ids.Segments, ids.Positions)}
		})
		if err != nil {
			return nil, err
		}
		s.logits = p
	}
	out, err := s.run(s.logits, r, 1)
	if err != nil {
		return nil, err
	}
	defer free(out)
	return tensors.CopyFlatData[float32](out[0])
}

func (s *Scorer) run(p *backend.Program, r Rows, temperature float64) ([]*tensors.Tensor, error) {
	in, err := r.Tensors(s.rows, s.t)
	if err != nil {
		return nil, err
	}
	in = append(in, tensors.FromScalar(float32(temperature)))
	defer free(in)
	args := append(append([]*tensors.Tensor(nil), in...), s.weights.tensors...)
	if s.adapters != nil {
		args = append(args, s.adapters.Tensors...)
	}
	return p.Run(args...)
}

// Close frees the programs; weights and adapters stay.
func (s *Scorer) Close() {
	for _, p := range []*backend.Program{s.program, s.logits} {
		if p != nil {
			_ = p.Close()
		}
	}
}

func free(ts []*tensors.Tensor) {
	for _, t := range ts {
		t.MustFinalizeAll()
	}
}
