package checkpoint

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
)

// Adapter is a LoRA adapter (Hu et al. 2021) as PEFT stores it: for each target of each layer y = Wx + Scale B(Ax).
type Adapter struct {
	R             int               // rank
	Alpha         float64           // lora_alpha
	RSLoRA        bool              // scale by alpha/sqrt(r) (Kalajdzievski 2023) instead of alpha/r
	Dropout       float64           // lora_dropout of its training; no part of the function that it computes
	TargetModules []string          // of Linears
	BaseModel     string            // base_model_name_or_path; "" for null
	Layers        []map[string]LoRA // by layer, then by target module
}

// LoRA is the pair of one linear map, row-major.
type LoRA struct {
	A []float32 // [R, in]
	B []float32 // [out, R]
}

// Scale is the factor of B(Ax).
func (a *Adapter) Scale() float64 {
	if a.RSLoRA {
		return a.Alpha / math.Sqrt(float64(a.R))
	}
	return a.Alpha / float64(a.R)
}

// AdapterKey is PEFT's name of a LoRA matrix; part is "A" or "B".
func AdapterKey(layer int, module, part string) string {
	return "base_model.model." + LinearName(layer, module) + ".lora_" + part + ".weight"
}

const (
	adapterConfigFile  = "adapter_config.json"
	adapterWeightsFile = "adapter_model.safetensors"
)

// ReadAdapter reads a PEFT adapter and checks it against the model that it is for. What PEFT can express beyond plain LoRA
// on whole linears (DoRA, rank patterns, modules_to_save, ...) is refused by its key.
func ReadAdapter(dir string, cfg Config) (*Adapter, error) {
	a, err := readAdapter(dir, cfg)
	if err != nil {
		return nil, fmt.Errorf("adapter %s: %w", dir, err)
	}
	return a, nil
}

func readAdapter(dir string, cfg Config) (*Adapter, error) {
	raw, err := os.ReadFile(filepath.Join(dir, adapterConfigFile))
	if err != nil {
		return nil, err
	}
	a, err := parseAdapterConfig(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", adapterConfigFile, err)
	}
	f, entries, err := openTensors(filepath.Join(dir, adapterWeightsFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	byName := map[string]entry{}
	for _, e := range entries {
		byName[e.name] = e
	}
	if err := a.checkEntries(cfg, byName); err != nil {
		return nil, fmt.Errorf("%s: %w", adapterWeightsFile, err)
	}
	a.Layers = make([]map[string]LoRA, cfg.NumHiddenLayers)
	for l := range a.Layers {
		a.Layers[l] = map[string]LoRA{}
		for _, m := range a.TargetModules {
			specs := a.specs(cfg, l, m)
			var pair LoRA
			for i, p := range []*[]float32{&pair.A, &pair.B} {
				e := byName[specs[i].Name]
				*p = make([]float32, numel(e.shape))
				if err := readValues(f, e.off, e.enc, len(*p), func(from, to int, b *buffers) { e.enc.toF32(b.raw, (*p)[from:to]) }); err != nil {
					return nil, fmt.Errorf("%s: tensor %s: %w", adapterWeightsFile, e.name, err)
				}
			}
			a.Layers[l][m] = pair
		}
	}
	return a, nil
}

// specs names the two matrices of a target, A before B.
func (a *Adapter) specs(cfg Config, layer int, module string) [2]Spec {
	in, out, _ := cfg.Linear(module)
	return [2]Spec{{AdapterKey(layer, module, "A"), []int{a.R, in}}, {AdapterKey(layer, module, "B"), []int{out, a.R}}}
}

// checkEntries wants exactly the tensors that the adapter's configuration and the model's call for.
func (a *Adapter) checkEntries(cfg Config, have map[string]entry) error {
	used := map[string]bool{}
	for l := range cfg.NumHiddenLayers {
		for _, m := range a.TargetModules {
			for _, s := range a.specs(cfg, l, m) {
				used[s.Name] = true
				switch e, ok := have[s.Name]; {
				case !ok:
					return fmt.Errorf("tensor %s: missing; target_modules and the model's %d layers need it with shape %v", s.Name, cfg.NumHiddenLayers, s.Shape)
				case !slices.Equal(e.shape, s.Shape):
					return fmt.Errorf("tensor %s: shape %v, the model and r=%d need %v", s.Name, e.shape, a.R, s.Shape)
				case e.enc == nil:
					return fmt.Errorf("tensor %s: dtype %s cannot be read as weights, want F32, F16 or BF16", s.Name, e.dtype)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if !used[name] {
			return fmt.Errorf("tensor %s: belongs to no target module %q of the model's %d layers", name, a.TargetModules, cfg.NumHiddenLayers)
		}
	}
	return nil
}

// WriteAdapter writes an adapter as PEFT does: adapter_model.safetensors in float32 and adapter_config.json. The folder is
// made if need be; a file in the way is an error. It returns the SHA-256, in hex, of each file by its name.
func WriteAdapter(dir string, cfg Config, a *Adapter) (sums map[string]string, err error) {
	config, err := a.configJSON()
	if err != nil {
		return nil, fmt.Errorf("adapter %s: %w", dir, err)
	}
	if len(a.Layers) != cfg.NumHiddenLayers {
		return nil, fmt.Errorf("adapter %s: it has %d layers, the model %d", dir, len(a.Layers), cfg.NumHiddenLayers)
	}
	var tensors []Tensor
	for l, pairs := range a.Layers {
		if len(pairs) != len(a.TargetModules) {
			return nil, fmt.Errorf("adapter %s: layer %d has %d pairs for the target modules %q", dir, l, len(pairs), a.TargetModules)
		}
		for _, m := range a.TargetModules {
			for i, s := range a.specs(cfg, l, m) {
				data := [2][]float32{pairs[m].A, pairs[m].B}[i]
				if len(data) != numel(s.Shape) {
					return nil, fmt.Errorf("adapter %s: tensor %s has %d values, shape %v needs %d", dir, s.Name, len(data), s.Shape, numel(s.Shape))
				}
				tensors = append(tensors, Tensor{s.Name, s.Shape, data})
			}
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	weights, err := WriteTensors(filepath.Join(dir, adapterWeightsFile), tensors)
	if err != nil {
		return nil, err
	}
	configSum, err := writeJSON(filepath.Join(dir, adapterConfigFile), config)
	if err != nil {
		return nil, err
	}
	return map[string]string{adapterWeightsFile: weights, adapterConfigFile: configSum}, nil
}
