package model

import (
	"fmt"
	"math"
	"slices"

	"teamtalk/model/backend"
	"teamtalk/model/checkpoint"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
)

// LoRA is the shape of low-rank adapters (Hu et al., arXiv:2106.09685), under PEFT's names.
type LoRA struct {
	Rank    int      // r
	Alpha   float64  // lora_alpha; the update is scaled by alpha / r
	Targets []string // target_modules, a subset of checkpoint.Linears in that order
}

// Scale multiplies the adapters' product.
func (l LoRA) Scale() float64 { return l.Alpha / float64(l.Rank) }

// String names the shape for messages.
func (l LoRA) String() string {
	return fmt.Sprintf("rank %d, alpha %g on %v", l.Rank, l.Alpha, l.Targets)
}

// Validate says what is wrong with l, if anything, and puts Targets in order.
func (l *LoRA) Validate() error {
	if l.Rank < 1 {
		return fmt.Errorf("LoRA rank is %d, expected 1 or more", l.Rank)
	}
	if !(l.Alpha > 0) {
		return fmt.Errorf("LoRA alpha is %g, expected more than 0", l.Alpha)
	}
	if len(l.Targets) == 0 {
		return fmt.Errorf("LoRA has no target modules, expected some of %v", checkpoint.Linears)
	}
	for _, t := range l.Targets {
		if !slices.Contains(checkpoint.Linears, t) {
			return fmt.Errorf("LoRA target %q: expected some of %v", t, checkpoint.Linears)
		}
	}
	var ordered []string
	for _, m := range checkpoint.Linears {
		if slices.Contains(l.Targets, m) {
			ordered = append(ordered, m)
		}
	}
	l.Targets = ordered
	return nil
}

// Adapters are the LoRA matrices of M runs on a device, f32: for each layer and target A [M, r, in] and B [M, out, r].
type Adapters struct {
	LoRA
	Config checkpoint.Config
	Runs   int
	// Tensors lists A, B of layer 0's first target, and so on. Names names them the PEFT way.
	Tensors []*tensors.Tensor
}

// Spec is one adapter matrix of all runs.
type Spec struct {
	Name string // base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight
	Rows int    // r for A, out for B
	Cols int    // in for A, r for B
}

// Specs lists the adapter matrices in the order of Adapters.Tensors.
func (l LoRA) Specs(c checkpoint.Config) []Spec {
	var out []Spec
	for i := range c.NumHiddenLayers {
		for _, m := range l.Targets {
			in, rows, _ := c.Linear(m)
			name := "base_model.model." + checkpoint.LinearName(i, m)
			out = append(out, Spec{name + ".lora_A.weight", l.Rank, in}, Spec{name + ".lora_B.weight", rows, l.Rank})
		}
	}
	return out
}

// Shapes are the shapes of Adapters.Tensors for M runs.
func (l LoRA) Shapes(c checkpoint.Config, runs int) []shapes.Shape {
	var out []shapes.Shape
	for _, s := range l.Specs(c) {
		out = append(out, shapes.Make(dtypes.Float32, runs, s.Rows, s.Cols))
	}
	return out
}

// NewAdapters makes the adapters of len(keys) runs as PEFT does: A uniform in ±1/sqrt(in), B zero. A run's values depend on its
// key alone.
func NewAdapters(dev *backend.Device, c checkpoint.Config, l LoRA, keys []Key) (*Adapters, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	values := make([]map[string][]float32, len(keys))
	for run, key := range keys {
		values[run] = map[string][]float32{}
		for i, s := range l.Specs(c) {
			flat := make([]float32, s.Rows*s.Cols)
			if i%2 == 0 { // A
				bound := 1 / math.Sqrt(float64(s.Cols))
				state := uint64(key[0])<<32 | uint64(key[1])
				state = mix64(state ^ mix64(uint64(i)+1))
				for j := range flat {
					state += 0x9e3779b97f4a7c15
					u := float64(mix64(state)>>11) / (1 << 53)
					flat[j] = float32((2*u - 1) * bound)
				}
			}
			values[run][s.Name] = flat
		}
	}
	return AdaptersFrom(dev, c, l, values)
}

