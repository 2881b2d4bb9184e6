package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/artifact/artifacttest"
)

// What a recorded check says has to fit the plan, the replies and its own outcome; every edit is one of the file, sealed again.
func TestRecordedValues(t *testing.T) {
	const repeated = "160 of 160 replies (base-baseline, base-recipe) begin again as they were recorded, 24 tokens each"
	made := synthetic(t, artifacttest.Options{Tasks: 20, TestTasks: 30, Steps: 4, EditCheck: func(cs []artifact.Check) []artifact.Check {
		last := &cs[len(cs)-1]
		last.Status, last.Value = artifact.Pass, repeated
		last.Control = artifact.Control{Planted: "the noise of another seed: 3 of 160 begin as recorded", Caught: true}
		return cs
	}})
	for _, c := range []struct {
		why      string
		old, now string
		says     string // empty: passes
	}{
		{"nothing happened", "", "", ""},
		{"nine shared texts in a check that passed", `"0 shared, 20 held-out`, `"9 shared, 20 held-out`, "contamination is recorded as pass: it found 9 shared"},
		{"the same on the whole test split", `"0 shared, 30 test`, `"9 shared, 30 test`, "contamination-test is recorded as pass: it found 9 shared"},
		{"fewer texts than the plan holds out", `"0 shared, 20 held-out`, `"0 shared, 19 held-out`, "it compared 19 texts with 512, the plan has 20 and 512"},
		{"fewer than it trains on", `held-out texts compared with 512`, `held-out texts compared with 5`, "it compared 20 texts with 5, the plan has 20 and 512"},
		{"the texts of another split", `20 held-out texts`, `20 test texts`, "does not say how many of which texts are shared"},
		{"words in place of a number", `0 shared, 20 held-out`, `none shared, 20 held-out`, "does not say how many of which texts are shared"},
		{"replies that did not repeat, in a check that passed", `"160 of 160 replies`, `"150 of 160 replies`, "determinism is recorded as pass: 150 of 160 replies begin again"},
		{"more replies than there are", `"160 of 160 replies`, `"161 of 161 replies`, "it repeated 161 replies and 160 with another seed's noise; base-baseline, base-recipe hold 160"},
		{"an evaluation that is not there", `(base-baseline, base-recipe)`, `(base-baseline, base-nobody)`, "it repeated base-nobody, which is no planned evaluation"},
		{"an evaluation of other tasks", `(base-baseline, base-recipe)`, `(base-baseline, base-recipe-test)`, "it repeated base-recipe-test, which is no planned evaluation"},
		{"a control that cannot have been caught", `seed: 3 of 160`, `seed: 160 of 160`, "its control is recorded as caught: true, with 160 of 160"},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		if err := os.CopyFS(dir, os.DirFS(made)); err != nil {
			t.Fatal(err)
		}
		if c.old != "" {
			if err := artifacttest.Replace(dir, artifact.ChecksFile, c.old, c.now); err != nil {
				t.Fatal(err)
			}
			if err := artifacttest.Reseal(dir); err != nil {
				t.Fatal(err)
			}
		}
		want := artifact.Pass
		if c.says != "" {
			want = artifact.Fail
		}
		if got := alone(t, dir, "recorded_values"); got.Status != want || !strings.Contains(got.Value, c.says) {
			t.Errorf("%s: %s: %q, want %s with %q", c.why, got.Status, got.Value, want, c.says)
		}
	}
}

// The patterns are those of what the trainer writes: every published run's checks are read.
func TestRecordedValuesOfPublishedRuns(t *testing.T) {
	files, err := filepath.Glob("../../recipe/results/*/checks.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no published run found: %v", err)
	}
	for _, file := range files {
		rec, err := artifact.Load(os.DirFS(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		if f := recordedValues(rec); f.status != artifact.Pass {
			t.Errorf("%s: %s: %s", file, f.status, f.value)
		}
	}
}
