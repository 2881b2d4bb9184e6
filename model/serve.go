package model

import (
	"fmt"
	"slices"

	"teamtalk/model/backend"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
)

// served is what sampling reads: the frozen weights with every run's A appended below them, and the stacked B's. Frozen
// weights are never changed: the adapters are not merged.
type served struct {
	lora    *LoRA // nil: no adapters
	runs    int
	appends []int // index in Weights.tensors of each group that has an adapter, in order
	program *backend.Program
	wa, bs  []*tensors.Tensor
}

// newServed compiles the program that prepares adapters of this shape.
func newServed(dev *backend.Device, w *Weights, lora *LoRA, runs int) (*served, error) {
	s := &served{lora: lora, runs: runs}
	if lora == nil {
		return s, nil
	}
	c := w.Config
	gs := groups(c)
	at := 0
	for i, spec := range weightSpecs(c, w.DType) {
		if len(spec.shape.Dimensions) != 2 || i == 0 || at == c.NumHiddenLayers*groupsPerLayer {
			continue
		}
		if lora.touches(gs[at%groupsPerLayer]) {
			s.appends = append(s.appends, i)
		}
		at++
	}
	var in []shapes.Shape
	for _, i := range s.appends {
		in = append(in, w.tensors[i].Shape())
	}
	in = append(in, lora.Shapes(c, runs)...)
	var err error
	s.program, err = dev.Compile(fmt.Sprintf("serve_m%d_r%d", runs, lora.Rank), in, func(_ *Graph, in []*Node) []*Node {
		as, bs := lora.fusedAdapters(c, in[len(s.appends):], w.DType)
		var out, stacked []*Node
		for l := range as {
			for j := range as[l] {
				if as[l][j] == nil {
					continue
				}
				a, b := as[l][j], bs[l][j] // [M, k·r, in], [M, out, k·r]
				kr, width, rows := a.Shape().Dimensions[1], a.Shape().Dimensions[2], b.Shape().Dimensions[1]
				out = append(out, Concatenate([]*Node{in[len(out)], Reshape(a, runs*kr, width)}, 0))
				stacked = append(stacked, Reshape(TransposeAllAxes(b, 1, 0, 2), rows, runs*kr))
			}
		}
		return append(out, stacked...)
	})
	return s, err
}

func (l LoRA) touches(g group) bool {
	for _, m := range g.modules {
		for _, t := range l.Targets {
			if m == t {
				return true
			}
		}
	}
	return false
}

// load makes the adapters' current values the ones that are sampled from.
func (s *served) load(w *Weights, a *Adapters) error {
	if s.lora == nil {
		if a != nil {
			return fmt.Errorf("this sampler was made without adapters")
		}
		return nil
	}
	if a == nil || a.Tensors == nil {
		return fmt.Errorf("this sampler was made for %d adapters of %s, none given", s.runs, s.lora)
	}
	// Two sets of targets can have tensors of the same shapes, and alpha has none: both are compiled in.
	if a.Runs != s.runs || a.Rank != s.lora.Rank || a.Alpha != s.lora.Alpha || !slices.Equal(a.Targets, s.lora.Targets) {
		return fmt.Errorf("this sampler was made for %d adapters of %s, found %d of %s", s.runs, s.lora, a.Runs, a.LoRA)
	}
	s.free() // first, so that two copies never stand side by side
	var in []*tensors.Tensor
	for _, i := range s.appends {
		in = append(in, w.tensors[i])
	}
	out, err := s.program.Run(append(in, a.Tensors...)...)
	if err != nil {
		return err
	}
	s.wa, s.bs = out[:len(s.appends)], out[len(s.appends):]
	return nil
}

func (s *served) free() {
	for _, t := range append(s.wa, s.bs...) {
		t.MustFinalizeAll()
	}
	s.wa, s.bs = nil, nil
}

// inputs are the tensors that a sampling program takes after its own: weights, then stacked B's.
func (s *served) inputs(w *Weights) []*tensors.Tensor {
	in := append([]*tensors.Tensor(nil), w.tensors...)
	for i, at := range s.appends {
		in[at] = s.wa[i]
	}
	return append(in, s.bs...)
}

// shapes are the shapes of inputs, known before load.
func (s *served) shapes(w *Weights) []shapes.Shape {
	out := shapesOf(w.tensors)
	gs := groups(w.Config)
	var stacked []shapes.Shape
	for i, at := range s.appends {
		g := gs[s.groupOf(i, gs)]
		k := 0
		for _, m := range g.modules {
			for _, t := range s.lora.Targets {
				if m == t {
					k++
				}
			}
		}
		extra := s.runs * k * s.lora.Rank
		out[at] = shapes.Make(w.DType, g.out+extra, g.in)
		stacked = append(stacked, shapes.Make(w.DType, g.out, extra))
	}
	return append(out, stacked...)
}

// groupOf tells which group the i-th appended weight is.
func (s *served) groupOf(i int, gs [groupsPerLayer]group) int {
	var touched []int
	for j, g := range gs {
		if s.lora.touches(g) {
			touched = append(touched, j)
		}
	}
	return touched[i%len(touched)]
}

// network arranges the nodes of inputs as a network for rows whose runs are runOf [n].
func (s *served) network(w *Weights, nodes []*Node, runOf *Node) *network {
	net := newNetwork(w.Config, nodes[:len(w.tensors)])
	stacked := nodes[len(w.tensors):]
	if s.lora == nil {
		return net
	}
	gs := groups(w.Config)
	for l := range net.layers {
		for j := range net.layers[l].linears {
			if s.lora.touches(gs[j]) {
				lin := &net.layers[l].linears[j]
				lin.stacked, lin.runs = stacked[0], s.runs
				if s.runs > 1 {
					lin.runOf = runOf
				}
				stacked = stacked[1:]
			}
		}
	}
	return net
}
