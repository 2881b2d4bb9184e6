package checkpoint

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// parseAdapterConfig reads adapter_config.json (PEFT, tuners/lora/config.py). Keys that bear on plain LoRA are read; keys
// that bear on nothing are known; any other key may only be off (null, false, empty), because PEFT adds variants of LoRA as
// further keys, and ignoring one would compute something else.
func parseAdapterConfig(raw []byte) (*Adapter, error) {
	var j struct {
		PeftType      string          `json:"peft_type"`
		R             int             `json:"r"`
		Alpha         *float64        `json:"lora_alpha"`
		Dropout       float64         `json:"lora_dropout"`
		RSLoRA        bool            `json:"use_rslora"`
		TargetModules json.RawMessage `json:"target_modules"`
		BaseModel     *string         `json:"base_model_name_or_path"`
		Bias          *string         `json:"bias"`
		TaskType      *string         `json:"task_type"`
		InitLora      json.RawMessage `json:"init_lora_weights"`
	}
	if err := json.Unmarshal(raw, &j); err != nil {
		return nil, err
	}
	switch {
	case j.PeftType != "LORA":
		return nil, fmt.Errorf("peft_type is %q, want \"LORA\"", j.PeftType)
	case j.R < 1 || j.R > 1<<16:
		return nil, fmt.Errorf("r is %d, want 1 or more", j.R)
	case j.Alpha == nil || !(*j.Alpha > 0):
		return nil, fmt.Errorf("lora_alpha is missing or not above 0")
	case or(j.Bias, "none") != "none":
		return nil, fmt.Errorf("bias is %q, want \"none\": trained biases are not supported", *j.Bias)
	case or(j.TaskType, "CAUSAL_LM") != "CAUSAL_LM":
		return nil, fmt.Errorf("task_type is %q, want \"CAUSAL_LM\"", *j.TaskType)
	case !slices.Contains([]string{"", "null", "true", "false", `"gaussian"`}, string(j.InitLora)):
		return nil, fmt.Errorf("init_lora_weights is %s: initialisations that change the base weights are not supported", j.InitLora)
	}
	targets, err := parseTargets(j.TargetModules)
	if err != nil {
		return nil, err
	}
	var all map[string]any
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if !knownAdapterKeys[key] && !isOff(all[key]) {
			return nil, fmt.Errorf("%s is %v: not supported", key, all[key])
		}
	}
	return &Adapter{R: j.R, Alpha: *j.Alpha, RSLoRA: j.RSLoRA, Dropout: j.Dropout, TargetModules: targets, BaseModel: or(j.BaseModel, "")}, nil
}

// knownAdapterKeys are read above, or say nothing about what the adapter computes.
var knownAdapterKeys = func() map[string]bool {
	known := map[string]bool{}
	for _, k := range strings.Fields(`peft_type r lora_alpha lora_dropout use_rslora target_modules base_model_name_or_path bias task_type
		init_lora_weights inference_mode revision peft_version auto_mapping megatron_core qalora_group_size runtime_config`) {
		known[k] = true
	}
	return known
}()

func isOff(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case float64:
		return v == 0
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// parseTargets reads the list of modules, or "all-linear", in the order of Linears.
func parseTargets(raw json.RawMessage) ([]string, error) {
	if string(raw) == `"all-linear"` {
		return slices.Clone(Linears), nil
	}
	var names []string
	if err := json.Unmarshal(raw, &names); err != nil || len(names) == 0 {
		return nil, fmt.Errorf("target_modules is %s, want a list of some of %q", raw, Linears)
	}
	var targets []string
	for _, m := range Linears {
		if slices.Contains(names, m) {
			targets = append(targets, m)
		}
	}
	for i, n := range names {
		if !slices.Contains(Linears, n) {
			return nil, fmt.Errorf("target_modules has %q, want some of %q", n, Linears)
		}
		if slices.Contains(names[:i], n) {
			return nil, fmt.Errorf("target_modules has %q twice", n)
		}
	}
	return targets, nil
}

// configJSON is what PEFT needs to load the adapter; every key that is left out has its default there.
func (a *Adapter) configJSON() (any, error) {
	if a.R < 1 || !(a.Alpha > 0) || len(a.TargetModules) == 0 {
		return nil, fmt.Errorf("rank %d, alpha %g, target modules %q: want a rank of 1 or more, alpha above 0 and at least one module", a.R, a.Alpha, a.TargetModules)
	}
	for i, m := range a.TargetModules {
		if !slices.Contains(Linears, m) || slices.Contains(a.TargetModules[:i], m) {
			return nil, fmt.Errorf("target modules %q: want some of %q, each once", a.TargetModules, Linears)
		}
	}
	var base *string
	if a.BaseModel != "" {
		base = &a.BaseModel
	}
	return struct {
		BaseModel     *string        `json:"base_model_name_or_path"`
		Bias          string         `json:"bias"`
		FanInFanOut   bool           `json:"fan_in_fan_out"`
		InferenceMode bool           `json:"inference_mode"`
		InitLora      bool           `json:"init_lora_weights"`
		Alpha         float64        `json:"lora_alpha"`
		AlphaPattern  map[string]any `json:"alpha_pattern"`
		Dropout       decimal        `json:"lora_dropout"`
		ModulesToSave []string       `json:"modules_to_save"`
		PeftType      string         `json:"peft_type"`
		R             int            `json:"r"`
		RankPattern   map[string]any `json:"rank_pattern"`
		TargetModules []string       `json:"target_modules"`
		TaskType      string         `json:"task_type"`
		UseDora       bool           `json:"use_dora"`
		UseRSLoRA     bool           `json:"use_rslora"`
	}{base, "none", false, true, true, a.Alpha, map[string]any{}, decimal(a.Dropout), nil, "LORA", a.R, map[string]any{}, slices.Sorted(slices.Values(a.TargetModules)), "CAUSAL_LM", false, a.RSLoRA}, nil
}
