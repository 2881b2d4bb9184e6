package experiment

import (
	"fmt"
	"slices"
)

// PresetNames lists what [Preset] knows.
var PresetNames = []string{"mini", "qwen"}

// Preset returns the "Team talk" experiment for a preset, complete but for Model and Data, which the caller resolves.
//
//   - mini: a model of about a million parameters on generated problems; a laptop's CPU, minutes. A demonstration.
//   - qwen: Qwen2.5-1.5B on GSM8K. The experiment.
func Preset(name string) (Plan, error) {
	p := Plan{
		Version: Version, Experiment: "team-talk", Preset: name,
		Question: Question{
			Title:  "Team talk: train a model to reason as a team talking to itself",
			Paper:  "kim2026",
			Book:   "lambert2025reasoning",
			Claim:  "Models that reason well hold conversations with themselves, and reinforcement learning on the answer alone makes them do so more.",
			Change: "The system prompt asks for a conversation between three speakers instead of a step-by-step solution.",
		},
		TrainArms: []string{"baseline", "recipe"},
		Seeds:     []int64{17, 18},
		Primary:   Comparison{A: "baseline", B: "recipe", Prompt: PromptOwn, Metric: "pass@1"},
		Secondary: []Comparison{{A: "baseline", B: "recipe", Prompt: PromptPlain, Metric: "pass@1"}},
		Margin:    0.03,
	}
	t := Training{
		MaxSteps: 40, PromptsPerStep: 12, NumGenerations: 4, MaxPromptLength: 512,
		Temperature: 0.9, TopP: 1, RepetitionPenalty: 1,
		LossType: "bnpo", ScaleRewards: "none", Epsilon: 0.2, EpsilonHigh: 0.28, NumIterations: 1, ImportanceSamplingLevel: "token",
		Reward: "math_equal",
		Optim:  "adamw", LRSchedulerType: "linear", AdamBeta1: 0.9, AdamBeta2: 0.999, AdamEpsilon: 1e-8, MaxGradNorm: 1,
		LoRA: LoRA{InitWeights: "kaiming_uniform", DType: "float32",
			TargetModules: []string{"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}},
		SaveSteps: 20, MaxLogpDifference: 0.02,
	}
	e := Evaluation{Samples: 4, Temperature: 0.9, TopP: 0.95, RepetitionPenalty: 1, Prompts: []string{PromptOwn, PromptPlain}, Ks: []int{1, 2, 4}, BaseSeed: 1}
	switch name {
	case "mini":
		t.LearningRate, t.LoRA.R, t.LoRA.LoraAlpha, t.MaxCompletionLength = 2e-3, 16, 32, 96
		t.MaxPromptLength = 128
		p.Arms = arms(plainMini, teamMini)
	case "qwen":
		t.LearningRate, t.LoRA.R, t.LoRA.LoraAlpha, t.MaxCompletionLength = 1e-4, 32, 64, 512
		// In bf16 on an H200 one run alone, 48 rows, differed by 0.006 to 0.019, four in lockstep by 0.003 to 0.006: other batch sizes
		// take other kernels. A wrong model or temperature differs by tenths.
		t.MaxLogpDifference = 0.05
		p.Arms = arms(plainQwen, teamQwen)
		e.Test = &TestEvaluation{Samples: 1, Prompts: []string{PromptOwn}}
		p.Secondary = append(p.Secondary, p.onTest())
	default:
		return Plan{}, fmt.Errorf("experiment: unknown preset %q: expected one of %q", name, PresetNames)
	}
	e.MaxCompletionLength = t.MaxCompletionLength // the same cap for training and evaluation, and for both arms
	p.Training, p.Evaluation = t, e
	return p, nil
}

// onTest is the primary comparison on the whole test split.
func (p *Plan) onTest() Comparison {
	c := p.Primary
	c.Tasks = TasksTest
	return c
}

func arms(plain, team string) []Arm {
	return []Arm{
		{Name: "baseline", Role: RoleBaseline, Display: "Baseline", Prompt: "plain prompt", System: plain},
		{Name: "recipe", Role: RoleRecipe, Display: "Recipe", Prompt: "team prompt", System: team, Talk: true},
	}
}

// Overrides are the changes that the command line offers. Zero values change nothing.
type Overrides struct {
	Arm             string  // train only this arm
	Seeds           []int64 // train these seeds
	Steps           int     // max_steps
	MaxPromptLength int     // max_prompt_length
	// TestSamples is the number of replies to each task of the whole test split; 0 leaves that evaluation out, nil changes nothing.
	TestSamples *int
}

// Apply changes the plan and records each change in Plan.Overrides, so that the report can say that this was not the preset.
func (p *Plan) Apply(o Overrides) error {
	if o.Arm != "" {
		if _, err := p.Arm(o.Arm); err != nil {
			return err
		}
		p.TrainArms = []string{o.Arm}
		p.Overrides = append(p.Overrides, "train_arms="+o.Arm)
	}
	if len(o.Seeds) > 0 && !slices.Equal(o.Seeds, p.Seeds) {
		p.Seeds = slices.Clone(o.Seeds)
		p.Overrides = append(p.Overrides, fmt.Sprintf("seeds=%v", o.Seeds))
	}
	if o.Steps < 0 {
		return fmt.Errorf("experiment: steps %d: expected at least 1", o.Steps)
	}
	if o.Steps > 0 && o.Steps != p.Training.MaxSteps {
		p.Training.MaxSteps = o.Steps
		p.Overrides = append(p.Overrides, fmt.Sprintf("max_steps=%d", o.Steps))
	}
	if o.MaxPromptLength < 0 {
		return fmt.Errorf("experiment: max_prompt_length %d: expected at least 1", o.MaxPromptLength)
	}
	if o.MaxPromptLength > 0 && o.MaxPromptLength != p.Training.MaxPromptLength {
		p.Training.MaxPromptLength = o.MaxPromptLength
		p.Overrides = append(p.Overrides, fmt.Sprintf("max_prompt_length=%d", o.MaxPromptLength))
	}
	if o.TestSamples != nil {
		return p.setTestSamples(*o.TestSamples)
	}
	return nil
}

// setTestSamples changes, adds or takes out the evaluation on the whole test split, and the comparison on it.
func (p *Plan) setTestSamples(n int) error {
	now, e := 0, &p.Evaluation
	if e.Test != nil {
		now = e.Test.Samples
	}
	switch {
	case n < 0:
		return fmt.Errorf("experiment: %d samples per task of the test split: expected 0 or more", n)
	case n == now:
		return nil
	case n == 0:
		e.Test = nil
		p.Secondary = slices.DeleteFunc(slices.Clone(p.Secondary), func(c Comparison) bool { return c.Tasks == TasksTest })
	case e.Test == nil:
		e.Test = &TestEvaluation{Samples: n, Prompts: []string{PromptOwn}}
		p.Secondary = append(slices.Clone(p.Secondary), p.onTest())
	default:
		e.Test = &TestEvaluation{Samples: n, Prompts: e.Test.Prompts}
	}
	p.Overrides = append(p.Overrides, fmt.Sprintf("test.samples_per_task=%d", n))
	return nil
}
