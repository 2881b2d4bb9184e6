package audit

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"teamtalk/recipe/artifact"
	"teamtalk/report/analysis"
)

const (
	logpKey    = analysis.LogpDiff
	logpMaxKey = analysis.LogpMax
)

// bySteps groups a run's rollouts by step, in order.
func bySteps(t artifact.TrainingRecord) map[int][]artifact.Rollout {
	m := map[int][]artifact.Rollout{}
	for _, r := range t.Rollouts {
		m[r.Step] = append(m[r.Step], r)
	}
	return m
}

// groups splits a step's rollouts by prompt.
func groups(rs []artifact.Rollout) [][]artifact.Rollout {
	var gs [][]artifact.Rollout
	at := map[int]int{}
	for _, r := range rs {
		i, ok := at[r.Prompt]
		if !ok {
			i = len(gs)
			at[r.Prompt] = i
			gs = append(gs, nil)
		}
		gs[i] = append(gs[i], r)
	}
	return gs
}

// mixed says whether a group's rewards differ; sum is of the rewards that there are, n their number.
func mixed(g []artifact.Rollout) (isMixed bool, sum, n float64) {
	for _, r := range g {
		if r.Verdict.Reward != nil {
			sum, n = sum+float64(*r.Verdict.Reward), n+1
		}
	}
	return sum > 0 && sum < n, sum, n
}

func stepsComplete(rec *artifact.Record) finding {
	p := rec.Plan.Training
	n := 0
	for _, t := range rec.Runs {
		steps := bySteps(t)
		if len(t.Steps) != p.MaxSteps {
			return fail("%s logged %d of %d steps", t.Config.Run.Name, len(t.Steps), p.MaxSteps)
		}
		for s := 1; s <= p.MaxSteps; s++ {
			if got, want := len(steps[s]), p.PromptsPerStep*p.NumGenerations; got != want {
				return fail("%s step %d has %d rollouts, planned %d", t.Config.Run.Name, s, got, want)
			}
			for _, g := range groups(steps[s]) {
				if len(g) != p.NumGenerations || slices.ContainsFunc(g, func(r artifact.Rollout) bool { return r.TaskSHA256 != g[0].TaskSHA256 }) {
					return fail("%s step %d has a group of %d rollouts, or of several tasks; planned %d of one", t.Config.Run.Name, s, len(g), p.NumGenerations)
				}
			}
			n += len(steps[s])
		}
	}
	if n == 0 {
		return notRun("no run was started")
	}
	return pass("%s x %d steps, %d rollouts", plural(len(rec.Runs), "run"), p.MaxSteps, n)
}

func plantLostStep(rec *artifact.Record) *artifact.Record {
	c := clone(rec)
	if len(c.Runs) == 0 || len(c.Runs[0].Rollouts) < 2 {
		return nil
	}
	rs := c.Runs[0].Rollouts
	last := rs[len(rs)-1].Step
	c.Runs[0].Rollouts = slices.DeleteFunc(slices.Clone(rs), func(r artifact.Rollout) bool { return r.Step == last })
	return c
}

// recomputed are the logged metrics that the rollouts decide.
func recomputed(rs []artifact.Rollout) map[string]float64 {
	var reward, graded, tokens, cut, flat, advantage, n float64
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, g := range groups(rs) {
		isMixed, sum, k := mixed(g)
		reward, graded = reward+sum, graded+k
		if !isMixed {
			flat += float64(len(g))
		}
		for _, r := range g {
			n++
			tokens += float64(r.Tokens)
			advantage += math.Abs(r.Advantage)
			lo, hi = min(lo, float64(r.Tokens)), max(hi, float64(r.Tokens))
			if r.Truncated() {
				cut++
			}
		}
	}
	return map[string]float64{"reward": reward / graded, "rewards/math_equal/mean": reward / graded, "frac_reward_zero_std": flat / n,
		"completions/mean_length": tokens / n, "completions/min_length": lo, "completions/max_length": hi, "completions/clipped_ratio": cut / n, "advantage/abs_mean": advantage / n}
}

func metricsRecompute(rec *artifact.Record) finding {
	n := 0
	for _, t := range rec.Runs {
		steps := bySteps(t)
		for _, s := range t.Steps {
			want := recomputed(steps[s.Step])
			for _, key := range sorted(want) {
				logged, ok := s.Values[key]
				if !ok {
					continue
				}
				// The trainer may average in float32.
				if d := math.Abs(logged - want[key]); !(d <= 1e-5*max(1, math.Abs(want[key]))) {
					return fail("%s step %d logged %s %v, its rollouts give %v", t.Config.Run.Name, s.Step, key, logged, want[key])
				}
				n++
			}
		}
	}
	if n == 0 {
		return notRun("no metric was logged")
	}
	return pass("%d logged values in %s", n, plural(len(rec.Runs), "run"))
}

