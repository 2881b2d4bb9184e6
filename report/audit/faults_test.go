package audit

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/artifact/artifacttest"
	"teamtalk/recipe/experiment"
	"teamtalk/report/analysis"
)

// plainDir holds a clean run that tests take copies of.
var plainDir string

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(plainDir)
	os.Exit(code)
}

func plain(t *testing.T) string {
	t.Helper()
	if plainDir == "" {
		tmp, err := os.MkdirTemp("", "synthetic")
		if err != nil {
			t.Fatal(err)
		}
		plainDir = tmp
		if err := artifacttest.Write(filepath.Join(tmp, "run"), artifacttest.Options{Tasks: 20, TestTasks: 30, Steps: 4}); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(plainDir, "run")
}

func synthetic(t *testing.T, o artifacttest.Options) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if o.Tasks == 0 && o.Steps == 0 && o.Arm == "" && o.EditCheck == nil && !o.Unsealed {
		if err := os.CopyFS(dir, os.DirFS(plain(t))); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	if o.Tasks == 0 {
		o.Tasks, o.TestTasks, o.Steps = 20, 30, 4
	}
	if err := artifacttest.Write(dir, o); err != nil {
		t.Fatal(err)
	}
	return dir
}

func checks(t *testing.T, dir string) map[string]artifact.Check {
	t.Helper()
	fsys := os.DirFS(dir)
	rec, err := artifact.Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	an, err := analysis.New(rec)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]artifact.Check{}
	for _, c := range Run(Subject{Record: rec, Analysis: an, FS: fsys}) {
		if _, twice := m[c.ID]; twice {
			t.Errorf("two checks are called %s", c.ID)
		}
		m[c.ID] = c
	}
	return m
}

// alone makes one check of a run, and no other.
func alone(t *testing.T, dir, id string) artifact.Check {
	t.Helper()
	fsys := os.DirFS(dir)
	rec, err := artifact.Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules(Subject{Record: rec, FS: fsys}) {
		if r.id == id {
			return r.run(rec)
		}
	}
	t.Fatalf("no check is called %s", id)
	return artifact.Check{}
}

func TestACleanRunPassesAndEveryControlIsCaught(t *testing.T) {
	for _, test := range []int{0, 600} { // a large test split does not dilute what is planted on the held-out tasks
		clean(t, synthetic(t, artifacttest.Options{Tasks: 60, TestTasks: test, Steps: 20}))
	}
}

func clean(t *testing.T, dir string) {
	t.Helper()
	for id, c := range checks(t, dir) {
		switch {
		case id == "determinism": // the simulation does not make it
			if c.Status != artifact.NotRun {
				t.Errorf("%s: %s", id, c.Status)
			}
		case c.Status != artifact.Pass:
			t.Errorf("%s: %s: %s", id, c.Status, c.Value)
		case c.Control.Planted != "" && !c.Control.Caught:
			t.Errorf("%s did not see %q", id, c.Control.Planted)
		}
	}
}

