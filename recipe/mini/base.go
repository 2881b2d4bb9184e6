package mini

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"teamtalk/model/checkpoint"
)

// BaseName is what plans and reports call the embedded model.
const BaseName = "teamtalk-mini"

//go:embed base
var embedded embed.FS

// OpenBase opens the embedded base model: configuration, bf16 weights and tokenizer, checked like any other checkpoint.
func OpenBase() (*checkpoint.Checkpoint, error) {
	folder, err := fs.Sub(embedded, "base")
	if err != nil {
		return nil, err
	}
	return openBase(folder)
}

func openBase(folder fs.FS) (*checkpoint.Checkpoint, error) {
	for _, name := range []string{"config.json", "model.safetensors", "tokenizer.json"} {
		if _, err := fs.Stat(folder, name); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("the program was built without its mini model: expected recipe/mini/base/%s, found none; "+
				"make it with go run ./recipe/mini/pretrain and build again: %w", name, err)
		}
	}
	c, err := checkpoint.OpenFS(folder)
	if err != nil {
		return nil, fmt.Errorf("embedded mini model: %w", err)
	}
	return c, nil
}
