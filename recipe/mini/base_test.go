package mini

import (
	"bytes"
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

// The embedded model is the one that its card and the pretraining command describe: its size, and the tokenizer that the
// command's defaults train.
func TestEmbeddedBaseIsWhatTheCommandMakes(t *testing.T) {
	c, err := OpenBase()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if n := c.Config.Params(); n != 854144 {
		t.Errorf("%d parameters, want the 854,144 of the card", n)
	}
	tok, err := c.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	trained, err := TrainTokenizer(1, 10000, DefaultMixture)
	if err != nil {
		t.Fatal(err)
	}
	got, err := tok.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	want, err := trained.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("the embedded tokenizer is not the one that the mixture's examples train")
	}
}
