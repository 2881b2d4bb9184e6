package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/artifact/artifacttest"
)

// A `recipe round` that is killed between its two last writes is finished by the same command, which notes nothing twice, and by
// another one, which notes both. Until then a reader is told so.
func TestRoundFinishesWhatWasStopped(t *testing.T) {
	for _, c := range []struct {
		why, second string // RUN is the folder
		attempts    []string
		want        string
	}{
		{"the same command", "round -changed longer RUN", []string{"longer"}, "noted"},
		{"the same, of the run itself", "round -changed longer -of RUN RUN", []string{"longer"}, "noted"},
		{"another command", "round -changed wider RUN", []string{"longer", "wider"}, "is noted too: longer"},
	} {
		t.Run(c.why, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			if err := artifacttest.Write(dir, artifacttest.Options{Tasks: 4, Steps: 2}); err != nil {
				t.Fatal(err)
			}
			begun := len(load(t, dir).Rounds)
			ledger := filepath.Join(dir, artifact.RoundsFile)
			before, err := os.ReadFile(ledger)
			if err != nil {
				t.Fatal(err)
			}
			first := "round -changed longer RUN"
			if strings.Contains(c.second, "-of") {
				first = c.second
			}
			in := func(command string) []string { return strings.Fields(strings.ReplaceAll(command, "RUN", dir)) }
			if code, out, log := recipe(t, in(first)...); code != 0 {
				t.Fatalf("exit code %d: %s%s", code, out, log)
			}
			// As it is killed before the ledger that lies ready takes its place.
			err = os.Rename(ledger, filepath.Join(dir, ".tmp-"+artifact.RoundsFile))
			if err == nil {
				err = os.WriteFile(ledger, before, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := artifact.Load(os.DirFS(dir)); err == nil || !strings.Contains(err.Error(), "repeat that command, which finishes it") {
				t.Errorf("reading it: error %v, want what to do", err)
			}
			if code, out, log := recipe(t, in(c.second)...); code != 0 || !strings.Contains(out+log, c.want) {
				t.Errorf("exit code %d, want %q in what it says:\n%s%s", code, c.want, out, log)
			}
			var attempts []string
			for _, rd := range load(t, dir).Rounds[begun:] {
				attempts = append(attempts, rd.Changed)
			}
			if strings.Join(attempts, ", ") != strings.Join(c.attempts, ", ") {
				t.Errorf("noted: %q, want %q", attempts, c.attempts)
			}
		})
	}
}

// An attempt is noted once in a run's ledger.
func TestRoundRefusesWhatIsNoted(t *testing.T) {
	for _, c := range []struct {
		why, first, second string // RUN and OTHER are folders, of two attempts
		want               string // "" if it is noted
	}{
		{"the same command", "-changed longer -of OTHER", "-changed longer -of OTHER", "is noted already, as round 3 (longer)"},
		{"in other words", "-changed longer -of OTHER", "-changed wider -of OTHER", "is noted already, as round 3 (longer)"},
		{"the run itself", "-changed longer -of RUN", "-changed longer -of RUN", "is noted already, as round 3 (longer)"},
		{"another attempt", "-changed longer -of OTHER", "-changed longer -of RUN", ""},
		{"attempts without a run, of which only the words are known", "-changed longer", "-changed longer", ""},
	} {
		dir, other := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "other")
		for at, o := range map[string]artifacttest.Options{dir: {Tasks: 4, Steps: 2}, other: {Tasks: 4, Steps: 3}} {
			if err := artifacttest.Write(at, o); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(load(t, dir).Rounds); n != 2 {
			t.Fatalf("%d attempts to begin with, want 2", n)
		}
		in := func(flags string) []string {
			return strings.Fields(strings.NewReplacer("RUN", dir, "OTHER", other).Replace("round " + flags + " RUN"))
		}
		if code, out, log := recipe(t, in(c.first)...); code != 0 {
			t.Fatalf("%s: the first: exit code %d: %s%s", c.why, code, out, log)
		}
		code, _, log := recipe(t, in(c.second)...)
		rounds := 4
		if c.want != "" {
			rounds = 3
		}
		if (code == 0) != (c.want == "") || !strings.Contains(log, c.want) {
			t.Errorf("%s: exit code %d, want %q in what it says:\n%s", c.why, code, c.want, log)
		}
		if n := len(load(t, dir).Rounds); n != rounds {
			t.Errorf("%s: %d attempts, want %d", c.why, n, rounds)
		}
	}
}

// load reads a run, which is held against its manifest.
func load(t *testing.T, dir string) *artifact.Record {
	t.Helper()
	r, err := artifact.Load(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	return r
}
