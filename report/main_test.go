package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"teamtalk/recipe/artifact/artifacttest"
)

// call runs the command as main does and returns its exit code.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = exitCode(run(context.Background(), args, strings.NewReader(""), &out, &errs), &errs)
	return code, out.String(), errs.String()
}

func simulate(t *testing.T, dir string, o artifacttest.Options) {
	t.Helper()
	o.Tasks, o.Steps = 10, 2
	if err := artifacttest.Write(dir, o); err != nil {
		t.Fatal(err)
	}
}

// One run through its life: written, checked, edited, refused, written over, made stale.
func TestAReportsLife(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a run")
	simulate(t, dir, artifacttest.Options{})
	code, out, errs := call(t, dir)
	if code != 0 || errs != "" {
		t.Fatalf("exit %d, %s", code, errs)
	}
	var names []string
	lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(out, dir, "RUN"), "\n"), "\n")
	names = append(names, lines[:len(lines)-1]...)
	if last := lines[len(lines)-1]; last != "Verdict: unresolved (synthetic, not a result). Open first: RUN/report/report.html" {
		t.Errorf("the last line is %q", last)
	}
	want := []string{"RUN/report/claims.json", "RUN/report/eval_results.yaml", "RUN/report/figures/fig-curves.svg", "RUN/report/figures/fig-dumbbell.svg", "RUN/report/figures/fig-forest.svg",
		"RUN/report/figures/fig-histogram.svg", "RUN/report/report.html", "RUN/report/report.json", "RUN/report/report.md", "RUN/report/tasks.csv", "RUN/report/manifest.json"}
	if !slices.Equal(names, want) {
		t.Errorf("named %q, want %q", names, want)
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, strings.TrimPrefix(name, "RUN/"))); err != nil {
			t.Error(err)
		}
	}
	for _, command := range []string{"check", "lint", "verify"} {
		if code, out, errs := call(t, command, dir); code != 0 {
			t.Errorf("%s: exit %d\n%s%s", command, code, out, errs)
		}
	}

	md := filepath.Join(dir, "report", "report.md")
	edit(t, md, "**Verdict: unresolved.**", "**Verdict: better, by 9 points.**")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"check", dir}, 1, "-**Verdict: better, by 9 points.**"},
		{[]string{"lint", dir}, 1, "naked number: 9"},
		{[]string{"verify", dir}, 1, "FAIL"},
		{[]string{dir}, 1, "report.md was edited after the report was made; nothing was written"},
	} {
		code, out, errs := call(t, c.args...)
		if code != c.code || !strings.Contains(out+errs, c.says) {
			t.Errorf("after an edit, %v: exit %d, want %d and %q:\n%s%s", c.args[:1], code, c.code, c.says, out, errs)
		}
	}
	if code, _, errs := call(t, "-force", dir); code != 0 {
		t.Errorf("-force: exit %d: %s", code, errs)
	}
	if code, out, _ := call(t, "check", dir); code != 0 || !strings.HasSuffix(out, "fresh\n") {
		t.Errorf("after -force: exit %d, %s", code, out)
	}

	if err := artifacttest.Replace(dir, "eval/recipe-17-recipe.jsonl.gz", `"reward":1`, `"reward":0`); err != nil {
		t.Fatal(err)
	}
	code, out, errs = call(t, "check", dir)
	if code != 2 || !strings.Contains(out, "eval/recipe-17-recipe.jsonl.gz: changed") || !strings.Contains(out, "Restore what is named") || strings.Contains(errs, "go run ./report") {
		t.Errorf("an edited artifact: exit %d, want 2 and the file's name:\n%s%s", code, out, errs)
	}
	if err := artifacttest.Reseal(dir); err != nil {
		t.Fatal(err)
	}
	code, out, errs = call(t, "check", dir)
	if code != 1 || !strings.Contains(out, "artifact eval/recipe-17-recipe.jsonl.gz: changed") || !strings.Contains(errs, "go run ./report "+dir) {
		t.Errorf("an edited artifact, sealed again: exit %d, want 1, the file's name and the command:\n%s%s", code, out, errs)
	}
}

