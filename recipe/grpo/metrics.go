package grpo

import (
	"math"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
)

// metrics are a step's numbers under TRL's names; what TRL has not, under the names that verl (timing_s/, perf/) and tinker
// (by_group/) use, and talk/.
func (s *stepOf) metrics(t experiment.Training) map[string]float64 {
	out := map[string]float64{"loss": s.loss}
	var lengths, terminated []float64
	clipped, talks, turns := 0.0, 0.0, 0.0
	var entropy, tokens float64
	for i, r := range s.rollouts {
		n := float64(r.Tokens)
		lengths = append(lengths, n)
		if r.FinishReason == artifact.Length {
			clipped++
		} else {
			terminated = append(terminated, n)
		}
		if r.Talk.Talks {
			talks++
		}
		turns += float64(r.Talk.Turns)
		for _, e := range s.completions[i].Entropies {
			entropy += float64(e)
			tokens++
		}
	}
	n := float64(len(s.rollouts))
	spread(out, "completions/", "_length", lengths)
	spread(out, "completions/", "_terminated_length", terminated)
	out["completions/clipped_ratio"] = clipped / n
	out["talk/rate"], out["talk/turns"] = talks/n, turns/n
	out["entropy"] = entropy / tokens

	mean, std := meanStd(s.rewards)
	out["reward"], out["rewards/math_equal/mean"], out["rewards/math_equal/std"] = mean, mean, std
	groups, zero, good, bad, stds := 0.0, 0.0, 0.0, 0.0, 0.0
	for at := 0; at < len(s.rewards); at += t.NumGenerations {
		m, d := meanStd(s.rewards[at : at+t.NumGenerations])
		groups++
		stds += d
		if d == 0 {
			zero++
			switch m {
			case 1:
				good++
			case 0:
				bad++
			}
		}
	}
	out["reward_std"], out["frac_reward_zero_std"] = stds/groups, zero/groups
	out["by_group/frac_all_good"], out["by_group/frac_all_bad"], out["by_group/frac_mixed"] = good/groups, bad/groups, 1-zero/groups
	abs := 0.0
	for _, a := range s.advantages {
		abs += math.Abs(a)
	}
	out["advantage/abs_mean"] = abs / n
	// On-policy the ratio is 1, so nothing is ever clipped.
	for _, k := range []string{"low_mean", "low_min", "high_mean", "high_max", "region_mean"} {
		out["clip_ratio/"+k] = 0
	}
	out["sampling/sampling_logp_difference/mean"], out["sampling/sampling_logp_difference/max"] = math.NaN(), math.NaN()
	if s.difference.n > 0 {
		out["sampling/sampling_logp_difference/mean"] = s.difference.sum / s.difference.n
		out["sampling/sampling_logp_difference/max"] = s.difference.max
	}
	return out
}

// spread records mean, min and max; NaN for no values.
func spread(out map[string]float64, prefix, suffix string, x []float64) {
	low, high := math.NaN(), math.NaN()
	for i, v := range x {
		if i == 0 {
			low, high = v, v
		}
		low, high = min(low, v), max(high, v)
	}
	mean, _ := meanStd(x)
	out[prefix+"mean"+suffix], out[prefix+"min"+suffix], out[prefix+"max"+suffix] = mean, low, high
}
