package grpo

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"teamtalk/model"
	"teamtalk/model/checkpoint"
	"teamtalk/recipe/artifact"
)

// The files of a checkpoint beside PEFT's two.
const (
	optimizerFile = "optimizer.safetensors" // AdamW's moments: first/NAME and second/NAME
	stateFile     = "trainer_state.json"
)

// trainerState has the names of Hugging Face's trainer_state.json.
type trainerState struct {
	GlobalStep int `json:"global_step"`
	MaxSteps   int `json:"max_steps"`
	// NumTokens counts prompt and completion tokens of all rollouts so far.
	NumTokens int64 `json:"num_input_tokens_seen"`
	// SHA256 is that of each other file of the checkpoint, in hex, by its name. Versions before it wrote none.
	SHA256 map[string]string `json:"sha256,omitempty"`
}

// readState reads the state of the checkpoint in dir and holds the other files against the sums in it, if it has any: a bit that the
// disk or a copy changed makes a tensor no less readable, and training would go on from another adapter.
func readState(dir string) (trainerState, error) {
	var state trainerState
	raw, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err != nil {
		return state, err
	}
	if err := json.Unmarshal(raw, &state); err != nil {
		return state, fmt.Errorf("%s: %w", stateFile, err)
	}
	for _, name := range slices.Sorted(maps.Keys(state.SHA256)) {
		found, err := artifact.SumFile(filepath.Join(dir, name))
		if err != nil {
			return state, err
		}
		if want := state.SHA256[name]; found != want {
			return state, fmt.Errorf("%s is damaged: expected sha256 %.12s, which %s says was written, found %.12s", name, want, stateFile, found)
		}
	}
	return state, nil
}

// WriteAdapter writes one run's adapter in PEFT's format. It returns the SHA-256, in hex, of each file by its name.
func WriteAdapter(dir string, a *model.Adapters, run int, base string) (sums map[string]string, err error) {
	values, err := a.Values(run)
	if err != nil {
		return nil, err
	}
	out := &checkpoint.Adapter{R: a.Rank, Alpha: a.Alpha, TargetModules: a.Targets, BaseModel: base}
	for l := range a.Config.NumHiddenLayers {
		layer := map[string]checkpoint.LoRA{}
		for _, m := range a.Targets {
			layer[m] = checkpoint.LoRA{A: values[checkpoint.AdapterKey(l, m, "A")], B: values[checkpoint.AdapterKey(l, m, "B")]}
		}
		out.Layers = append(out.Layers, layer)
	}
	return checkpoint.WriteAdapter(dir, a.Config, out)
}

// ReadAdapter reads an adapter folder into values by PEFT name, and its shape.
func ReadAdapter(dir string, c checkpoint.Config) (model.LoRA, map[string][]float32, error) {
	a, err := checkpoint.ReadAdapter(dir, c)
	if err != nil {
		return model.LoRA{}, nil, err
	}
	// model.LoRA scales by alpha/r; rank-stabilised adapters reach it through their alpha.
	l := model.LoRA{Rank: a.R, Alpha: a.Scale() * float64(a.R), Targets: a.TargetModules}
	if err := l.Validate(); err != nil {
		return l, nil, err
	}
	values := map[string][]float32{}
	for i, layer := range a.Layers {
		for m, pair := range layer {
			values[checkpoint.AdapterKey(i, m, "A")], values[checkpoint.AdapterKey(i, m, "B")] = pair.A, pair.B
		}
	}
	return l, values, nil
}

