package analysis

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
	"teamtalk/report/stats"
)

// counts are right replies of four, [run][task], of one model under one prompt.
type counts map[string][]int // by evaluation name

// record makes a run of three held-out tasks in memory.
func record(t *testing.T, seeds []int64, right counts) *artifact.Record {
	t.Helper()
	p, err := experiment.Preset("mini")
	if err != nil {
		t.Fatal(err)
	}
	p.Seeds = seeds
	var tasks []experiment.Task
	for i := range 3 {
		tasks = append(tasks, experiment.NewTask(10*i, fmt.Sprintf("question %d", i), "7", true))
	}
	p.Data.Holdout = experiment.NewSplit("test", tasks)
	rec := &artifact.Record{Plan: p}
	for _, run := range p.Runs() {
		cfg, err := p.RunConfig(run.Arm, run.Seed, experiment.Runtime{})
		if err != nil {
			t.Fatal(err)
		}
		rec.Runs = append(rec.Runs, artifact.TrainingRecord{Config: cfg, Final: true})
	}
	for _, e := range p.Evaluations() {
		ks, ok := right[e.Name()]
		if !ok {
			continue
		}
		er := artifact.EvalRecord{EvalRun: e, File: artifact.EvalFile(e)}
		for i, k := range ks {
			for s := range 4 {
				r := artifact.Sampled{Task: tasks[i].Index, Sample: s, Text: "Solver: 3+4=7", Tokens: 10 * (i + 1), FinishReason: artifact.Stop, Verdict: artifact.Verdict{Reward: artifact.Graded(0), Reason: "not_equal"}}
				if s < k {
					r.Verdict.Reward = artifact.Graded(1)
				}
				if k < 0 { // not graded
					r.Verdict.Reward = nil
				}
				er.Replies = append(er.Replies, artifact.Reply{Sampled: r})
			}
		}
		rec.Evals = append(rec.Evals, er)
	}
	return rec
}

var full = counts{
	"base-baseline": {2, 2, 2}, "base-recipe": {1, 2, 1},
	"baseline-17-baseline": {4, 2, 0}, "baseline-18-baseline": {3, 3, 1},
	"recipe-17-recipe": {4, 4, 1}, "recipe-18-recipe": {4, 3, 0},
	"recipe-17-baseline": {4, 2, 1}, "recipe-18-baseline": {3, 2, 1},
}

