package backend

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// Of several processes that ask for a new program at once, one measures and the others take what it chose.
func TestOneProcessChoosesKernels(t *testing.T) {
	k := kernels{t.TempDir()}
	if err := os.Mkdir(k.programs(), 0o755); err != nil {
		t.Fatal(err)
	}
	program := sha256.Sum256([]byte("a program"))
	choice := filepath.Join(k.dir, "fusion")
	var measured, together atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			err := k.choosing(program, func() error { // as XLA does: read what is there, else measure and write
				if exists(choice) {
					return nil
				}
				if together.Add(1) > 1 {
					t.Error("two processes measure at once")
				}
				defer together.Add(-1)
				measured.Add(1)
				return os.WriteFile(choice, []byte("kernel 3"), 0o644)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := measured.Load(); n != 1 {
		t.Errorf("%d measured, want 1", n)
	}
}

func TestChoosingKernels(t *testing.T) {
	broken := errors.New("the compiler's own error")
	for _, c := range []struct {
		why   string
		dir   string
		err   error
		known bool
	}{
		{"a program that compiles is known afterwards", t.TempDir(), nil, true},
		{"one that does not is not, and the error is XLA's", t.TempDir(), broken, false},
		{"a folder that cannot be written does no harm", filepath.Join(t.TempDir(), "file", "below"), nil, false},
		{"no folder", "", nil, false},
	} {
		k := kernels{c.dir}
		if c.known || c.err != nil {
			if err := os.Mkdir(k.programs(), 0o755); err != nil {
				t.Fatal(err)
			}
		} else if c.dir != "" {
			if err := os.WriteFile(filepath.Dir(c.dir), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		program := sha256.Sum256([]byte(c.why))
		ran := 0
		if err := k.choosing(program, func() error { ran++; return c.err }); !errors.Is(err, c.err) || ran != 1 {
			t.Errorf("%s: compiled %d times, error %v, want once and %v", c.why, ran, err, c.err)
		}
		found, _ := filepath.Glob(filepath.Join(k.programs(), "*"))
		if (len(found) == 1) != c.known {
			t.Errorf("%s: known programs %v", c.why, found)
		}
	}
}

// Another build of the plugin, be it of the same size, has a folder of its own; the same build, elsewhere, has not.
func TestKernelsAreOfABuild(t *testing.T) {
	cache := t.TempDir()
	write := func(content string) string {
		path := filepath.Join(t.TempDir(), "xla_cuda_plugin.so")
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	dir := func(plugin string) string {
		k, err := kernelsOf(cache, plugin)
		if err != nil {
			t.Fatal(err)
		}
		return k.dir
	}
	a := dir(write("build 1"))
	if b := dir(write("build 1")); b != a {
		t.Errorf("one build has the folders %s and %s", a, b)
	}
	if b := dir(write("build 2")); b == a {
		t.Errorf("two builds share %s", a)
	}
	if _, err := kernelsOf(cache, filepath.Join(cache, "missing.so")); err == nil {
		t.Error("a plugin that is not there has a folder")
	}
}
