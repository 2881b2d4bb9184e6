package tokenizer

import (
	"fmt"
	"strings"
)

const (
	imStart   = "<|im_start|>"
	imEnd     = "<|im_end|>"
	endOfText = "<|endoftext|>"
)

// DefaultSystem is the system message that Qwen2.5's chat template puts before a conversation without one.
const DefaultSystem = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."

// Message is one turn of a conversation. Role is "system", "user" or "assistant".
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// ChatML renders a conversation as Qwen2.5's chat template does: each message as <|im_start|>role\ncontent<|im_end|>\n, with
// DefaultSystem first when the conversation has no system message, and, if addGenerationPrompt is set, the beginning of the
// assistant's reply. The template's control tokens are ids; contents are encoded as text, so nothing written in a message can
// end it or begin another.
func (t *Tokenizer) ChatML(messages []Message, addGenerationPrompt bool) ([]int32, error) {
	start, hasStart := t.ids[imStart]
	end, hasEnd := t.ids[imEnd]
	if !hasStart || !hasEnd || t.kinds[start] != control || t.kinds[end] != control {
		return nil, fmt.Errorf("the tokenizer has no control tokens %s and %s: this model has no ChatML", imStart, imEnd)
	}
	messages, err := withSystem(messages)
	if err != nil {
		return nil, err
	}
	var out []int32
	for _, m := range messages {
		out = append(out, start)
		out = t.appendText(out, m.Role+"\n"+m.Content) // in one piece: the pattern may join the newline to what follows
		out = append(out, end)
		out = t.appendText(out, "\n")
	}
	if addGenerationPrompt {
		out = append(out, start)
		out = t.appendText(out, "assistant\n")
	}
	return out, nil
}

// ChatMLText is the same rendering as text, for people to read. Only ChatML keeps control tokens in contents apart.
func ChatMLText(messages []Message, addGenerationPrompt bool) (string, error) {
	messages, err := withSystem(messages)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(imStart + m.Role + "\n" + m.Content + imEnd + "\n")
	}
	if addGenerationPrompt {
		b.WriteString(imStart + "assistant\n")
	}
	return b.String(), nil
}

func withSystem(messages []Message) ([]Message, error) {
	if len(messages) == 0 {
		return nil, fmt.Errorf("a conversation of no messages: want at least one")
	}
	for i, m := range messages {
		switch m.Role {
		case "system", "user", "assistant":
		default:
			return nil, fmt.Errorf("message %d has the role %q, want system, user or assistant", i+1, m.Role)
		}
	}
	if messages[0].Role != "system" {
		return append([]Message{{"system", DefaultSystem}}, messages...), nil
	}
	return messages, nil
}
