// Package tokenizer is Qwen2's tokenizer: text is brought into Unicode NFC, cut into words by Qwen2's split pattern, and each
// word's bytes are merged by byte-level BPE. It is read from a Hugging Face tokenizer.json, from the tokens and merges of a
// GGUF file, or trained.
//
// Control tokens (<|im_start|>, <|im_end|>, ...) come out only where the caller asks for them: Encode treats their
// spelling as text, EncodeSpecial recognises it, and ChatML places them around messages whose contents go through the former.
//
// Other normalisers, patterns, models and post-processors are refused by name rather than approximated.
package tokenizer
