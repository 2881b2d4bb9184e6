package page

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/artifact/artifacttest"
)

// Eighteen evaluations on 1,319 tasks: their 23,742 replies are counted, not embedded.
func TestTheWholeTestSplitKeepsThePageSmall(t *testing.T) {
	o := artifacttest.Options{Preset: "qwen", Steps: 2, Seeds: []int64{17, 18, 19, 20, 21, 22, 23, 24}}
	without := mustBuild(t, os.DirFS(syntheticRun(t, o)), Options{})
	o.TestTasks = 1319
	files := mustBuild(t, os.DirFS(syntheticRun(t, o)), Options{})
	page := string(files["report.html"])
	if n := len(page); n > 3<<20 || n > len(without["report.html"])+100<<10 {
		t.Errorf("report.html has %d bytes, %d without the test split", n, len(without["report.html"]))
	}
	if !strings.Contains(page, "The 23742 replies on the whole test split are not on this page; they are in <code>eval/*-test.jsonl.gz</code> of the run folder.") {
		t.Error("the page does not say where the replies on the test split are")
	}
	for _, c := range []struct {
		name, what string
		want       int
	}{
		{"report.html", `<tr id="task-`, 120},
		{"tasks.csv", "\n", 121},
		{"eval_results.yaml", `task_id: "gsm8k-test"`, 4},
		{"eval_results.yaml", `task_id: "gsm8k-heldout-120"`, 5},
	} {
		if n := strings.Count(string(files[c.name]), c.what); n != c.want {
			t.Errorf("%s holds %q %d times, want %d", c.name, c.what, n, c.want)
		}
	}
	// What is about the held-out tasks alone is what it is without the test split.
	if !bytes.Equal(files["tasks.csv"], without["tasks.csv"]) {
		t.Error("tasks.csv is another than without the test split")
	}
	if a, b := between(files, "**Table 8.**", "**Figure 1.**"), between(without, "**Table 8.**", "**Figure 1.**"); a == "" || cutFigure(a) != cutFigure(b) {
		t.Errorf("the tables of the result are others than without the test split:\n%s", strings.Join(Diff(b, a), "\n"))
	}
}

// between is a part of report.md.
func between(files Files, from, to string) string {
	_, rest, _ := strings.Cut(string(files["report.md"]), from)
	part, _, _ := strings.Cut(rest, to)
	return part
}

// cutFigure takes the line of a figure out, whose words name one comparison more.
func cutFigure(s string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(s, "\n"), func(l string) bool { return strings.HasPrefix(l, "![") }), "\n")
}

// A stopped run has some of the evaluations: as many runs of each arm, or one less. What is there is shown, and what is missing named.
func TestAPartOfTheWholeTestSplit(t *testing.T) {
	for _, c := range []struct {
		why  string
		gone []string
		says []string
		not  []string
	}{
		{"one run of the recipe is missing", []string{"recipe-18-recipe"}, []string{"Planned and missing: `eval/recipe-18-recipe-test.jsonl.gz`", "One of the arms has one training run: run-to-run variance is not estimable", "On the whole test split of 50 tasks"}, nil},
		{"one arm is missing", []string{"recipe-17-recipe", "recipe-18-recipe"}, []string{"### The whole test split", "What training added to the baseline"}, []string{"On the whole test split of 50 tasks"}},
		{"all are missing", []string{"base-baseline", "base-recipe", "baseline-17-baseline", "baseline-18-baseline", "recipe-17-recipe", "recipe-18-recipe"},
			[]string{"### The whole test split", "None of these replies is there."}, []string{"Every model on the whole test split"}},
	} {
		dir := syntheticRun(t, artifacttest.Options{Tasks: 20, Steps: 2, TestTasks: 50})
		for _, name := range c.gone {
			if err := os.Remove(filepath.Join(dir, "eval", name+"-test.jsonl.gz")); err != nil {
				t.Fatal(err)
			}
		}
		// It was sealed, and is again as it was a moment before.
		if err := os.Rename(filepath.Join(dir, artifact.ManifestFile), filepath.Join(dir, ".tmp-"+artifact.ManifestFile)); err != nil {
			t.Fatal(err)
		}
		run, err := artifact.Open(dir)
		if err == nil {
			err = run.SealIncomplete("the machine's time was spent")
		}
		if err != nil {
			t.Fatal(err)
		}
		files, err := Build(os.DirFS(dir), Options{})
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		says(t, c.why, files, append(c.says, fmt.Sprintf("evaluation %s-test was planned and is not there", c.gone[0])), c.not)
	}
}
