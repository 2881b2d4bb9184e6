//go:build unix

package lab

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/grpo"
)

// A run that is interrupted in a step, meets a full disk, is killed while it writes, finds a checkpoint damaged, is interrupted
// in its evaluations, is killed there and between two runs' last files: gone on with, it is the run that was never stopped,
// byte for byte.
func TestStoppedAnywhereIsNeverStopped(t *testing.T) {
	want := neverStopped(t)
	dir := filepath.Join(t.TempDir(), "run")
	in := func(elem ...string) string { return filepath.Join(append([]string{dir}, elem...)...) }
	// piece works on the run and calls do when the log has a line that begins with at.
	piece := func(o Options, at string, do func(cancel func())) error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		o.Log = &watcher{at: at, seen: func() { do(cancel) }}
		return conduct(ctx, small(t, o))
	}
	resume := Options{Resume: dir}
	goOn := "go on with: go run ./recipe -resume " + dir

	err := piece(Options{Out: dir}, "step 1/4", func(cancel func()) { cancel() })
	if !errors.Is(err, grpo.ErrInterrupted) || !strings.Contains(err.Error(), "after step 1 of 4") || !strings.Contains(err.Error(), goOn) {
		t.Fatalf("interrupted in step 2: error %v, want where it stopped and how to go on", err)
	}
	if names := steps(t, in("recipe-17")); names != "checkpoint-1" {
		t.Fatalf("interrupted after step 1 of 4: %s, want checkpoint-1", names)
	}

	err = piece(resume, "step 3/4", func(func()) { fillDisk(t, in("baseline-17", artifact.CompletionsFile)) })
	if err == nil || !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), in("baseline-17", artifact.CompletionsFile)) {
		t.Fatalf("a full disk in step 4: error %v, want the file's name and the system's reason", err)
	}
	emptyDisk(t)
	for _, r := range record(t, dir).Runs {
		if g := r.Config.Settings.Training; len(r.Steps) != 3 || len(r.Rollouts) != 3*g.PromptsPerStep*g.NumGenerations {
			t.Errorf("after a full disk in step 4 %s has %d steps and %d rollouts, want three whole steps", r.Config.Run.Name, len(r.Steps), len(r.Rollouts))
		}
	}

	// As a killed process leaves it: a torn line, a torn block, a half-written file beside its place.
	tear(t, in("recipe-18", artifact.MetricsFile), `{"step":4,"loss":0.0`)
	if err := os.Truncate(in("baseline-18", artifact.CompletionsFile), size(t, in("baseline-18", artifact.CompletionsFile))-7); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(in("recipe-17", ".tmp-1", "checkpoint-4"), 0o755); err != nil {
		t.Fatal(err)
	}

	// A file that a checkpoint needs is damaged: the advice given is followed.
	damaged := in("recipe-17", "checkpoint-2")
	for _, name := range []string{"adapter_model.safetensors", "optimizer.safetensors"} { // a bit alone: the file can be read
		flipped := in("baseline-18", "checkpoint-2", name)
		flip(t, flipped)
		err = piece(resume, "step", func(func()) { t.Error("it trains on from a damaged checkpoint") })
		if err == nil || !strings.Contains(err.Error(), in("baseline-18", "checkpoint-2")+" cannot be gone on from: "+name+" is damaged: expected sha256 ") {
			t.Fatalf("a bit of %s: error %v, want the folder, the file and the sums", flipped, err)
		}
		flip(t, flipped)
	}
	if err := os.Truncate(filepath.Join(damaged, "optimizer.safetensors"), size(t, filepath.Join(damaged, "optimizer.safetensors"))/2); err != nil {
		t.Fatal(err)
	}
	err = piece(resume, "step", func(func()) { t.Error("it trains on from a damaged checkpoint") })
	if err == nil || !strings.Contains(err.Error(), damaged+" cannot be gone on from: ") || !strings.Contains(err.Error(), "optimizer.safetensors") || !strings.Contains(err.Error(), "remove this folder, and training goes on from an earlier checkpoint") {
		t.Fatalf("a damaged checkpoint: error %v, want its name, what is wrong and what to do", err)
	}
	if err := os.RemoveAll(damaged); err != nil {
		t.Fatal(err)
	}

	// As a process leaves it that is killed between the last files of two runs that trained in lockstep: one has its adapter.
	for _, name := range []string{artifact.MetricsFile, artifact.CompletionsFile} {
		copyFile(t, filepath.Join(want, "baseline-17", name), in("baseline-17", name))
	}
	if err := os.CopyFS(in("baseline-17", artifact.FinalDir), os.DirFS(filepath.Join(want, "baseline-17", artifact.FinalDir))); err != nil {
		t.Fatal(err)
	}

	err = piece(resume, "base-baseline: ", func(cancel func()) { cancel() })
	if !errors.Is(err, grpo.ErrInterrupted) || !strings.Contains(err.Error(), goOn) {
		t.Fatalf("interrupted in the evaluations: error %v, want how to go on", err)
	}
	if r := record(t, dir); r.Manifest != nil || len(r.Evals) != 2 {
		t.Fatalf("interrupted in the evaluations: manifest %v, %d evaluations; want none and the 2 that were done", r.Manifest, len(r.Evals))
	}

	// As if it had been killed between two evaluations.
	if err := os.Remove(in("eval", "base-recipe.jsonl.gz")); err != nil {
		t.Fatal(err)
	}
	if err := piece(resume, "evaluating", func(func()) {}); err != nil {
		t.Fatal(err)
	}

	if names, compared := differences(t, want, dir); len(names) > 0 || compared < 30 {
		t.Errorf("%d files compared; these differ from those of a run that was never stopped: %q", compared, names)
	}
	if r := record(t, dir); len(r.Sessions) != 7 || len(r.Missing) > 0 {
		t.Errorf("%d processes recorded, %q missing; want 7 and nothing", len(r.Sessions), r.Missing)
	}
	if _, err := Open(t.Context(), small(t, resume)); !errors.As(err, new(*artifact.SealedError)) {
		t.Errorf("going on with a complete run: error %v, want that it is complete", err)
	}
}

// flip changes a bit near the end of a file, or changes it back.
func flip(t *testing.T, name string) {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err == nil {
		raw[len(raw)-3] ^= 1
		err = os.WriteFile(name, raw, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	raw, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, raw, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// steps are the names of the checkpoints of a training run.
func steps(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "checkpoint-*"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range found {
		names = append(names, filepath.Base(f))
	}
	return strings.Join(names, " ")
}

func size(t *testing.T, name string) int64 {
	t.Helper()
	st, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return st.Size()
}

func tear(t *testing.T, name, part string) {
	t.Helper()
	whole, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, append(bytes.Clone(whole), part...), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// fillDisk makes every write fail that would let a file grow beyond the size that name has now, and a few bytes more: the
// write that fails is torn.
func fillDisk(t *testing.T, name string) {
	setLimit(t, uint64(size(t, name))+50)
	t.Cleanup(func() { emptyDisk(t) })
}

func emptyDisk(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	setLimit(t, limit.Max)
}

func setLimit(t *testing.T, bytes uint64) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur = bytes
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
}
