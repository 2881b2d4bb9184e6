package page

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/artifact/artifacttest"
)

// written makes a run with its report in a folder beside it.
func written(t *testing.T, o artifacttest.Options) (run, out string) {
	t.Helper()
	run, out = syntheticRun(t, o), t.TempDir()
	writeFiles(t, out, mustBuild(t, os.DirFS(run), Options{}))
	return run, out
}

func writeFiles(t *testing.T, out string, files Files) {
	t.Helper()
	for name, data := range files {
		path := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func replace(t *testing.T, dir, path, old, now string) {
	t.Helper()
	if err := artifacttest.Replace(dir, path, old, now); err != nil {
		t.Fatal(err)
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		why   string
		do    func(run, out string)
		state State
		says  []string
	}{
		{"nothing happened", func(run, out string) {}, Fresh, nil},
		{"a verdict changed and the run was sealed again", func(run, out string) {
			replace(t, run, "eval/recipe-17-recipe.jsonl.gz", `"reward":1`, `"reward":0`)
			if err := artifacttest.Reseal(run); err != nil {
				t.Fatal(err)
			}
		}, Stale, []string{"artifact eval/recipe-17-recipe.jsonl.gz: changed", "report.json: differs", "-With its own prompt", "-- **What was found.**"}},
		{"the page was edited", func(run, out string) { replace(t, out, "report.md", "unresolved", "better") }, Stale,
			[]string{"report.md: differs, and was edited after it was made", "no artifact changed since", "-**Verdict: better.**", "+**Verdict: unresolved.**"}},
		{"a figure is gone", func(run, out string) { os.Remove(filepath.Join(out, "figures/fig-forest.svg")) }, Stale, []string{"figures/fig-forest.svg: missing"}},
		{"there is no report", func(run, out string) { os.RemoveAll(out); os.Mkdir(out, 0o755) }, CannotTell, []string{"there is no report here"}},
		{"an artifact is damaged", func(run, out string) { os.Truncate(filepath.Join(run, "recipe-17/completions.jsonl.gz"), 50) }, CannotTell,
			[]string{"recipe-17/completions.jsonl.gz: truncated"}},
		{"the run is gone", func(run, out string) { os.RemoveAll(run) }, CannotTell, []string{"cannot be read"}},
	} {
		run, out := written(t, small())
		c.do(run, out)
		state, lines := Check(os.DirFS(run), os.DirFS(out), Options{})
		all := strings.Join(lines, "\n")
		if state != c.state {
			t.Errorf("%s: %s, want %s:\n%s", c.why, state, c.state, all)
		}
		found := len(c.says) == 0
		for _, s := range c.says {
			if strings.Contains(all, s) {
				found = true
			} else if !strings.HasPrefix(s, "-") {
				t.Errorf("%s: the lines do not hold %q:\n%s", c.why, s, all)
			}
		}
		if !found {
			t.Errorf("%s: none of %q in\n%s", c.why, c.says, all)
		}
	}
}

// A report made with a section Learned of the reader's own, whose text is changed, taken away or broken: the fault is said to be its.
func TestCheckNamesLearned(t *testing.T) {
	const good, other = `- The difference was {{b "+3" "contrasts" "primary" "delta"}}.`, `- It was {{b "+3" "contrasts" "primary" "delta"}}.`
	for _, c := range []struct {
		why      string
		old, now string
		state    State
		says     string // empty: nothing
		not      string
	}{
		{"the same", good, good, Fresh, "", ""},
		{"changed", good, other, Stale, "learned.md: changed since the report was made, sha256 ", "no artifact changed"},
		{"gone", good, "", Stale, "learned.md: gone, the report was made with it", "no artifact changed"},
		{"new", "", good, Stale, "learned.md: new, the report was made without it", "no artifact changed"},
		{"a binding to nothing", good, `{{b "+3" "contrasts" "primary" "dleta"}}`, CannotTell, "learned.md cannot be filled in: ", "Restore what is named"},
		{"an action that is not closed", good, `{{b "+3"`, CannotTell, "Correct the template learned.md; the run's artifacts are those that the report was made from.", "Restore what is named"},
		{"a table without its caption", good, "x\n\n| a |\n|---|\n| b |", CannotTell, "learned.md cannot be filled in: page: table ", "Restore what is named"},
	} {
		run, out := syntheticRun(t, small()), t.TempDir()
		section := func(s string) Options {
			if s == "" {
				return Options{}
			}
			return Options{Learned: "## Learned\n\n" + s + "\n"}
		}
		writeFiles(t, out, mustBuild(t, os.DirFS(run), section(c.old)))
		state, lines := Check(os.DirFS(run), os.DirFS(out), section(c.now))
		all := strings.Join(lines, "\n")
		if state != c.state || !strings.Contains(all, c.says) || c.says == "" && all != "" || c.not != "" && strings.Contains(all, c.not) {
			t.Errorf("%s: %s, want %s with %q and without %q:\n%s", c.why, state, c.state, c.says, c.not, all)
		}
	}
	// Nor does a template fit a run from which what it speaks of was taken out.
	attempt := Options{Learned: "## Learned\n\nAt first it was {{b \"3\" \"rounds\" 1 \"round\"}}.\n"}
	cut, page := syntheticRun(t, small()), t.TempDir()
	writeFiles(t, page, mustBuild(t, os.DirFS(cut), attempt))
	if err := artifacttest.EditLines(cut, "rounds.jsonl", func(l [][]byte) [][]byte { return l[:1] }); err != nil {
		t.Fatal(err)
	}
	if err := artifacttest.Reseal(cut); err != nil {
		t.Fatal(err)
	}
	if state, lines := Check(os.DirFS(cut), os.DirFS(page), attempt); state != CannotTell || !strings.Contains(strings.Join(lines, "\n"), "artifact rounds.jsonl: changed") || !strings.Contains(lines[len(lines)-1], "is not the one that the report was made from: restore it, or correct the template") {
		t.Errorf("an attempt that learned.md speaks of was taken out: %s, %q", state, lines)
	}
	// A damaged run is not the template's fault, whatever that is.
	run, out := syntheticRun(t, small()), t.TempDir()
	writeFiles(t, out, mustBuild(t, os.DirFS(run), Options{}))
	if err := os.Truncate(filepath.Join(run, "recipe-17/completions.jsonl.gz"), 50); err != nil {
		t.Fatal(err)
	}
	state, lines := Check(os.DirFS(run), os.DirFS(out), Options{Learned: `{{b "+3"`})
	if all := strings.Join(lines, "\n"); state != CannotTell || !strings.Contains(all, "recipe-17/completions.jsonl.gz: truncated") || strings.Contains(all, "learned.md") {
		t.Errorf("a damaged run with a broken template: %s\n%s", state, all)
	}
}

func TestVerify(t *testing.T) {
	run, out := written(t, small())
	done, err := Verify(os.DirFS(run), os.DirFS(out), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range done {
		if !v.OK {
			t.Error(v.What)
		}
	}
	replace(t, run, "eval/base-recipe.jsonl.gz", `"reward":1`, `"reward":0`)
	replace(t, out, "report.md", "Mini run.", "A run.")
	if err := artifacttest.Reseal(run); err != nil {
		t.Fatal(err)
	}
	if done, err = Verify(os.DirFS(run), os.DirFS(out), Options{}); err != nil {
		t.Fatal(err)
	}
	var bad []string
	for _, v := range done {
		if !v.OK {
			bad = append(bad, v.What)
		}
	}
	all := strings.Join(bad, "\n")
	for _, want := range []string{"check regrade: fail: ", "eval/base-recipe.jsonl.gz line", "report.md line", "made again, the report is stale", "claims.json was made from another eval/base-recipe.jsonl.gz"} {
		if !strings.Contains(all, want) {
			t.Errorf("verify does not say %q:\n%s", want, all)
		}
	}
}

// A report that was made again from a template with a number typed in is fresh, and all of its claims hold: lint alone sees it.
func TestVerifyLints(t *testing.T) {
	const bound = `- The difference was {{b "+3" "contrasts" "primary" "delta"}}.`
	for _, c := range []struct{ why, learned, says string }{
		{"every number is bound", bound, ""},
		{"one is typed in", bound + "\n- It was 13 points.\n", "lint finds 2 problems in the stored report, first report.md:"},
		{"one is written out", bound + "\n- It grew threefold.\n", "number in words: threefold"},
	} {
		run, out := syntheticRun(t, small()), t.TempDir()
		o := Options{Learned: "## Learned\n\n" + c.learned}
		writeFiles(t, out, mustBuild(t, os.DirFS(run), o))
		if err := os.WriteFile(filepath.Join(out, learnedFile), []byte(o.Learned), 0o644); err != nil {
			t.Fatal(err)
		}
		done, err := Verify(os.DirFS(run), os.DirFS(out), o)
		if err != nil {
			t.Fatal(err)
		}
		bad := ""
		for _, v := range done {
			if !v.OK {
				bad += v.What + "\n"
			}
		}
		if !strings.Contains(bad, c.says) || (bad == "") != (c.says == "") || strings.Count(bad, "\n") > 1 {
			t.Errorf("%s: verify fails with %q, want %q alone", c.why, bad, c.says)
		}
	}
}

// A published copy leaves weights out, and what was not compared is not said to be what the manifest says.
func TestVerifySaysWhatItCompared(t *testing.T) {
	// Four runs, each with one file of weights.
	run, out := written(t, small())
	say := func() string {
		t.Helper()
		done, err := Verify(os.DirFS(run), os.DirFS(out), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range done {
			if !v.OK {
				t.Error(v.What)
			}
		}
		return done[0].What
	}
	rec, err := artifact.Load(os.DirFS(run))
	if err != nil {
		t.Fatal(err)
	}
	n := len(rec.Manifest.Files)
	if got, want := say(), fmt.Sprintf("%d files are here and are what the manifest says, 4 of them weights", n); got != want {
		t.Errorf("with all weights: %q, want %q", got, want)
	}
	if err := os.RemoveAll(filepath.Join(run, "recipe-17", artifact.FinalDir)); err != nil {
		t.Fatal(err)
	}
	if got, want := say(), fmt.Sprintf("%d files are here and are what the manifest says, 3 of them weights; 1 more, all weights (optional), are listed and not here: not checked", n-1); got != want {
		t.Errorf("without one run's: %q, want %q", got, want)
	}
}

// However few runs there are, what nobody touched verifies.
func TestVerifyFewRuns(t *testing.T) {
	for _, o := range []artifacttest.Options{
		{Tasks: 20, Steps: 4, Seeds: []int64{17}},
		{Tasks: 20, Steps: 4, Seeds: []int64{17}, Arm: "recipe"},
		{Tasks: 20, Steps: 4, Arm: "recipe"},
		{Tasks: 20, Steps: 1},
	} {
		run, out := written(t, o)
		done, err := Verify(os.DirFS(run), os.DirFS(out), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range done {
			if !v.OK {
				t.Errorf("arm %q, seeds %v: %s", o.Arm, o.Seeds, v.What)
			}
		}
	}
}

func TestDiff(t *testing.T) {
	for _, c := range []struct{ old, now, want string }{
		{"a\nb\nc", "a\nb\nc", ""},
		{"a\nb\nc", "a\nx\nc", "-b|+x"},
		{"a", "a\nb", "+b"},
		{"a\nb\nc\nd", "b\nc", "-a|-d"},
		{"", "x", "-|+x"},
	} {
		if got := strings.Join(Diff(c.old, c.now), "|"); got != c.want {
			t.Errorf("Diff(%q, %q) = %q, want %q", c.old, c.now, got, c.want)
		}
	}
}