func sorted(m map[string]float64) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func advantages(rec *artifact.Record) finding {
	if s := rec.Plan.Training.ScaleRewards; s != "none" && s != "group" {
		return notRun("scale_rewards is %s: only none and group are recomputed", s)
	}
	n := 0
	for _, t := range rec.Runs {
		steps := bySteps(t)
		for _, s := range slices.Sorted(maps.Keys(steps)) {
			for _, g := range groups(steps[s]) {
				_, sum, k := mixed(g)
				mean, ss := sum/k, 0.0
				for _, r := range g {
					if r.Verdict.Reward != nil {
						d := float64(*r.Verdict.Reward) - mean
						ss += float64(d * d)
					}
				}
				for _, r := range g {
					if r.Verdict.Reward == nil {
						continue
					}
					want := float64(*r.Verdict.Reward) - mean
					if rec.Plan.Training.ScaleRewards == "group" {
						want /= math.Sqrt(ss/(k-1)) + 1e-4
					}
					if math.Abs(want-r.Advantage) > 1e-5 {
						return fail("%s step %d prompt %d sample %d has advantage %v, its group gives %v", t.Config.Run.Name, s, r.Prompt, r.Sample, r.Advantage, want)
					}
					n++
				}
			}
		}
	}
	if n == 0 {
		return notRun("there are no rollouts")
	}
	return pass("%d of %d rollouts", n, n)
}

func plantAdvantage(rec *artifact.Record) *artifact.Record {
	return withRollouts(rec, func(rs []artifact.Rollout) {
		for i := range rs {
			if rs[i].Advantage != 0 {
				rs[i].Advantage = -rs[i].Advantage
				return
			}
		}
	})
}

func finite(rec *artifact.Record) finding {
	n := 0
	for _, t := range rec.Runs {
		steps := bySteps(t)
		for _, s := range t.Steps {
			n++
			for _, key := range []string{"reward", "grad_norm"} {
				if v := s.Value(key); math.IsNaN(v) {
					return fail("%s step %d: %s is not a finite number", t.Config.Run.Name, s.Step, key)
				}
			}
			if analysis.Learns(steps[s.Step]) && s.Value("grad_norm") == 0 {
				return fail("%s step %d has a mixed group and a gradient of zero", t.Config.Run.Name, s.Step)
			}
		}
	}
	if n == 0 {
		return notRun("no step was logged")
	}
	return pass("%d steps", n)
}

func plantZeroGradient(rec *artifact.Record) *artifact.Record {
	c := clone(rec)
	for i, t := range c.Runs {
		steps := bySteps(t)
		for j := len(t.Steps) - 1; j >= 0; j-- {
			if !analysis.Learns(steps[t.Steps[j].Step]) {
				continue
			}
			c.Runs[i].Steps = slices.Clone(t.Steps)
			values := map[string]float64{}
			for k, v := range t.Steps[j].Values {
				values[k] = v
			}
			values["grad_norm"] = 0
			c.Runs[i].Steps[j].Values = values
			return c
		}
	}
	return nil
}

func samplerTrainer(rec *artifact.Record) finding {
	bound := rec.Plan.Training.MaxLogpDifference
	if bound == 0 {
		return notRun("the plan sets no bound")
	}
	worst, token, n, flat := 0.0, math.NaN(), 0, 0
	lacks := ""
	for _, t := range rec.Runs {
		steps := bySteps(t)
		for _, s := range t.Steps {
			d := s.Value(logpKey)
			if math.IsNaN(d) {
				// Without a mixed group no log-probability was needed.
				if analysis.Learns(steps[s.Step]) && lacks == "" {
					lacks = fmt.Sprintf("%s step %d", t.Config.Run.Name, s.Step)
				}
				flat++
				continue
			}
			n++
			worst = max(worst, d)
			if x := s.Value(logpMaxKey); !math.IsNaN(x) && !(token >= x) {
				token = x
			}
			if d > bound {
				return fail("%s step %d: the mean difference of log-probabilities is %.3g, the bound is %.3g", t.Config.Run.Name, s.Step, d, bound)
			}
		}
	}
	switch {
	case n == 0:
		return notRun("no step logged the difference")
	case lacks != "":
		return fail("%s has a mixed group, and logged no difference of log-probabilities", lacks)
	}
	said := fmt.Sprintf("the largest mean of a step is %.2g nats of %.2g allowed, in %s", worst, bound, plural(n, "step"))
	if !math.IsNaN(token) {
		said += fmt.Sprintf("; the largest difference of a single token is %.2g nats, for which no limit is set", token)
	}
	if flat > 0 {
		said += fmt.Sprintf("; %s had no mixed group, so that nothing was learned and nothing measured", plural(flat, "more step"))
	}
	return pass("%s", said)
}