// A report takes no other file's place: not that of a run's manifest, not that of somebody's text.
func TestAReportTakesNoOtherFilesPlace(t *testing.T) {
	top := t.TempDir()
	dir, other := filepath.Join(top, "run"), filepath.Join(top, "other")
	simulate(t, dir, artifacttest.Options{})
	simulate(t, other, artifacttest.Options{})
	link := filepath.Join(top, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"thesis/report.md", "web/manifest.json", "mine/figures/fig-curves.svg"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(top, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, name), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		why, out string
		code     int
		says     string
	}{
		{"the run itself", dir, 2, "is among the files of the run"},
		{"the run itself, by another name", link, 2, "is among the files of the run"},
		{"a new folder of the run", filepath.Join(dir, "rep2"), 2, "is among the files of the run"},
		{"a folder of the run's", filepath.Join(link, "eval"), 2, "is among the files of the run"},
		{"another run", other, 2, "is among the files of the run"},
		{"somebody's report.md", filepath.Join(top, "thesis"), 1, "report.md is not a report's; nothing was written"},
		{"somebody's manifest.json", filepath.Join(top, "web"), 1, "manifest.json is not a report's; nothing was written"},
		{"somebody's figure", filepath.Join(top, "mine"), 1, "fig-curves.svg is not a report's; nothing was written"},
		{"where a report belongs", filepath.Join(link, "report"), 0, ""},
		{"a folder beside", filepath.Join(top, "pages", "run"), 0, ""},
		{"there again", filepath.Join(top, "pages", "run"), 0, ""},
	} {
		code, _, errs := call(t, "-out", c.out, dir)
		if code != c.code || !strings.Contains(errs, c.says) {
			t.Errorf("%s: exit %d, %q, want %d and %q", c.why, code, errs, c.code, c.says)
		}
	}
	if code, out, errs := call(t, "verify", dir); code != 0 {
		t.Errorf("the run afterwards: %s%s", out, errs)
	}
	if code, _, errs := call(t, "-force", "-out", filepath.Join(top, "thesis"), dir); code != 0 {
		t.Errorf("-force: %s", errs)
	}

	// Another run around the runs' folder is no reason: what counts is the run that the report is of.
	if err := os.WriteFile(filepath.Join(top, "experiment.json"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := call(t, dir); code != 0 {
		t.Errorf("below another run: %s", errs)
	}
	if err := os.Remove(filepath.Join(top, "experiment.json")); err != nil {
		t.Fatal(err)
	}

	// Writing that was stopped is taken up again, be it a report made anew with another text.
	stopped := filepath.Join(top, "stopped")
	if code, _, errs := call(t, "-out", stopped, dir); code != 0 {
		t.Fatal(errs)
	}
	for _, name := range []string{"manifest.json", "report.html"} {
		if err := os.Remove(filepath.Join(stopped, name)); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, errs := call(t, "-out", stopped, dir); code != 0 {
		t.Errorf("after it was stopped: %s", errs)
	}
	old, err := os.ReadFile(filepath.Join(stopped, "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(stopped, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(stopped, "learned.md"), []byte("## Learned\n\n- Nothing.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := call(t, "-out", stopped, dir); code != 0 {
		t.Fatal(errs)
	}
	for name, content := range map[string][]byte{"report.md": old, "manifest.json": manifest} { // which are written late
		if err := os.WriteFile(filepath.Join(stopped, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, errs := call(t, "-out", stopped, dir); code != 0 {
		t.Errorf("after it was stopped with another text: %s", errs)
	}
}

func edit(t *testing.T, name, old, now string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b, []byte(old)) {
		t.Fatalf("%s does not hold %q", name, old)
	}
	if err := os.WriteFile(name, bytes.Replace(b, []byte(old), []byte(now), 1), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Without a name the newest complete run is taken: by the time that the run recorded, not by this machine's.
func TestTheNewestCompleteRun(t *testing.T) {
	t.Chdir(t.TempDir())
	if code, _, errs := call(t); code != 2 || !strings.Contains(errs, "go run ./recipe") {
		t.Errorf("no runs at all: exit %d, %s", code, errs)
	}
	simulate(t, "runs/z-old", artifacttest.Options{Seed: 2})
	simulate(t, "runs/a-new", artifacttest.Options{Seed: 9})
	simulate(t, "runs/b-unfinished", artifacttest.Options{Seed: 20, Unsealed: true})
	code, out, errs := call(t)
	if code != 0 || !strings.Contains(out, "runs/a-new/report/report.html") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if code, out, errs := call(t, "-out", "elsewhere", "runs/z-old"); code != 0 || !strings.Contains(out, "elsewhere/report.md") {
		t.Errorf("-out: exit %d\n%s%s", code, out, errs)
	}
	if _, err := os.Stat("runs/z-old/report"); err == nil {
		t.Error("-out was given and the run's own folder was written too")
	}
	if code, out, errs := call(t, "runs/b-unfinished"); code != 0 || !strings.Contains(out, "report.md") {
		t.Errorf("an unfinished run: exit %d\n%s%s", code, out, errs)
	}
	md, err := os.ReadFile("runs/b-unfinished/report/report.md")
	if err != nil || !strings.Contains(string(md), "**Not complete.**") {
		t.Errorf("the page of an unfinished run does not say so: %v", err)
	}
	if strings.Contains(string(md), "n/a.") && strings.Contains(string(md), "Planned and missing: n/a") || !strings.Contains(string(md), "`manifest.json` is not: finish the run with `go run ./recipe -resume DIR`") {
		t.Error("only the manifest is missing, and the page does not say so")
	}
	if code, out, errs := call(t, "verify", "runs/b-unfinished"); code != 1 || !strings.Contains(out, "the run is not complete: manifest.json is missing; finish it with `go run ./recipe -resume DIR`") || !strings.Contains(out, "manifest.json is missing, though every planned run and evaluation is there") {
		t.Errorf("verify of a run without its manifest: exit %d\n%s%s", code, out, errs)
	}
	for _, command := range []string{"verify", "lint", "check"} {
		want := "make it first with: go run ./report -out nowhere runs/a-new"
		if command == "check" {
			want = "make it with: go run ./report -out nowhere runs/a-new"
		}
		if code, out, errs := call(t, command, "-out", "nowhere", "runs/a-new"); code == 0 || !strings.Contains(errs, want) {
			t.Errorf("%s without a report: exit %d, want %q\n%s%s", command, code, want, out, errs)
		}
	}
}

func TestUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"nothing"}, 2, "neither a run nor a command"},
		{[]string{"-nothing"}, 2, "flag provided but not defined"},
		{[]string{"."}, 2, "is not a run: expected a folder with experiment.json"},
		{[]string{"check", "a", "b"}, 2, "one run at a time"},
		{[]string{"-help"}, 0, "Writes the write-up of a run"},
		{[]string{"lint"}, 0, "no problem found"}, // the built-in prose
	} {
		code, out, errs := call(t, c.args...)
		if code != c.code || !strings.Contains(out+errs, c.says) {
			t.Errorf("%q: exit %d, want %d and %q:\n%s%s", c.args, code, c.code, c.says, out, errs)
		}
	}
}

// The section Learned can be written by hand; its numbers are bindings, and a typed one is found.
func TestLearned(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	simulate(t, dir, artifacttest.Options{})
	learned := filepath.Join(dir, "report", "learned.md")
	if err := os.MkdirAll(filepath.Dir(learned), 0o755); err != nil {
		t.Fatal(err)
	}
	text := "## Learned\n\n- The difference was {{b \"+3\" \"contrasts\" \"primary\" \"delta\"}} {{cite \"kim2026\"}}.\n"
	if err := os.WriteFile(learned, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := call(t, dir); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	md, err := os.ReadFile(filepath.Join(dir, "report", "report.md"))
	if err != nil || !strings.Contains(string(md), "- The difference was ") || strings.Contains(string(md), "message board") {
		t.Errorf("the section was not replaced: %v", err)
	}
	if code, out, _ := call(t, "check", dir); code != 0 {
		t.Errorf("check: exit %d\n%s", code, out)
	}
	if err := os.WriteFile(learned, []byte(text+"- It was 13 points.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := call(t, "lint", dir); code != 1 || !strings.Contains(out, "learned.md:4:10: naked number: 13") {
		t.Errorf("a typed number: exit %d\n%s", code, out)
	}
	if err := os.WriteFile(learned, []byte("{{b \"+3\" \"contrasts\" \"primary\" \"dleta\"}}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := call(t, dir); code != 1 || !strings.Contains(errs, `"dleta" is not there`) {
		t.Errorf("a misspelt binding: exit %d, %s", code, errs)
	}
}

// Questions of a data set appear on the page when the reader has it, and in no other file.
func TestQuestions(t *testing.T) {
	dir, data := filepath.Join(t.TempDir(), "run"), t.TempDir()
	simulate(t, dir, artifacttest.Options{Preset: "qwen"})
	if code, _, errs := call(t, "-data", data, dir); code != 1 || !strings.Contains(errs, "none of the 10 held-out questions") {
		t.Errorf("an empty folder: exit %d, %s", code, errs)
	}
	lines := artifacttest.Questions(artifacttest.Options{Preset: "qwen", Tasks: 10, Steps: 2})
	if err := os.WriteFile(filepath.Join(data, "test.jsonl"), []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := call(t, "-data", data, dir); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if code, out, _ := call(t, "check", dir); code != 2 || !strings.Contains(out, "give -data") {
		t.Errorf("check without the data: exit %d\n%s", code, out)
	}
	if code, out, _ := call(t, "check", "-data", data, dir); code != 0 {
		t.Errorf("check with the data: exit %d\n%s", code, out)
	}
}
