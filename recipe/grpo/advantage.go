// Package grpo trains with Group Relative Policy Optimisation (Shao et al., arXiv:2402.03300) and LoRA, with the semantics
// and the metric names of TRL's GRPOTrainer. Several runs that share the frozen model train in lockstep.
//
// It knows nothing of prompts' wording or of how replies are graded: see Rollout and the Grade function of Options.
package grpo

import (
	"fmt"
	"math"
)

// Advantages turns the rewards of whole groups, laid out group after group, into advantages: each reward minus its group's
// mean, divided by nothing (scale "none"), by its group's standard deviation + 1e-4 ("group") or by that of the whole batch
// ("batch"); standard deviations with Bessel's correction. A reward of NaN (the answer could not be graded) has
// advantage 0 and is left out of every mean.
func Advantages(rewards []float64, group int, scale string) ([]float64, error) {
	if group < 2 || len(rewards)%group != 0 {
		return nil, fmt.Errorf("advantages: %d rewards in groups of %d; expected whole groups of 2 or more", len(rewards), group)
	}
	const epsilon = 1e-4
	out := make([]float64, len(rewards))
	_, all := meanStd(rewards)
	for at := 0; at < len(rewards); at += group {
		mean, std := meanStd(rewards[at : at+group])
		for i := at; i < at+group; i++ {
			a := rewards[i] - mean
			switch scale {
			case "none":
			case "group":
				a /= std + epsilon
			case "batch":
				a /= all + epsilon
			default:
				return nil, fmt.Errorf("scale_rewards %q: expected none, group or batch", scale)
			}
			if math.IsNaN(a) {
				a = 0
			}
			out[i] = a
		}
	}
	return out, nil
}

// meanStd are the mean and the corrected standard deviation of the values that are not NaN; the deviation of fewer than two is 0.
func meanStd(x []float64) (mean, std float64) {
	n := 0.0
	for _, v := range x {
		if !math.IsNaN(v) {
			mean += v
			n++
		}
	}
	if n == 0 {
		return math.NaN(), 0
	}
	mean /= n
	if n < 2 {
		return mean, 0
	}
	for _, v := range x {
		if !math.IsNaN(v) {
			std += float64((v - mean) * (v - mean))
		}
	}
	return mean, math.Sqrt(std / (n - 1))
}
