package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"teamtalk/model/checkpoint"
	"teamtalk/model/tokenizer"
	"teamtalk/recipe/data"
	"teamtalk/recipe/mini"
)

// standIn stands in for the backend: the learner counts, and the sampler gives the replies it is told to.
type standIn struct {
	weights map[string][]float32
	rates   []float64
	norms   []float64
	losses  []float64 // cycled through
	reply   func(row int, prompt string) string
	tok     *tokenizer.Tokenizer
}

func (b *standIn) Open(string) (string, error) { return "stand-in", nil }

func (b *standIn) Learner(_ checkpoint.Config, w map[string][]float32, _, _ int, _ adamW) (learner, error) {
	b.weights = w
	return b, nil
}

func (b *standIn) Step(_ *data.Packed, rate, norm float64) (float64, float64, error) {
	b.rates, b.norms = append(b.rates, rate), append(b.norms, norm)
	b.weights["model.norm.weight"][0]++ // so that what is written can be told from what was begun with
	return b.losses[(len(b.rates)-1)%len(b.losses)], 1, nil
}

func (b *standIn) Weights() (map[string][]float32, error) { return b.weights, nil }

func (b *standIn) Sampler(dir string) (sampler, error) {
	c, err := checkpoint.Open(dir)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	b.tok, err = c.Tokenizer()
	return b, err
}

func (b *standIn) Sample(prompts [][]int32, _, _ float64, _ int, _ uint64) ([][]int32, error) {
	var out [][]int32
	for i, p := range prompts {
		end, _ := b.tok.ID("<|im_end|>")
		out = append(out, append(b.tok.Encode(b.reply(i, b.tok.Decode(p))), end))
	}
	return out, nil
}

// The whole command with a backend that learns nothing: what it writes can be read, and what it prints is what was sampled.
func TestRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "base")
	holdout := mini.Problems().Holdout
	b := &standIn{losses: []float64{3, 2}, reply: func(row int, prompt string) string {
		gold := holdout[row/4].Gold
		switch {
		case strings.HasPrefix(prompt, "system\n"+mini.SystemTeam) && row%4 < 3:
			return "Solver: 1+1=2\nChecker: yes, 2.\nLead: \\boxed{" + gold + "}"
		case row%4 == 0:
			return "Work: guess 0. \\boxed{0}"
		}
		return "Work: 1+1=3. \\boxed{" + gold + "}"
	}}
	var stdout, stderr bytes.Buffer
	args := []string{"-out", dir, "-steps", "5", "-warmup", "2", "-batch", "2", "-tokenizer-examples", "2000", "-log", "2"}
	if err := run(context.Background(), args, b, &stdout, &stderr); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"plain  480 replies: pass@1 0.750, mixed groups 1.00, talk 0.00, guesses 0.25, pass@1 of worked replies 1.000, slips per step 1.000, unfinished 0.000",
		"team   480 replies: pass@1 1.000, mixed groups 0.00, talk 0.75, guesses 0.00, pass@1 of worked replies 1.000, slips per step 0.250",
	} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, stdout.String())
		}
	}
	if !strings.Contains(stderr.String(), "854144 parameters") || !strings.Contains(stderr.String(), "step 5/5") {
		t.Errorf("progress:\n%s", stderr.String())
	}
	c, err := checkpoint.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	norm := make([]float32, 128)
	if err := c.ReadF32("model.norm.weight", norm); err != nil || norm[0] != 6 || norm[1] != 1 {
		t.Errorf("the folder holds %v.. (%v), 5 steps after 1 make 6", norm[:2], err)
	}
	if c.DType("model.norm.weight") != "BF16" || !c.Config.TieWordEmbeddings {
		t.Errorf("stored as %s, tied %v", c.DType("model.norm.weight"), c.Config.TieWordEmbeddings)
	}
	for i, n := range b.norms {
		if n != b.norms[0] || n < 10 {
			t.Errorf("step %d divides by %v, step 0 by %v: the norm must be constant", i, n, b.norms[0])
		}
	}
	if b.rates[0] != 1e-3 || b.rates[1] != 2e-3 || b.rates[4] >= b.rates[3] {
		t.Errorf("rates %v: the schedule's are 1e-3, 2e-3 and then falling", b.rates)
	}
	// A second run must not write over the first.
	err = run(context.Background(), args, b, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "config.json exists") {
		t.Errorf("over an existing model: got %v", err)
	}
}

