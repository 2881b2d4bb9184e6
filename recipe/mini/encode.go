package mini

import (
	"fmt"

	"teamtalk/model/tokenizer"
)

// Encode returns the token ids of an example: the ChatML prompt up to the point where the assistant begins, and the reply
// with the <|im_end|> that ends it.
func (e Example) Encode(t *tokenizer.Tokenizer) (prompt, reply []int32, err error) {
	end, ok := t.ID("<|im_end|>")
	if !ok {
		return nil, nil, fmt.Errorf("mini: the tokenizer has no <|im_end|>: expected one made by TrainTokenizer")
	}
	prompt, err = Prompt(t, System(e.Team), e.Problem.Question)
	if err != nil {
		return nil, nil, err
	}
	return prompt, append(t.Encode(e.Reply), end), nil
}

// Prompt is the ChatML prompt of a question under a system message, the same in pretraining, in training and in evaluation.
func Prompt(t *tokenizer.Tokenizer, system, question string) ([]int32, error) {
	return t.ChatML([]tokenizer.Message{{Role: "system", Content: system}, {Role: "user", Content: question}}, true)
}
