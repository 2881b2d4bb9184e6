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

// EvalRun is one evaluation: which model under which arm's prompt. Artifact file: eval/MODEL-PROMPT.jsonl.gz.
type EvalRun struct {
	Model  string `json:"model"`  // Base or a run's name
	Prompt string `json:"prompt"` // the name of the arm whose system message is used
	Seed   int64  `json:"seed"`   // feeds the eval stream
}

// Name is MODEL-PROMPT.
func (e EvalRun) Name() string { return e.Model + "-" + e.Prompt }

// Evaluations lists what the plan asks for, without repetition: the untrained model under every arm's prompt, then every run under
// its own prompt and, if asked for, under the baseline's.
func (p *Plan) Evaluations() []EvalRun {
	var es []EvalRun
	for _, a := range p.Arms {
		es = append(es, EvalRun{Base, a.Name, p.Evaluation.BaseSeed})
	}
	plain := p.BaselineArm().Name
	for _, r := range p.Runs() {
		if slices.Contains(p.Evaluation.Prompts, PromptOwn) {
			es = append(es, EvalRun{r.Name, r.Arm, r.Seed})
		}
		if e := (EvalRun{r.Name, plain, r.Seed}); slices.Contains(p.Evaluation.Prompts, PromptPlain) && !slices.Contains(es, e) {
			es = append(es, e)
		}
	}
	return es
}

// Stream names one use of randomness. One seed feeds them all, so that changing how much one draws does not move another.
type Stream string

// The named streams.
const (
	LoRAInit  Stream = "lora_init"
	DataOrder Stream = "data_order"
	Sampling  Stream = "sampling"
	Eval      Stream = "eval"
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
}

// NewStreams derives all four.
func NewStreams(seed int64) Streams {
	return Streams{LoRAInit.Seed(seed), DataOrder.Seed(seed), Sampling.Seed(seed), Eval.Seed(seed)}
}
