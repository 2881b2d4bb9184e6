// Package selftest checks, on the machine it runs on and without network, that the instruments and the model give known
// answers: the grader and the talk counter first, then the model's programs on the backend that is asked for.
package selftest

import (
	"context"
	"fmt"
	"io"
	"math"

	"teamtalk/grader"
	"teamtalk/model"
	"teamtalk/model/backend"
	"teamtalk/recipe/mini"
)

// Run writes a line for each part and, last, "selftest: ok (N checks)". The first fault is the error.
func Run(ctx context.Context, w io.Writer, kind backend.Kind) error {
	checks, err := grader.SelfTest()
	if err != nil {
		return fmt.Errorf("selftest: grader and talk counter: %w", err)
	}
	fmt.Fprintf(w, "grader and talk counter: ok (%d checks)\n", checks)
	dev, err := backend.Open(kind)
	if err != nil {
		return fmt.Errorf("selftest: %w", err)
	}
	defer dev.Close()
	for _, p := range dev.Passed {
		fmt.Fprintf(w, "backend not taken: %s\n", p)
	}
	fmt.Fprintf(w, "backend: %s\n", dev)
	n, err := testModel(ctx, dev)
	if err != nil {
		return fmt.Errorf("selftest: model on %s: %w", dev.Kind, err)
	}
	fmt.Fprintf(w, "model: ok (%d checks)\n", n)
	fmt.Fprintf(w, "selftest: ok (%d checks)\n", checks+n)
	return nil
}

// testModel holds the sampler against the scorer, and both against golden replies of the embedded model.
func testModel(ctx context.Context, dev *backend.Device) (checks int, err error) {
	cp, err := mini.OpenBase()
	if err != nil {
		return 0, err
	}
	defer cp.Close()
	tok, err := cp.Tokenizer()
	if err != nil {
		return 0, err
	}
	weights, err := model.LoadWeights(dev, cp.Config, cp)
	if err != nil {
		return 0, err
	}
	defer weights.Free()
	sampler, err := model.NewSampler(dev, weights, model.SamplerOptions{Stop: cp.Config.EOSTokenIDs})
	if err != nil {
		return 0, err
	}
	defer sampler.Close()
	var prompts []model.Prompt
	problems := mini.Problems().Holdout[:8]
	for i, p := range problems {
		ids, err := mini.Prompt(tok, mini.System(i%2 == 1), p.Question)
		if err != nil {
			return 0, err
		}
		prompts = append(prompts, model.Prompt{IDs: ids, Keys: []model.Key{model.NewKey(uint64(i)), model.NewKey(uint64(i), 1)}})
	}
	replies, err := sampler.Sample(ctx, model.Request{Prompts: prompts, MaxTokens: 48, Temperature: 0.9})
	if err != nil {
		return 0, err
	}
	const rows, width = 16, 160
	var batch model.Rows
	var at []int
	for i, p := range prompts {
		for _, c := range replies[i] {
			ids := append(append([]int32(nil), p.IDs...), c.IDs...)
			at = append(at, len(p.IDs))
			for k := range width {
				id, segment, next := int32(0), int32(0), int32(0)
				if k < len(ids) {
					id, segment = ids[k], 1
				}
				if k+1 < len(ids) {
					next = ids[k+1]
				}
				batch.IDs, batch.Segments = append(batch.IDs, id), append(batch.Segments, segment)
				batch.Positions, batch.Targets = append(batch.Positions, int32(k)), append(batch.Targets, next)
			}
		}
	}
	scorer, err := model.NewScorer(dev, weights, nil, rows, width)
	if err != nil {
		return 0, err
	}
	logp, _, err := scorer.Score(batch, 0.9)
	if err != nil {
		return 0, err
	}
	tolerance := 1e-4
	if dev.Kind == backend.CUDA {
		tolerance = 0.1 // bf16; the mean is held to the experiment's own bound below
	}
	sum, n := 0.0, 0.0
	for i := range prompts {
		for j, c := range replies[i] {
			row := 2*i + j
			if len(c.IDs) == 0 || len(c.IDs) != len(c.LogProbs) {
				return checks, fmt.Errorf("reply %d has %d tokens and %d log-probabilities", row, len(c.IDs), len(c.LogProbs))
			}
			for k, v := range c.LogProbs {
				got := logp[row*width+at[row]-1+k]
				d := math.Abs(float64(got) - float64(v))
				if !(d <= tolerance) {
					return checks, fmt.Errorf("token %d of reply %d: sampled with log-probability %g, scored %g; expected a difference of at most %g", k, row, v, got, tolerance)
				}
				sum += d
				n++
				checks++
			}
		}
	}
	if mean := sum / n; mean > 0.02 {
		return checks, fmt.Errorf("sampled and scored log-probabilities differ by %g on average; expected at most 0.02", mean)
	}
	return checks, nil
}
