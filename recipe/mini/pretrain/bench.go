package main

import (
	"context"
	"fmt"

	"teamtalk/model"
	"teamtalk/model/backend"
	"teamtalk/model/checkpoint"
	"teamtalk/recipe/grpo"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

// bench is the lab of the command: models on a backend.
type bench struct{ dev *backend.Device }

// Open opens the backend by name.
func (b *bench) Open(name string) (string, error) {
	dev, err := backend.Open(backend.Kind(name))
	if err != nil {
		return "", err
	}
	dev.DType = dtypes.Float32 // weights that are trained keep all their digits, on a GPU too
	b.dev = dev
	return dev.String(), nil
}

// Learner puts the weights on the backend and compiles the step for batches of rows x width tokens.
func (b *bench) Learner(c checkpoint.Config, weights map[string][]float32, rows, width int, o adamW) (learner, error) {
	w, err := model.LoadWeights(b.dev, c, model.Memory(weights))
	if err != nil {
		return nil, err
	}
	return newNetwork(b.dev, w, rows, width, grpo.AdamW{
		Beta1: o.Beta1, Beta2: o.Beta2, Epsilon: o.Epsilon, WeightDecay: o.WeightDecay, MaxGradNorm: o.ClipNorm,
	})
}

// Sampler opens a folder.
func (b *bench) Sampler(dir string) (sampler, error) {
	cp, err := checkpoint.Open(dir)
	if err != nil {
		return nil, err
	}
	defer cp.Close()
	w, err := model.LoadWeights(b.dev, cp.Config, cp)
	if err != nil {
		return nil, err
	}
	s, err := model.NewSampler(b.dev, w, model.SamplerOptions{Stop: cp.Config.EOSTokenIDs})
	if err != nil {
		return nil, err
	}
	return replier{s}, nil
}

// replier samples replies, 120 prompts at a time.
type replier struct{ *model.Sampler }

func (r replier) Sample(prompts [][]int32, temperature, topP float64, maxNew int, seed uint64) ([][]int32, error) {
	const batch = 120
	columns := 0
	for _, p := range prompts {
		columns = max(columns, len(p))
	}
	var out [][]int32
	for at := 0; at < len(prompts); at += batch {
		request := model.Request{MaxTokens: maxNew, Temperature: temperature, TopP: topP, Columns: columns}
		for i := at; i < at+batch; i++ {
			p := model.Prompt{Keys: []model.Key{model.NewKey(seed, uint64(i))}}
			if i < len(prompts) {
				p.IDs = prompts[i]
			}
			request.Prompts = append(request.Prompts, p)
		}
		replies, err := r.Sampler.Sample(context.Background(), request)
		if err != nil {
			return nil, fmt.Errorf("sampling: %w", err)
		}
		for i := at; i < min(at+batch, len(prompts)); i++ {
			out = append(out, replies[i-at][0].IDs)
		}
	}
	return out, nil
}
