package main

import (
	"fmt"
	"io"

	"teamtalk/grader"
	"teamtalk/model/tokenizer"
	"teamtalk/recipe/data"
	"teamtalk/recipe/mini"
)

// sampler writes replies: one per prompt, new token ids only, ending in <|im_end|> unless maxNew cut it off. The noise of
// row i is a function of seed and i.
type sampler interface {
	Sample(prompts [][]int32, temperature, topP float64, maxNew int, seed uint64) ([][]int32, error)
}

// sampling is how the experiment's evaluation samples.
type sampling struct {
	Samples     int // per problem
	Temperature float64
	TopP        float64
	MaxNew      int
	Seed        uint64
}

// scores are shares of all replies under one prompt, unless they say otherwise.
type scores struct {
	Replies    int
	Pass1      float64 // mean verdict: pass@1
	Mixed      float64 // share of problems with right and wrong replies: where GRPO finds a gradient
	Talk       float64
	Guess      float64 // replies without work
	Unfinished float64 // replies without <|im_end|>
	Tokens     float64 // mean length, <|im_end|> included
	PassWorked float64 // mean verdict of the replies that show work
	Slips      float64 // share of written steps with a wrong result
}

// evaluate samples and grades replies to problems under one of the two prompts.
func evaluate(m sampler, tok *tokenizer.Tokenizer, problems []data.Problem, team bool, s sampling) (scores, error) {
	var prompts [][]int32
	for _, p := range problems {
		prompt, err := mini.Prompt(tok, mini.System(team), p.Question)
		if err != nil {
			return scores{}, err
		}
		for range s.Samples {
			prompts = append(prompts, prompt)
		}
	}
	replies, err := m.Sample(prompts, s.Temperature, s.TopP, s.MaxNew, s.Seed)
	if err != nil {
		return scores{}, err
	}
	if len(replies) != len(prompts) {
		return scores{}, fmt.Errorf("expected %d replies, one per prompt, the model returned %d", len(prompts), len(replies))
	}
	return score(tok, problems, replies, s.Samples)
}

// score grades replies, samples of them in a row for each problem.
func score(tok *tokenizer.Tokenizer, problems []data.Problem, replies [][]int32, samples int) (scores, error) {
	end, ok := tok.ID("<|im_end|>")
	if !ok || len(replies) == 0 || len(replies) != len(problems)*samples {
		return scores{}, fmt.Errorf("expected %d replies to each of %d problems and a tokenizer with <|im_end|>, found %d replies", samples, len(problems), len(replies))
	}
	var out scores
	var worked, workedRight, steps, slips, mixed float64
	for i, p := range problems {
		right := 0
		for _, ids := range replies[i*samples : (i+1)*samples] {
			text := tok.Decode(ids)
			verdict := grader.MathEqual(text, p.Gold)
			look := mini.Inspect(text)
			if verdict.Reward == grader.Right {
				right++
			}
			if look.Worked {
				worked++
				if verdict.Reward == grader.Right {
					workedRight++
				}
			}
			if look.Guess {
				out.Guess++
			}
			if grader.Talk(text).Talks {
				out.Talk++
			}
			if len(ids) == 0 || ids[len(ids)-1] != end {
				out.Unfinished++
			}
			steps += float64(look.Steps)
			slips += float64(look.Slips)
			out.Tokens += float64(len(ids))
		}
		out.Pass1 += float64(right)
		if right > 0 && right < samples {
			mixed++
		}
	}
	n := float64(len(replies))
	out.Replies = len(replies)
	out.Mixed = mixed / float64(len(problems))
	for _, share := range []*float64{&out.Pass1, &out.Talk, &out.Guess, &out.Unfinished, &out.Tokens} {
		*share /= n
	}
	out.PassWorked = workedRight / max(1, worked)
	out.Slips = slips / max(1, steps)
	return out, nil
}

// print writes one line per prompt.
func (s scores) print(w io.Writer, name string) {
	fmt.Fprintf(w, "%-6s %d replies: pass@1 %.3f, mixed groups %.2f, talk %.2f, guesses %.2f, pass@1 of worked replies %.3f, slips per step %.3f, unfinished %.3f, tokens %.1f\n",
		name, s.Replies, s.Pass1, s.Mixed, s.Talk, s.Guess, s.PassWorked, s.Slips, s.Unfinished, s.Tokens)
}
