package mini

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

func TestOpenBaseSaysWhatIsMissing(t *testing.T) {
	folder := fstest.MapFS{"config.json": {Data: []byte("{}")}, "tokenizer.json": {Data: []byte("{}")}}
	_, err := openBase(folder)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "model.safetensors") || !strings.Contains(err.Error(), "go run ./recipe/mini/pretrain") {
		t.Errorf("got %v, want an error that names the file and the command that makes it", err)
	}
	folder["model.safetensors"] = &fstest.MapFile{Data: []byte("not a checkpoint")}
	if _, err := openBase(folder); err == nil || !strings.Contains(err.Error(), "embedded mini model") {
		t.Errorf("a broken checkpoint: got %v", err)
	}
}
