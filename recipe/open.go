package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"teamtalk/model"
	"teamtalk/model/backend"
	"teamtalk/model/checkpoint"
	"teamtalk/recipe/fetch"
	"teamtalk/recipe/grpo"
	"teamtalk/recipe/hub"
	"teamtalk/recipe/mini"
)

// embeddedModel is -model's name for the model inside the program.
const embeddedModel = "mini"

// modelFlags say which model a tool works on.
type modelFlags struct{ model, adapter, backend string }

func (m *modelFlags) register(f *flag.FlagSet) {
	f.StringVar(&m.model, "model", embeddedModel, "Hugging Face `folder`, GGUF file or hub:NAME; mini is the model inside this program")
	f.StringVar(&m.adapter, "adapter", "", "PEFT adapter `folder`; without one the base model answers")
	f.StringVar(&m.backend, "backend", string(backend.Auto), "`auto`, cuda, xla-cpu or go")
}

// check finds what is wrong before anything is opened.
func (m *modelFlags) check() error {
	if m.model == "" {
		return usagef("-model is empty: expected a folder, a GGUF file, hub:NAME or %s", embeddedModel)
	}
	if kind := backend.Kind(m.backend); kind != backend.Auto && !slices.Contains(backend.Kinds, kind) {
		return usagef("-backend %q: expected auto, cuda, xla-cpu or go", m.backend)
	}
	return nil
}

// openModel is a model on a device, with the adapter's values beside it.
type openModel struct {
	checkpoint *checkpoint.Checkpoint
	device     *backend.Device
	weights    *model.Weights
	lora       *model.LoRA // nil: no adapter
	adapters   *model.Adapters
}

// open reads checkpoint and adapter, then takes a backend, telling log which and why not the others, then loads the weights.
func (m *modelFlags) open(ctx context.Context, log io.Writer) (*openModel, error) {
	o := &openModel{}
	if err := m.openInto(ctx, o, log); err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}

func (m *modelFlags) openInto(ctx context.Context, o *openModel, log io.Writer) (err error) {
	if o.checkpoint, err = openCheckpoint(ctx, m.model, log); err != nil {
		return err
	}
	for _, note := range o.checkpoint.Notes {
		fmt.Fprintf(log, "model: %s\n", note)
	}
	var values map[string][]float32
	if m.adapter != "" {
		var l model.LoRA
		if l, values, err = grpo.ReadAdapter(m.adapter, o.checkpoint.Config); err != nil {
			return err
		}
		o.lora = &l
	}
	if o.device, err = backend.Open(backend.Kind(m.backend)); err != nil {
		return err
	}
	for _, p := range o.device.Passed {
		fmt.Fprintf(log, "backend not taken: %s\n", p)
	}
	fmt.Fprintf(log, "backend: %s\n", o.device)
	if o.weights, err = model.LoadWeights(o.device, o.checkpoint.Config, o.checkpoint); err != nil {
		return err
	}
	if o.lora != nil {
		o.adapters, err = model.AdaptersFrom(o.device, o.checkpoint.Config, *o.lora, []map[string][]float32{values})
	}
	return err
}

func openCheckpoint(ctx context.Context, name string, log io.Writer) (*checkpoint.Checkpoint, error) {
	if name == embeddedModel {
		return mini.OpenBase()
	}
	if strings.HasPrefix(name, hub.Prefix) {
		h, err := hub.FromEnv(fetch.Printer(log, 5*time.Second))
		if err != nil {
			return nil, err
		}
		m, err := h.Model(ctx, name)
		if err != nil {
			return nil, err
		}
		name = m.Dir
	}
	return checkpoint.Open(name)
}

// Close gives memory and files back.
func (o *openModel) Close() {
	if o.adapters != nil {
		o.adapters.Free()
	}
	if o.weights != nil {
		o.weights.Free()
	}
	if o.device != nil {
		o.device.Close()
	}
	if o.checkpoint != nil {
		o.checkpoint.Close()
	}
}

// bucket is the number of columns that a sequence of n ids gets: 64, 128, 192, 256, 384, 512, 768, 1024, .. Two widths to a
// doubling: a compiled program serves many lengths, and at most half of a row is padding beyond 128.
func bucket(n int) int {
	width := 64
	for {
		if n <= width {
			return width
		}
		if half := width / 2 * 3; width >= 128 && n <= half {
			return half
		}
		width *= 2
	}
}