func TestRunStops(t *testing.T) {
	args := func(dir string) []string {
		return []string{"-out", dir, "-steps", "3", "-warmup", "0", "-batch", "1", "-tokenizer-examples", "2000"}
	}
	dir := filepath.Join(t.TempDir(), "base")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := run(ctx, args(dir), &standIn{losses: []float64{1}}, io.Discard, io.Discard)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "step 1 of 3") {
		t.Errorf("cancelled: got %v", err)
	}
	err = run(context.Background(), args(dir), &standIn{losses: []float64{1, math.NaN()}}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "step 2: the loss is NaN") {
		t.Errorf("a loss that is no number: got %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a run that stopped left something behind: %v", err)
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		why  string
		args []string
		want string
	}{
		{"unknown flag", []string{"-epochs", "3"}, "epochs"},
		{"an argument", []string{"base"}, `found "base"`},
		{"no steps", []string{"-steps", "0"}, "at least 1 step"},
		{"a warm-up longer than the run", []string{"-steps", "10"}, "found 10 steps, 60 of warm-up"},
		{"a share above 1", []string{"-guess", "25"}, "expected Guess between 0 and 1, found 25"},
		{"no rows", []string{"-batch", "0"}, "found -batch 0"},
	} {
		err := run(context.Background(), c.args, nil, io.Discard, io.Discard)
		if !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want a mistake of usage with %q", c.why, err, c.want)
		}
	}
	if err := run(context.Background(), []string{"-h"}, nil, io.Discard, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: got %v", err)
	}
}

func TestDescribe(t *testing.T) {
	var out bytes.Buffer
	if err := run(context.Background(), []string{"-describe", "-tokenizer-examples", "2000"}, nil, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{mini.SystemPlain, "\\boxed{", "50 batches of 13 x 256", "% of the columns filled"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, out.String())
		}
	}
}

func TestScoreRefusesMissingReplies(t *testing.T) {
	if _, err := score(trained(t), mini.Problems().Holdout[:2], make([][]int32, 7), 4); err == nil || !strings.Contains(err.Error(), "found 7 replies") {
		t.Errorf("got %v", err)
	}
}

// The first weights: normal with the asked deviation, norms 1, biases 0, and the same for the same seed.
func TestInitialWeights(t *testing.T) {
	c := architecture(mini.VocabSize)
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	if c.Params() != 854_144 {
		t.Errorf("%d parameters, the documentation says 854,144", c.Params())
	}
	w, again, other := initialWeights(c, 1, 0.05), initialWeights(c, 1, 0.05), initialWeights(c, 2, 0.05)
	const embedding, norm, bias = "model.embed_tokens.weight", "model.layers.0.input_layernorm.weight", "model.layers.3.self_attn.k_proj.bias"
	var sum, squares float64
	for _, x := range w[embedding] {
		sum += float64(x)
		squares += float64(x) * float64(x)
	}
	n := float64(len(w[embedding]))
	if mean, std := sum/n, math.Sqrt(squares/n); math.Abs(mean) > 1e-3 || math.Abs(std-0.05) > 5e-4 {
		t.Errorf("embedding: mean %.5f, deviation %.5f, want 0 and 0.05", mean, std)
	}
	if len(w[norm]) != 128 || w[norm][7] != 1 || len(w[bias]) != 64 || w[bias][7] != 0 {
		t.Errorf("a norm begins at %v and a bias at %v", w[norm][7], w[bias][7])
	}
	if w[embedding][5] != again[embedding][5] || w[embedding][5] == other[embedding][5] {
		t.Error("the weights are not a function of the seed")
	}
	if q, k := w["model.layers.0.self_attn.q_proj.weight"], w["model.layers.1.self_attn.q_proj.weight"]; q[0] == k[0] {
		t.Error("two tensors share their values")
	}
}
