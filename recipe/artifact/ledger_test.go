package artifact

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The ledger goes on after a run is sealed; everything else of the run stays as it was sealed.
func TestNoteAfterTheSeal(t *testing.T) {
	r, tr := openRun(t)
	logStep(t, r, tr, 1)
	finish(t, r, tr)
	// A published copy without weights.
	plan := r.Plan()
	for _, f := range []string{"checkpoint-2", FinalDir} {
		if err := os.RemoveAll(filepath.Join(r.Dir(), plan.Runs()[0].Name, f)); err != nil {
			t.Fatal(err)
		}
	}
	before, err := Load(os.DirFS(r.Dir()))
	if err != nil {
		t.Fatal(err)
	}
	value := 0.25
	if err := Note(r.Dir(), Round{Changed: "longer", Value: &value, Metric: "pass@1 recipe"}); err != nil {
		t.Fatal(err)
	}
	after, err := Load(os.DirFS(r.Dir())) // which holds every file against the manifest
	if err != nil {
		t.Fatal(err)
	}
	if n := len(after.Rounds); n != 2 || after.Rounds[1].Round != 2 || after.Rounds[1].Changed != "longer" || *after.Rounds[1].Value != value {
		t.Errorf("rounds %+v, want a second one", after.Rounds)
	}
	if len(before.Manifest.Files) != len(after.Manifest.Files) {
		t.Fatalf("the manifest lists %d files, then %d", len(before.Manifest.Files), len(after.Manifest.Files))
	}
	for i, f := range before.Manifest.Files {
		if now := after.Manifest.Files[i]; f.Path != now.Path || f.Path != RoundsFile && f != now {
			t.Errorf("%+v became %+v", f, now)
		}
	}
}

func TestNoteRefuses(t *testing.T) {
	r, tr := openRun(t)
	logStep(t, r, tr, 1)
	finish(t, r, tr)
	if err := Note(r.Dir(), Round{}); err == nil || !strings.Contains(err.Error(), "expected a text") {
		t.Errorf("an attempt without a text: error %v", err)
	}
	if err := os.WriteFile(filepath.Join(r.Dir(), PhasesFile), []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	// Sealing again would make a changed file look as if it had been so from the first.
	if err := Note(r.Dir(), Round{Changed: "longer"}); err == nil || !strings.Contains(err.Error(), PhasesFile) {
		t.Errorf("a run with a changed file: error %v, want the file named", err)
	}
}

// The value of an attempt is counted by hand here: the arm's own evaluation holds two replies to each of three
// tasks, of which those to task 10 are right, and the first could not be graded.
func TestOutcome(t *testing.T) {
	r, tr := openRun(t)
	logStep(t, r, tr, 1)
	finish(t, r, tr)
	rec, err := Load(os.DirFS(r.Dir()))
	if err != nil {
		t.Fatal(err)
	}
	arm := rec.Plan.Primary.B
	one, none := 1, 0
	found := 0
	for i := range rec.Evals {
		own := strings.HasPrefix(rec.Evals[i].Model, arm+"-") && rec.Evals[i].Prompt == arm
		for j := range rec.Evals[i].Replies {
			v := &rec.Evals[i].Replies[j].Verdict
			v.Reward = &one // whatever is not the arm's own is all right, and must not count
			if own {
				found++
				switch {
				case j == 0:
					v.Reward = nil // could not be graded: counts for nothing
				case rec.Evals[i].Replies[j].Task != 10:
					v.Reward = &none
				}
			}
		}
	}
	got := rec.Outcome()
	value, metric := got.Value, got.Metric
	if value == nil || found != 6 || *value != 1./5 || metric != "pass@1 "+arm {
		t.Errorf("value %v of %s, want one right of five graded, of six", value, metric)
	}
	// The plan trains one arm: there is nothing to differ from. No reply of this test talks.
	if got.Difference != nil || got.PlainDifference != nil || got.Talk == nil || *got.Talk != 0 || got.Plan != rec.PlanSHA256 {
		t.Errorf("%+v, want no differences and no talk", got)
	}
}
