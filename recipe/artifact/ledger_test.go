package artifact

import (
	"bytes"
	"errors"
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

// A process may be stopped between any two writes of Note. What it leaves is either as it was before, or is finished by FinishNote, and by
// nothing else; a ledger that was changed stays a fault whatever lies beside it.
func TestNoteKilledAnywhere(t *testing.T) {
	// The bytes of the ledger and the manifest before and after an attempt is noted.
	var old, noted struct{ ledger, manifest []byte }
	read := func(r *Run, ledger, manifest *[]byte) {
		for name, to := range map[string]*[]byte{RoundsFile: ledger, ManifestFile: manifest} {
			raw, err := os.ReadFile(r.path(name))
			if err != nil {
				t.Fatal(err)
			}
			*to = raw
		}
	}
	complete := func() *Run {
		r, tr := openRun(t)
		logStep(t, r, tr, 1)
		finish(t, r, tr)
		return r
	}
	write := func(r *Run, name string, data []byte) {
		if err := os.WriteFile(r.path(name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	attempt := Round{Changed: "longer", Metric: "pass@1 recipe"}
	r := complete()
	read(r, &old.ledger, &old.manifest)
	if err := Note(r.Dir(), attempt); err != nil {
		t.Fatal(err)
	}
	read(r, &noted.ledger, &noted.manifest)
	if left, _ := filepath.Glob(r.path(tempPrefix + "*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	edited := bytes.Replace(noted.ledger, []byte("first"), []byte("worst"), 1)

	for _, c := range []struct {
		why                        string
		manifest, ledger, staged   []byte // staged nil: not there
		do                         func(r *Run)
		finished, asBefore, broken bool
	}{
		{why: "before the manifest is written", manifest: old.manifest, ledger: old.ledger, staged: noted.ledger, asBefore: true},
		{why: "between the manifest and the ledger", manifest: noted.manifest, ledger: old.ledger, staged: noted.ledger, finished: true},
		{why: "after the ledger", manifest: noted.manifest, ledger: noted.ledger},
		{why: "the same for a run's first attempt: it has no ledger yet", manifest: noted.manifest, staged: noted.ledger, finished: true,
			do: func(r *Run) { os.Remove(r.path(RoundsFile)) }},
		{why: "an earlier line of the ledger was changed", manifest: noted.manifest, ledger: edited[:len(old.ledger)], staged: noted.ledger, broken: true},
		{why: "an earlier line of what lies ready was changed", manifest: noted.manifest, ledger: old.ledger, staged: edited, broken: true},
		{why: "both were", manifest: noted.manifest, ledger: edited[:len(old.ledger)], staged: edited, broken: true},
		{why: "a line was added by hand, and lies ready too", manifest: old.manifest, ledger: noted.ledger, staged: noted.ledger, broken: true},
		{why: "nothing lies ready", manifest: noted.manifest, ledger: old.ledger, broken: true},
		{why: "another file is changed besides", manifest: noted.manifest, ledger: old.ledger, staged: noted.ledger, broken: true,
			do: func(r *Run) { write(r, PhasesFile, []byte("{}\n")) }},
	} {
		t.Run(c.why, func(t *testing.T) {
			r := complete()
			write(r, ManifestFile, c.manifest)
			write(r, RoundsFile, c.ledger)
			if c.staged != nil {
				write(r, tempPrefix+RoundsFile, c.staged)
			}
			if c.do != nil {
				c.do(r)
			}
			err := Note(r.Dir(), Round{Changed: "wider"})
			var fe *FaultsError
			switch {
			case c.finished && (!errors.As(err, &fe) || !fe.Noting || !strings.Contains(err.Error(), "`recipe round` was stopped: repeat that command")):
				t.Fatalf("noting another attempt: error %v, want how to finish the first", err)
			case c.broken && (!errors.As(err, &fe) || fe.Noting || !strings.Contains(err.Error(), RoundsFile+": ")):
				t.Fatalf("noting an attempt: error %v, want the ledger named", err)
			case !c.finished && !c.broken && err != nil:
				t.Fatal(err)
			}
			var before, after struct{ ledger, manifest []byte }
			if !c.finished {
				read(r, &before.ledger, &before.manifest)
			}
			got, err := FinishNote(r.Dir())
			if err != nil || c.finished != (got != nil) {
				t.Fatalf("finished %+v (%v), want that there is something to finish: %t", got, err, c.finished)
			}
			read(r, &after.ledger, &after.manifest)
			if !c.finished {
				if !bytes.Equal(before.ledger, after.ledger) || !bytes.Equal(before.manifest, after.manifest) {
					t.Error("there is nothing to finish, and it changes the folder")
				}
			} else if got.Round != 2 || got.Changed != "longer" || !bytes.Equal(after.ledger, noted.ledger) || !bytes.Equal(after.manifest, noted.manifest) {
				t.Errorf("finished %+v, want the attempt that was being noted, and the bytes of one that was not stopped", got)
			}
			if c.broken {
				return
			}
			rec, err := Load(os.DirFS(r.Dir()))
			if err != nil {
				t.Fatal(err)
			}
			want := 3 // the first, that of the test's beginning, and another
			if c.asBefore || c.finished {
				want = 2
			}
			if n := len(rec.Rounds); n != want || rec.Rounds[n-1].Round != want {
				t.Errorf("%+v, want %d attempts", rec.Rounds, want)
			}
		})
	}
}

// Only the size of weights is looked at when an attempt is noted; they stay listed as they were sealed, so that a change is still found.
func TestNoteSealsNoChangedWeights(t *testing.T) {
	r, tr := openRun(t)
	logStep(t, r, tr, 1)
	finish(t, r, tr)
	if err := flip(r.path("recipe-17/final/adapter_model.safetensors")); err != nil {
		t.Fatal(err)
	}
	if err := Note(r.Dir(), Round{Changed: "longer"}); err != nil {
		t.Fatal(err)
	}
	rec, err := Load(os.DirFS(r.Dir()))
	if err != nil {
		t.Fatal(err)
	}
	if faults, err := rec.Manifest.Verify(os.DirFS(r.Dir()), true); err != nil || len(faults) != 1 || !strings.HasSuffix(faults[0].Path, "adapter_model.safetensors") {
		t.Errorf("faults %v (%v), want the changed weights", faults, err)
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
