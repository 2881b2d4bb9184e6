package artifacttest

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"teamtalk/recipe/artifact"
)

// The whole test split begins with the held-out tasks, has one reply to each task, and leaves everything else as it is without it.
func TestWriteOnTheTestSplit(t *testing.T) {
	top := t.TempDir()
	load := func(name string, o Options) *artifact.Record {
		dir := filepath.Join(top, name)
		if err := Write(dir, o); err != nil {
			t.Fatal(err)
		}
		rec, err := artifact.Load(os.DirFS(dir))
		if err != nil {
			t.Fatal(err)
		}
		return rec
	}
	with, without := load("with", Options{Tasks: 10, Steps: 2, TestTasks: 15}), load("without", Options{Tasks: 10, Steps: 2})
	if len(with.Evals) != 8+6 || len(with.Evals[13].Replies) != 15 || with.Evals[13].Name() != "recipe-18-recipe-test" {
		t.Errorf("%d evaluations, the last is %s with %d replies; want 14 and recipe-18-recipe-test with 15", len(with.Evals), with.Evals[13].Name(), len(with.Evals[13].Replies))
	}
	if held, test := with.Plan.Data.Holdout.Tasks, with.Plan.Data.Test.Tasks; len(test) != 15 || test[9] != held[9] || test[14].Index != 14 {
		t.Errorf("%d tasks in the test split, want 15 that begin with the held-out ones", len(test))
	}
	if a, b := with.Plan.Data.Holdout.SHA256, without.Plan.Data.Holdout.SHA256; a != b || without.Plan.Data.Test != nil {
		t.Errorf("the held-out tasks are %.12s with a test split and %.12s without", a, b)
	}
	for i, e := range without.Evals {
		if !reflect.DeepEqual(e.Replies, with.Evals[i].Replies) {
			t.Errorf("the replies of %s are others with a test split", e.Name())
		}
	}
}

func TestWriteIsAFunctionOfItsOptions(t *testing.T) {
	var manifests [][]byte
	for range 2 {
		dir := filepath.Join(t.TempDir(), "run")
		if err := Write(dir, Options{Tasks: 10, Steps: 3}); err != nil {
			t.Fatal(err)
		}
		rec, err := artifact.Load(os.DirFS(dir))
		if err != nil {
			t.Fatal(err)
		}
		if len(rec.Missing) > 0 || len(rec.Evals) != 8 || len(rec.Runs) != 4 || rec.Plan.Model.Source != "synthetic" {
			t.Errorf("missing %q, %d evaluations, %d runs, model source %q", rec.Missing, len(rec.Evals), len(rec.Runs), rec.Plan.Model.Source)
		}
		m, err := os.ReadFile(filepath.Join(dir, artifact.ManifestFile))
		if err != nil {
			t.Fatal(err)
		}
		manifests = append(manifests, m)
	}
	if !bytes.Equal(manifests[0], manifests[1]) {
		t.Error("the same options gave two different folders")
	}
}