// save writes a checkpoint of every run after the trainer's last step.
func (l *loop) save() error {
	step := l.trainer.Steps()
	for i, r := range l.runs {
		err := r.Out.Checkpoint(step, func(dir string) error {
			sums, err := WriteAdapter(dir, l.adapters, i, r.Config.Settings.Model.Name)
			if err != nil {
				return err
			}
			o, err := l.trainer.Optimizer(i)
			if err != nil {
				return err
			}
			var ts []checkpoint.Tensor
			for _, s := range l.adapters.LoRA.Specs(l.adapters.Config) {
				shape := []int{s.Rows, s.Cols}
				ts = append(ts, checkpoint.Tensor{Name: "first/" + s.Name, Shape: shape, Data: o.First[s.Name]},
					checkpoint.Tensor{Name: "second/" + s.Name, Shape: shape, Data: o.Second[s.Name]})
			}
			if sums[optimizerFile], err = checkpoint.WriteTensors(filepath.Join(dir, optimizerFile), ts); err != nil {
				return err
			}
			// Last: what it has the sums of is on the disk.
			state, err := json.Marshal(trainerState{step, r.Config.Settings.Training.MaxSteps, l.tokens[i], sums})
			if err != nil {
				return err
			}
			return artifact.WriteFile(filepath.Join(dir, stateFile), append(state, '\n'))
		})
		if err != nil {
			return fmt.Errorf("checkpoint of %s after step %d: %w", r.Config.Run.Name, step, err)
		}
	}
	return nil
}

// lastCheckpoint is the latest step that every run has a checkpoint and whole logs of; 0: none.
func (l *loop) lastCheckpoint() int {
	common := map[int]int{}
	for _, r := range l.runs {
		for _, s := range r.Out.Checkpoints() {
			if s <= r.Out.LastStep() {
				common[s]++
			}
		}
	}
	best := 0
	for s, n := range common {
		if n == len(l.runs) && s > best {
			best = s
		}
	}
	return best
}

// cutAfter takes back what was recorded after a step, from which training goes on: the ends of the logs, and checkpoints that
// no log reaches.
func (l *loop) cutAfter(step int) error {
	for _, r := range l.runs {
		if r.Out.Done() {
			continue
		}
		if err := r.Out.CutAfter(step); err != nil {
			return err
		}
		for _, s := range r.Out.Checkpoints() {
			if s > step {
				if err := r.Out.RemoveCheckpoint(s); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// restore reads the adapters and moments of a checkpoint of all runs.
func (l *loop) restore(step int) (adapters []map[string][]float32, moments []Optimizer, err error) {
	for i, r := range l.runs {
		values, o, err := l.restoreRun(i, step)
		if err != nil {
			return nil, nil, fmt.Errorf("%s cannot be gone on from: %w; remove this folder, and training goes on from an earlier checkpoint", r.Out.CheckpointDir(step), err)
		}
		adapters, moments = append(adapters, values), append(moments, o)
	}
	return adapters, moments, nil
}

// restoreRun reads one run's, and its count of tokens.
func (l *loop) restoreRun(i, step int) (map[string][]float32, Optimizer, error) {
	o := Optimizer{Steps: step, First: map[string][]float32{}, Second: map[string][]float32{}}
	dir := l.runs[i].Out.CheckpointDir(step)
	state, err := readState(dir)
	if err != nil {
		return nil, o, err
	}
	if last := l.runs[i].Config.Settings.Training.MaxSteps; state.GlobalStep != step || state.MaxSteps != last {
		return nil, o, fmt.Errorf("%s is of step %d of %d, expected step %d of %d", stateFile, state.GlobalStep, state.MaxSteps, step, last)
	}
	lora, values, err := ReadAdapter(dir, l.Weights.Config)
	if err != nil {
		return nil, o, err
	}
	if lora.Rank != l.lora.Rank || lora.Alpha != l.lora.Alpha {
		return nil, o, fmt.Errorf("it holds an adapter of rank %d and alpha %g, expected %d and %g", lora.Rank, lora.Alpha, l.lora.Rank, l.lora.Alpha)
	}
	ts, err := checkpoint.ReadTensors(filepath.Join(dir, optimizerFile))
	if err != nil {
		return nil, o, err
	}
	for name, t := range ts {
		if n, ok := strings.CutPrefix(name, "first/"); ok {
			o.First[n] = t.Data
		} else if n, ok := strings.CutPrefix(name, "second/"); ok {
			o.Second[n] = t.Data
		} else {
			return nil, o, fmt.Errorf("%s: tensor %s is neither first/ nor second/", optimizerFile, name)
		}
	}
	l.tokens[i] = state.NumTokens
	return values, o, nil
}
