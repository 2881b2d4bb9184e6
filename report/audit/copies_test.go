package audit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/artifact/artifacttest"
)

// Copies that are regraded, sealed and well-formed: nothing but their likeness gives them away.
func TestCopiesAreSeen(t *testing.T) {
	clean := synthetic(t, artifacttest.Options{Tasks: 60, TestTasks: 110, Steps: 4})
	repeat := func(tasks int) func(string) error { // sample 2 becomes sample 1
		return func(d string) error {
			return artifacttest.EditLines(d, "eval/recipe-17-recipe.jsonl.gz", func(l [][]byte) [][]byte {
				for i := 2; i < 4*tasks; i += 4 {
					l[i] = bytes.Replace(l[i-1], []byte(`"sample":1`), []byte(`"sample":2`), 1)
				}
				return l
			})
		}
	}
	from := func(a, b string) func(string) error {
		return func(d string) error {
			raw, err := os.ReadFile(filepath.Join(d, "eval", a))
			return errors.Join(err, os.WriteFile(filepath.Join(d, "eval", b), raw, 0o644))
		}
	}
	for _, c := range []struct {
		why   string
		plant func(dir string) error
		check string
		says  string // empty: passes
	}{
		{"nothing happened", func(string) error { return nil }, "evaluations_differ", ""},
		{"one run's evaluation is another's", from("recipe-17-recipe.jsonl.gz", "recipe-18-recipe.jsonl.gz"), "evaluations_differ",
			"eval/recipe-17-recipe.jsonl.gz and eval/recipe-18-recipe.jsonl.gz hold the same text in 240 of 240 places, at most 98%"},
		{"the other arm's with the same seed", from("baseline-17-baseline.jsonl.gz", "recipe-17-baseline.jsonl.gz"), "evaluations_differ", "240 of 240 places, at most 98%"},
		{"the untrained model's in place of a trained one's", from("base-recipe.jsonl.gz", "recipe-17-recipe.jsonl.gz"), "evaluations_differ", "eval/base-recipe.jsonl.gz and eval/recipe-17-recipe.jsonl.gz"},
		{"the same on the whole test split", from("recipe-17-recipe-test.jsonl.gz", "recipe-18-recipe-test.jsonl.gz"), "evaluations_differ", "110 of 110 places"},
		{"a copy in which four replies were changed", func(d string) error {
			return errors.Join(from("recipe-17-recipe.jsonl.gz", "recipe-18-recipe.jsonl.gz")(d), artifacttest.EditLines(d, "eval/recipe-18-recipe.jsonl.gz", func(l [][]byte) [][]byte {
				for i := range 4 {
					l[i] = bytes.Replace(l[i], []byte(`"text":"`), []byte(`"text":"Well. `), 1)
				}
				return l
			}))
		}, "evaluations_differ", "236 of 240 places"},
		{"two evaluations exchanged, which only the weights could tell", func(d string) error {
			a, b := filepath.Join(d, "eval/recipe-17-recipe.jsonl.gz"), filepath.Join(d, "eval/recipe-18-recipe.jsonl.gz")
			return errors.Join(os.Rename(a, a+".x"), os.Rename(b, a), os.Rename(a+".x", b))
		}, "evaluations_differ", ""},
		{"nothing happened to the samples", func(string) error { return nil }, "samples_differ", ""},
		{"one sample is another in every task", repeat(60), "samples_differ", "eval/recipe-17-recipe.jsonl.gz: samples 1 and 2 are the same text in 100% of the tasks, two others in"},
		{"one sample is another in five tasks of six", repeat(50), "samples_differ", "of the tasks, two others in"},
		{"four samples are one in every task", func(d string) error {
			return artifacttest.EditLines(d, "eval/recipe-17-recipe.jsonl.gz", func(l [][]byte) [][]byte {
				for i := range l {
					l[i] = bytes.Replace(l[i-i%4], []byte(`"sample":0`), fmt.Appendf(nil, `"sample":%d`, i%4), 1)
				}
				return l
			})
		}, "samples_differ", "all samples of every task are the same text, at temperature 0.9"},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		if err := os.CopyFS(dir, os.DirFS(clean)); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(c.plant(dir), artifacttest.Reseal(dir)); err != nil {
			t.Fatalf("%s: %v", c.why, err)
		}
		want := artifact.Pass
		if c.says != "" {
			want = artifact.Fail
		}
		if got := alone(t, dir, c.check); got.Status != want || !strings.Contains(got.Value, c.says) {
			t.Errorf("%s: %s is %s: %q, want %s with %q", c.why, c.check, got.Status, got.Value, want, c.says)
		}
	}
}