// AdaptersFrom makes adapters of given values: one map of PEFT names to row-major values for each run.
func AdaptersFrom(dev *backend.Device, c checkpoint.Config, l LoRA, runs []map[string][]float32) (*Adapters, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	a := &Adapters{LoRA: l, Config: c, Runs: len(runs)}
	for _, s := range l.Specs(c) {
		t := tensors.FromShape(shapes.Make(dtypes.Float32, len(runs), s.Rows, s.Cols))
		var err error
		tensors.MustMutableFlatData(t, func(flat []float32) {
			n := s.Rows * s.Cols
			for m, values := range runs {
				v, ok := values[s.Name]
				if !ok || len(v) != n {
					err = fmt.Errorf("adapter of run %d: %s has %d values, expected %d x %d", m, s.Name, len(v), s.Rows, s.Cols)
					return
				}
				copy(flat[m*n:], v)
			}
		})
		if err == nil {
			err = moveToDevice(dev, t)
		}
		if err != nil {
			a.Free()
			return nil, err
		}
		a.Tensors = append(a.Tensors, t)
	}
	return a, nil
}

// Values copies one run's matrices to the host, by PEFT name.
func (a *Adapters) Values(run int) (map[string][]float32, error) {
	return RunValues(a.LoRA.Specs(a.Config), a.Tensors, run)
}

// RunValues copies one run's slice of tensors [M, rows, cols] to the host, by the names of specs.
func RunValues(specs []Spec, ts []*tensors.Tensor, run int) (map[string][]float32, error) {
	out := map[string][]float32{}
	for i, s := range specs {
		n := s.Rows * s.Cols
		flat := make([]float32, n)
		if err := tensors.ConstFlatData(ts[i], func(all []float32) { copy(flat, all[run*n:(run+1)*n]) }); err != nil {
			return nil, fmt.Errorf("reading %s: %w", s.Name, err)
		}
		if ts[i].IsOnAnyDevice() {
			ts[i].FinalizeLocal()
		}
		out[s.Name] = flat
	}
	return out, nil
}

// Free gives the device memory back.
func (a *Adapters) Free() {
	for _, t := range a.Tensors {
		t.MustFinalizeAll()
	}
	a.Tensors = nil
}

// fusedAdapters joins adapter nodes, in the order of Adapters.Tensors, by layer and group, in the weights' type; nil where a
// group has no target.
func (l LoRA) fusedAdapters(c checkpoint.Config, nodes []*Node, dtype dtypes.DType) (as, bs [][groupsPerLayer]*Node) {
	as, bs = make([][groupsPerLayer]*Node, c.NumHiddenLayers), make([][groupsPerLayer]*Node, c.NumHiddenLayers)
	gs := groups(c)
	for i := range c.NumHiddenLayers {
		of := map[string][2]*Node{}
		for _, m := range l.Targets {
			of[m] = [2]*Node{nodes[0], nodes[1]}
			nodes = nodes[2:]
		}
		for j, g := range gs {
			a, b := make([]*Node, len(g.modules)), make([]*Node, len(g.modules))
			for k, m := range g.modules {
				a[k], b[k] = of[m][0], of[m][1]
			}
			fa, fb := g.fused(a, b, l.Scale())
			if fa != nil {
				as[i][j], bs[i][j] = ConvertDType(fa, dtype), ConvertDType(fb, dtype)
			}
		}
	}
	return as, bs
}

// withAdapters puts the adapters beside net's linear maps, the way training wants them: nodes are those of B equal parts of the
// tokens, [B, r, in] and [B, out, r].
func (net *network) withAdapters(l LoRA, nodes []*Node) *network {
	as, bs := l.fusedAdapters(net.config, nodes, net.embed.DType())
	for i := range net.layers {
		for j := range net.layers[i].linears {
			lin := &net.layers[i].linears[j]
			lin.a, lin.b = as[i][j], bs[i][j]
		}
	}
	return net
}
