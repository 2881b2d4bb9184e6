package lab

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
	"teamtalk/recipe/grpo"
	"teamtalk/recipe/mini"
)

const smallTest = 10

// withTest is the small plan with an evaluation on a test split of ten problems, of which the six held-out ones are a part.
func withTest(t *testing.T, o Options) Options {
	t.Helper()
	if n := 1; o.Resume == "" {
		o.TestSamples = &n
	}
	o = small(t, o)
	o.Problems.Test = mini.Problems().Holdout[:smallTest]
	return o
}

// The evaluation on the whole test split is made after the others, is gone on with where it stopped, and changes nothing else.
func TestTheWholeTestSplit(t *testing.T) {
	top := t.TempDir()
	whole, stopped := filepath.Join(top, "whole"), filepath.Join(top, "stopped")
	if err := conduct(t.Context(), withTest(t, Options{Out: whole})); err != nil {
		t.Fatal(err)
	}
	// As it is after the other evaluations: what the run's first part is made of, resume_test.go stops.
	if err := os.CopyFS(stopped, os.DirFS(whole)); err != nil {
		t.Fatal(err)
	}
	made, err := filepath.Glob(filepath.Join(stopped, "eval", "*-test.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(made, filepath.Join(stopped, artifact.ChecksFile)) {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	// It was sealed, and is again as it was a moment before.
	if err := os.Rename(filepath.Join(stopped, artifact.ManifestFile), filepath.Join(stopped, ".tmp-"+artifact.ManifestFile)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err = conduct(ctx, withTest(t, Options{Resume: stopped, Log: &watcher{at: "base-baseline-test: ", seen: cancel}}))
	if !errors.Is(err, grpo.ErrInterrupted) || !strings.Contains(err.Error(), "go on with: go run ./recipe -resume "+stopped) {
		t.Fatalf("interrupted in the evaluations on the test split: error %v, want how to go on", err)
	}
	r := record(t, stopped)
	var names []string
	for _, e := range r.Evals[len(r.Evals)-2:] {
		names = append(names, e.Name())
	}
	// One round of two models is done.
	if want := []string{"base-baseline-test", "base-recipe-test"}; len(r.Evals) != 8+2 || !slices.Equal(names, want) {
		t.Fatalf("interrupted after the first round: %d evaluations, the last %q; want 10 and %q", len(r.Evals), names, want)
	}
	if want := []string{"eval/baseline-17-baseline-test.jsonl.gz", "eval/recipe-17-recipe-test.jsonl.gz", "eval/baseline-18-baseline-test.jsonl.gz", "eval/recipe-18-recipe-test.jsonl.gz"}; !slices.Equal(r.Missing, want) {
		t.Errorf("missing %q, want %q", r.Missing, want)
	}
	// As if it had been killed while it wrote the round.
	if err := os.Remove(filepath.Join(stopped, "eval", "base-recipe-test.jsonl.gz")); err != nil {
		t.Fatal(err)
	}
	if err := conduct(t.Context(), small(t, Options{Resume: stopped})); err == nil || !strings.Contains(err.Error(), "evaluates on the whole test split, and mini has none") {
		t.Errorf("gone on with without the test split: error %v, want that it is missing", err)
	}
	o := withTest(t, Options{Resume: stopped})
	o.Problems.Test = o.Problems.Test[1:]
	if err := conduct(t.Context(), o); err == nil || !strings.Contains(err.Error(), "the test split is not the one that "+stopped+" was planned with") {
		t.Errorf("gone on with with another test split: error %v, want that it is another", err)
	}
	if err := conduct(t.Context(), withTest(t, Options{Resume: stopped})); err != nil {
		t.Fatal(err)
	}
	if names, compared := differences(t, whole, stopped); len(names) > 0 || compared < 36 {
		t.Errorf("%d files compared; these differ from those of a run that was never stopped: %q", compared, names)
	}

	without := neverStopped(t)
	for _, e := range record(t, without).Evals {
		a, errA := os.ReadFile(filepath.Join(without, filepath.FromSlash(e.File)))
		b, errB := os.ReadFile(filepath.Join(whole, filepath.FromSlash(e.File)))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s is not what it is in a run without the test split (%v, %v)", e.File, errA, errB)
		}
	}

	r = record(t, whole)
	draws, again := 0, 0
	held := map[string]string{}
	for _, e := range r.Evals {
		for i, x := range e.Replies {
			switch at := e.Model + e.Prompt + x.TaskSHA256; {
			case e.Tasks == "" && x.Sample == 0:
				held[at] = x.Text
			case e.Tasks == experiment.TasksTest:
				if x.Task != i || x.Sample != 0 {
					t.Fatalf("%s, reply %d: task %d, sample %d", e.File, i, x.Task, x.Sample)
				}
				if text, ok := held[at]; ok {
					draws++
					if text == x.Text {
						again++
					}
				}
			}
		}
	}
	if draws != 6*smallHoldout || again > draws/2 {
		t.Errorf("%d replies to held-out tasks in the test split, %d of them those that were there before; want 36 draws of their own", draws, again)
	}
	phase := slices.IndexFunc(r.Phases, func(p artifact.Phase) bool { return p.Name == "eval-test" })
	if phase < 0 || len(r.Phases[phase].Runs) != 6 || r.Phases[phase].Tokens == 0 || r.Phases[phase-1].Name != "eval" {
		t.Errorf("phases %+v, want one of six evaluations called eval-test after eval", r.Phases)
	}
	var ids []string
	for _, c := range r.Checks {
		ids = append(ids, c.ID)
		if c.Status != artifact.Pass || !c.Control.Caught {
			t.Errorf("%+v, want a pass whose control was caught", c)
		}
	}
	if want := []string{"contamination", "contamination-test", "determinism"}; !slices.Equal(ids, want) {
		t.Errorf("checks %q, want %q", ids, want)
	}
	if s := config(t, whole, "recipe-18").Settings; s.Test != r.Plan.Data.Test.SHA256 || s.Streams.EvalTest != experiment.EvalTest.Seed(18) {
		t.Errorf("recipe-18 records test split %.12s and stream %d", s.Test, s.Streams.EvalTest)
	}
	for _, want := range []string{"test.samples_per_task=1", "training.save_steps=2"} { // asked for by an option, and by Change
		if !slices.Contains(r.Plan.Overrides, want) {
			t.Errorf("overrides %q, want %q among them", r.Plan.Overrides, want)
		}
	}
}
