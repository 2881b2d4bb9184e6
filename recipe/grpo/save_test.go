package grpo

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"teamtalk/model/checkpoint"
)

// A checkpoint is gone on from only if its files are the bytes that were written; one of an earlier version says nothing of them.
func TestReadState(t *testing.T) {
	const adapterFile = "adapter_model.safetensors"
	flip := func(t *testing.T, name string) {
		raw, err := os.ReadFile(name)
		if err == nil {
			raw[len(raw)-3] ^= 1 // within the data: the header stays readable
			err = os.WriteFile(name, raw, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		why    string
		damage func(t *testing.T, dir string)
		want   []string // in the error; nil: it is read
	}{
		{"as it was written", func(*testing.T, string) {}, nil},
		{"a bit of the moments", func(t *testing.T, dir string) { flip(t, filepath.Join(dir, optimizerFile)) },
			[]string{optimizerFile + " is damaged: expected sha256 ", stateFile + " says was written, found "}},
		{"a bit of the adapter", func(t *testing.T, dir string) { flip(t, filepath.Join(dir, adapterFile)) },
			[]string{adapterFile + " is damaged: expected sha256 ", ", found "}},
		{"a file is gone", func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, adapterFile)) }, []string{adapterFile, "no such file"}},
		{"a version that wrote no sums", func(t *testing.T, dir string) {
			flip(t, filepath.Join(dir, optimizerFile))
			if err := os.WriteFile(filepath.Join(dir, stateFile), []byte(`{"global_step":2,"max_steps":4,"num_input_tokens_seen":99}`+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, nil},
	} {
		dir := t.TempDir()
		state := trainerState{GlobalStep: 2, MaxSteps: 4, NumTokens: 99, SHA256: map[string]string{}}
		for _, name := range []string{adapterFile, optimizerFile} {
			sum, err := checkpoint.WriteTensors(filepath.Join(dir, name), []checkpoint.Tensor{{Name: "first/" + name, Shape: []int{2}, Data: []float32{1, 2}}})
			if err != nil {
				t.Fatal(err)
			}
			state.SHA256[name] = sum
		}
		raw, err := json.Marshal(state)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, stateFile), raw, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		c.damage(t, dir)
		got, err := readState(dir)
		if c.want == nil && (err != nil || got.GlobalStep != 2 || got.MaxSteps != 4 || got.NumTokens != 99) {
			t.Errorf("%s: %+v, error %v, want step 2 of 4 and 99 tokens", c.why, got, err)
		}
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q", c.why, err, want)
			}
		}
	}
}
