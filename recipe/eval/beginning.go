package eval

import (
	"context"
	"strings"

	"teamtalk/model"
	"teamtalk/recipe/data"
)

// Beginning is how a reply of a job begins: its first tokens, or all of it.
type Beginning struct {
	Job          Job
	Task, Sample int
	Text         string
	Whole        bool // the reply ended within these tokens
}

// Of says whether text begins, or is, as b says.
func (b Beginning) Of(text string) bool {
	if b.Whole {
		return text == b.Text
	}
	// The last token may be a part of a letter.
	return strings.HasPrefix(text, strings.TrimRight(b.Text, "\uFFFD"))
}

// Begin samples the first tokens of the first batch once more, with the evaluation's own noise or, for a shift other than
// 0, with that of other seeds. The batch has the shape and the contents that it has in Evaluate, because rounding may depend on them.
func (e *Evaluator) Begin(ctx context.Context, tokens int, shift int64) ([]Beginning, error) {
	round := e.round(0)
	if err := e.load(round); err != nil {
		return nil, err
	}
	within, stop := context.WithCancel(ctx)
	defer stop()
	r := e.request(0, 0, shift)
	var flat []model.Completion
	if tokens < r.MaxTokens {
		r.Every = tokens
		r.Progress = func(replies []model.Completion) {
			if flat == nil {
				flat = replies
				stop()
			}
		}
	}
	out, err := e.sampler.Sample(within, r)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if flat != nil {
		out, err = nil, nil
		for n := e.o.Settings.Samples; len(flat) > 0; flat = flat[n:] {
			out = append(out, flat[:n])
		}
	}
	if err != nil {
		return nil, err
	}
	var all []Beginning
	e.each(round, 0, out, func(slot int, p data.Problem, sample int, c model.Completion) {
		reply := e.o.reply(p, sample, c)
		whole := !reply.Truncated() || len(c.IDs) == r.MaxTokens
		all = append(all, Beginning{Job: round[slot], Task: p.Index, Sample: sample, Text: reply.Text, Whole: whole})
	})
	return all, nil
}
