package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"teamtalk/model/backend"
	"teamtalk/model/backend/backendtest"
	"teamtalk/recipe/artifact"
	"teamtalk/recipe/data"
	"teamtalk/recipe/experiment"
	"teamtalk/recipe/mini"
)

const (
	smallSteps    = 4
	smallProblems = 24
	smallHoldout  = 6
	smallSamples  = 2
)

// smallSet is the first of the mini preset's problems.
func smallSet() *data.Set {
	all := mini.Problems()
	return &data.Set{Name: all.Name, Train: all.Train[:smallProblems], Holdout: all.Holdout[:smallHoldout]}
}

// small is the mini preset with everything made few, so that a run takes seconds: both arms, seeds 17 and 18, in lockstep. The
// other fields of o are kept; o.Change comes after the changes made here.
func small(t testing.TB, o Options) Options {
	t.Helper()
	o.Problems = smallSet()
	if o.Backend == "" {
		o.Backend = backend.Kind(backendtest.Fastest(t))
	}
	further := o.Change
	o.Change = func(p *experiment.Plan) error {
		g, e := &p.Training, &p.Evaluation
		g.MaxSteps, g.PromptsPerStep, g.NumGenerations, g.MaxCompletionLength, g.SaveSteps = smallSteps, 2, 4, 40, 2
		e.Samples, e.Ks, e.MaxCompletionLength = smallSamples, []int{1, 2}, 40
		if further != nil {
			return further(p)
		}
		return nil
	}
	if o.Resume == "" { // a resumed run is not told what it was begun with
		o.EvalRows, o.Rows = 4*smallSamples*smallHoldout/2, 2
	}
	return o
}

// conduct opens and runs an experiment.
func conduct(ctx context.Context, o Options) error {
	l, err := Open(ctx, o)
	if err != nil {
		return err
	}
	defer l.Close()
	return l.Run(ctx)
}

// watcher is a log that calls seen when a line begins with at.
type watcher struct {
	at   string
	seen func()
	rest []byte
}

func (w *watcher) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		line, rest, whole := bytes.Cut(w.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		if w.seen != nil && strings.HasPrefix(string(line), w.at) {
			w.seen()
			w.seen = nil
		}
		w.rest = rest
	}
}

// whole is a small run that went through in one process. It is made once for the package.
type whole struct {
	once sync.Once
	top  string
	err  error
}

// folder is the run's, which is made with o where it is not there yet.
func (w *whole) folder(t *testing.T, o Options) string {
	t.Helper()
	w.once.Do(func() {
		if w.top, w.err = os.MkdirTemp("", "lab"); w.err == nil {
			o.Out = filepath.Join(w.top, "run")
			w.err = conduct(t.Context(), small(t, o))
		}
	})
	if w.err != nil {
		t.Fatal(w.err)
	}
	return filepath.Join(w.top, "run")
}

var allInLockstep, twoInLockstep whole

// neverStopped is the folder of a small run whose four training runs were in lockstep.
func neverStopped(t *testing.T) string {
	t.Helper()
	return allInLockstep.folder(t, Options{})
}

// inPairs is the folder of a small run with two training runs in lockstep at a time.
func inPairs(t *testing.T) string {
	t.Helper()
	return twoInLockstep.folder(t, Options{Lockstep: 2})
}

func TestMain(m *testing.M) {
	backendtest.CompileQuickly()
	if os.Getenv(beAWorker) != "" {
		os.Exit(workerMain())
	}
	code := m.Run()
	for _, top := range []string{allInLockstep.top, twoInLockstep.top} {
		if top != "" {
			os.RemoveAll(top)
		}
	}
	os.Exit(code)
}

// record reads a run.
func record(t *testing.T, dir string) *artifact.Record {
	t.Helper()
	r, err := artifact.Load(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// differences compares two runs byte for byte, and names the files that differ. Not compared are what says when, how long and by which processes
// a run was made, and checkpoints, which only the trainer reads. Of metrics.jsonl the timings are left out.
func differences(t *testing.T, a, b string) (names []string, compared int) {
	t.Helper()
	files := func(dir string) map[string][]byte {
		out := map[string][]byte{}
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			if d.IsDir() {
				if strings.HasPrefix(d.Name(), "checkpoint-") || strings.HasPrefix(d.Name(), ".tmp-") {
					return filepath.SkipDir
				}
				return nil
			}
			switch name {
			case artifact.EnvFile, artifact.PhasesFile, artifact.ManifestFile:
				return nil
			}
			if out[name], err = os.ReadFile(path); err == nil && d.Name() == artifact.MetricsFile {
				out[name], err = withoutTimings(out[name])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	x, y := files(a), files(b)
	for name, want := range x {
		got, ok := y[name]
		if delete(y, name); !ok || !bytes.Equal(got, want) {
			names = append(names, name)
		}
	}
	for name := range y {
		names = append(names, name)
	}
	return names, len(x)
}

// withoutTimings is metrics.jsonl without what a clock gave.
func withoutTimings(lines []byte) ([]byte, error) {
	var out []byte
	for line := range bytes.Lines(lines) {
		var values map[string]json.RawMessage
		if err := json.Unmarshal(line, &values); err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		before := len(values)
		for key := range values {
			if key == "step_time" || strings.HasPrefix(key, "timing_s/") || strings.HasPrefix(key, "perf/") {
				delete(values, key)
			}
		}
		if len(values) == before {
			return nil, errors.New("the metrics hold no timings: this comparison is of something else")
		}
		kept, err := json.Marshal(values)
		if err != nil {
			return nil, err
		}
		out = append(append(out, kept...), '\n')
	}
	return out, nil
}
