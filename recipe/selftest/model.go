package selftest

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"teamtalk/model"
	"teamtalk/model/backend"
	"teamtalk/recipe/mini"
)

// goldenReply is what the embedded model replies to a held-out problem of the mini preset.
type goldenReply struct {
	Problem int       `json:"problem"`
	Team    bool      `json:"team"` // under the team prompt
	Sample  int       `json:"sample"`
	IDs     []int32   `json:"ids"`
	Logp    []float64 `json:"logp"` // of each id, at the temperature it was sampled at
}

// golden was sampled on the Go backend (go test ./recipe/selftest -update), whose model and noise are held against other
// people's implementations by the tests of package model.
//
//go:embed golden.json
var golden []byte

const (
	goldenProblems    = 8
	goldenSamples     = 2
	goldenTokens      = 48
	goldenTemperature = 0.9
)

// tolerances of a backend: for one log-probability, and for the mean difference.
type tolerances struct {
	one, mean float64
	exact     bool // sampled tokens must be the golden ones
}

// tolerancesOf: f32 rounds in the sixth digit; in bf16, on GPUs, single tokens move by tenths, and a near tie falls otherwise.
func tolerancesOf(kind backend.Kind) tolerances {
	if kind == backend.CUDA {
		return tolerances{one: 1, mean: 0.05}
	}
	return tolerances{one: 1e-3, mean: 1e-4, exact: true}
}

// session is the embedded model, ready to reply and to score.
type session struct {
	prompts []model.Prompt
	sampler *model.Sampler
	scorer  *model.Scorer
	width   int
	close   []func()
}

func (s *session) Close() {
	for _, f := range slices.Backward(s.close) {
		f()
	}
}

func open(dev *backend.Device) (s *session, err error) {
	s = &session{}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	cp, err := mini.OpenBase()
	if err != nil {
		return nil, err
	}
	s.close = append(s.close, func() { _ = cp.Close() }) // embedded: nothing can fail
	tok, err := cp.Tokenizer()
	if err != nil {
		return nil, err
	}
	for i, p := range mini.Problems().Holdout[:goldenProblems] {
		ids, err := mini.Prompt(tok, mini.System(i%2 == 1), p.Question)
		if err != nil {
			return nil, err
		}
		prompt := model.Prompt{IDs: ids}
		for sample := range goldenSamples {
			prompt.Keys = append(prompt.Keys, model.NewKey(uint64(i), uint64(sample)))
		}
		s.prompts = append(s.prompts, prompt)
		s.width = max(s.width, len(ids)+goldenTokens)
	}
	weights, err := model.LoadWeights(dev, cp.Config, cp)
	if err != nil {
		return nil, err
	}
	s.close = append(s.close, weights.Free)
	if s.sampler, err = model.NewSampler(dev, weights, model.SamplerOptions{Stop: cp.Config.EOSTokenIDs}); err != nil {
		return nil, err
	}
	s.close = append(s.close, s.sampler.Close)
	if s.scorer, err = model.NewScorer(dev, weights, nil, goldenProblems*goldenSamples, s.width); err != nil {
		return nil, err
	}
	s.close = append(s.close, s.scorer.Close)
	return s, nil
}

// reply samples a reply to every prompt and key.
func (s *session) reply(ctx context.Context) ([]goldenReply, error) {
	out, err := s.sampler.Sample(ctx, model.Request{Prompts: s.prompts, MaxTokens: goldenTokens, Temperature: goldenTemperature})
	if err != nil {
		return nil, err
	}
	var all []goldenReply
	for i := range out {
		for j, c := range out[i] {
			r := goldenReply{Problem: i, Team: i%2 == 1, Sample: j, IDs: c.IDs}
			for _, v := range c.LogProbs {
				r.Logp = append(r.Logp, math.Round(float64(v)*1e6)/1e6)
			}
			all = append(all, r)
		}
	}
	return all, nil
}

// score gives the log-probability of every token of replies, as training computes it.
func (s *session) score(replies []goldenReply) ([][]float32, error) {
	var batch model.Rows
	for _, r := range replies {
		ids := append(slices.Clone(s.prompts[r.Problem].IDs), r.IDs...)
		for k := range s.width {
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
	logp, _, err := s.scorer.Score(batch, goldenTemperature)
	if err != nil {
		return nil, err
	}
	out := make([][]float32, len(replies))
	for i, r := range replies {
		from := i*s.width + len(s.prompts[r.Problem].IDs) - 1
		out[i] = logp[from : from+len(r.IDs)]
	}
	return out, nil
}

// testModel holds sampling, and scoring by the layers of training, against the golden replies.
func testModel(ctx context.Context, dev *backend.Device) (checks int, err error) {
	var want []goldenReply
	if err := json.Unmarshal(golden, &want); err != nil {
		return 0, fmt.Errorf("golden.json: %w", err)
	}
	s, err := open(dev)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	sampled, err := s.reply(ctx)
	if err != nil {
		return 0, err
	}
	return s.compare(sampled, want, tolerancesOf(dev.Kind))
}

func (s *session) compare(sampled, want []goldenReply, t tolerances) (checks int, err error) {
	if len(sampled) != len(want) || len(want) != goldenProblems*goldenSamples {
		return 0, fmt.Errorf("%d replies sampled, %d golden ones, expected %d", len(sampled), len(want), goldenProblems*goldenSamples)
	}
	for i, w := range want {
		if got := sampled[i]; t.exact && !slices.Equal(got.IDs, w.IDs) {
			return checks, fmt.Errorf("reply %d to problem %d (team prompt: %t): sampled %v, expected %v", w.Sample, w.Problem, w.Team, got.IDs, w.IDs)
		}
		checks++
	}
	for _, c := range []struct {
		what    string
		replies []goldenReply
	}{{"golden reply", want}, {"reply just sampled", sampled}} {
		scored, err := s.score(c.replies)
		if err != nil {
			return checks, err
		}
		sum, n := 0.0, 0
		for i, r := range c.replies {
			for k, v := range r.Logp {
				d := math.Abs(float64(scored[i][k]) - v)
				if !(d <= t.one) {
					return checks, fmt.Errorf("token %d of %s %d to problem %d: log-probability %g, scored %g; expected a difference of at most %g", k, c.what, r.Sample, r.Problem, v, scored[i][k], t.one)
				}
				sum += d
				n++
				checks++
			}
		}
		if mean := sum / float64(n); !(mean <= t.mean) {
			return checks, fmt.Errorf("log-probabilities of each %s, and scored: they differ by %g on average; expected at most %g", c.what, mean, t.mean)
		}
	}
	return checks, nil
}
