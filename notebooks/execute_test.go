package notebooks_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "execute the notebooks and write their outputs into them")

// setup is every notebook's first cell: the kernel's throw-away module and this one become a workspace.
const setup = "!*rm -f go.work && go work init . \"$(go -C \"$GONB_DIR\" list -m -f {{.Dir}})\"\n%noautoget"

// need stops a test that has no Jupyter, or leaves it out where that was asked for.
func need(t *testing.T) {
	t.Helper()
	if os.Getenv("TEAMTALK_TEST_NOTEBOOKS") == "off" {
		t.Skip("TEAMTALK_TEST_NOTEBOOKS=off: nothing that needs Jupyter is tested")
	}
	for _, file := range []string{"../.venv/bin/jupyter", "../.jupyter/kernels/gonb/kernel.json", "../bin/gonb", "../bin/goimports"} {
		if _, err := os.Stat(file); err != nil {
			t.Fatalf("%v: run make notebook-tools, or leave these tests out with TEAMTALK_TEST_NOTEBOOKS=off", err)
		}
	}
}

// workplace is a folder inside the project, so that the notebooks find the module, with a runs folder of its own, so that no
// earlier run is taken for theirs. Git does not see it and neither does go.
type workplace struct {
	t   *testing.T
	dir string
}

func newWorkplace(t *testing.T) workplace {
	t.Helper()
	dir, err := os.MkdirTemp("../.jupyter", "test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if dir, err = filepath.Abs(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "notebooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../recipe", filepath.Join(dir, "recipe")); err != nil {
		t.Fatal(err)
	}
	return workplace{t, dir}
}

// jupyter runs a Jupyter program that keeps everything of its own in the workplace and finds the kernel as README says. Go is
// offline.
func (w workplace) jupyter(args ...string) ([]byte, error) {
	program, err := filepath.Abs("../.venv/bin/jupyter")
	if err != nil {
		return nil, err
	}
	kernels, err := filepath.Abs("../.jupyter")
	if err != nil {
		return nil, err
	}
	c := exec.Command(program, args...)
	c.Env = append(os.Environ(), "GOPROXY=off", "JUPYTER_PATH="+kernels, "JUPYTER_PLATFORM_DIRS=0", "JUPYTER_NO_CONFIG=1",
		"TEAMTALK_COMMIT=0000000000000000000000000000000000000000", // so that a cell shows the same in a tree with changes
		"JUPYTER_DATA_DIR="+filepath.Join(w.dir, "data"), "JUPYTER_CONFIG_DIR="+filepath.Join(w.dir, "config"),
		"JUPYTER_RUNTIME_DIR="+filepath.Join(w.dir, "runtime"), "IPYTHONDIR="+filepath.Join(w.dir, "ipython"))
	out, err := c.CombinedOutput()
	if err != nil {
		return out, fmt.Errorf("jupyter %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return out, nil
}

// execute runs all cells of a notebook in a new kernel; a cell may take so many seconds. What cells did wrong is in the
// notebook that comes back, for faults to find.
func (w workplace) execute(path, seconds string) (*notebook, error) {
	name := filepath.Base(path)
	out := filepath.Join(w.dir, "executed")
	if _, err := w.jupyter("nbconvert", "--to", "notebook", "--execute", "--allow-errors", "--ExecutePreprocessor.timeout="+seconds,
		"--output-dir", out, "--output", name, path); err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(filepath.Join(out, name))
	if err != nil {
		return nil, err
	}
	return parse(raw)
}

// TestNotebooks executes every notebook as a reader would: from a clean kernel, all cells from top to bottom, no earlier run.
func TestNotebooks(t *testing.T) {
	need(t)
	w := newWorkplace(t)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			file := name + ".ipynb"
			committed := read(t, file)
			now := inputs(t, committed)
			blank := &notebook{Format: 4, Minor: 5}
			for _, c := range committed.Cells {
				blank.Cells = append(blank.Cells, cell{Type: c.Type, ID: c.ID, Source: c.Source, Metadata: c.Metadata})
			}
			path := filepath.Join(w.dir, "notebooks", file)
			if err := os.WriteFile(path, canonical(blank), 0o644); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			done, err := w.execute(path, "500")
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("executed in %s", time.Since(start).Round(time.Second))
			check(t, name, done)
			if t.Failed() {
				return
			}
			if *update {
				done.Metadata["inputs"] = now
				old, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if text := canonical(done); !bytes.Equal(text, old) {
					if err := os.WriteFile(file, text, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				return
			}
			for _, complaint := range stale(committed, done, now) {
				t.Error(complaint)
			}
		})
	}
}

// check holds an executed notebook to what every one of ours promises.
func check(t *testing.T, name string, n *notebook) {
	t.Helper()
	count, bad := figures(n)
	for _, f := range append(append(faults(n), bad...), leaks(n, machine(t)...)...) {
		t.Error(f)
	}
	want := promises[name]
	if count != want.figures {
		t.Errorf("%d figures, want %d", count, want.figures)
	}
	var printed strings.Builder
	for _, c := range n.Cells {
		for _, o := range c.Outputs {
			printed.WriteString(string(o.Text) + o.data("text/html") + o.data("text/markdown"))
		}
	}
	for _, words := range want.says {
		if !strings.Contains(printed.String(), words) {
			t.Errorf("no cell says %q", words)
		}
	}
}

// machine are words that name this machine: where the project lies, the home folder, the folder of temporary files.
func machine(t *testing.T) []string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	home, _ := os.UserHomeDir() // none: nothing to find
	return []string{root, home, os.TempDir()}
}

// promises are what a reader of each notebook is told to expect.
var promises = map[string]struct {
	figures int
	says    []string
}{
	"team-talk":       {5, []string{"selftest: ok (", "ci_both", "4 runs of 6 steps", "report/report.html"}},
	"your-experiment": {2, []string{"arms.1.system", "system_prompt", "ci_both", "report/report.html"}},
	"read-a-run":      {2, []string{"system_prompt", "speakers", "0 of "}},
}