// Every fault is planted on disk and the manifest is made anew, so that only the check can see it. The same edit without a new manifest is named by file.
func TestPlantedFaultsAreCaughtByName(t *testing.T) {
	swap := func(dir, a, b string) error {
		a, b = filepath.Join(dir, a), filepath.Join(dir, b)
		return errors.Join(os.Rename(a, a+".x"), os.Rename(b, a), os.Rename(a+".x", b))
	}
	for _, c := range []struct {
		why   string
		file  string // that the manifest names
		plant func(dir string) error
		check string
		says  string
	}{
		{"an edited reply", "eval/recipe-17-recipe.jsonl.gz", func(d string) error {
			return artifacttest.Replace(d, "eval/recipe-17-recipe.jsonl.gz", `\\boxed{`, `\\boxed{9`)
		}, "regrade", "eval/recipe-17-recipe.jsonl.gz line"},
		{"an edited verdict", "eval/recipe-17-recipe.jsonl.gz", func(d string) error {
			return artifacttest.Replace(d, "eval/recipe-17-recipe.jsonl.gz", `"reward":0,"policy":"boxed","reason":"not_equal"`, `"reward":1,"policy":"boxed","reason":"equal"`)
		}, "regrade", "recorded"},
		{"an edited talk count", "eval/recipe-18-recipe.jsonl.gz", func(d string) error {
			return artifacttest.Replace(d, "eval/recipe-18-recipe.jsonl.gz", `"turns":0,`, `"turns":5,`)
		}, "regrade", "turns"},
		{"an edited metric", "baseline-17/metrics.jsonl", func(d string) error {
			return artifacttest.EditLines(d, "baseline-17/metrics.jsonl", func(l [][]byte) [][]byte {
				at := bytes.Index(l[3], []byte(`"reward":`)) + len(`"reward":`)
				l[3] = append(append(append([]byte{}, l[3][:at]...), "0.999,\"x\":"...), l[3][at:]...)
				return l
			})
		}, "metrics_recompute", "baseline-17 step 4 logged reward 0.999"},
		{"an edited learning rate", "recipe-17/metrics.jsonl", func(d string) error { // step 2 of 4: 0.002 * 3/4
			return artifacttest.Replace(d, "recipe-17/metrics.jsonl", `"learning_rate":0.0015`, `"learning_rate":0.0019`)
		}, "learning_rate", "recipe-17 step 2 logged learning_rate 0.0019, the plan's schedule gives 0.0015"},
		{"a learning rate that was taken out", "recipe-17/metrics.jsonl", func(d string) error {
			return artifacttest.Replace(d, "recipe-17/metrics.jsonl", `"learning_rate":0.0015`, `"learning_rat":0.0015`)
		}, "learning_rate", "recipe-17 step 2 logged no learning_rate"},
		{"a wrong reply that is excused as cut off", "eval/recipe-17-recipe.jsonl.gz", func(d string) error {
			return artifacttest.Replace(d, "eval/recipe-17-recipe.jsonl.gz", `"finish_reason":"stop"`, `"finish_reason":"length"`)
		}, "finish_reason", "is called cut off and has"},
		{"a finish reason that no trainer gives", "recipe-17/completions.jsonl.gz", func(d string) error {
			return artifacttest.Replace(d, "recipe-17/completions.jsonl.gz", `"finish_reason":"stop"`, `"finish_reason":"end"`)
		}, "finish_reason", `ended for the reason "end"`},
		{"a check of contamination by another name", "checks.json", func(d string) error {
			return artifacttest.Replace(d, "checks.json", `"contamination"`, `"tidiness"`)
		}, "recorded_checks", "does not hold contamination, "},
		{"the same for the whole test split, which the plan evaluates on", "checks.json", func(d string) error {
			return artifacttest.Replace(d, "checks.json", `"contamination-test"`, `"tidiness"`)
		}, "recorded_checks", "does not hold contamination-test, "},
		{"the same for determinism, which would stand on the page as not run", "checks.json", func(d string) error {
			return artifacttest.Replace(d, "checks.json", `"determinism"`, `"tidiness"`)
		}, "recorded_checks", "does not hold determinism, "},
		{"a check that passes without its control, and would count as a measurement", "checks.json", func(d string) error {
			return artifacttest.Replace(d, "checks.json", `"one held-out problem in upper case among the train problems"`, `""`)
		}, "recorded_checks", "contamination passed, and names no negative control"},
		{"arms that differ in a second setting", "recipe-17/config.json", func(d string) error {
			return artifacttest.Replace(d, "recipe-17/config.json", `"learning_rate": 0.002`, `"learning_rate": 0.004`)
		}, "arms_differ_in_prompt", "training.learning_rate"},
		{"seeds exchanged between two runs", "baseline-17/completions.jsonl.gz", func(d string) error {
			return errors.Join(swap(d, "baseline-17/completions.jsonl.gz", "baseline-18/completions.jsonl.gz"), swap(d, "baseline-17/metrics.jsonl", "baseline-18/metrics.jsonl"))
		}, "seed_identity", "different orders"},
		{"a run that was not planned", "recipe-99/config.json", func(d string) error {
			return errors.Join(os.Mkdir(filepath.Join(d, "recipe-99"), 0o755), os.WriteFile(filepath.Join(d, "recipe-99/config.json"), []byte("{}"), 0o644))
		}, "seeds_planned", "recipe-99 is there and was not planned"},
		{"a rollout on a held-out task, under a train number", "recipe-17/completions.jsonl.gz", func(d string) error {
			return artifacttest.EditLines(d, "recipe-17/completions.jsonl.gz", func(l [][]byte) [][]byte {
				rec, err := artifact.Load(os.DirFS(d))
				if err != nil {
					t.Fatal(err)
				}
				held := rec.Plan.Data.Holdout.Tasks[2].SHA256
				at := bytes.Index(l[0], []byte(`"task_sha256":"`)) + len(`"task_sha256":"`)
				copy(l[0][at:], held)
				return l
			})
		}, "holdout_not_trained", "trained on held-out task 2"},
		{"a reply without a grade", "eval/base-recipe.jsonl.gz", func(d string) error {
			return artifacttest.Replace(d, "eval/base-recipe.jsonl.gz", `"reward":1`, `"reward":null`)
		}, "all_graded", "has no grade"},
		{"a step that lost rollouts", "baseline-18/completions.jsonl.gz", func(d string) error {
			return artifacttest.EditLines(d, "baseline-18/completions.jsonl.gz", func(l [][]byte) [][]byte { return l[:len(l)-4] })
		}, "steps_complete", "baseline-18 step 4 has 44 rollouts, planned 48"},
		{"a session with local changes", "env.json", func(d string) error {
			return artifacttest.Replace(d, "env.json", `"dirty": false`, `"dirty": true`)
		}, "environment", "local changes"},
		{"an advantage with its sign turned", "recipe-18/completions.jsonl.gz", func(d string) error {
			return artifacttest.Replace(d, "recipe-18/completions.jsonl.gz", `"advantage":0.`, `"advantage":-0.`)
		}, "advantages", "its group gives"},
		{"an edited reply on the whole test split", "eval/recipe-18-recipe-test.jsonl.gz", func(d string) error {
			return artifacttest.Replace(d, "eval/recipe-18-recipe-test.jsonl.gz", `\\boxed{`, `\\boxed{9`)
		}, "regrade", "eval/recipe-18-recipe-test.jsonl.gz line"},
		{"a reply on the whole test split that was taken out", "eval/recipe-17-recipe-test.jsonl.gz", func(d string) error {
			return artifacttest.EditLines(d, "eval/recipe-17-recipe-test.jsonl.gz", func(l [][]byte) [][]byte { return l[:len(l)-1] })
		}, "all_graded", "has 0 replies to task 29, planned 1"},
		{"another test split in one run's configuration", "recipe-17/config.json", func(d string) error {
			return artifacttest.Replace(d, "recipe-17/config.json", `"test_sha256": "`, `"test_sha256": "0`)
		}, "holdout_pinned", "recipe-17 was started with test split 0"},
		{"another stream for the replies to it", "recipe-17/config.json", func(d string) error {
			return artifacttest.Replace(d, "recipe-17/config.json", `"eval_test": `, `"eval_test": 1`)
		}, "seed_identity", "its streams"},
		{"a rollout on a task of the test split that is not held out", "recipe-17/completions.jsonl.gz", func(d string) error {
			return artifacttest.EditLines(d, "recipe-17/completions.jsonl.gz", func(l [][]byte) [][]byte {
				rec, err := artifact.Load(os.DirFS(d))
				if err != nil {
					t.Fatal(err)
				}
				at := bytes.Index(l[0], []byte(`"task_sha256":"`)) + len(`"task_sha256":"`)
				copy(l[0][at:], rec.Plan.Data.Test.Tasks[25].SHA256)
				return l
			})
		}, "holdout_not_trained", "trained on task 25 of the test split"},
		{"an attempt that was taken out of the ledger", "rounds.jsonl", func(d string) error {
			return artifacttest.EditLines(d, "rounds.jsonl", func(l [][]byte) [][]byte { return l[1:] })
		}, "ledger", "line 1 of rounds.jsonl is attempt 2; expected 1"},
		{"an attempt that nobody can read, which is skipped", "rounds.jsonl", func(d string) error {
			return artifacttest.EditLines(d, "rounds.jsonl", func(l [][]byte) [][]byte { l[0] = l[0][1:]; return l })
		}, "ledger", "line 1 of rounds.jsonl is attempt 2; expected 1"},
	} {
		dir := synthetic(t, artifacttest.Options{})
		if err := c.plant(dir); err != nil {
			t.Fatalf("%s: %v", c.why, err)
		}
		if _, err := artifact.Load(os.DirFS(dir)); err == nil || !strings.Contains(err.Error(), c.file) {
			t.Errorf("%s: the manifest does not name %s: %v", c.why, c.file, err)
		}
		if err := artifacttest.Reseal(dir); err != nil {
			t.Fatal(err)
		}
		got := checks(t, dir)[c.check]
		if got.Status != artifact.Fail || !strings.Contains(got.Value, c.says) {
			t.Errorf("%s: check %s says %s: %q, expected a failure with %q", c.why, c.check, got.Status, got.Value, c.says)
		}
	}
}

