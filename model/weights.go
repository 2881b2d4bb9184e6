package model

import (
	"fmt"

	"teamtalk/model/backend"
	"teamtalk/model/checkpoint"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/dtypes/bfloat16"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
)

// Source gives a checkpoint's tensors by their Hugging Face names, converted into the caller's buffer.
// checkpoint.Checkpoint is one.
type Source interface {
	ReadF32(name string, dst []float32) error
	ReadBF16(name string, dst []uint16) error
}

// Weights are a model's frozen weights on a device, the linear maps of a group joined.
type Weights struct {
	Config checkpoint.Config
	DType  dtypes.DType
	// tensors in the order of weightSpecs
	tensors []*tensors.Tensor
}

// weightSpec is one tensor on the device: the named tensors below each other.
type weightSpec struct {
	names []string
	shape shapes.Shape
}

// weightSpecs lists the device tensors: embedding, each layer's norm, the groups with the first one's bias, the second norm;
// the last norm; the head when it is not tied.
func weightSpecs(c checkpoint.Config, dtype dtypes.DType) []weightSpec {
	specs := []weightSpec{{[]string{"model.embed_tokens.weight"}, shapes.Make(dtype, c.VocabSize, c.HiddenSize)}}
	for l := range c.NumHiddenLayers {
		prefix := fmt.Sprintf("model.layers.%d.", l)
		specs = append(specs, weightSpec{[]string{prefix + "input_layernorm.weight"}, shapes.Make(dtype, c.HiddenSize)})
		for i, g := range groups(c) {
			var w, b []string
			for _, m := range g.modules {
				name := checkpoint.LinearName(l, m)
				w, b = append(w, name+".weight"), append(b, name+".bias")
			}
			specs = append(specs, weightSpec{w, shapes.Make(dtype, g.out, g.in)})
			if i == groupQKV {
				specs = append(specs, weightSpec{b, shapes.Make(dtype, g.out)})
			}
		}
		specs = append(specs, weightSpec{[]string{prefix + "post_attention_layernorm.weight"}, shapes.Make(dtype, c.HiddenSize)})
	}
	specs = append(specs, weightSpec{[]string{"model.norm.weight"}, shapes.Make(dtype, c.HiddenSize)})
	if !c.TieWordEmbeddings {
		specs = append(specs, weightSpec{[]string{"lm_head.weight"}, shapes.Make(dtype, c.VocabSize, c.HiddenSize)})
	}
	return specs
}

// LoadWeights reads a model's weights into dev's memory, in dev.DType.
func LoadWeights(dev *backend.Device, c checkpoint.Config, src Source) (*Weights, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("model configuration: %w", err)
	}
	sizes := map[string]int{}
	for _, s := range c.Specs() {
		sizes[s.Name] = numel(s.Shape)
	}
	w := &Weights{Config: c, DType: dev.DType}
	for _, spec := range weightSpecs(c, dev.DType) {
		t := tensors.FromShape(spec.shape)
		var err error
		read := func(f func(name string, from, to int) error) {
			at := 0
			for _, name := range spec.names {
				if err == nil {
					err = f(name, at, at+sizes[name])
				}
				at += sizes[name]
			}
		}
		if dev.DType == dtypes.BFloat16 {
			tensors.MustMutableFlatData(t, func(flat []bfloat16.BFloat16) {
				read(func(name string, from, to int) error { return src.ReadBF16(name, bits16(flat)[from:to]) })
			})
		} else {
			tensors.MustMutableFlatData(t, func(flat []float32) {
				read(func(name string, from, to int) error { return src.ReadF32(name, flat[from:to]) })
			})
		}
		if err == nil {
			err = moveToDevice(dev, t)
		}
		if err != nil {
			w.Free()
			return nil, fmt.Errorf("loading %v: %w", spec.names, err)
		}
		w.tensors = append(w.tensors, t)
	}
	return w, nil
}

// Free gives the device memory back.
func (w *Weights) Free() {
	for _, t := range w.tensors {
		t.MustFinalizeAll()
	}
	w.tensors = nil
}

// Values copies the weights to the host, f32, by their Hugging Face names. It is for models small enough to train whole.
func (w *Weights) Values() (map[string][]float32, error) {
	if w.DType != dtypes.Float32 {
		return nil, fmt.Errorf("weights are kept in %s, expected f32", w.DType)
	}
	sizes := map[string]int{}
	for _, s := range w.Config.Specs() {
		sizes[s.Name] = numel(s.Shape)
	}
	out := map[string][]float32{}
	for i, spec := range weightSpecs(w.Config, w.DType) {
		flat, err := tensors.CopyFlatData[float32](w.tensors[i])
		if err != nil {
			return nil, fmt.Errorf("reading %v: %w", spec.names, err)
		}
		w.tensors[i].FinalizeLocal()
		for _, name := range spec.names {
			out[name], flat = flat[:sizes[name]:sizes[name]], flat[sizes[name]:]
		}
	}
	return out, nil
}

// Replace takes tensors, in the order of Tensors, for the weights; the old ones are the caller's.
func (w *Weights) Replace(ts []*tensors.Tensor) { w.tensors = ts }

// shapesOf are the shapes of tensors.
func shapesOf(ts []*tensors.Tensor) []shapes.Shape {
	out := make([]shapes.Shape, len(ts))
	for i, t := range ts {
		out[i] = t.Shape()
	}
	return out
}

// moveToDevice leaves t's values on the device only.
func moveToDevice(dev *backend.Device, t *tensors.Tensor) error {
	if err := t.MaterializeOnDevice(dev.Backend, false, 0); err != nil {
		return err
	}
	t.FinalizeLocal()
	return nil
}

// newNetwork arranges nodes, in the order of weightSpecs, as a network without adapters.
func newNetwork(c checkpoint.Config, nodes []*Node) *network {
	next := func() *Node { n := nodes[0]; nodes = nodes[1:]; return n }
	net := &network{config: c, embed: next(), layers: make([]layer, c.NumHiddenLayers)}
	gs := groups(c)
	for i := range net.layers {
		l := &net.layers[i]
		l.inputNorm = next()
		for j := range l.linears {
			l.linears[j] = linear{w: next(), out: gs[j].out}
			if j == groupQKV {
				l.qkvBias = next()
			}
		}
		l.postNorm = next()
	}
	net.norm = next()
	net.head = net.embed
	if !c.TieWordEmbeddings {
		net.head = next()
	}
	return net
}

func numel(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// Memory is a Source of values that are already in memory, by Hugging Face name.
type Memory map[string][]float32

// ReadF32 copies a tensor.
func (m Memory) ReadF32(name string, dst []float32) error {
	v, ok := m[name]
	if !ok || len(v) != len(dst) {
		return fmt.Errorf("tensor %s: %d values in memory, expected %d", name, len(v), len(dst))
	}
	copy(dst, v)
	return nil
}

// ReadBF16 copies a tensor, rounded to nearest even.
func (m Memory) ReadBF16(name string, dst []uint16) error {
	v, ok := m[name]
	if !ok || len(v) != len(dst) {
		return fmt.Errorf("tensor %s: %d values in memory, expected %d", name, len(v), len(dst))
	}
	for i, x := range v {
		dst[i] = checkpoint.BF16(x)
	}
	return nil
}
