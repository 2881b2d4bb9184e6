package grpo

import (
	"context"
	"math"

	"teamtalk/model"
	"teamtalk/recipe/artifact"
	"teamtalk/recipe/data"
)

// request is what a step asks of the sampler: the prompts of every run, a key for each completion.
func (l *loop) request(step int) model.Request {
	var prompts []model.Prompt
	for i, r := range l.runs {
		for _, at := range l.order(i).Step(step) {
			p := model.Prompt{IDs: l.prompts[i][at]}
			for sample := range l.settings.NumGenerations {
				p.Keys = append(p.Keys, model.NewKey(r.Config.Settings.Streams.Sampling, uint64(step), uint64(l.Problems[at].Index), uint64(sample)))
			}
			prompts = append(prompts, p)
		}
	}
	return model.Request{
		Prompts: prompts, MaxTokens: l.settings.MaxCompletionLength, Temperature: l.settings.Temperature, TopP: l.settings.TopP,
		Columns: l.columns,
	}
}

// rollouts samples a step's completions of every run: result[run][prompt][sample].
func (l *loop) rollouts(ctx context.Context, step int) ([][][]model.Completion, error) {
	all, err := l.sampler.Sample(ctx, l.request(step))
	if err != nil {
		return nil, err
	}
	out := make([][][]model.Completion, len(l.runs))
	per := l.settings.PromptsPerStep
	for i := range out {
		out[i] = all[i*per : (i+1)*per]
	}
	return out, nil
}

func (l *loop) order(run int) data.Order {
	return data.Order{N: len(l.Problems), Chunk: l.settings.PromptsPerStep, Seed: l.runs[run].Config.Settings.Streams.DataOrder}
}

// stepOf is what one run did in one step.
type stepOf struct {
	rollouts    []artifact.Rollout
	completions []model.Completion
	prompts     [][]int32
	rewards     []float64 // NaN where the answer could not be graded
	advantages  []float64
	weights     []float64 // of a token of each completion in the loss

	promptTokens, replyTokens int
	loss                      float64
	difference                struct{ sum, max, n float64 } // sampler against trainer, over trained tokens
}

// grade turns a run's completions into rewards, advantages and loss weights.
func (l *loop) grade(run, step int, groups [][]model.Completion) (*stepOf, error) {
	s := &stepOf{}
	lengths := []int{}
	for g, at := range l.order(run).Step(step) {
		problem := l.Problems[at]
		for sample, c := range groups[g] {
			text := artifact.Text(l.Tokenizer.Decode(c.IDs))
			verdict, talk := l.Grade(text, problem.Gold)
			reward := math.NaN()
			if verdict.Reward != nil {
				reward = float64(*verdict.Reward)
			}
			logp := 0.0
			for _, v := range c.LogProbs {
				logp += float64(v)
			}
			prompt := l.prompts[run][at]
			s.rollouts = append(s.rollouts, artifact.Rollout{
				Step: step + 1, Prompt: g, PromptTokens: len(prompt), SumLogpSampler: logp,
				Sampled: artifact.Sampled{
					Task: problem.Index, TaskSHA256: problem.SHA256, Sample: sample, Text: text, Tokens: len(c.IDs),
					FinishReason: artifact.FinishReason(c.Finish), Verdict: verdict, Talk: talk,
				},
			})
			s.completions, s.prompts, s.rewards = append(s.completions, c), append(s.prompts, prompt), append(s.rewards, reward)
			s.promptTokens, s.replyTokens = s.promptTokens+len(prompt), s.replyTokens+len(c.IDs)
			learnt := len(c.IDs)
			if l.settings.MaskTruncatedCompletions && c.Finish == string(artifact.Length) {
				learnt = 0
			}
			lengths = append(lengths, learnt)
		}
	}
	var err error
	if s.advantages, err = Advantages(s.rewards, l.settings.NumGenerations, l.settings.ScaleRewards); err != nil {
		return nil, err
	}
	for i := range s.rollouts {
		s.rollouts[i].Advantage = s.advantages[i]
	}
	// One micro-batch holds the whole batch as far as the loss is concerned, however many passes it takes.
	s.weights, err = TokenWeights(l.settings.LossType, lengths, l.settings.MaxCompletionLength, 1)
	return s, err
}

// learn accumulates the gradients of all runs. Completions with advantage 0 have none and are left out of the passes; they
// count in the loss's normalisation all the same.
func (l *loop) learn(steps []*stepOf) error {
	var replies []reply
	var completions []int // of each reply: its number among its run's completions
	for run, s := range steps {
		for j, a := range s.advantages {
			if a == 0 || s.weights[j] == 0 {
				continue
			}
			completions = append(completions, j)
			replies = append(replies, reply{
				run: run, group: j / l.settings.NumGenerations, prompt: s.prompts[j], ids: s.completions[j].IDs,
				weight: float32(s.weights[j]), advantage: float32(a),
			})
		}
	}
	p, err := pack(replies, l.trainer.Rows(), l.trainer.T(), l.trainer.Picks())
	if err != nil {
		return err
	}
	l.filled = p.filled()
	for n, ps := range p.passes {
		scores, err := l.trainer.Accumulate(ps.MicroBatch, l.settings.Temperature)
		if err != nil {
			return err
		}
		for at, r := range replies {
			if p.places[at].pass == n {
				steps[r.run].scored(completions[at], scores, p.places[at].from)
			}
		}
	}
	return nil
}

// scored records what the trainer saw of completion j, whose predictions stand in scores from number from on.
func (s *stepOf) scored(j int, scores Scores, from int) {
	sum := 0.0
	for c, sampled := range s.completions[j].LogProbs {
		trained := float64(scores.Logp[from+c])
		s.loss += float64(scores.Loss[from+c])
		sum += trained
		d := math.Abs(trained - float64(sampled))
		s.difference.sum += d
		s.difference.max = max(s.difference.max, d)
		s.difference.n++
	}
	s.rollouts[j].SumLogpTrainer = &sum
}
