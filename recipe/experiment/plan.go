// Package experiment says what is planned before anything is trained: the arms and their prompts, the model, the data split,
// the seeds, every sampling and training setting, how it will be evaluated, and which comparison decides.
//
// A [Plan] is resolved (no defaults are left to be filled in later), written as canonical JSON and hashed. The hash is in
// every file that a run writes, so that a result can be held against the plan it belongs to. Two runs are compared by
// [ArmDiff], field by field: the claim that arms differ in the prompt and in nothing else is computed, not written.
//
// The package neither trains nor reads data sets; the caller fills in [Plan.Model] and [Plan.Data].
package experiment

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"
)

// Version is the version of the plan's format.
const Version = 1

// Plan is everything that was decided before training. Field names in JSON are those of TRL and Hugging Face where they exist.
type Plan struct {
	Version    int          `json:"version"`
	Experiment string       `json:"experiment"` // which question, e.g. "team-talk"
	Preset     string       `json:"preset"`     // "mini" or "qwen"
	Question   Question     `json:"question"`
	Model      Model        `json:"model"`
	Data       Data         `json:"data"`
	Arms       []Arm        `json:"arms"`       // every arm whose prompt is used, also when not all are trained
	TrainArms  []string     `json:"train_arms"` // names of the arms that are trained
	Seeds      []int64      `json:"seeds"`      // one training run per trained arm and seed
	Training   Training     `json:"training"`   // shared by all arms
	Evaluation Evaluation   `json:"evaluation"`
	Primary    Comparison   `json:"primary"`             // the one comparison that the verdict is about
	Secondary  []Comparison `json:"secondary"`           // reported beside it, never the verdict
	Margin     float64      `json:"margin"`              // equivalence margin in pass@1, fixed here
	Overrides  []string     `json:"overrides,omitempty"` // what was changed from the preset, e.g. "max_steps=80"
}

// Question is the header of the write-up: what is asked, of which paper, by which change.
type Question struct {
	Title  string `json:"title"`
	Paper  string `json:"paper"` // reference key, see the report's reference list
	Book   string `json:"book"`  // reference key
	Claim  string `json:"claim"`
	Change string `json:"change"`
}

// Role says what an arm is for.
type Role string

// The roles of an arm.
const (
	RoleBaseline Role = "baseline"
	RoleRecipe   Role = "recipe"
)

// Arm is one side of the comparison. Only System may matter to the training.
type Arm struct {
	Name    string `json:"name"` // lower case, no hyphen: run names are NAME-SEED
	Role    Role   `json:"role"`
	Display string `json:"display"` // how the report calls it
	Prompt  string `json:"prompt"`  // how the report calls its prompt
	System  string `json:"system"`  // the system message, verbatim
	Talk    bool   `json:"talk"`    // the prompt asks for a conversation
}

// Model identifies the base model by content.
type Model struct {
	Name         string      `json:"name"`   // e.g. "Qwen/Qwen2.5-1.5B-Instruct" or "teamtalk-mini"
	Source       string      `json:"source"` // "embedded", "huggingface" or "gguf"
	Files        []File      `json:"files"`
	Parameters   int64       `json:"parameters"`
	DType        string      `json:"dtype"` // of the frozen weights while training, e.g. "bfloat16"
	ChatTemplate string      `json:"chat_template"`
	StopTokenIDs []int       `json:"stop_token_ids"`
	Config       ModelConfig `json:"config"`
}

// File is one input file by name (no folder), size and SHA-256.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// ModelConfig holds the part of Hugging Face's config.json that fixes the architecture.
type ModelConfig struct {
	Architecture      string  `json:"architecture"`
	HiddenSize        int     `json:"hidden_size"`
	IntermediateSize  int     `json:"intermediate_size"`
	NumHiddenLayers   int     `json:"num_hidden_layers"`
	NumAttentionHeads int     `json:"num_attention_heads"`
	NumKeyValueHeads  int     `json:"num_key_value_heads"`
	VocabSize         int     `json:"vocab_size"`
	RopeTheta         float64 `json:"rope_theta"`
	RMSNormEps        float64 `json:"rms_norm_eps"`
	TieWordEmbeddings bool    `json:"tie_word_embeddings"`
}

// Comparison is B minus A in Metric.
type Comparison struct {
	A      string `json:"a"`               // arm name
	B      string `json:"b"`               // arm name
	Prompt string `json:"prompt"`          // PromptOwn or PromptPlain
	Metric string `json:"metric"`          // "pass@1"
	Tasks  string `json:"tasks,omitempty"` // "": the held-out tasks; TasksTest: the whole test split
}

// TasksTest names the whole test split in an [EvalRun] and a [Comparison].
const TasksTest = "test"

// Prompt choices of an evaluation.
const (
	PromptOwn   = "own"   // each arm under the prompt it was trained with
	PromptPlain = "plain" // every arm under the baseline arm's prompt
)

