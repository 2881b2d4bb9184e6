package checkpoint

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// WriteTensors writes tensors as one safetensors file in f32, whole or not at all, and returns the file's SHA-256 in hex.
func WriteTensors(path string, tensors []Tensor) (sum string, err error) {
	return writeSummed(path, func(w io.Writer) error { return writeSafetensors(w, tensors, "F32") })
}

// openTensors opens a safetensors file and checks its header. The caller closes it.
func openTensors(path string) (*os.File, []entry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	entries, _, err := parseSafetensors(f, st.Size())
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return f, entries, nil
}

// ReadTensors reads every tensor of a safetensors file as f32, by name.
func ReadTensors(path string) (map[string]Tensor, error) {
	f, entries, err := openTensors(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := map[string]Tensor{}
	for _, e := range entries {
		if e.enc == nil {
			return nil, fmt.Errorf("%s: tensor %s: dtype %s cannot be read as numbers, want F32, F16 or BF16", path, e.name, e.dtype)
		}
		t := Tensor{Name: e.name, Shape: e.shape, Data: make([]float32, numel(e.shape))}
		if err := readValues(f, e.off, e.enc, len(t.Data), func(from, to int, b *buffers) { e.enc.toF32(b.raw, t.Data[from:to]) }); err != nil {
			return nil, fmt.Errorf("%s: tensor %s: %w", path, e.name, err)
		}
		out[e.name] = t
	}
	return out, nil
}
