package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"teamtalk/model/tokenizer"
)

// OpenTokenizer reads only the tokenizer of a model, for which the weights need not be there: of a Hugging Face folder
// tokenizer.json and, if it has one, config.json; of a GGUF file the header. vocab is the number of ids that the model has,
// padding included.
func OpenTokenizer(path string) (t *tokenizer.Tokenizer, vocab int, err error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, 0, fmt.Errorf("no model at %s: want a Hugging Face folder with %s, or a GGUF file: %w", path, tokenizerFile, err)
	}
	if st.IsDir() {
		t, vocab, err = folderTokenizer(os.DirFS(path))
	} else {
		t, vocab, err = ggufFileTokenizer(path, st.Size())
	}
	if err == nil && t.VocabSize() > vocab {
		err = tooSmall(t, vocab)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	return t, vocab, nil
}

func tooSmall(t *tokenizer.Tokenizer, vocab int) error {
	return fmt.Errorf("the tokenizer has %d tokens, the model's vocabulary %d: they do not belong together", t.VocabSize(), vocab)
}

func folderTokenizer(fsys fs.FS) (*tokenizer.Tokenizer, int, error) {
	t, err := readTokenizer(fsys)
	if err != nil {
		return nil, 0, err
	}
	raw, err := fs.ReadFile(fsys, configFile)
	if errors.Is(err, fs.ErrNotExist) {
		return t, t.VocabSize(), nil
	}
	if err != nil {
		return nil, 0, err
	}
	cfg, err := ParseConfig(raw)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", configFile, err)
	}
	return t, cfg.VocabSize, nil
}

func readTokenizer(fsys fs.FS) (*tokenizer.Tokenizer, error) {
	raw, err := fs.ReadFile(fsys, tokenizerFile)
	if err != nil {
		return nil, fmt.Errorf("the model has no %s: %w", tokenizerFile, err)
	}
	t, err := tokenizer.FromJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tokenizerFile, err)
	}
	return t, nil
}

func ggufFileTokenizer(path string, size int64) (*tokenizer.Tokenizer, int, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	g, err := parseGGUF(f, size)
	if err != nil {
		return nil, 0, err
	}
	t, err := ggufTokenizer(g)
	if err != nil {
		return nil, 0, err
	}
	tokens, _ := g.meta["tokenizer.ggml.tokens"].([]string)
	return t, len(tokens), nil
}
