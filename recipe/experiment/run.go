package experiment

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
)

// RunName names a training run: its folder and, in evaluations, its model.
func RunName(arm string, seed int64) string { return fmt.Sprintf("%s-%d", arm, seed) }

// Base is the model name of the untrained model in evaluations.
const Base = "base"

// Run identifies one training run.
type Run struct {
	Name string `json:"name"` // RunName(Arm, Seed)
	Arm  string `json:"arm"`
	Seed int64  `json:"seed"`
}

// Runs lists the planned training runs: arms in the plan's order, then seeds.
func (p *Plan) Runs() []Run {
	var rs []Run
	for _, a := range p.TrainArms {
		for _, s := range p.Seeds {
			rs = append(rs, Run{RunName(a, s), a, s})
		}
	}
	return rs
}

// EvalRun is one evaluation: which model under which arm's prompt, on which tasks. Artifact file: eval/NAME.jsonl.gz.
type EvalRun struct {
	Model  string `json:"model"`           // Base or a run's name
	Prompt string `json:"prompt"`          // the name of the arm whose system message is used
	Seed   int64  `json:"seed"`            // feeds the stream
	Tasks  string `json:"tasks,omitempty"` // "": the held-out tasks; TasksTest: the whole test split
}

// Name is MODEL-PROMPT, or MODEL-PROMPT-test on the whole test split.
func (e EvalRun) Name() string {
	if e.Tasks != "" {
		return e.Model + "-" + e.Prompt + "-" + e.Tasks
	}
	return e.Model + "-" + e.Prompt
}

// Stream is what the noise is drawn from. Noise is keyed by seed, task and sample, and a held-out task is in the test split under
// the same index: from a stream of its own the whole split's reply to it is another draw, not the one that was counted already.
func (e EvalRun) Stream() Stream {
	if e.Tasks == TasksTest {
		return EvalTest
	}
	return Eval
}

// Evaluations lists what the plan asks for, without repetition: the untrained model under every arm's prompt, then every run under
// its own prompt and, if asked for, under the baseline's. Those on the whole test split come last.
func (p *Plan) Evaluations() []EvalRun {
	var es []EvalRun
	for _, a := range p.Arms {
		es = append(es, EvalRun{Model: Base, Prompt: a.Name, Seed: p.Evaluation.BaseSeed})
	}
	plain := p.BaselineArm().Name
	for _, r := range p.Runs() {
		if slices.Contains(p.Evaluation.Prompts, PromptOwn) {
			es = append(es, EvalRun{Model: r.Name, Prompt: r.Arm, Seed: r.Seed})
		}
		if e := (EvalRun{Model: r.Name, Prompt: plain, Seed: r.Seed}); slices.Contains(p.Evaluation.Prompts, PromptPlain) && !slices.Contains(es, e) {
			es = append(es, e)
		}
	}
	return append(es, p.testEvaluations()...)
}

// testEvaluations lists those on the whole test split: the untrained model, then seed by seed every arm, so that what an
// interruption leaves has as many runs of each arm, or one less.
func (p *Plan) testEvaluations() []EvalRun {
	t := p.Evaluation.Test
	if t == nil {
		return nil
	}
	var es []EvalRun
	for _, a := range p.Arms {
		es = append(es, EvalRun{Base, a.Name, p.Evaluation.BaseSeed, TasksTest})
	}
	plain := p.BaselineArm().Name
	for _, seed := range p.Seeds {
		for _, prompt := range []string{PromptOwn, PromptPlain} {
			for _, arm := range p.TrainArms {
				under := arm
				if prompt == PromptPlain {
					under = plain
				}
				if e := (EvalRun{RunName(arm, seed), under, seed, TasksTest}); slices.Contains(t.Prompts, prompt) && !slices.Contains(es, e) {
					es = append(es, e)
				}
			}
		}
	}
	return es
}

// TasksOf are the tasks of an evaluation.
func (p *Plan) TasksOf(e EvalRun) []Task {
	if e.Tasks != TasksTest {
		return p.Data.Holdout.Tasks
	}
	if p.Data.Test == nil {
		return nil
	}
	return p.Data.Test.Tasks
}

// SamplesOf is the number of replies to each task of an evaluation.
func (p *Plan) SamplesOf(e EvalRun) int {
	if e.Tasks == TasksTest && p.Evaluation.Test != nil {
		return p.Evaluation.Test.Samples
	}
	return p.Evaluation.Samples
}

// Stream names one use of randomness. One seed feeds them all, so that changing how much one draws does not move another.
type Stream string

// The named streams.
const (
	LoRAInit  Stream = "lora_init"
	DataOrder Stream = "data_order"
	Sampling  Stream = "sampling"
	Eval      Stream = "eval"
	EvalTest  Stream = "eval_test" // evaluations on the whole test split
)

// Seed derives the stream's seed from the run's seed: the first 53 bits of SHA-256("teamtalk STREAM SEED"), so that every JSON reader holds it
// exactly.
func (s Stream) Seed(seed int64) uint64 {
	h := sha256.Sum256(fmt.Appendf(nil, "teamtalk %s %d", s, seed))
	return binary.BigEndian.Uint64(h[:8]) >> 11
}

// Streams are the derived seeds of one run, as recorded.
type Streams struct {
	LoRAInit  uint64 `json:"lora_init"`
	DataOrder uint64 `json:"data_order"`
	Sampling  uint64 `json:"sampling"`
	Eval      uint64 `json:"eval"`
	EvalTest  uint64 `json:"eval_test,omitempty"` // only where the plan evaluates on the whole test split
}

// Streams derives the seeds of the streams that the plan draws from.
func (p *Plan) Streams(seed int64) Streams {
	s := Streams{LoRAInit: LoRAInit.Seed(seed), DataOrder: DataOrder.Seed(seed), Sampling: Sampling.Seed(seed), Eval: Eval.Seed(seed)}
	if p.Evaluation.Test != nil {
		s.EvalTest = EvalTest.Seed(seed)
	}
	return s
}
