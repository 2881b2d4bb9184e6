package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// File identifies one file of weights by content.
type File struct {
	Name   string // without its folder
	Bytes  int64
	SHA256 string
}

// Files hashes the files of weights, each on a core of its own, and lists them sorted by name. It reads everything the
// first time and remembers the result.
func (c *Checkpoint) Files() ([]File, error) {
	files, err := c.hashes()
	return slices.Clone(files), err
}

// SHA256 identifies the weights: the hex digest of the one file, or, of several shards, that of the lines
// "digest  name\n" in the order of the names.
func (c *Checkpoint) SHA256() (string, error) {
	files, err := c.hashes()
	if err != nil {
		return "", err
	}
	if len(files) == 1 {
		return files[0].SHA256, nil
	}
	lines := sha256.New()
	for _, f := range files {
		fmt.Fprintf(lines, "%s  %s\n", f.SHA256, f.Name)
	}
	return hex.EncodeToString(lines.Sum(nil)), nil
}

// hashFiles does the work of Files, once.
func hashFiles(files []weightFile) func() ([]File, error) {
	return sync.OnceValues(func() ([]File, error) {
		out := make([]File, len(files))
		errs := make([]error, len(files))
		var wg sync.WaitGroup
		for i, f := range files {
			wg.Go(func() {
				h := sha256.New()
				if _, err := io.Copy(h, io.NewSectionReader(f.r, 0, f.size)); err != nil {
					errs[i] = fmt.Errorf("%s: %w", f.name, err)
				}
				out[i] = File{filepath.Base(f.name), f.size, hex.EncodeToString(h.Sum(nil))}
			})
		}
		wg.Wait()
		slices.SortFunc(out, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
		return out, errors.Join(errs...)
	})
}
