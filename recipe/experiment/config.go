package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
)

// RunConfig is the resolved configuration of one training run, ARM-SEED/config.json. Run is the label; Settings is everything that
// can make a difference, and is what [ArmDiff] compares.
type RunConfig struct {
	Version    int      `json:"version"`
	PlanSHA256 string   `json:"plan_sha256"`
	Run        Run      `json:"run"`
	Settings   Settings `json:"settings"`
}

// Settings is what a training run depends on. The trainer takes its parameters from here and from nowhere else.
type Settings struct {
	SystemPrompt string     `json:"system_prompt"`
	Seed         int64      `json:"seed"`
	Streams      Streams    `json:"streams"`
	Model        Model      `json:"model"`
	TrainSHA256  string     `json:"train_sha256"`          // hash of the train split
	TrainTasks   int        `json:"train_tasks"`           // how many
	Holdout      string     `json:"holdout_sha256"`        // hash of the held-out split
	Test         string     `json:"test_sha256,omitempty"` // hash of the whole test split, where it is evaluated on
	Training     Training   `json:"training"`
	Evaluation   Evaluation `json:"evaluation"`
	Runtime      Runtime    `json:"runtime"`
}

// Runtime is filled in by the trainer before the first step: what the numbers also depend on.
type Runtime struct {
	Backend       string `json:"backend"`             // "cuda", "xla-cpu", "go"
	Device        string `json:"device"`              // e.g. "NVIDIA H200"
	MicroBatch    int    `json:"micro_batch"`         // rows, or packed tokens, per backward pass
	RunsLockstep  int    `json:"runs_lockstep"`       // M: runs that share one frozen base in this process
	EvalRows      int    `json:"eval_rows,omitempty"` // replies sampled at once in evaluations
	Deterministic bool   `json:"deterministic"`       // the backend was asked for deterministic kernels
}

// RunConfig resolves the plan for one run.
func (p *Plan) RunConfig(arm string, seed int64, rt Runtime) (RunConfig, error) {
	a, err := p.Arm(arm)
	if err != nil {
		return RunConfig{}, err
	}
	hash, err := p.Hash()
	if err != nil {
		return RunConfig{}, err
	}
	c := RunConfig{
		Version: Version, PlanSHA256: hash, Run: Run{RunName(arm, seed), arm, seed},
		Settings: Settings{
			SystemPrompt: a.System, Seed: seed, Streams: p.Streams(seed), Model: p.Model,
			TrainSHA256: p.Data.Train.SHA256, TrainTasks: len(p.Data.Train.Tasks), Holdout: p.Data.Holdout.SHA256,
			Training: p.Training, Evaluation: p.Evaluation, Runtime: rt,
		},
	}
	if p.Data.Test != nil {
		c.Settings.Test = p.Data.Test.SHA256
	}
	return c, nil
}

// Difference is one setting in which two configurations differ. Path is dotted, e.g. "training.learning_rate"; A and B are JSON, or
// "absent".
type Difference struct{ Path, A, B string }

// ArmDiff compares the settings of two runs field by field and returns exactly the paths that differ, sorted. For a pair of arms at
// one seed the claim of the experiment is that this is ["system_prompt"].
func ArmDiff(a, b RunConfig) ([]Difference, error) {
	fa, err := Flatten(a.Settings)
	if err != nil {
		return nil, err
	}
	fb, err := Flatten(b.Settings)
	if err != nil {
		return nil, err
	}
	paths := make([]string, 0, len(fa))
	for p := range fa {
		paths = append(paths, p)
	}
	for p := range fb {
		if _, ok := fa[p]; !ok {
			paths = append(paths, p)
		}
	}
	sort.Strings(paths)
	at := func(m map[string]string, p string) string {
		if v, ok := m[p]; ok {
			return v
		}
		return "absent"
	}
	var ds []Difference
	for _, p := range paths {
		if x, y := at(fa, p), at(fb, p); x != y {
			ds = append(ds, Difference{p, x, y})
		}
	}
	return ds, nil
}

// Flatten turns any value with a JSON form into dotted paths and JSON leaves, e.g. "training.lora.r": "32".
func Flatten(v any) (map[string]string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("experiment: flatten: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return nil, fmt.Errorf("experiment: flatten: %w", err)
	}
	out := map[string]string{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		join := func(k string) string {
			if path == "" {
				return k
			}
			return path + "." + k
		}
		switch x := v.(type) {
		case map[string]any:
			for k, e := range x {
				walk(join(k), e)
			}
		case []any:
			for i, e := range x {
				walk(join(fmt.Sprint(i)), e)
			}
			if len(x) == 0 {
				out[path] = "[]"
			}
		default:
			leaf, _ := json.Marshal(x) // a decoded leaf always has a JSON form
			out[path] = string(leaf)
		}
	}
	walk("", tree)
	return out, nil
}