func near(t *testing.T, what string, got Num, want float64) {
	t.Helper()
	if !(math.Abs(float64(got)-want) < 1e-12) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestByHand(t *testing.T) {
	r, err := New(record(t, []int64{17, 18}, full))
	if err != nil {
		t.Fatal(err)
	}
	near(t, "pass@1 of one run", r.Evals["recipe-17-recipe"].Pass["1"], 9.0/12)
	// Two right of four: a pair has none with chance 1/6. One of four: 1/2. Four of four: 0.
	near(t, "pass@2 of one run", r.Evals["recipe-17-baseline"].Pass["2"], (1+5.0/6+1.0/2)/3)
	near(t, "pass@1 of an arm", r.Rows["recipe-recipe"].Mean, (9.0/12+7.0/12)/2)
	near(t, "pass@4 of an arm", r.Rows["recipe-recipe"].Pass["4"], (1+2.0/3)/2) // averaged over runs; the pool of eight would give 1
	near(t, "mean tokens of an arm", r.Rows["recipe-recipe"].Tokens, 20)

	c := r.Contrasts[Primary]
	near(t, "the difference", c.Delta, 16.0/24-13.0/24) // over both seeds, not the first pair
	want, err := stats.Compare(outcomes(full, 4, "baseline-17-baseline", "baseline-18-baseline"), outcomes(full, 4, "recipe-17-recipe", "recipe-18-recipe"), r.Plan.Margin)
	if err != nil {
		t.Fatal(err)
	}
	if c.CIBoth != want.CIBoth || c.CITasks != want.CITasks || c.CIRuns != want.CIRuns || c.Verdict != want.Verdict {
		t.Errorf("the primary comparison is not stats.Compare of its cells: %v, %v", c.CIBoth, want.CIBoth)
	}
	near(t, "the prompt's cost", r.Contrasts[PromptCost].Delta, 4.0/12-6.0/12)
	if v := r.Contrasts[PromptCost]; v.Verdict != "" || v.CIBoth.OK() {
		t.Errorf("one model under two prompts has the verdict %q and %v; nothing was trained on either side", v.Verdict, v.CIBoth)
	}
	near(t, "the memory test", r.Contrasts[Memory].Delta, 13.0/24-16.0/24)

	// Task 0: 7 and 8 of 8, both solve it. Task 1: 5 and 7. Task 2: 1 and 1.
	if r.Flips["both"] != 2 || r.Flips["neither"] != 1 || r.Flips["won"]+r.Flips["lost"] != 0 {
		t.Errorf("flips %v", r.Flips)
	}
	near(t, "the difference on task 1", r.Tasks[1].Delta, 7.0/8-5.0/8)
	if got := r.Settings; len(got) != 2 || strings.Join(got[0].Paths, " ") != "system_prompt" {
		t.Errorf("the arms differ in %+v", got)
	}
}

// A half is no majority.
func TestFlipsNeedAMajority(t *testing.T) {
	in := counts{"baseline-17-baseline": {2, 3, 0}, "recipe-17-recipe": {3, 2, 4}}
	r, err := New(record(t, []int64{17}, in))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Flip{Won, Lost, Won} {
		if r.Tasks[i].Flip != want {
			t.Errorf("task %d: %s, want %s", i, r.Tasks[i].Flip, want)
		}
	}
}

// With one run per arm there is no interval over new runs, whatever the tasks say, and no design can be planned from it.
func TestOneRunPerArm(t *testing.T) {
	r, err := New(record(t, []int64{17}, counts{"baseline-17-baseline": {0, 0, 1}, "recipe-17-recipe": {4, 4, 4}}))
	if err != nil {
		t.Fatal(err)
	}
	c := r.Contrasts[Primary]
	if c.CIBoth.OK() || c.Verdict != stats.Unresolved || !c.CITasks.Contains(11.0/12) {
		t.Errorf("ci_both %v, verdict %s, ci_tasks %v", c.CIBoth, c.Verdict, c.CITasks)
	}
	if r.Design.Measured != nil || r.Design.Cheapest != nil || r.Design.Why == "" {
		t.Errorf("designs from one run: %+v", r.Design)
	}
}

func TestWhatIsMissingIsLeftOut(t *testing.T) {
	in := counts{"base-baseline": {2, 2, 2}, "recipe-17-recipe": {4, 4, 1}}
	r, err := New(record(t, []int64{17, 18}, in))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := r.Contrasts[Primary]; ok || len(r.RowOrder) != 2 {
		t.Errorf("rows %q, contrasts %q: the baseline was not evaluated", r.RowOrder, r.ContrastOrder)
	}
	if r.Tasks[0].Delta.OK() || r.Tasks[0].Flip != NoFlip {
		t.Errorf("a task has a difference without a baseline: %+v", r.Tasks[0])
	}
}

// A reply without a grade is no wrong reply.
func TestUngraded(t *testing.T) {
	in := counts{}
	for k, v := range full {
		in[k] = v
	}
	in["recipe-17-recipe"] = []int{4, -1, 1}
	r, err := New(record(t, []int64{17, 18}, in))
	if err != nil {
		t.Fatal(err)
	}
	e, c := r.Evals["recipe-17-recipe"], r.Contrasts[Primary]
	if e.Ungraded != 4 || e.Share.Right.N != 8 {
		t.Errorf("%d ungraded, right of %d", e.Ungraded, e.Share.Right.N)
	}
	near(t, "pass@1 of the graded ones", e.Pass["1"], 5.0/8)
	if c.Dropped != 1 || c.Tasks != 2 {
		t.Errorf("%d tasks left out, %d used; the ungraded one has to go from both arms", c.Dropped, c.Tasks)
	}
}

func TestWorked(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{
		{"7+5=12", true}, {"7 + 5 = 12", true}, {"7+5 = $12", true}, {`\(7+5 = 12\)`, true}, {`$7+5=$12`, true},
		{"maybe 12", false}, {"x = 12", false}, {"=12", false}, {"12=", false}, {"a = b, 7+5=12", true}, {"", false},
	} {
		if got := Worked(c.text); got != c.want {
			t.Errorf("Worked(%q) = %v", c.text, got)
		}
	}
}

func TestNum(t *testing.T) {
	raw, err := json.Marshal([]Num{0.1, Num(math.NaN()), Num(math.Inf(1)), Num(math.Copysign(0, -1)), 1e-7})
	if err != nil || string(raw) != "[0.1,null,null,0,1e-7]" {
		t.Errorf("%s, %v", raw, err)
	}
	var back []Num
	if err := json.Unmarshal(raw, &back); err != nil || back[0] != 0.1 || back[1].OK() {
		t.Errorf("%v, %v", back, err)
	}
}

func TestCurveAndCost(t *testing.T) {
	tr := artifact.TrainingRecord{}
	for s := 1; s <= 8; s++ {
		tr.Steps = append(tr.Steps, artifact.Step{Step: s, Values: map[string]float64{Reward: float64(s) / 8, LogpDiff: 0.001 * float64(s%3), LogpMax: 0.1 * float64(s%4)}})
		first, second := 1, 0 // in steps 3 and 6 both replies are right, and nothing is learned
		if s%3 == 0 {
			second = 1
		}
		tr.Rollouts = append(tr.Rollouts, artifact.Rollout{Step: s, Sampled: artifact.Sampled{Text: "7", Talk: artifact.Talk{Talks: s > 4}, Verdict: artifact.Verdict{Reward: artifact.Graded(first)}}},
			artifact.Rollout{Step: s, Sampled: artifact.Sampled{Text: "3+4=7", Verdict: artifact.Verdict{Reward: artifact.Graded(second)}}},
			// Two groups of one reward each are no mixed group.
			artifact.Rollout{Step: s, Prompt: 1, Sampled: artifact.Sampled{Text: "7", Talk: artifact.Talk{Talks: s > 4}, Verdict: artifact.Verdict{Reward: artifact.Graded(0)}}},
			artifact.Rollout{Step: s, Prompt: 1, Sampled: artifact.Sampled{Text: "3+4=7"}})
	}
	c := newCurve(tr)
	near(t, "reward, first quarter", c.First[Reward], 1.5/8)
	near(t, "reward, last quarter", c.Last[Reward], 7.5/8)
	near(t, "talk at step 5", c.Values[Talk][4], 0.5)
	near(t, "talk at step 4", c.Values[Talk][3], 0)
	near(t, "replies without work", c.Last[NoWork], 0.5)
	near(t, "the largest mean difference of a step", c.MaxLogpDifference, 0.002)
	near(t, "the largest difference of a token", c.MaxTokenLogpDifference, 0.3)
	if c.FlatSteps != 2 {
		t.Errorf("%d steps without a mixed group, want 2", c.FlatSteps)
	}
	if c.Last[Entropy].OK() {
		t.Error("a metric that was not logged has a value")
	}

	cost := newCost([]artifact.Phase{{Name: "train", Seconds: 10, DeviceSeconds: 20, PeakHostBytes: 5}, {Name: "eval", Seconds: 1, DeviceSeconds: 2}, {Name: "train", Seconds: 30, DeviceSeconds: 60, PeakHostBytes: 3}}, 4, 100)
	near(t, "device seconds of a run", cost.TrainSeconds, 20)
	near(t, "device seconds of a reply", cost.ReplySeconds, 0.02)
	if len(cost.Phases) != 2 || cost.Phases[0].PeakHostBytes != 5 || cost.Total.Seconds != 41 || cost.Total.Count != 3 {
		t.Errorf("%+v", cost)
	}
	if cost.SideBySide {
		t.Error("phases that do not say when they began ran side by side")
	}
	d := cost.designSeconds(2)(stats.Design{RunsA: 3, RunsB: 3, Tasks: 120, Samples: 4})
	near(t, "a design of six runs", Num(d), 6*20+6*2*480*0.02)
}

// Phases of worker processes overlap: wall clock counts a second once, device time once for each process. Worked by hand.
func TestCostOfPhasesSideBySide(t *testing.T) {
	at := func(clock, name string, seconds float64) artifact.Phase {
		return artifact.Phase{Name: name, Seconds: seconds, DeviceSeconds: seconds, Worker: "gpu", Started: "2026-01-02T" + clock + "Z"}
	}
	c := newCost([]artifact.Phase{
		{Name: "train", Seconds: 7, DeviceSeconds: 7},                // an earlier sitting, in one process
		at("10:00:00.000", "load", 2), at("10:00:00.500", "load", 2), // until 2.5
		at("10:00:10.000", "train", 20), at("10:00:05.000", "train", 10), // from 5 to 30, with a second inside: in the order that they ended
		at("10:00:12.000", "train", 1),
		at("10:00:28.000", "eval", 4), // 28 to 32: begins before the last training ends
		at("10:01:40.000", "eval", 3), // 100 to 103: the next day's sitting might be anywhere
	}, 2, 7)
	for _, x := range []struct {
		what      string
		got, want Num
	}{
		{"load", c.Phases[1].Seconds, 2.5}, {"train", c.Phases[0].Seconds, 7 + 25}, {"eval", c.Phases[2].Seconds, 4 + 3},
		{"all: 7, 0 to 2.5, 5 to 32, 100 to 103", c.Total.Seconds, 7 + 2.5 + 27 + 3},
		{"device seconds of all", c.Total.DeviceSeconds, 7 + 2 + 2 + 20 + 10 + 1 + 4 + 3},
		{"device seconds of a run", c.TrainSeconds, 38.0 / 2}, {"device seconds of a reply", c.ReplySeconds, 1},
	} {
		if d := float64(x.got - x.want); d > 1e-6 || d < -1e-6 {
			t.Errorf("%s: %v, want %v", x.what, x.got, x.want)
		}
	}
	if !c.SideBySide {
		t.Error("it does not say that phases ran side by side")
	}
}

// outcomes are the named evaluations, of so many samples per task, from how many were right on each.
func outcomes(right map[string][]int, samples int, names ...string) (o stats.Outcomes) {
	for _, n := range names {
		var run []stats.Cell
		for _, k := range right[n] {
			run = append(run, stats.Cell{Correct: k, Samples: samples})
		}
		o = append(o, run)
	}
	return o
}
