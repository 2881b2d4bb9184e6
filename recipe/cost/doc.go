// Package cost computes what the parts of training and sampling need: floating-point operations, bytes that must be read, and
// device memory. Nothing here runs anything: the numbers follow from a model's shape and a batch's.
package cost

import (
	"teamtalk/model"
	"teamtalk/model/checkpoint"
)

// Model is the shape that costs are computed for.
type Model struct {
	Config checkpoint.Config
	LoRA   model.LoRA
	Bytes  int // of a frozen weight or an activation: 2 in bf16, 4 in f32
}

// Linear counts the weights of the linear maps of all layers: each is multiplied with every token once.
func (m Model) Linear() float64 {
	n := 0
	for _, name := range checkpoint.Linears {
		in, out, _ := m.Config.Linear(name)
		n += in * out
	}
	return float64(m.Config.NumHiddenLayers) * float64(n)
}

// Adapters counts the LoRA weights of one run: r·(in + out) of every target.
func (m Model) Adapters() float64 {
	n := 0
	for _, name := range m.LoRA.Targets {
		in, out, _ := m.Config.Linear(name)
		n += m.LoRA.Rank * (in + out)
	}
	return float64(m.Config.NumHiddenLayers) * float64(n)
}

// Head counts the weights of the output head, [V, H].
func (m Model) Head() float64 { return float64(m.Config.VocabSize) * float64(m.Config.HiddenSize) }

// cacheBytes is what one token takes in the keys and values of all layers.
func (m Model) cacheBytes() float64 {
	c := m.Config
	return float64(2*c.NumHiddenLayers*c.NumKeyValueHeads*c.HeadDim) * float64(m.Bytes)
}

// attention counts the operations of one token that attends to context tokens, in all layers: QK' and PV, two operations for
// each of heads·D values.
func (m Model) attention(context float64) float64 {
	c := m.Config
	return 4 * float64(c.NumHiddenLayers*c.NumAttentionHeads*c.HeadDim) * context
}
