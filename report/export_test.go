package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"teamtalk/recipe/artifact/artifacttest"
)

// What compare makes of a run's export is the report's own comparison.
func TestCompareOfAnExportIsTheReports(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a run")
	if err := artifacttest.Write(dir, artifacttest.Options{Tasks: 12, TestTasks: 30, Steps: 2}); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := call(t, dir); code != 0 {
		t.Fatal(errs)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "report", "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	type numbers struct {
		Delta   float64
		Both    [2]float64 `json:"ci_both"`
		P       float64    `json:"p_both"`
		Verdict string
	}
	var doc struct{ Contrasts map[string]numbers }
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why, contrast string
		args          []string
		tasks         string
	}{
		{"the held-out tasks, which nothing names", "primary", nil, " 12 tasks, 4 samples"},
		{"the held-out tasks by name", "primary", []string{"-tasks", "holdout"}, " 12 tasks, 4 samples"},
		{"the whole test split", "test", []string{"-tasks=test"}, " 30 tasks, 1 samples"},
	} {
		code, table, errs := call(t, append([]string{"export", dir}, c.args...)...)
		if code != 0 || errs != "" {
			t.Errorf("%s: exit %d, %s", c.why, code, errs)
			continue
		}
		if text, errs, _ := compareRun(table, "-"); !strings.Contains(text, c.tasks) || !strings.Contains(text, "baseline: baseline (by its name); runs: 17, 18\n") {
			t.Errorf("%s: compare read %s%s", c.why, text, errs)
		}
		stdout, errs, code := compareRun(table, "-", "-json")
		var got numbers
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 {
			t.Errorf("%s: exit %d, %v, %s", c.why, code, err, errs)
		}
		want, ok := doc.Contrasts[c.contrast]
		if near := func(x, y float64) bool { return math.Abs(x-y) < 1e-9 }; !ok || !near(got.Delta, want.Delta) || !near(got.Both[0], want.Both[0]) || !near(got.Both[1], want.Both[1]) || !near(got.P, want.P) || got.Verdict != want.Verdict {
			t.Errorf("%s: compare gives %+v, report.json %+v", c.why, got, want)
		}
	}
}

// Of an unfinished run what is there is written, and what is not is named beside it.
func TestExportOfAnUnfinishedRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a run")
	simulate(t, dir, artifacttest.Options{Unsealed: true})
	if err := os.Remove(filepath.Join(dir, "eval", "recipe-18-recipe.jsonl.gz")); err != nil {
		t.Fatal(err)
	}
	code, table, errs := call(t, "export", dir)
	if code != 0 || !strings.Contains(errs, "is not complete; missing: eval/recipe-18-recipe.jsonl.gz") || !strings.Contains(table, "\nrecipe,17,") || strings.Contains(table, "\nrecipe,18,") {
		t.Errorf("exit %d, %q, %d bytes", code, errs, len(table))
	}
}

func TestExportErrors(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a run")
	simulate(t, dir, artifacttest.Options{})
	alone := filepath.Join(t.TempDir(), "one arm")
	simulate(t, alone, artifacttest.Options{Arm: "recipe"})
	for _, c := range []struct {
		why  string
		args []string
		code int
		says string
	}{
		{"tasks that there are not", []string{"-tasks", "train", dir}, 2, "-tasks train: expected holdout or test"},
		{"a run without the test split", []string{"-tasks", "test", dir}, 1, "not evaluated on the whole test split: expected"},
		{"one arm", []string{alone}, 1, "no evaluation of arm baseline under its own prompt on the holdout tasks: expected one of each arm, since a comparison has two; its plan trains one arm: train both"},
		{"two runs", []string{dir, dir}, 2, "one run at a time"},
		{"no run", []string{t.TempDir()}, 2, "is not a run: expected a folder"},
		{"an unknown flag", []string{"-json", dir}, 2, "see go run ./report export -h"},
	} {
		code, out, errs := call(t, append([]string{"export"}, c.args...)...)
		if code != c.code || out != "" || !strings.Contains(errs, c.says) {
			t.Errorf("%s: exit %d, %q, %q; want %d and %q", c.why, code, out, errs, c.code, c.says)
		}
	}
	if code, out, errs := call(t, "export", "-h"); code != 0 || errs != "" || !strings.HasPrefix(out, "usage: go run ./report export ") || !strings.Contains(out, "arm,run,task,sample,correct") || !strings.Contains(out, "-tasks tasks") {
		t.Errorf("help: exit %d, %q, %q", code, out, errs)
	}
}
