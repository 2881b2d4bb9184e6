package artifacttest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"teamtalk/recipe/artifact"
)

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