var armName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// Arm returns the arm called name.
func (p *Plan) Arm(name string) (Arm, error) {
	for _, a := range p.Arms {
		if a.Name == name {
			return a, nil
		}
	}
	names := make([]string, len(p.Arms))
	for i, a := range p.Arms {
		names[i] = a.Name
	}
	return Arm{}, fmt.Errorf("experiment: no arm is called %q; the plan has %q", name, names)
}

// BaselineArm returns the arm whose prompt is the plain one: the first with [RoleBaseline].
func (p *Plan) BaselineArm() Arm {
	for _, a := range p.Arms {
		if a.Role == RoleBaseline {
			return a
		}
	}
	return Arm{}
}

// Canonical returns the plan as canonical JSON: one line, keys in the order of the struct, no HTML escapes.
// Equal plans give equal bytes.
func (p *Plan) Canonical() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(p); err != nil {
		return nil, fmt.Errorf("experiment: the plan has no JSON form: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Hash returns the SHA-256 of the canonical JSON in hexadecimal.
func (p *Plan) Hash() (string, error) {
	b, err := p.Canonical()
	if err != nil {
		return "", err
	}
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:]), nil
}

// Validate says what is missing or contradictory, or nil. A plan that is not valid is not trained.
func (p *Plan) Validate() error {
	bad := func(format string, args ...any) error { return fmt.Errorf("experiment: plan: "+format, args...) }
	if p.Version != Version {
		return bad("version %d: this program writes and reads version %d", p.Version, Version)
	}
	if len(p.Arms) == 0 || p.BaselineArm().Name == "" {
		return bad("expected at least one arm with role %q, found none", RoleBaseline)
	}
	seen := map[string]bool{}
	for _, a := range p.Arms {
		switch {
		case !armName.MatchString(a.Name) || a.Name == "base":
			return bad("arm name %q: expected a lower-case word without a hyphen, other than \"base\"", a.Name)
		case seen[a.Name]:
			return bad("two arms are called %q", a.Name)
		case a.System == "":
			return bad("arm %q has no system message; every arm states its prompt", a.Name)
		case !utf8.ValidString(a.System + a.Prompt + a.Display):
			return bad("arm %q: its system message or a name is not UTF-8, and would not come back from a file as it was", a.Name)
		}
		seen[a.Name] = true
	}
	if len(p.TrainArms) == 0 {
		return bad("no arm is to be trained")
	}
	for i, n := range p.TrainArms {
		if !seen[n] {
			return bad("train_arms names %q, which is not an arm", n)
		}
		if slices.Contains(p.TrainArms[:i], n) {
			return bad("train_arms names %q twice", n)
		}
	}
	if len(p.Seeds) == 0 {
		return bad("no seed; expected at least one, e.g. -seeds 17,18")
	}
	for i, s := range p.Seeds {
		if s < 0 || slices.Contains(p.Seeds[:i], s) {
			return bad("seed %d is negative or given twice", s)
		}
	}
	if err := p.Training.validate(); err != nil {
		return bad("%w", err)
	}
	if err := p.Evaluation.validate(); err != nil {
		return bad("%w", err)
	}
	for _, c := range append([]Comparison{p.Primary}, p.Secondary...) {
		if !seen[c.A] || !seen[c.B] || c.A == c.B {
			return bad("comparison %q minus %q: expected two different arms", c.B, c.A)
		}
		if c.Prompt != PromptOwn && c.Prompt != PromptPlain {
			return bad("comparison prompt %q: expected %q or %q", c.Prompt, PromptOwn, PromptPlain)
		}
		switch t := p.Evaluation.Test; {
		case c.Tasks == "":
		case c.Tasks != TasksTest:
			return bad("comparison tasks %q: expected none, for the held-out tasks, or %q", c.Tasks, TasksTest)
		case t == nil || !slices.Contains(t.Prompts, c.Prompt):
			return bad("a comparison on the whole test split under the prompt %q needs an evaluation that samples it: evaluation.test with that prompt", c.Prompt)
		}
	}
	if p.Primary.Tasks != "" {
		return bad("the primary comparison is on the held-out tasks; found tasks %q", p.Primary.Tasks)
	}
	if (p.Evaluation.Test == nil) != (p.Data.Test == nil) {
		return bad("evaluation.test and data.test go together: expected both or neither")
	}
	if !(p.Margin > 0 && p.Margin < 1) {
		return bad("margin %v: expected a share between 0 and 1", p.Margin)
	}
	if err := p.Data.validate(); err != nil {
		return bad("%w", err)
	}
	if dup := Overlap(p.Data.Train.Tasks, p.Data.Holdout.Tasks); len(dup) > 0 {
		return bad("%d held-out tasks are also train tasks, first %s", len(dup), dup[0])
	}
	if p.Data.Test != nil {
		if dup := Overlap(p.Data.Train.Tasks, p.Data.Test.Tasks); len(dup) > 0 {
			return bad("%d tasks of the test split are also train tasks, first train %d = test %d (text %.12s)", len(dup), dup[0].Train, dup[0].Holdout, dup[0].SHA256)
		}
	}
	return nil
}
