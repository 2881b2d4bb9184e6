package backend

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// compiler is a process's XLA: it takes the folder's choice for each product, else measures, with a result that differs each time, and
// goes on with what it measured itself.
type compiler struct {
	kernels
	mu       sync.Mutex
	programs map[string]string // the kernel that each was compiled with
	measured int
	busy     *atomic.Int32 // processes that measure
	inside   int
}

func (c *compiler) compile(t *testing.T, program string) {
	const product = "ed0e56ab8b2a0ecb/000de3da15600e9241f3cca2680eb984.pb"
	path := filepath.Join(c.choices(), product)
	err := c.choosing(sha256.Sum256([]byte(program)), func() error {
		if chosen, err := os.ReadFile(path); err == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.programs[program] = string(chosen)
			return nil
		}
		c.mu.Lock()
		c.inside++
		if c.inside == 1 && c.busy.Add(1) > 1 {
			t.Error("two processes measure at once")
		}
		c.mu.Unlock()
		time.Sleep(10 * time.Millisecond) // so that others find nothing in the folder either
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.inside--; c.inside == 0 {
			c.busy.Add(-1)
		}
		c.measured++
		c.programs[program] = fmt.Sprintf("%p %d", c, c.measured)
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(c.programs[program]), 0o644))
	})
	if err != nil {
		t.Error(err)
	}
}

// Processes that start together, each of which compiles its programs side by side, end with the same kernel for the same product in all
// of them, and with that which later processes find.
func TestAllProgramsTakeTheSameKernels(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "programs"), 0o755); err != nil {
		t.Fatal(err)
	}
	var busy atomic.Int32
	start := func() *compiler {
		return &compiler{kernels: kernels{dir, &sessions{}}, programs: map[string]string{}, busy: &busy}
	}
	processes := []*compiler{start(), start(), start()}
	var all sync.WaitGroup
	for _, p := range processes {
		for _, program := range []string{"prefill", "decode", "gradient"} {
			all.Go(func() { p.compile(t, program) })
		}
	}
	all.Wait()
	later := start()
	later.compile(t, "decode")
	measured := 0
	for _, p := range append(processes, later) {
		if p.measured > 0 {
			measured++
		}
		for program, kernel := range p.programs {
			if want := later.programs["decode"]; kernel != want {
				t.Errorf("%s has the kernel %s, want the folder's, %s", program, kernel, want)
			}
		}
	}
	if measured != 1 {
		t.Errorf("%d processes measured, want 1", measured)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "programs", "*")); len(found) != 3 {
		t.Errorf("known programs: %v, want 3", found)
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
		k := kernels{c.dir, &sessions{}}
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
