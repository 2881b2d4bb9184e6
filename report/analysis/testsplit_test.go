package analysis

import (
	"math"
	"slices"
	"testing"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
	"teamtalk/report/stats"
)

// onTest adds an evaluation on a test split of four tasks, the three held-out ones and another, to the record: one reply each, right where right
// says 1.
func onTest(t *testing.T, rec *artifact.Record, right map[string][]int) {
	t.Helper()
	one := 1
	if err := rec.Plan.Apply(experiment.Overrides{TestSamples: &one}); err != nil {
		t.Fatal(err)
	}
	test := experiment.NewSplit("test", append(slices.Clone(rec.Plan.Data.Holdout.Tasks), experiment.NewTask(30, "question 3", "7", true)))
	rec.Plan.Data.Test = &test
	for _, e := range rec.Plan.Evaluations() {
		ks, ok := right[e.Name()]
		if !ok {
			continue
		}
		er := artifact.EvalRecord{EvalRun: e, File: artifact.EvalFile(e)}
		for i, k := range ks {
			r := artifact.Sampled{Task: test.Tasks[i].Index, Text: "3+4=7", Tokens: 10, FinishReason: artifact.Stop, Verdict: artifact.Verdict{Reward: artifact.Graded(k)}}
			if e.Prompt == "recipe" {
				r.Tokens, r.Talk.Talks = 12, i < 2
			}
			if e.Model == "recipe-18" && i == 3 {
				r.FinishReason = artifact.Length
			}
			er.Replies = append(er.Replies, artifact.Reply{Sampled: r})
		}
		rec.Evals = append(rec.Evals, er)
	}
}

// What is about the test split is counted there and nowhere else.
func TestTheWholeTestSplitByHand(t *testing.T) {
	rec := record(t, []int64{17, 18}, full)
	rec.Phases = []artifact.Phase{{Name: "eval", DeviceSeconds: 96}, {Name: "eval-test", DeviceSeconds: 5}}
	without, err := New(rec)
	if err != nil {
		t.Fatal(err)
	}
	right := map[string][]int{
		"base-baseline-test": {1, 0, 1, 0}, "base-recipe-test": {0, 0, 1, 0},
		"baseline-17-baseline-test": {1, 0, 1, 0}, "recipe-17-recipe-test": {1, 1, 1, 0},
		"baseline-18-baseline-test": {1, 0, 1, 1}, "recipe-18-recipe-test": {1, 1, 1, 1},
	}
	onTest(t, rec, right)
	r, err := New(rec)
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Test; s.Tasks != 4 || s.HeldOut != 3 || s.Replies != 24 || len(s.EvalOrder) != 6 || r.Totals.Replies != 96+24 || r.Plan.Data.Test.Tasks != nil {
		t.Errorf("%+v, %d replies in all", s, r.Totals.Replies)
	}
	if want := []string{"base-baseline-test", "base-recipe-test", "baseline-baseline-test", "recipe-recipe-test"}; !slices.Equal(r.Test.RowOrder, want) {
		t.Errorf("rows %q, want %q", r.Test.RowOrder, want)
	}
	near(t, "pass@1 of the baseline's runs", r.Rows["baseline-baseline-test"].Mean, (2.0/4+3.0/4)/2)
	near(t, "pass@1 of the recipe's runs", r.Rows["recipe-recipe-test"].Mean, (3.0/4+4.0/4)/2)
	if p := r.Rows["recipe-recipe-test"].Pass; len(p) != 1 {
		t.Errorf("pass@k of one sample per task: %v, want k = 1 alone", p)
	}
	near(t, "the difference", r.Contrasts[Test].Delta, 7.0/8-5.0/8)
	near(t, "the prompt's cost", r.Contrasts[OnTest(PromptCost)].Delta, 1.0/4-2.0/4)
	near(t, "what training added to the recipe", r.Contrasts[OnTest(GainRecipe)].Delta, 7.0/8-1.0/4)
	near(t, "the difference in length", r.Contrasts[OnTest(LengthKey)].Delta, 2)
	near(t, "the difference in replies cut off", r.Contrasts[OnTest(CutKey)].Delta, 1.0/8)
	near(t, "talk of the recipe", r.Rows["recipe-recipe-test"].Share.Talk.Rate, 0.5)
	want, err := stats.Compare(outcomes(right, 1, "baseline-17-baseline-test", "baseline-18-baseline-test"), outcomes(right, 1, "recipe-17-recipe-test", "recipe-18-recipe-test"), r.Plan.Margin)
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Contrasts[Test]; c.CIBoth != want.CIBoth || c.CITasks != want.CITasks || c.CIRuns != want.CIRuns || c.Verdict != want.Verdict || c.Sentence == "" {
		t.Errorf("the comparison is not stats.Compare of its cells: %v, %v", c.CIBoth, want.CIBoth)
	}
	if _, ok := r.Contrasts[OnTest(CutKey)]; !ok || r.Contrasts[OnTest(CutKey)].Verdict != "" {
		t.Error("more replies cut off is called better or worse")
	}

	near(t, "device seconds of a reply to a held-out task", r.Cost.ReplySeconds, 1)
	if !slices.Equal(r.EvalOrder, without.EvalOrder) || !slices.Equal(r.RowOrder, without.RowOrder) || !slices.Equal(r.ContrastOrder, without.ContrastOrder) || without.Test != nil {
		t.Errorf("the lists of what is about the held-out tasks changed: %q, %q, %q", r.EvalOrder, r.RowOrder, r.ContrastOrder)
	}
	for _, key := range without.ContrastOrder {
		if a, b := r.Contrasts[key], without.Contrasts[key]; a.Delta != b.Delta || a.CITasks != b.CITasks || a.Sentence != b.Sentence {
			t.Errorf("%s is another than without the test split", key)
		}
	}
	for i, task := range r.Tasks {
		if len(task.Cells) != len(without.EvalOrder) || (task.Delta != without.Tasks[i].Delta && !math.IsNaN(float64(task.Delta))) {
			t.Errorf("task %d has cells of %d evaluations, want those of the %d on the held-out tasks", task.Index, len(task.Cells), len(without.EvalOrder))
		}
	}
}
