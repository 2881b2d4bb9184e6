package grpo

import (
	"context"
	"fmt"
	"math"
	"time"
)

// step is one GRPO step of all runs: rollouts, rewards, advantages, gradients, update, record.
func (l *loop) step(ctx context.Context, step int) error {
	began := time.Now()
	if err := l.sampler.Load(l.adapters); err != nil {
		return err
	}
	groups, err := l.rollouts(ctx, step)
	if err != nil {
		return err
	}
	generated := time.Since(began)
	steps := make([]*stepOf, len(l.runs))
	for i := range l.runs {
		if steps[i], err = l.grade(i, step, groups[i]); err != nil {
			return err
		}
	}
	graded := time.Since(began)
	if err := l.learn(steps); err != nil {
		return err
	}
	rate := LinearRate(l.settings.LearningRate, step, l.settings.MaxSteps)
	norms, err := l.trainer.Step(rate)
	if err != nil {
		return err
	}
	took := time.Since(began)
	p := Progress{Step: step + 1, Steps: l.settings.MaxSteps, StepTime: took}
	sampled := 0
	metrics := make([]map[string]float64, len(l.runs))
	for i, r := range l.runs {
		s := steps[i]
		if err := l.sound(s, float64(norms[i])); err != nil {
			return fmt.Errorf("%s: %w: nothing of this step is kept", r.Config.Run.Name, err)
		}
		values := s.metrics(l.settings)
		l.tokens[i] += int64(s.promptTokens + s.replyTokens)
		sampled += s.replyTokens
		values["learning_rate"], values["grad_norm"] = rate, float64(norms[i])
		values["epoch"] = float64((step+1)*l.settings.PromptsPerStep) / float64(len(l.Problems))
		values["num_tokens"] = float64(l.tokens[i])
		values["step_time"] = took.Seconds()
		values["timing_s/gen"] = generated.Seconds()
		values["timing_s/reward"] = (graded - generated).Seconds()
		values["timing_s/update"] = (took - graded).Seconds()
		metrics[i] = values
		p.Runs, p.Rewards, p.Talk = append(p.Runs, r.Config.Run.Name), append(p.Rewards, values["reward"]), append(p.Talk, values["talk/rate"])
	}
	for _, values := range metrics {
		l.perf(values, sampled, generated, took-graded)
	}
	// Nothing is written before every run's step was found sound.
	for i, r := range l.runs {
		if r.Out.Done() {
			continue
		}
		if err := r.Out.AppendCompletions(step+1, steps[i].rollouts); err != nil {
			return err
		}
		if err := r.Out.AppendMetrics(step+1, metrics[i]); err != nil {
			return err
		}
	}
	if l.Progress != nil {
		p.Sampled, p.TokensPerS = sampled, float64(sampled)/generated.Seconds()
		l.spent, l.steps = l.spent+took, l.steps+1
		p.Left = l.spent / time.Duration(l.steps) * time.Duration(l.settings.MaxSteps-step-1)
		l.Progress(p)
	}
	return nil
}

// sound says what is wrong with a step of one run, whose gradient had this norm.
func (l *loop) sound(s *stepOf, norm float64) error {
	for i := range s.rollouts {
		if logp := s.rollouts[i].SumLogpSampler; math.IsNaN(logp) || math.IsInf(logp, 0) {
			return fmt.Errorf("reply %d was sampled with log-probability %v; expected a finite number", i, logp)
		}
	}
	if math.IsNaN(norm) || math.IsInf(norm, 0) {
		return fmt.Errorf("the gradient's norm is %v; expected a finite number", norm)
	}
	if s.difference.n == 0 {
		return nil // no reply had an advantage: nothing was trained on, and nothing scored again
	}
	if d := s.difference.sum / s.difference.n; !(d <= l.settings.MaxLogpDifference) {
		return fmt.Errorf("the sampler's and the trainer's log-probabilities differ by %.4g on average; expected at most %g (max_logp_difference): they are not the same model",
			d, l.settings.MaxLogpDifference)
	}
	return nil
}