// A plan with a leaked task is refused before training; whoever writes one by hand meets the check.
func TestALeakedHoldoutRow(t *testing.T) {
	dir := synthetic(t, artifacttest.Options{})
	fsys := os.DirFS(dir)
	rec, err := artifact.Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	leaked := rec.Plan.Data.Holdout.Tasks[5]
	leaked.Index = 7777
	rec.Plan.Data.Train.Tasks = append(rec.Plan.Data.Train.Tasks, leaked)
	f := disjointText(rec)
	if want := fmt.Sprintf("train 7777 = holdout %d", rec.Plan.Data.Holdout.Tasks[5].Index); f.status != artifact.Fail || !strings.Contains(f.value, want) {
		t.Errorf("%s: %q, expected a failure with %q", f.status, f.value, want)
	}
	other := rec.Plan.Data.Test.Tasks[25]
	other.Index = 7777
	rec.Plan.Data.Train.Tasks[len(rec.Plan.Data.Train.Tasks)-1] = other
	if f := disjointText(rec); f.status != artifact.Fail || !strings.Contains(f.value, "1 of 30 tasks of the test split are also train tasks, first train 7777 = test 25") {
		t.Errorf("%s: %q, expected a failure that names the task of the test split that is not held out", f.status, f.value)
	}
	rec.Plan.Data.Train = experiment.NewSplit("train", rec.Plan.Data.Train.Tasks)
	if _, err := artifact.Create(filepath.Join(t.TempDir(), "x"), rec.Plan, artifact.Env{}); err == nil || !strings.Contains(err.Error(), "train tasks") {
		t.Errorf("the trainer's side took a plan with a leaked task: %v", err)
	}
}

