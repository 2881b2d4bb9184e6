package analysis

import (
	"math"

	"teamtalk/recipe/artifact"
)

// Curve is one training run over its steps: logged metrics, and what the rollouts themselves say.
type Curve struct {
	Name    string           `json:"name"`
	Arm     string           `json:"arm"`
	Seed    int64            `json:"seed"`
	Planned int              `json:"planned_steps"`
	Steps   []int            `json:"steps"`
	Values  map[string][]Num `json:"values"` // by metric
	// First and Last are means over the first and the last quarter of the steps.
	First             map[string]Num `json:"first_quarter"`
	Last              map[string]Num `json:"last_quarter"`
	MaxLogpDifference Num            `json:"max_logp_difference"` // of the per-step means
	// MaxTokenLogpDifference is the largest of a single token.
	MaxTokenLogpDifference Num `json:"max_token_logp_difference"`
	// FlatSteps are those in which every group had one reward: they had no gradient, and no difference was measured.
	FlatSteps int `json:"flat_steps"`
}

// Metrics of a curve. The first three are logged by the trainer; Talk and the features are counted in the rollouts.
const (
	Reward    = "reward"
	Length    = "completions/mean_length"
	Clipped   = "completions/clipped_ratio"
	ZeroStd   = "frac_reward_zero_std"
	Entropy   = "entropy"
	GradNorm  = "grad_norm"
	LogpDiff  = "sampling/sampling_logp_difference/mean"
	LogpMax   = "sampling/sampling_logp_difference/max"
	Talk      = "talk"
	NoWork    = "no_work"     // replies that show no calculation
	TwoBoxes  = "two_boxes"   // two or more different boxes
	EmptyTurn = "empty_turns" // a turn without a letter or digit
	NearMiss  = "near_misses" // lines that nearly are turns
)

var logged = []string{Reward, Length, Clipped, ZeroStd, Entropy, GradNorm, LogpDiff}

// Features are counted in each reply to see whether a run learned to please the grader by other means than solving.
var Features = []string{Talk, NoWork, TwoBoxes, EmptyTurn, NearMiss}

func newCurve(t artifact.TrainingRecord) *Curve {
	c := &Curve{Name: t.Config.Run.Name, Arm: t.Config.Run.Arm, Seed: t.Config.Run.Seed, Planned: t.Config.Settings.Training.MaxSteps,
		Values: map[string][]Num{}, First: map[string]Num{}, Last: map[string]Num{}, MaxLogpDifference: Num(math.NaN()), MaxTokenLogpDifference: Num(math.NaN())}
	at := map[int]int{}
	for i, s := range t.Steps {
		c.Steps, at[s.Step] = append(c.Steps, s.Step), i
		for _, key := range logged {
			c.Values[key] = append(c.Values[key], Num(s.Value(key)))
		}
		if d := s.Value(LogpDiff); !math.IsNaN(d) && !(float64(c.MaxLogpDifference) >= d) {
			c.MaxLogpDifference = Num(d)
		}
		if d := s.Value(LogpMax); !math.IsNaN(d) && !(float64(c.MaxTokenLogpDifference) >= d) {
			c.MaxTokenLogpDifference = Num(d)
		}
	}
	for _, key := range Features {
		c.Values[key] = make([]Num, len(c.Steps))
	}
	n := make([]float64, len(c.Steps))
	for i := range t.Rollouts {
		r := &t.Rollouts[i]
		s, ok := at[r.Step]
		if !ok {
			continue
		}
		n[s]++
		for key, yes := range map[string]bool{Talk: r.Talk.Talks, NoWork: !Worked(r.Text), TwoBoxes: r.Verdict.DistinctBoxes >= 2,
			EmptyTurn: r.Talk.Turns > r.Talk.Substantive, NearMiss: r.Talk.NearMisses > 0} {
			if yes {
				c.Values[key][s]++
			}
		}
	}
	for _, key := range Features {
		for s := range c.Values[key] {
			c.Values[key][s] /= Num(n[s])
		}
	}
	c.FlatSteps = flatSteps(t, at)
	quarter := max(1, len(c.Steps)/4)
	for key, vs := range c.Values {
		if len(vs) > 0 {
			c.First[key], c.Last[key] = meanNum(vs[:min(quarter, len(vs))]), meanNum(vs[max(0, len(vs)-quarter):])
		}
	}
	return c
}

// flatSteps counts the steps, among those that were logged, that learn nothing.
func flatSteps(t artifact.TrainingRecord, logged map[int]int) (n int) {
	steps := map[int][]artifact.Rollout{}
	for _, r := range t.Rollouts {
		if _, ok := logged[r.Step]; ok {
			steps[r.Step] = append(steps[r.Step], r)
		}
	}
	for _, step := range steps {
		if !Learns(step) {
			n++
		}
	}
	return n
}

// Learns says whether any group of a step's rollouts is mixed, of right and wrong ones: without one every advantage is 0, and there is no
// gradient.
func Learns(step []artifact.Rollout) bool {
	right, wrong := map[int]bool{}, map[int]bool{} // by prompt
	for i := range step {
		r := &step[i]
		if r.Verdict.Reward == nil {
			continue
		}
		if r.Verdict.Correct() {
			right[r.Prompt] = true
		} else {
			wrong[r.Prompt] = true
		}
		if right[r.Prompt] && wrong[r.Prompt] {
			return true
		}
	}
	return false
}

func meanNum(vs []Num) Num {
	xs := make([]float64, len(vs))
	for i, v := range vs {
		xs[i] = float64(v)
	}
	return Num(meanOf(xs))
}
