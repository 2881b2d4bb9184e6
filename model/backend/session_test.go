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

func testKernels(dir, card string) kernels {
	return kernels{dir, func() string { return card }, &sessions{}}
}

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
		return &compiler{kernels: testKernels(dir, "NVIDIA-H200-1980"), programs: map[string]string{}, busy: &busy}
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
	if found, _ := filepath.Glob(filepath.Join(dir, "programs", "NVIDIA-H200-1980", "*")); len(found) != 3 {
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
		k := testKernels(c.dir, "NVIDIA-H200-1980")
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
		found, _ := filepath.Glob(filepath.Join(k.programs(), "*", "*"))
		if (len(found) == 1) != c.known {
			t.Errorf("%s: known programs %v", c.why, found)
		}
	}
}

// measure is a compilation that finds the choice n.
func measure(t *testing.T, k kernels, n int) {
	t.Helper()
	path := filepath.Join(k.choices(), "ed0e56ab8b2a0ecb", "000de3da15600e9241f3cca2680eb984.pb")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte(fmt.Sprintf("kernel %d", n)), 0o644); err != nil {
		t.Error(err)
	}
}

// A program is compiled until nothing is measured any more, be it another choice for what was there: then it is what a later process
// compiles.
func TestCompiledUntilNothingIsMeasured(t *testing.T) {
	for _, c := range []struct {
		why            string
		measures, want int
	}{
		{"nothing to measure", 0, 1},
		{"something", 1, 2},
		{"other kernels need others to be measured", 2, 3},
		{"never at rest", 99, mostRounds},
	} {
		k := testKernels(filepath.Join(t.TempDir(), "[a] *"), "NVIDIA-H200-1980")
		measure(t, k, 0)
		ran := 0
		err := k.choosing(sha256.Sum256(nil), func() error {
			if ran++; ran <= c.measures {
				measure(t, k, 10*ran)
			}
			return nil
		})
		if err != nil || ran != c.want {
			t.Errorf("%s: compiled %d times, error %v, want %d", c.why, ran, err, c.want)
		}
		if k.sessions.now != nil {
			t.Errorf("%s: the session goes on", c.why)
		}
		found, err := os.ReadDir(filepath.Join(k.programs(), "NVIDIA-H200-1980"))
		if known := err == nil && len(found) == 1; known != (c.measures < mostRounds) {
			t.Errorf("%s: known: %v", c.why, known)
		}
	}
}

// What one card's kernels are known for is measured on another, in turn.
func TestKnownForACard(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		card string
		want int
	}{{"NVIDIA-H200-1980", 2}, {"NVIDIA-H200-1980", 1}, {"NVIDIA-L40S-2520", 2}, {"", 2}, {"", 2}} {
		k, ran := testKernels(dir, c.card), 0
		if err := k.choosing(sha256.Sum256(nil), func() error {
			if ran++; ran < c.want {
				measure(t, k, int(time.Now().UnixNano()))
			}
			return nil
		}); err != nil || ran != c.want {
			t.Errorf("%q: compiled %d times, error %v, want %d", c.card, ran, err, c.want)
		}
	}
}

// A compilation that panics or fails leaves its session: the others go on, and so do later ones and other processes.
func TestLeavingASession(t *testing.T) {
	dir := t.TempDir()
	k := testKernels(dir, "NVIDIA-H200-1980")
	var all sync.WaitGroup
	var began sync.WaitGroup
	began.Add(3)
	together := func() { began.Done(); began.Wait() } // all three are in the session
	all.Go(func() {
		defer func() { _ = recover() }()
		_ = k.choosing(sha256.Sum256([]byte("panics")), func() error { together(); panic("graph code") })
	})
	all.Go(func() {
		if err := k.choosing(sha256.Sum256([]byte("fails")), func() error { together(); return errors.New("no memory") }); err == nil {
			t.Error("the error is lost")
		}
	})
	ran := 0
	all.Go(func() {
		if err := k.choosing(sha256.Sum256([]byte("compiles")), func() error {
			if ran++; ran == 1 {
				measure(t, k, 1)
				together()
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
	all.Wait()
	if ran != 2 {
		t.Errorf("the one that compiles was compiled %d times, want 2", ran)
	}
	for _, later := range []kernels{k, testKernels(dir, "NVIDIA-H200-1980")} {
		if err := later.choosing(sha256.Sum256([]byte("later")), func() error { return nil }); err != nil {
			t.Error(err)
		}
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "programs", "*", "*")); len(found) != 2 {
		t.Errorf("known programs %v, want the one that compiled and the later one", found)
	}
}

// Who waited for another process in vain does not wait again.
func TestGivingUpTheLock(t *testing.T) {
	k := testKernels(filepath.Join(t.TempDir(), "file"), "NVIDIA-H200-1980")
	if err := os.WriteFile(k.dir, nil, 0o644); err != nil { // no lock can be made below it
		t.Fatal(err)
	}
	for range 2 {
		if err := k.choosing(sha256.Sum256(nil), func() error { return nil }); err != nil {
			t.Error(err)
		}
	}
	if k.sessions.without == nil {
		t.Error("it is not remembered that there is no lock")
	}
}