func TestTruncatedFileIsNamed(t *testing.T) {
	dir := synthetic(t, artifacttest.Options{})
	if err := os.Truncate(filepath.Join(dir, "eval/base-baseline.jsonl.gz"), 100); err != nil {
		t.Fatal(err)
	}
	if _, err := artifact.Load(os.DirFS(dir)); err == nil || !strings.Contains(err.Error(), "eval/base-baseline.jsonl.gz: truncated: 100 of") {
		t.Errorf("error %v", err)
	}
	if err := artifacttest.Reseal(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := artifact.Load(os.DirFS(dir)); err == nil || !strings.Contains(err.Error(), "eval/base-baseline.jsonl.gz is cut short or damaged") {
		t.Errorf("with a manifest made for the truncated file: error %v", err)
	}
}

// What cannot be checked says so, and a check that could not have failed does not pass.
func TestStates(t *testing.T) {
	one := checks(t, synthetic(t, artifacttest.Options{Arm: "recipe", Seeds: []int64{17}}))
	for _, id := range []string{"arms_differ_in_prompt", "seed_identity", "answered", "run_variance", "decode_noise"} {
		if one[id].Status != artifact.NotRun {
			t.Errorf("one run of one arm: %s is %s: %s", id, one[id].Status, one[id].Value)
		}
	}
	// With one arm nothing else says in which order the tasks of a seed came: exchanged rollouts cannot be seen, and the check says so.
	two := checks(t, synthetic(t, artifacttest.Options{Arm: "recipe"}))
	if c := two["seed_identity"]; c.Status != artifact.Pass || !strings.Contains(c.Value, "nothing says which order is whose") {
		t.Errorf("two seeds of one arm: seed_identity is %s: %s", c.Status, c.Value)
	}
	// The trainer's own checks are held to the same rule.
	blind := checks(t, synthetic(t, artifacttest.Options{EditCheck: func(cs []artifact.Check) []artifact.Check {
		cs[0].Control.Caught = false
		return cs
	}}))
	if c := blind["contamination"]; c.Status != artifact.Vacuous {
		t.Errorf("a passed check whose control was not caught is %s", c.Status)
	}
	part := checks(t, synthetic(t, artifacttest.Options{Unsealed: true}))
	if c := part["manifest"]; c.Status != artifact.Fail {
		t.Errorf("a run without a manifest: %s", c.Status)
	}
}

// An untouched run verifies, however few arms and seeds it has: where there is nothing to compare, a check was not run and says why.
func TestFewRuns(t *testing.T) {
	for _, c := range []struct {
		why  string
		o    artifacttest.Options
		want string // of seed_identity
	}{
		{"one run", artifacttest.Options{Arm: "recipe", Seeds: []int64{17}}, "there is one run, and nothing to compare it with"},
		{"two arms at one seed", artifacttest.Options{Seeds: []int64{17}, Tasks: 20, TestTasks: 30, Steps: 4}, "there is one seed, and no other to tell it from; its 2 runs trained on the tasks in one order"},
		{"one arm at two seeds", artifacttest.Options{Arm: "recipe"}, "2 data orders over 2 runs; no two runs share a seed"},
	} {
		cs := checks(t, synthetic(t, c.o))
		for id, k := range cs {
			if k.Status == artifact.Fail || k.Status == artifact.Vacuous {
				t.Errorf("%s: %s is %s: %s (control %q caught: %v)", c.why, id, k.Status, k.Value, k.Control.Planted, k.Control.Caught)
			}
		}
		if got := cs["seed_identity"].Value; !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: seed_identity says %q, want %q", c.why, got, c.want)
		}
	}
	// One seed is no excuse: both arms still have to train on its tasks in one order.
	dir := synthetic(t, artifacttest.Options{Seeds: []int64{17}, Tasks: 20, TestTasks: 30, Steps: 4})
	rec, err := artifact.Load(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	rec.Runs[1].Rollouts[0].Task++
	if f := seedIdentity(rec); f.status != artifact.Fail || !strings.Contains(f.value, "different orders") {
		t.Errorf("two arms with other orders at their one seed: %s: %s", f.status, f.value)
	}
}

// An instrument that cannot tell is found out by the cases.
func TestInstrumentsFail(t *testing.T) {
	broken := func(text, gold string) (artifact.Verdict, artifact.Talk) {
		v, k := artifact.Grade(text, gold)
		if strings.Contains(text, ",") {
			v.Reward = artifact.Graded(0)
		}
		k.Talks = k.Turns > 0
		return v, k
	}
	if c := graderCheck(broken); c.Status != artifact.Fail {
		t.Errorf("a grader that cannot read thousands: %s: %s", c.Status, c.Value)
	}
	if c := talkCheck(broken); c.Status != artifact.Fail {
		t.Errorf("a counter that takes any turn for talk: %s: %s", c.Status, c.Value)
	}
}

func TestFailed(t *testing.T) {
	got := Failed([]artifact.Check{{ID: "a", Status: artifact.Pass}, {ID: "b", Status: artifact.Fail}, {ID: "c", Status: artifact.NotRun}, {ID: "d", Status: artifact.Vacuous}})
	if len(got) != 2 || got[0].ID != "b" || got[1].ID != "d" {
		t.Errorf("failed: %v", got)
	}
}

func TestTally(t *testing.T) {
	control := artifact.Control{Planted: "a fault", Caught: true}
	got := Tally([]artifact.Check{{Status: artifact.Pass, Control: control}, {Status: artifact.Pass, Control: control}, {Status: artifact.Pass},
		{Status: artifact.Fail}, {Status: artifact.NotRun}})
	want := map[string]int{"pass": 2, "measurement": 1, "fail": 1, "not run": 1, "vacuous": 0}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// What ended a reply, for every way in which its tokens stand to a cap of 8.
func TestFinishReason(t *testing.T) {
	for _, c := range []struct {
		why    string
		tokens int
		reason artifact.FinishReason
		want   artifact.Status
	}{
		{"ended by itself", 5, artifact.Stop, artifact.Pass},
		{"the last token that the cap allows is the end-of-sequence token", 8, artifact.Stop, artifact.Pass},
		{"cut off", 8, artifact.Length, artifact.Pass},
		{"called cut off before the cap", 7, artifact.Length, artifact.Fail},
		{"no reason", 5, "", artifact.Fail},
	} {
		rec := &artifact.Record{Evals: []artifact.EvalRecord{{Replies: []artifact.Reply{{Sampled: artifact.Sampled{Tokens: c.tokens, FinishReason: c.reason}}}}}}
		rec.Plan.Training.MaxCompletionLength = 8
		if f := finishReason(rec); f.status != c.want {
			t.Errorf("%s: %s: %s", c.why, f.status, f.value)
		}
	}
}

// A schedule that is not recomputed is no failure, and no pass either; nor are the checks of a run that is not complete.
func TestNotRun(t *testing.T) {
	rec := &artifact.Record{}
	rec.Plan.Training.LRSchedulerType = "cosine"
	if f := learningRate(rec); f.status != artifact.NotRun || !strings.Contains(f.value, "cosine") {
		t.Errorf("a cosine schedule: %s: %s", f.status, f.value)
	}
	if f := recordedChecks(rec); f.status != artifact.NotRun {
		t.Errorf("a run without a manifest: %s: %s", f.status, f.value)
	}
	rec.Manifest = &artifact.Manifest{Incomplete: "the machine went away"}
	if f := recordedChecks(rec); f.status != artifact.NotRun {
		t.Errorf("a run that was sealed as it was: %s: %s", f.status, f.value)
	}
	rec.Manifest.Incomplete = ""
	rec.Checks = []artifact.Check{{ID: Contamination}, {ID: Determinism}, {ID: Determinism}}
	if f := recordedChecks(rec); f.status != artifact.Fail || !strings.Contains(f.value, "determinism twice") {
		t.Errorf("a check that was recorded twice: %s: %s", f.status, f.value)
	}
}

// The bound is on a step's mean; the largest single token is said beside it, and a step has no difference only where no group is mixed.
func TestSamplerTrainer(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		why         string
		means, maxs []float64 // by step
		flat        int       // the first steps, whose groups have one reward
		want        artifact.Status
		says        string
	}{
		{"a token far off and a mean within the bound", []float64{0.001, 0.004}, []float64{0.1, 0.8}, 0, artifact.Pass,
			"the largest mean of a step is 0.004 nats of 0.02 allowed, in 2 steps; the largest difference of a single token is 0.8 nats, for which no limit is set"},
		{"no token was logged", []float64{0.001, 0.004}, []float64{nan, nan}, 0, artifact.Pass, "in 2 steps"},
		{"a mean over the bound", []float64{0.001, 0.03}, []float64{0.1, 0.8}, 0, artifact.Fail, "recipe-17 step 2"},
		{"a step without a mixed group", []float64{nan, 0.004}, []float64{nan, 0.8}, 1, artifact.Pass, "in 1 step; the largest difference of a single token is 0.8 nats, for which no limit is set; 1 more step had no mixed group"},
		{"a mixed step whose difference was taken out", []float64{nan, 0.004}, []float64{nan, 0.8}, 0, artifact.Fail, "recipe-17 step 1 has a mixed group, and logged no difference"},
		{"nothing was logged", []float64{nan, nan}, []float64{nan, nan}, 0, artifact.NotRun, "no step logged the difference"},
	} {
		rec := &artifact.Record{}
		rec.Plan.Training.MaxLogpDifference = 0.02
		run := artifact.TrainingRecord{}
		run.Config.Run.Name = "recipe-17"
		for i := range c.means {
			run.Steps = append(run.Steps, artifact.Step{Step: i + 1, Values: map[string]float64{logpKey: c.means[i], logpMaxKey: c.maxs[i]}})
			for r := range 2 {
				if i < c.flat {
					r = 1
				}
				run.Rollouts = append(run.Rollouts, artifact.Rollout{Step: i + 1, Sampled: artifact.Sampled{Verdict: artifact.Verdict{Reward: artifact.Graded(r)}}})
			}
		}
		rec.Runs = []artifact.TrainingRecord{run}
		if f := samplerTrainer(rec); f.status != c.want || !strings.Contains(f.value, c.says) {
			t.Errorf("%s: %s: %q, want %s with %q", c.why, f.status, f.value, c.want, c.says)
		}
	}
}

// The plan's scale_rewards decides how advantages are recomputed.
func TestGroupScaledAdvantages(t *testing.T) {
	rec := &artifact.Record{Plan: experiment.Plan{Training: experiment.Training{ScaleRewards: "group"}}}
	var rs []artifact.Rollout
	for i, a := range []float64{1.5 / 1.0002, -0.5 / 1.0002, -0.5 / 1.0002, -0.5 / 1.0002} { // one right of four: std 0.5, +1e-4
		r := 0
		if i == 0 {
			r = 1
		}
		rs = append(rs, artifact.Rollout{Step: 1, Sampled: artifact.Sampled{Sample: i, Verdict: artifact.Verdict{Reward: artifact.Graded(r)}}, Advantage: a})
	}
	rec.Runs = []artifact.TrainingRecord{{Rollouts: rs}}
	if f := advantages(rec); f.status != artifact.Pass {
		t.Errorf("%s: %s", f.status, f.value)
	}
	rec.Plan.Training.ScaleRewards = "none"
	if f := advantages(rec); f.status != artifact.Fail {
		t.Error("scaled advantages passed as plain ones")
	}
}

// Attempts are numbered as recipe round numbers them: from one on, each after the last.
func TestLedger(t *testing.T) {
	for _, c := range []struct {
		why    string
		rounds []int
		want   artifact.Status
	}{
		{"one attempt", []int{1}, artifact.Pass},
		{"several", []int{1, 2, 3}, artifact.Pass},
		{"one is missing among them", []int{1, 3, 4, 5}, artifact.Fail},
		{"the first is missing", []int{2, 3}, artifact.Fail},
		{"two have one number", []int{1, 2, 2}, artifact.Fail},
		{"they stand in another order", []int{2, 1}, artifact.Fail},
		{"nothing is noted", nil, artifact.NotRun},
	} {
		rec := &artifact.Record{}
		for _, n := range c.rounds {
			rec.Rounds = append(rec.Rounds, artifact.Round{Round: n})
		}
		if f := ledger(rec); f.status != c.want {
			t.Errorf("%s: %s: %s", c.why, f.status, f.value)
		}
	}
}