// What is alike for a reason is said to be what it is, and is no failure.
func TestAlikeForAReason(t *testing.T) {
	dir := synthetic(t, artifacttest.Options{Tasks: 40, Steps: 4})
	load := func() *artifact.Record {
		rec, err := artifact.Load(os.DirFS(dir))
		if err != nil {
			t.Fatal(err)
		}
		return rec
	}
	find := func(rec *artifact.Record, name string) int {
		for i, e := range rec.Evals {
			if e.Name() == name {
				return i
			}
		}
		t.Fatalf("no evaluation is called %s", name)
		return 0
	}
	unlearned := func(rec *artifact.Record, seeds ...int64) {
		for _, s := range seeds {
			for i, r := range rec.Runs {
				if r.Config.Run.Seed == s {
					rec.Runs[i] = *withAllWrong(r)
				}
			}
		}
	}
	for _, c := range []struct {
		why  string
		edit func(*artifact.Record)
		test func(*artifact.Record) finding
		want artifact.Status
		says string
	}{
		{"two runs of one seed that learned nothing, under one prompt", func(rec *artifact.Record) {
			unlearned(rec, 17)
			rec.Evals[find(rec, "recipe-17-baseline")].Replies = rec.Evals[find(rec, "baseline-17-baseline")].Replies
		}, evaluationsDiffer, artifact.Pass, "1 pair not compared: no step of their training had a gradient, so that both are the untrained model"},
		{"two such runs with two seeds, whose noise differs", func(rec *artifact.Record) {
			unlearned(rec, 17, 18)
			rec.Evals[find(rec, "recipe-18-recipe")].Replies = rec.Evals[find(rec, "recipe-17-recipe")].Replies
		}, evaluationsDiffer, artifact.Fail, "eval/recipe-17-recipe.jsonl.gz and eval/recipe-18-recipe.jsonl.gz"},
		{"temperature 0", func(rec *artifact.Record) {
			rec.Plan.Evaluation.Temperature = 0
			rec.Evals[find(rec, "recipe-18-recipe")].Replies = rec.Evals[find(rec, "recipe-17-recipe")].Replies
		}, evaluationsDiffer, artifact.NotRun, "temperature 0, at which two models may well give the same replies: at most 100.0% of them, between recipe-17-recipe and recipe-18-recipe"},
		{"two models that give one reply whatever the noise", func(rec *artifact.Record) {
			for _, name := range []string{"recipe-17-recipe", "recipe-18-recipe"} {
				e := &rec.Evals[find(rec, name)]
				for i := range e.Replies {
					e.Replies[i].Text = fmt.Sprint(e.Replies[i].Task)
				}
			}
		}, evaluationsDiffer, artifact.Pass, "1 pair more alike, of models that give one reply in more than 80% of the tasks"},
		{"too few replies to tell", func(rec *artifact.Record) {
			for i := range rec.Evals {
				rec.Evals[i].Replies = rec.Evals[i].Replies[:12]
			}
		}, evaluationsDiffer, artifact.NotRun, "no two evaluations have 100 replies to compare"},
		{"too few tasks to tell", func(*artifact.Record) {}, samplesDiffer, artifact.NotRun, "no evaluation has two samples of 50 tasks"},
	} {
		rec := load()
		c.edit(rec)
		if f := c.test(rec); f.status != c.want || !strings.Contains(f.value, c.says) {
			t.Errorf("%s: %s: %q, want %s with %q", c.why, f.status, f.value, c.want, c.says)
		}
	}
}

// withAllWrong is a run none of whose groups is mixed.
func withAllWrong(r artifact.TrainingRecord) *artifact.TrainingRecord {
	r.Rollouts = append([]artifact.Rollout(nil), r.Rollouts...)
	for i := range r.Rollouts {
		r.Rollouts[i].Verdict.Reward = artifact.Graded(0)
	}
	return &r
}
