package grpo

import (
	"fmt"

	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// TokenWeights gives, for each completion of a batch, the weight of one of its tokens in the loss: the normalisation that
// TRL's loss_type names. lengths are the numbers of trained tokens (0: the completion is masked), microBatches the number of
// equal parts that the batch is split into in order, as gradient accumulation would.
//
//	grpo     1/(B·length)          every completion weighs the same
//	bnpo     1/(tokens of the part · parts)
//	dr_grpo  1/(B·maxLength)
//	dapo     1/(tokens of the batch)
func TokenWeights(lossType string, lengths []int, maxLength, microBatches int) ([]float64, error) {
	b := len(lengths)
	if microBatches < 1 || b%microBatches != 0 {
		return nil, fmt.Errorf("loss: %d completions in %d micro-batches; expected equal parts", b, microBatches)
	}
	part := b / microBatches
	out := make([]float64, b)
	total := 0
	for _, n := range lengths {
		total += n
	}
	for i, n := range lengths {
		if n == 0 {
			continue
		}
		switch lossType {
		case "grpo":
			out[i] = 1 / (float64(b) * float64(n))
		case "bnpo":
			sum := 0
			for _, k := range lengths[i/part*part : (i/part+1)*part] {
				sum += k
			}
			out[i] = 1 / (float64(sum) * float64(microBatches))
		case "dr_grpo":
			out[i] = 1 / (float64(b) * float64(maxLength))
		case "dapo":
			out[i] = 1 / float64(total)
		default:
			return nil, fmt.Errorf("loss_type %q: expected grpo, bnpo, dr_grpo or dapo", lossType)
		}
	}
	return out, nil
}

// ClipRange bounds the probability ratio from below at 1-Epsilon and from above at 1+EpsilonHigh.
type ClipRange struct{ Epsilon, EpsilonHigh float64 }

// objective is the loss of each token: -w·min(ρA, clip(ρ)A), ρ the ratio of the trained policy's probability to the one that
// sampled the token. old nil means on-policy: ρ is 1, its gradient that of the log-probability. All are of one shape.
func objective(logp, weight, advantage, old *Node, clip ClipRange) *Node {
	if old == nil {
		old = StopGradient(logp)
	}
	ratio := Exp(Sub(logp, old))
	clipped := MinScalar(MaxScalar(ratio, 1-clip.Epsilon), 1+clip.EpsilonHigh)
	return Neg(Mul(weight, Min(Mul(ratio, advantage), Mul(clipped, advantage))))
}