func zeroVariance(rec *artifact.Record) finding {
	const bound = 0.9
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, t := range rec.Runs {
		flat, n := 0.0, 0.0
		for _, rs := range bySteps(t) {
			for _, g := range groups(rs) {
				if m, _, _ := mixed(g); !m {
					flat++
				}
				n++
			}
		}
		if n == 0 {
			continue
		}
		share := flat / n
		lo, hi = min(lo, share), max(hi, share)
		if share > bound {
			return fail("in %s %.0f%% of the groups have one reward and teach nothing; at most %.0f%% were expected", t.Config.Run.Name, 100*share, 100*bound)
		}
	}
	if math.IsInf(lo, 0) {
		return notRun("there are no rollouts")
	}
	return pass("%.0f%% to %.0f%% of the groups of a run have one reward and teach nothing", 100*lo, 100*hi)
}

func plantAllRight(rec *artifact.Record) *artifact.Record {
	return withRollouts(rec, func(rs []artifact.Rollout) {
		for i := range rs {
			rs[i].Verdict.Reward = artifact.Graded(1)
		}
	})
}

func kl(rec *artifact.Record) finding {
	beta := rec.Plan.Training.Beta
	for _, t := range rec.Runs {
		for _, s := range t.Steps {
			_, ok := s.Values["kl"]
			if beta != 0 && !ok {
				return fail("%s step %d logged no kl, and beta is %v", t.Config.Run.Name, s.Step, beta)
			}
		}
	}
	if len(rec.Runs) == 0 {
		return notRun("no run was started")
	}
	if beta == 0 {
		return pass("none: beta is 0, nothing holds a run near the base model")
	}
	return pass("beta is %v, kl is logged in every step", beta)
}

// noQuarters says why a check that compares the quarters of runs was not run.
const noQuarters = "no run has two steps, so that none has a first and a last quarter"

// hasQuarters says whether a run has rollouts of two steps or more.
func hasQuarters(t artifact.TrainingRecord) bool {
	return len(t.Rollouts) > 0 && t.Rollouts[0].Step != t.Rollouts[len(t.Rollouts)-1].Step
}

// quarters compares the last quarter of a run's steps with the first.
func quarters(t artifact.TrainingRecord, of func(*artifact.Rollout) float64) (first, last float64) {
	top := 0
	for i := range t.Rollouts {
		top = max(top, t.Rollouts[i].Step)
	}
	q := max(1, top/4)
	var a, na, b, nb float64
	for i := range t.Rollouts {
		r := &t.Rollouts[i]
		if r.Step <= q {
			a, na = a+of(r), na+1
		}
		if r.Step > top-q {
			b, nb = b+of(r), nb+1
		}
	}
	return a / na, b / nb
}

func lengthDrift(rec *artifact.Record) finding {
	var said []string
	for _, t := range rec.Runs {
		if !hasQuarters(t) {
			continue
		}
		a, b := quarters(t, func(r *artifact.Rollout) float64 { return float64(r.Tokens) })
		if b > 2*a || b < a/2 {
			return fail("%s went from %.0f to %.0f tokens", t.Config.Run.Name, a, b)
		}
		said = append(said, fmt.Sprintf("%s %.0f to %.0f", t.Config.Run.Name, a, b))
	}
	if len(said) == 0 {
		return notRun(noQuarters)
	}
	return pass("tokens, first to last quarter: %s", join(said))
}

func plantLength(rec *artifact.Record) *artifact.Record {
	return lastQuarter(rec, func(r *artifact.Rollout) { r.Tokens *= 3 })
}

func lastQuarter(rec *artifact.Record, edit func(*artifact.Rollout)) *artifact.Record {
	return withRollouts(rec, func(rs []artifact.Rollout) {
		top := rs[len(rs)-1].Step
		for i := range rs {
			if rs[i].Step > top-max(1, top/4) {
				edit(&rs[i])
			}
		}
	})
}

func join(xs []string) string {
	s := ""
	for i, x := range xs {
		if i > 0 {
			s += ", "
		}
		s += x
	}
	return s
}
