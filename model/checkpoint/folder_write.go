package checkpoint

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"teamtalk/model/tokenizer"
)

// WriteFolder writes a model as a Hugging Face folder that transformers reads: config.json, model.safetensors and, if tok is
// not nil, tokenizer.json. tensors must be exactly those of cfg.Specs(), in any order; they are stored as cfg.DType says,
// "float32" or "bfloat16". The folder is made if need be; a file in the way is an error.
func WriteFolder(dir string, cfg Config, tok *tokenizer.Tokenizer, tensors []Tensor) error {
	dtype := map[string]string{"float32": "F32", "bfloat16": "BF16"}[cfg.DType]
	if dtype == "" {
		return fmt.Errorf("cannot write weights as %q, want DType \"float32\" or \"bfloat16\"", cfg.DType)
	}
	if err := cfg.Validate(); err != nil {
		return err
	}
	have := map[string]tensor{}
	for _, t := range tensors {
		have[t.Name] = tensor{entry: entry{name: t.Name, shape: t.Shape, enc: encF32}}
	}
	if err := check(cfg, have); err != nil {
		return err
	}
	if tok != nil && tok.VocabSize() > cfg.VocabSize {
		return fmt.Errorf("the tokenizer has %d tokens, the model's vocabulary %d", tok.VocabSize(), cfg.VocabSize)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, singleFile), func(w io.Writer) error { return writeSafetensors(w, tensors, dtype) }); err != nil {
		return err
	}
	if tok != nil {
		if _, err := writeJSON(filepath.Join(dir, tokenizerFile), tok); err != nil {
			return err
		}
	}
	_, err := writeJSON(filepath.Join(dir, configFile), cfg) // last: without it the folder is no model
	return err
}

// writeJSON writes v indented and returns the file's SHA-256 in hex.
func writeJSON(path string, v any) (sum string, err error) {
	return writeSummed(path, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(v)
	})
}
