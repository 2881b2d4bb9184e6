package experiment

import (
	"fmt"
	"slices"
)

// Training holds every setting of GRPO and LoRA, shared by all arms. Names and meanings are TRL's GRPOConfig, transformers'
// TrainingArguments and PEFT's LoraConfig; what TRL leaves to a default is written out.
type Training struct {
	MaxSteps            int     `json:"max_steps"`
	PromptsPerStep      int     `json:"prompts_per_step"` // TRL: generation batch size / num_generations
	NumGenerations      int     `json:"num_generations"`  // rollouts per prompt, the group
	MaxPromptLength     int     `json:"max_prompt_length"`
	MaxCompletionLength int     `json:"max_completion_length"` // tokens, EOS included
	Temperature         float64 `json:"temperature"`
	TopP                float64 `json:"top_p"`
	TopK                int     `json:"top_k"` // 0: off
	MinP                float64 `json:"min_p"` // 0: off
	RepetitionPenalty   float64 `json:"repetition_penalty"`

	LossType                 string  `json:"loss_type"`     // "grpo", "bnpo", "dr_grpo", "dapo"
	ScaleRewards             string  `json:"scale_rewards"` // "none", "group", "batch"
	Epsilon                  float64 `json:"epsilon"`
	EpsilonHigh              float64 `json:"epsilon_high"`
	Beta                     float64 `json:"beta"` // weight of the KL term; 0: none is computed
	NumIterations            int     `json:"num_iterations"`
	ImportanceSamplingLevel  string  `json:"importance_sampling_level"`
	MaskTruncatedCompletions bool    `json:"mask_truncated_completions"`
	Reward                   string  `json:"reward"` // "math_equal": the grader's verdict and nothing else

	Optim           string  `json:"optim"` // "adamw"
	LearningRate    float64 `json:"learning_rate"`
	LRSchedulerType string  `json:"lr_scheduler_type"` // "linear": (N-k)/N at step k = 0, 1, ...
	WarmupSteps     int     `json:"warmup_steps"`
	AdamBeta1       float64 `json:"adam_beta1"`
	AdamBeta2       float64 `json:"adam_beta2"`
	AdamEpsilon     float64 `json:"adam_epsilon"`
	WeightDecay     float64 `json:"weight_decay"`
	MaxGradNorm     float64 `json:"max_grad_norm"`

	LoRA      LoRA `json:"lora"`
	SaveSteps int  `json:"save_steps"`

	// MaxLogpDifference bounds the mean absolute difference between the sampler's and the trainer's log-probabilities of
	// the sampled tokens (nats); above it the run stops.
	MaxLogpDifference float64 `json:"max_logp_difference"`
}

// LoRA is PEFT's LoraConfig.
type LoRA struct {
	R             int      `json:"r"`
	LoraAlpha     float64  `json:"lora_alpha"`
	LoraDropout   float64  `json:"lora_dropout"`
	TargetModules []string `json:"target_modules"`
	InitWeights   string   `json:"init_lora_weights"` // "kaiming_uniform": A ~ U(-1/sqrt(in), 1/sqrt(in)), B = 0
	DType         string   `json:"dtype"`
}

// Evaluation says how replies are sampled from the held-out tasks and what is computed from them.
type Evaluation struct {
	Samples             int      `json:"samples_per_task"`
	Temperature         float64  `json:"temperature"`
	TopP                float64  `json:"top_p"`
	TopK                int      `json:"top_k"`
	RepetitionPenalty   float64  `json:"repetition_penalty"`
	MaxCompletionLength int      `json:"max_completion_length"`
	Prompts             []string `json:"prompts"`   // PromptOwn, PromptPlain
	Ks                  []int    `json:"ks"`        // pass@k
	BaseSeed            int64    `json:"base_seed"` // the untrained model has no training seed; this feeds its eval stream
	// Test asks for the whole test split as well; nil: the held-out tasks alone.
	Test *TestEvaluation `json:"test,omitempty"`
}

// TestEvaluation is the evaluation on every task of the test split, of which the held-out tasks are a draw: fewer samples of many more
// tasks. What it does not name is as in [Evaluation]. The untrained model answers under every arm's prompt.
type TestEvaluation struct {
	Samples int      `json:"samples_per_task"`
	Prompts []string `json:"prompts"` // of the trained runs: PromptOwn, PromptPlain
}

func (t *Training) validate() error {
	switch {
	case t.MaxSteps < 1, t.PromptsPerStep < 1, t.MaxCompletionLength < 1, t.MaxPromptLength < 1:
		return fmt.Errorf("training: max_steps, prompts_per_step, max_prompt_length and max_completion_length must be at least 1, found %d, %d, %d, %d",
			t.MaxSteps, t.PromptsPerStep, t.MaxPromptLength, t.MaxCompletionLength)
	case t.NumGenerations < 2:
		return fmt.Errorf("training: num_generations %d: GRPO needs at least 2 replies per prompt to have a group mean", t.NumGenerations)
	case !(t.Temperature > 0), !(t.TopP > 0 && t.TopP <= 1):
		return fmt.Errorf("training: expected temperature > 0 and 0 < top_p <= 1, found %v and %v", t.Temperature, t.TopP)
	case !oneOf(t.LossType, "grpo", "bnpo", "dr_grpo", "dapo"):
		return fmt.Errorf("training: loss_type %q: expected grpo, bnpo, dr_grpo or dapo", t.LossType)
	case !oneOf(t.ScaleRewards, "none", "group", "batch"):
		return fmt.Errorf("training: scale_rewards %q: expected none, group or batch", t.ScaleRewards)
	case !(t.LearningRate > 0):
		return fmt.Errorf("training: learning_rate %v: expected more than 0", t.LearningRate)
	case t.LoRA.R < 1, !(t.LoRA.LoraAlpha > 0), len(t.LoRA.TargetModules) == 0:
		return fmt.Errorf("training: lora: expected r >= 1, lora_alpha > 0 and target_modules, found %d, %v, %q", t.LoRA.R, t.LoRA.LoraAlpha, t.LoRA.TargetModules)
	}
	return nil
}

func (e *Evaluation) validate() error {
	switch {
	case e.Samples < 1, e.MaxCompletionLength < 1:
		return fmt.Errorf("evaluation: samples_per_task and max_completion_length must be at least 1, found %d and %d", e.Samples, e.MaxCompletionLength)
	case !(e.TopP > 0 && e.TopP <= 1), e.Temperature < 0:
		return fmt.Errorf("evaluation: expected temperature >= 0 and 0 < top_p <= 1, found %v and %v", e.Temperature, e.TopP)
	case len(e.Prompts) == 0:
		return fmt.Errorf("evaluation: no prompts")
	}
	prompts := e.Prompts
	if t := e.Test; t != nil {
		if t.Samples < 1 || len(t.Prompts) == 0 {
			return fmt.Errorf("evaluation: test: expected samples_per_task of at least 1 and prompts, found %d and %q", t.Samples, t.Prompts)
		}
		prompts = slices.Concat(prompts, t.Prompts)
	}
	for _, p := range prompts {
		if !oneOf(p, PromptOwn, PromptPlain) {
			return fmt.Errorf("evaluation: prompt %q: expected %q or %q", p, PromptOwn, PromptPlain)
		}
	}
	for _, k := range e.Ks {
		if k < 1 || k > e.Samples {
			return fmt.Errorf("evaluation: pass@%d needs %d samples per task, the plan has %d", k, k, e.Samples)
		}
	}
	return nil
}

func oneOf(s string, of ...string) bool {
	for _, o := range of {
		if s == o {
			return true
		}
	}
	return false
}
