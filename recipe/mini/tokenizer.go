package mini

import (
	"fmt"

	"teamtalk/model/tokenizer"
)

// VocabSize is the mini model's vocabulary: three control tokens, 256 bytes and 253 merges.
const VocabSize = 512

// special are the control tokens, with ids 0, 1 and 2.
var special = []string{"<|endoftext|>", "<|im_start|>", "<|im_end|>"}

// TrainTokenizer trains byte-level BPE on the first n examples of the stream of seed: on what stands in them between
// control tokens, cut where those cut it.
func TrainTokenizer(seed uint64, n int, m Mixture) (*tokenizer.Tokenizer, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	var texts []string
	for i := range n {
		e := ExampleAt(seed, i, m)
		texts = append(texts, "system\n"+System(e.Team), "user\n"+e.Problem.Question, "\n", "assistant\n"+e.Reply)
	}
	t, err := tokenizer.Train(texts, VocabSize, special)
	if err != nil {
		return nil, err
	}
	if got := t.VocabSize(); got != VocabSize {
		return nil, fmt.Errorf("mini: expected texts with enough to merge for %d tokens, found %d after %d examples: use more", VocabSize, got, n)
	}
	return t, nil
}
