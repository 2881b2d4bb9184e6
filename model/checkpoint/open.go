package checkpoint

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"

	"teamtalk/model/tokenizer"
)

// Checkpoint is an opened model: its configuration, and its weights on disk, all of them checked to be there and to have the
// right shape. Reading is safe for concurrent use.
type Checkpoint struct {
	Config Config
	Path   string   // as given to Open; "" from OpenFS
	Format string   // "safetensors" or "gguf"
	Notes  []string // choices that a reader of the results should know, e.g. which copy of a tied matrix is used

	tensors map[string]tensor // by Hugging Face name
	files   []weightFile
	vocab   func() (*tokenizer.Tokenizer, error)
	hashes  func() ([]File, error)
}

// tensor is an entry of an opened file.
type tensor struct {
	entry
	file io.ReaderAt
}

// weightFile is one opened file of weights.
type weightFile struct {
	name string
	size int64
	r    io.ReaderAt
	c    io.Closer
}

// Open opens a Hugging Face folder or a GGUF file. Close the result when the weights are read.
func Open(path string) (*Checkpoint, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("no model at %s: want a Hugging Face folder (config.json, *.safetensors) or a GGUF file: %w", path, err)
	}
	var c *Checkpoint
	if st.IsDir() {
		c, err = openFolder(os.DirFS(path))
	} else {
		c, err = openGGUF(path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c.Path = path
	return c, nil
}

// OpenFS opens a Hugging Face folder in fsys, for a model that is embedded in the program. Its files must implement
// io.ReaderAt, as those of embed.FS and os.DirFS do.
func OpenFS(fsys fs.FS) (*Checkpoint, error) { return openFolder(fsys) }

// Close closes the files.
func (c *Checkpoint) Close() error {
	var first error
	for _, f := range c.files {
		if err := f.c.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// Names lists the tensors by Hugging Face name, sorted. lm_head.weight is among them even when it is tied.
func (c *Checkpoint) Names() []string { return slices.Sorted(maps.Keys(c.tensors)) }

// Shape is the row-major shape of a tensor, e.g. [out, in]; nil if the checkpoint has no such tensor.
func (c *Checkpoint) Shape(name string) []int { return slices.Clone(c.tensors[name].shape) }

// DType is how the file stores a tensor: "BF16", "F32", "Q4_K", ...; "" if there is no such tensor.
func (c *Checkpoint) DType(name string) string { return c.tensors[name].dtype }

// ReadF32 fills dst with a tensor, row-major. dst must have exactly its number of values.
func (c *Checkpoint) ReadF32(name string, dst []float32) error {
	t, err := c.lookup(name, len(dst))
	if err != nil {
		return err
	}
	err = readValues(t.file, t.off, t.enc, len(dst), func(from, to int, b *buffers) { t.enc.toF32(b.raw, dst[from:to]) })
	if err != nil {
		return fmt.Errorf("tensor %s: %w", name, err)
	}
	return nil
}

// ReadBF16 fills dst with a tensor in bfloat16, rounded to nearest even, row-major. dst must have exactly its number of values.
func (c *Checkpoint) ReadBF16(name string, dst []uint16) error {
	t, err := c.lookup(name, len(dst))
	if err != nil {
		return err
	}
	err = readValues(t.file, t.off, t.enc, len(dst), func(from, to int, b *buffers) { t.enc.toBF16(b.raw, dst[from:to], b.f32) })
	if err != nil {
		return fmt.Errorf("tensor %s: %w", name, err)
	}
	return nil
}

func (c *Checkpoint) lookup(name string, n int) (tensor, error) {
	t, ok := c.tensors[name]
	if !ok {
		return t, fmt.Errorf("tensor %s: not in the checkpoint", name)
	}
	if want := numel(t.shape); want != n {
		return t, fmt.Errorf("tensor %s: shape %v has %d values, the buffer %d", name, t.shape, want, n)
	}
	return t, nil
}

// Tokenizer reads the checkpoint's tokenizer: tokenizer.json of a folder, the tokens and merges of a GGUF file.
func (c *Checkpoint) Tokenizer() (*tokenizer.Tokenizer, error) {
	t, err := c.vocab()
	if err != nil {
		return nil, err
	}
	if t.VocabSize() > c.Config.VocabSize {
		return nil, tooSmall(t, c.Config.VocabSize)
	}
	return t, nil
}

// check holds the tensors against what the configuration asks for: none missing, none unused, shapes and types right.
func check(cfg Config, tensors map[string]tensor) error {
	want := cfg.Specs()
	used := make(map[string]bool, len(want))
	for _, s := range want {
		t, ok := tensors[s.Name]
		if !ok {
			return fmt.Errorf("tensor %s: missing; the configuration needs it with shape %v", s.Name, s.Shape)
		}
		if !slices.Equal(t.shape, s.Shape) {
			return fmt.Errorf("tensor %s: shape %v, the configuration needs %v", s.Name, t.shape, s.Shape)
		}
		if t.enc == nil {
			return fmt.Errorf("tensor %s: dtype %s cannot be read as weights, want BF16, F16 or F32", s.Name, t.dtype)
		}
		used[s.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		if !used[name] {
			return fmt.Errorf("tensor %s: unused by a Qwen2 model of %d layers (tied head: %v): the file holds another model", name, cfg.NumHiddenLayers, cfg.TieWordEmbeddings)
		}
	}
	return nil
}
