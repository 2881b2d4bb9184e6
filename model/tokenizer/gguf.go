package tokenizer

import "fmt"

// Token types of tokenizer.ggml.token_type (llama.h, enum llama_token_type).
const (
	GGUFNormal      = 1
	GGUFUnknown     = 2
	GGUFControl     = 3
	GGUFUserDefined = 4
	GGUFUnused      = 5
	GGUFByte        = 6
)

// FromGGUF builds the tokenizer of a GGUF file of Qwen2 from its metadata tokenizer.ggml.tokens (in the byte alphabet, by
// id), .merges ("left right", by rank) and .token_type. NFC is applied: GGUF files do not say it, Qwen2's tokenizer does.
func FromGGUF(tokens, merges []string, types []int64) (*Tokenizer, error) {
	if len(tokens) == 0 || len(types) != len(tokens) {
		return nil, fmt.Errorf("%d tokens, %d token types: want as many of one as of the other, and some", len(tokens), len(types))
	}
	pieces, kinds := make([]string, len(tokens)), make([]kind, len(tokens))
	ids := make(map[string]int32, len(tokens))
	for id, tok := range tokens {
		var err error
		switch types[id] {
		case GGUFNormal:
			kinds[id] = text
			if pieces[id], err = unspell(tok); err != nil {
				return nil, err
			}
		case GGUFControl:
			kinds[id], pieces[id] = control, tok
		case GGUFUserDefined:
			kinds[id], pieces[id] = userDefined, tok
		case GGUFUnused:
		default:
			return nil, fmt.Errorf("token %d (%q) has type %d, want 1 (normal), 3 (control), 4 (user-defined) or 5 (unused)", id, tok, types[id])
		}
		ids[tok] = int32(id)
	}
	ms, err := parseMerges(merges, ids)
	if err != nil {
		return nil, err
	}
	return newTokenizer(pieces, kinds, ms, true)
}
