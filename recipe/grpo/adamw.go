package grpo

import (
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

// AdamW holds the optimizer's constants (Loshchilov, Hutter, arXiv:1711.05101), named as in transformers' TrainingArguments.
type AdamW struct {
	Beta1, Beta2, Epsilon float64
	WeightDecay           float64
	MaxGradNorm           float64 // of each run, over all its parameters; 0: no clipping
}

// Update builds one optimizer step: parameters, first and second moments and gradients, with a leading axis of runs when
// runs is above 1, the learning rate and the number of this step (from 1; f32 scalars). It returns the new parameters,
// moments and each run's gradient norm before clipping [runs].
//
// A zero gradient still moves the parameters, by what the moments remember, as PyTorch's does.
func (o AdamW) Update(runs int, params, first, second, grads []*Node, rate, step *Node) (p, m, v []*Node, norm *Node) {
	g := rate.Graph()
	square := Zeros(g, shapes.Make(dtypes.Float32, runs))
	for _, d := range grads {
		square = Add(square, ReduceSum(Reshape(Mul(d, d), runs, -1), -1))
	}
	norm = Sqrt(square)
	scale := OnesLike(norm)
	if o.MaxGradNorm > 0 {
		// torch.nn.utils.clip_grad_norm_ adds 1e-6.
		scale = MinScalar(Div(MulScalar(OnesLike(norm), o.MaxGradNorm), AddScalar(norm, 1e-6)), 1.0)
	}
	one := Const(g, float32(1))
	unbias1 := Sub(one, Exp(MulScalar(step, math.Log(o.Beta1))))
	unbias2 := Sub(one, Exp(MulScalar(step, math.Log(o.Beta2))))
	for i, w := range params {
		axes := make([]int, w.Rank())
		for k := range axes {
			axes[k] = 1
		}
		axes[0] = runs
		d := Mul(ConvertDType(grads[i], dtypes.Float32), Reshape(scale, axes...))
		mi := Add(MulScalar(first[i], o.Beta1), MulScalar(d, 1-o.Beta1))
		vi := Add(MulScalar(second[i], o.Beta2), MulScalar(Mul(d, d), 1-o.Beta2))
		if o.WeightDecay > 0 {
			w = Sub(w, Mul(MulScalar(rate, o.WeightDecay), w))
		}
		w = Sub(w, Mul(rate, Div(Div(mi, unbias1), AddScalar(Sqrt(Div(vi, unbias2)), o.Epsilon))))
		p, m, v = append(p, w), append(m, mi), append(v, vi)
	}
	return p, m, v, norm
}

// LinearRate is transformers' linear schedule without warm-up: step k of n (from 0) uses rate·(n-k)/n.
func LinearRate(rate float64, k, n int) float64 { return rate * float64(n-k) / float64(n) }
