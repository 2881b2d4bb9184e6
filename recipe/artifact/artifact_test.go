package artifact

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"teamtalk/recipe/experiment"
)

func testPlan(t *testing.T) experiment.Plan {
	t.Helper()
	p, err := experiment.Preset("mini")
	if err != nil {
		t.Fatal(err)
	}
	p.Seeds, p.TrainArms = []int64{17}, []string{"recipe"}
	tasks := func(word string, n int) (ts []experiment.Task) {
		for i := range n {
			ts = append(ts, experiment.NewTask(10+i, fmt.Sprintf("%s %d?", word, i), fmt.Sprint(i), true))
		}
		return ts
	}
	p.Data = experiment.Data{Source: "mini", Train: experiment.NewSplit("train", tasks("a", 3)), Holdout: experiment.NewSplit("holdout", tasks("b", 3))}
	p.Evaluation.Samples, p.Evaluation.Ks = 2, []int{1, 2}
	return p
}

func sampled(task experiment.Task, sample int) Sampled {
	return Sampled{Task: task.Index, TaskSHA256: task.SHA256, Sample: sample, Text: "Lead: \\boxed{3} <é>", Tokens: 7, FinishReason: Stop,
		Verdict: Verdict{Reward: Graded(1), Policy: "boxed", Reason: "equal"}, Talk: Talk{Turns: 1, Speakers: 1, Substantive: 1}}
}

// openRun creates a run folder with its one training run open.
func openRun(t *testing.T) (*Run, *TrainingRun) {
	t.Helper()
	r, err := Create(filepath.Join(t.TempDir(), "runs", "x"), testPlan(t), Env{Started: "2030-01-02T03:04:05Z"})
	if err != nil {
		t.Fatal(err)
	}
	return r, reopen(t, r)
}

func reopen(t *testing.T, r *Run) *TrainingRun {
	t.Helper()
	p := r.Plan()
	cfg, err := p.RunConfig("recipe", 17, experiment.Runtime{Backend: "go"})
	if err != nil {
		t.Fatal(err)
	}
	tr, err := r.OpenTraining(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr
}

func logStep(t *testing.T, r *Run, tr *TrainingRun, step int) {
	t.Helper()
	task := r.Plan().Data.Train.Tasks[0]
	if err := tr.AppendCompletions(step, []Rollout{{Sampled: sampled(task, 0), Advantage: 0.25}, {Sampled: sampled(task, 1), Advantage: -0.25}}); err != nil {
		t.Fatal(err)
	}
	if err := tr.AppendMetrics(step, map[string]float64{"reward": 0.5, "loss": math.NaN(), "completions/clipped_ratio": 1 / 3.}); err != nil {
		t.Fatal(err)
	}
}

// finish adds what a complete run has and seals it.
func finish(t *testing.T, r *Run, tr *TrainingRun) {
	t.Helper()
	write := func(dir string) error {
		return os.WriteFile(filepath.Join(dir, "adapter_model.safetensors"), []byte("weights"), 0o644)
	}
	p := r.Plan()
	steps := []error{tr.Checkpoint(2, write), tr.Final(write), r.AppendPhase(Phase{Name: "train", Seconds: 1.5}),
		r.WriteChecks([]Check{{ID: "grader", Status: Pass, Control: Control{"a wrong answer", true}}}), r.AppendRound(Round{Round: 1, Changed: "first"})}
	for _, e := range p.Evaluations() {
		var replies []Reply
		for s := range 2 { // written in another order than the file's
			for _, task := range slices.Backward(p.Data.Holdout.Tasks) {
				replies = append(replies, Reply{sampled(task, s)})
			}
		}
		steps = append(steps, r.WriteEval(e, replies))
	}
	if err := errors.Join(append(steps, r.Seal())...); err != nil {
		t.Fatal(err)
	}
}

func TestRoundTrip(t *testing.T) {
	r, tr := openRun(t)
	for step := 1; step <= 3; step++ {
		logStep(t, r, tr, step)
	}
	finish(t, r, tr)
	rec, err := Load(os.DirFS(r.Dir()))
	if err != nil {
		t.Fatal(err)
	}
	if len(rec.Missing) > 0 || rec.ManifestSHA256 == "" || rec.PlanSHA256 != r.PlanSHA256() {
		t.Errorf("missing %q, manifest %q, plan %q", rec.Missing, rec.ManifestSHA256, rec.PlanSHA256)
	}
	run := rec.Runs[0]
	if len(run.Steps) != 3 || len(run.Rollouts) != 6 || !run.Final {
		t.Fatalf("%d steps, %d rollouts, final %v", len(run.Steps), len(run.Rollouts), run.Final)
	}
	if v := run.Steps[1].Value("loss"); !math.IsNaN(v) {
		t.Errorf("a loss that was not finite came back as %v", v)
	}
	if v := run.Steps[1].Value("completions/clipped_ratio"); v != 1/3. {
		t.Errorf("a third came back as %v", v)
	}
	if ro := run.Rollouts[3]; ro.Step != 2 || ro.Sample != 1 || ro.Text != "Lead: \\boxed{3} <é>" || !ro.Verdict.Correct() {
		t.Errorf("rollout came back as %+v", ro)
	}
	if got := rec.Evals[0].Replies; got[0].Task != 10 || got[1].Task != 10 || got[1].Sample != 1 || got[2].Task != 11 {
		t.Errorf("replies are not in the holdout's order: %+v", got)
	}
	if len(rec.Phases) != 1 || len(rec.Checks) != 1 || len(rec.Rounds) != 1 || len(rec.Sessions) != 1 {
		t.Errorf("phases %v, checks %v, rounds %v, sessions %v", rec.Phases, rec.Checks, rec.Rounds, rec.Sessions)
	}
	var sealed *SealedError
	if _, err := Open(r.Dir()); !errors.As(err, &sealed) || sealed.Incomplete != "" || !strings.Contains(err.Error(), "the run is complete") {
		t.Errorf("opening a sealed run: %v, expected a SealedError without a reason", err)
	}
}

func TestMetricsLine(t *testing.T) {
	_, tr := openRun(t)
	if err := tr.AppendMetrics(1, map[string]float64{"b": math.Inf(1), "a": 1e-4, "step": 9}); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(tr.path(MetricsFile))
	if want := `{"step":1,"a":0.0001,"b":null}` + "\n"; string(got) != want {
		t.Errorf("got %s want %s", got, want)
	}
}

// A process may be killed at any byte (every eleventh is tried). Whatever is left, going on gives the bytes of a run that was never stopped.
func TestKilledAnywhere(t *testing.T) {
	straight, tr := openRun(t)
	for step := 1; step <= 3; step++ {
		logStep(t, straight, tr, step)
	}
	for _, file := range []string{MetricsFile, CompletionsFile} {
		want, err := os.ReadFile(tr.path(file))
		if err != nil {
			t.Fatal(err)
		}
		for cut := 0; cut < len(want); cut += 11 {
			r, a := openRun(t)
			for step := 1; step <= 3; step++ {
				logStep(t, r, a, step)
			}
			a.Close()
			if err := os.Truncate(a.path(file), int64(cut)); err != nil {
				t.Fatal(err)
			}
			b := reopen(t, r)
			last := b.LastStep()
			if err := b.CutAfter(last); err != nil {
				t.Fatalf("%s cut to %d bytes: %v", file, cut, err)
			}
			for step := last + 1; step <= 3; step++ {
				logStep(t, r, b, step)
			}
			b.Close()
			if got, _ := os.ReadFile(b.path(file)); !bytes.Equal(got, want) {
				t.Fatalf("%s cut to %d bytes and resumed after step %d differs from one that was never stopped", file, cut, last)
			}
		}
	}
}

func TestResumeFromAnEarlierCheckpoint(t *testing.T) {
	r, tr := openRun(t)
	for step := 1; step <= 3; step++ {
		logStep(t, r, tr, step)
	}
	if err := tr.CutAfter(2); err != nil {
		t.Fatal(err)
	}
	if err := tr.CutAfter(3); err == nil || !strings.Contains(err.Error(), "earlier checkpoint") {
		t.Errorf("cutting to a step that is gone: %v", err)
	}
	if err := tr.AppendMetrics(4, nil); err == nil {
		t.Error("a step was left out and the log took it")
	}
	logStep(t, r, tr, 3)
	if tr.LastStep() != 3 {
		t.Errorf("last step %d", tr.LastStep())
	}
}

func TestRemoveCheckpoint(t *testing.T) {
	_, tr := openRun(t)
	for _, step := range []int{1, 2} {
		if err := tr.Checkpoint(step, func(dir string) error { return os.WriteFile(filepath.Join(dir, "state"), nil, 0o644) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := tr.RemoveCheckpoint(2); err != nil {
		t.Fatal(err)
	}
	if got := tr.Checkpoints(); !slices.Equal(got, []int{1}) {
		t.Errorf("checkpoints %v, want that of step 1", got)
	}
	if err := tr.RemoveCheckpoint(2); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removing what is not there: %v", err)
	}
	if left, _ := filepath.Glob(tr.path(tempPrefix + "*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestNothingIsOverwritten(t *testing.T) {
	r, tr := openRun(t)
	if _, err := Create(r.Dir(), testPlan(t), Env{}); err == nil || !strings.Contains(err.Error(), "-resume") {
		t.Errorf("creating over a run: %v, expected an error that says how to go on", err)
	}
	logStep(t, r, tr, 1)
	p := r.Plan()
	p.Training.LearningRate *= 2
	other, _ := p.RunConfig("recipe", 17, experiment.Runtime{Backend: "go"})
	if _, err := r.OpenTraining(other); err == nil {
		t.Error("a training run went on under another plan")
	}
	p = r.Plan()
	moved, _ := p.RunConfig("recipe", 17, experiment.Runtime{Backend: "cuda"})
	if _, err := r.OpenTraining(moved); err == nil || !strings.Contains(err.Error(), `runtime.backend was "go", is now "cuda"`) {
		t.Errorf("resuming on another backend: %v, expected the setting's name", err)
	}
	finish(t, r, tr)
	if err := r.WriteEval(p.Evaluations()[0], nil); err == nil {
		t.Error("an evaluation was overwritten")
	}
	if err := tr.Final(func(string) error { return nil }); err == nil {
		t.Error("an adapter was overwritten")
	}
}

func TestAFailedWriteLeavesNothing(t *testing.T) {
	r, tr := openRun(t)
	if err := tr.Checkpoint(1, func(dir string) error {
		os.WriteFile(filepath.Join(dir, "half"), nil, 0o644)
		return errors.New("disk full")
	}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("error %v", err)
	}
	if err := r.Seal(); err == nil || !strings.Contains(err.Error(), "recipe-17") {
		t.Errorf("sealing an unfinished run: %v, expected the run's name", err)
	}
	entries, _ := os.ReadDir(r.path("recipe-17"))
	for _, e := range entries {
		if e.IsDir() {
			t.Errorf("left behind: %s", e.Name())
		}
	}
}

func TestWriteEvalRefuses(t *testing.T) {
	r, _ := openRun(t)
	p := r.Plan()
	hold := p.Data.Holdout.Tasks
	var good []Reply
	for _, task := range hold {
		good = append(good, Reply{sampled(task, 0)}, Reply{sampled(task, 1)})
	}
	for _, c := range []struct {
		why    string
		change func([]Reply) []Reply
		want   string
	}{
		{"one reply short", func(rs []Reply) []Reply { return rs[1:] }, "expected 6 replies"},
		{"a train task", func(rs []Reply) []Reply { rs[0].TaskSHA256 = p.Data.Train.Tasks[0].SHA256; return rs }, "not a task that the plan evaluates on"},
		{"a sample twice", func(rs []Reply) []Reply { rs[0].Sample = 1; return rs }, "twice"},
	} {
		if err := r.WriteEval(p.Evaluations()[0], c.change(slices.Clone(good))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, expected %q", c.why, err, c.want)
		}
	}
}

// An evaluation on the whole test split has that split's tasks and its own number of samples, in a file of its own, and is missed
// like any other.
func TestWriteEvalOnTheTestSplit(t *testing.T) {
	p := testPlan(t)
	one := 1
	if err := p.Apply(experiment.Overrides{TestSamples: &one}); err != nil {
		t.Fatal(err)
	}
	test := experiment.NewSplit("test", append(slices.Clone(p.Data.Holdout.Tasks), experiment.NewTask(13, "c?", "3", true)))
	p.Data.Test = &test
	r, err := Create(filepath.Join(t.TempDir(), "run"), p, Env{})
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(p.Evaluations(), func(e experiment.EvalRun) bool { return e.Tasks == experiment.TasksTest })
	e := p.Evaluations()[at]
	var replies []Reply
	for _, task := range slices.Backward(test.Tasks) {
		replies = append(replies, Reply{sampled(task, 0)})
	}
	if err := r.WriteEval(e, replies[1:]); err == nil || !strings.Contains(err.Error(), "expected 4 replies (4 tasks x 1 samples), found 3") {
		t.Errorf("the task beyond the held-out ones left out: error %v", err)
	}
	if err := r.WriteEval(p.Evaluations()[0], replies); err == nil || !strings.Contains(err.Error(), "not a task that the plan evaluates on") {
		t.Errorf("a task of the test split in an evaluation on the held-out tasks: error %v", err)
	}
	if err := r.WriteEval(e, replies); err != nil {
		t.Fatal(err)
	}
	if err := r.Seal(); err == nil {
		t.Error("sealed without its other evaluations")
	}
	if err := r.SealIncomplete("a test"); err != nil {
		t.Fatal(err)
	}
	var sealed *SealedError
	if _, err := Open(r.Dir()); !errors.As(err, &sealed) || sealed.Incomplete != "a test" || !strings.Contains(err.Error(), "sealed, unfinished: a test") {
		t.Errorf("opening a run sealed unfinished: error %v, want the reason", err)
	}
	rec, err := Load(os.DirFS(r.Dir()))
	if err != nil {
		t.Fatal(err)
	}
	if len(rec.Evals) != 1 || rec.Evals[0].File != "eval/base-baseline-test.jsonl.gz" || len(rec.Evals[0].Replies) != 4 || rec.Evals[0].Replies[3].Task != 13 {
		t.Errorf("read back: %+v", rec.Evals)
	}
	if !slices.Contains(rec.Missing, "eval/recipe-17-recipe-test.jsonl.gz") || !slices.Contains(rec.Missing, "eval/base-baseline.jsonl.gz") {
		t.Errorf("missing %q", rec.Missing)
	}
}

// A reason is for what is missing, and there must be both.
func TestSealIncompleteRefuses(t *testing.T) {
	r, tr := openRun(t)
	logStep(t, r, tr, 1)
	if err := r.SealIncomplete(" \n"); err == nil || !strings.Contains(err.Error(), "expected one") {
		t.Errorf("no reason: error %v", err)
	}
	finish(t, r, tr)
	name := filepath.Join(r.Dir(), ManifestFile)
	want, err := os.ReadFile(name)
	if err == nil {
		err = os.Rename(name, r.path(stagedManifest)) // as a process leaves it that is killed while it seals
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := r.SealIncomplete("a test"); err == nil || !strings.Contains(err.Error(), "nothing is missing: go on with -resume, which seals it as complete") {
		t.Errorf("a run with nothing missing: error %v", err)
	}
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is sealed all the same: %v", err)
	}
	if err := r.Seal(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
		t.Errorf("gone on with, its manifest is another (%v)", err)
	}
	if err := os.WriteFile(name, want[:len(want)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(r.Dir()); err == nil || errors.As(err, new(*SealedError)) || !strings.Contains(err.Error(), ManifestFile+" is not what this program wrote") {
		t.Errorf("half a manifest: error %v", err)
	}
}

// A process may be stopped between any two writes of sealing: going on seals the run, as if it had not been stopped. A run that was sealed and
// has no manifest is not that, and is sealed by nothing but SealAnew, with a reason.
func TestARunThatLostItsManifest(t *testing.T) {
	for _, c := range []struct {
		why    string
		marked bool // the mark is written
		staged bool // the manifest lies ready
		do     func(r *Run) error
		lost   bool
		part   bool // something planned is missing
	}{
		{why: "killed before anything was written"},
		{why: "killed before the mark", staged: true},
		{why: "killed before the manifest takes its place", marked: true, staged: true},
		{why: "the same, and gone on with twice", marked: true, staged: true, do: func(r *Run) error {
			return errors.Join(r.AddSession(Env{Started: "2030-01-03T03:04:05Z"}), r.AddSession(Env{Started: "2030-01-04T03:04:05Z"}))
		}},
		{why: "the manifest was deleted", marked: true, lost: true},
		{why: "and an evaluation with it", marked: true, lost: true, part: true, do: func(r *Run) error { return os.Remove(r.path("eval/base-recipe.jsonl.gz")) }},
	} {
		t.Run(c.why, func(t *testing.T) {
			r, tr := openRun(t)
			unmarked, err := os.ReadFile(r.path(EnvFile))
			if err != nil {
				t.Fatal(err)
			}
			logStep(t, r, tr, 1)
			finish(t, r, tr)
			manifest, err := os.ReadFile(r.path(ManifestFile))
			if err != nil {
				t.Fatal(err)
			}
			steps := []error{os.Remove(r.path(ManifestFile))}
			if c.staged {
				steps = append(steps, os.WriteFile(r.path(stagedManifest), manifest, 0o644))
			}
			if !c.marked {
				steps = append(steps, os.WriteFile(r.path(EnvFile), unmarked, 0o644))
			}
			if c.do != nil {
				steps = append(steps, c.do(r))
			}
			if err := errors.Join(steps...); err != nil {
				t.Fatal(err)
			}
			lost := new(*LostManifestError)
			opened, err := Open(r.Dir())
			if !c.lost {
				if err != nil {
					t.Fatal(err)
				}
				if err := opened.SealAnew("a test"); err == nil || !strings.Contains(err.Error(), "found one that has not") {
					t.Errorf("sealing anew what has lost nothing: error %v", err)
				}
				if err := opened.Seal(); err != nil {
					t.Fatal(err)
				}
				got, err := os.ReadFile(r.path(ManifestFile))
				if err != nil || c.do == nil && !bytes.Equal(got, manifest) {
					t.Errorf("gone on with, its manifest is another (%v)", err)
				}
				if _, err := Load(os.DirFS(r.Dir())); err != nil {
					t.Error(err)
				}
				if err := os.Remove(r.path(ManifestFile)); err != nil {
					t.Fatal(err)
				}
				if _, err := Open(r.Dir()); !errors.As(err, lost) {
					t.Errorf("when the manifest is deleted after that: error %v", err)
				}
				return
			}
			if want := "seal it anew, with the reason on every page: go run ./recipe seal -because WHY " + r.Dir(); !errors.As(err, lost) || !strings.Contains(err.Error(), want) {
				t.Fatalf("opening: error %v, want %q", err, want)
			}
			for what, err := range map[string]error{"as complete": opened.Seal(), "as incomplete": opened.SealIncomplete("a test"), "by a new attempt": Note(r.Dir(), Round{Changed: "longer"})} {
				if !errors.As(err, lost) {
					t.Errorf("sealing it %s: error %v", what, err)
				}
			}
			if err := opened.SealAnew(" "); err == nil || !strings.Contains(err.Error(), "expected one") {
				t.Errorf("no reason: error %v", err)
			}
			if rec, err := Load(os.DirFS(r.Dir())); err != nil || rec.Manifest != nil || len(rec.Rounds) != 1 {
				t.Fatalf("it was written to all the same: %+v (%v)", rec, err)
			}
			// Killed in the middle it must not leave what looks like a run that is sealed for the first time.
			if err := os.Mkdir(r.path(stagedManifest), 0o755); err != nil {
				t.Fatal(err)
			}
			err = opened.seal(Manifest{Resealed: "compared with a copy"})
			if err := errors.Join(err, os.Remove(r.path(stagedManifest)), os.Remove(r.path(ManifestFile))); err != nil {
				t.Errorf("it lays its manifest ready: %v", err)
			}
			if err := opened.SealAnew("compared with a copy"); err != nil {
				t.Fatal(err)
			}
			rec, err := Load(os.DirFS(r.Dir()))
			if err != nil {
				t.Fatal(err)
			}
			incomplete := map[bool]string{true: "compared with a copy"}[c.part]
			if rec.Manifest.Resealed != "compared with a copy" || rec.Manifest.Incomplete != incomplete {
				t.Errorf("sealed anew: %+v, want the reason", rec.Manifest)
			}
			if err := Note(r.Dir(), Round{Changed: "longer"}); err != nil {
				t.Fatal(err)
			}
			if rec, err = Load(os.DirFS(r.Dir())); err != nil || rec.Manifest.Resealed == "" {
				t.Errorf("an attempt later: %+v (%v), want the reason", rec.Manifest, err)
			}
		})
	}
}

func TestFaultsAreNamed(t *testing.T) {
	for _, c := range []struct {
		why  string
		do   func(dir string) error
		want string // "" for no fault
	}{
		{"a reply edited in place", func(d string) error { return flip(filepath.Join(d, "eval/base-recipe.jsonl.gz")) }, "eval/base-recipe.jsonl.gz: changed"},
		{"a copy that broke off", func(d string) error { return os.Truncate(filepath.Join(d, "recipe-17/completions.jsonl.gz"), 40) }, "recipe-17/completions.jsonl.gz: truncated: 40 of"},
		{"a lost file", func(d string) error { return os.Remove(filepath.Join(d, "recipe-17/config.json")) }, "recipe-17/config.json: missing"},
		{"a metric added afterwards", func(d string) error {
			return os.WriteFile(filepath.Join(d, "recipe-17/more.jsonl"), nil, 0o644)
		}, "recipe-17/more.jsonl: not in the manifest"},
		{"what a file manager leaves behind", func(d string) error {
			return errors.Join(os.WriteFile(filepath.Join(d, ".DS_Store"), nil, 0o644), os.Mkdir(filepath.Join(d, "eval", ".ipynb_checkpoints"), 0o755),
				os.WriteFile(filepath.Join(d, "eval", ".ipynb_checkpoints", "base-recipe.jsonl"), nil, 0o644))
		}, ""},
		{"published without weights", func(d string) error { return os.RemoveAll(filepath.Join(d, "recipe-17/final")) }, ""},
		{"with its report", func(d string) error {
			return errors.Join(os.Mkdir(filepath.Join(d, "report"), 0o755), os.WriteFile(filepath.Join(d, "report/report.md"), nil, 0o644))
		}, ""},
		{"weights cut short: seen by size", func(d string) error {
			return os.Truncate(filepath.Join(d, "recipe-17/final/adapter_model.safetensors"), 2)
		}, "adapter_model.safetensors: truncated"},
	} {
		r, tr := openRun(t)
		logStep(t, r, tr, 1)
		logStep(t, r, tr, 2)
		finish(t, r, tr)
		if err := c.do(r.Dir()); err != nil {
			t.Fatal(err)
		}
		_, err := Load(os.DirFS(r.Dir()))
		var fe *FaultsError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.why, err)
		case c.want != "" && (!errors.As(err, &fe) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, expected %q", c.why, err, c.want)
		}
	}
}

func flip(name string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	b[len(b)/2] ^= 1
	return os.WriteFile(name, b, 0o644)
}

// Weights are hashed only on demand; then a changed byte is found.
func TestVerifyWeights(t *testing.T) {
	r, tr := openRun(t)
	logStep(t, r, tr, 1)
	finish(t, r, tr)
	if err := flip(r.path("recipe-17/final/adapter_model.safetensors")); err != nil {
		t.Fatal(err)
	}
	rec, err := Load(os.DirFS(r.Dir()))
	if err != nil {
		t.Fatal(err)
	}
	faults, err := rec.Manifest.Verify(os.DirFS(r.Dir()), true)
	if err != nil || len(faults) != 1 || faults[0].Problem != "changed" {
		t.Errorf("faults %v, error %v", faults, err)
	}
}

func TestEditedPlanIsRefused(t *testing.T) {
	r, _ := openRun(t)
	raw, _ := os.ReadFile(r.path(ExperimentFile))
	edited := bytes.Replace(raw, []byte(`"margin": 0.03`), []byte(`"margin": 0.3`), 1)
	if bytes.Equal(raw, edited) {
		t.Fatal("the margin was not found in the file")
	}
	os.WriteFile(r.path(ExperimentFile), edited, 0o644)
	if _, err := Load(os.DirFS(r.Dir())); err == nil || !strings.Contains(err.Error(), "changed after it was written") {
		t.Errorf("error %v", err)
	}
}

func TestLoadUnfinished(t *testing.T) {
	r, tr := openRun(t)
	logStep(t, r, tr, 1)
	logStep(t, r, tr, 2)
	tr.Close()
	st, _ := os.Stat(tr.path(CompletionsFile))
	os.Truncate(tr.path(CompletionsFile), st.Size()-3)
	rec, err := Load(os.DirFS(r.Dir()))
	if err != nil {
		t.Fatal(err)
	}
	if rec.Manifest != nil || len(rec.Runs[0].Rollouts) != 2 || !slices.Contains(rec.Missing, "recipe-17/final") || !slices.Contains(rec.Missing, "eval/base-recipe.jsonl.gz") {
		t.Errorf("manifest %v, %d rollouts, missing %q", rec.Manifest, len(rec.Runs[0].Rollouts), rec.Missing)
	}
}

func TestCommandLineNamesNoMachine(t *testing.T) {
	got := CommandLine([]string{"recipe", "-model", "/home/me/qwen.gguf", "-data=/srv/gsm8k", "-out", "runs/x", "-prompt", "it's two words"})
	if want := `recipe -model qwen.gguf -data=gsm8k -out runs/x -prompt 'it'\''s two words'`; got != want {
		t.Errorf("got %s want %s", got, want)
	}
}

func TestAppendLineAfterATornLine(t *testing.T) {
	r, _ := openRun(t)
	os.WriteFile(r.path(PhasesFile), []byte(`{"name":"load","seconds":1}`+"\n"+`{"name":"tra`), 0o644)
	if err := r.AppendPhase(Phase{Name: "eval"}); err != nil {
		t.Fatal(err)
	}
	got, err := readLog[Phase](os.DirFS(r.Dir()), PhasesFile)
	if err != nil || len(got) != 2 || got[0].Name != "load" || got[1].Name != "eval" {
		t.Errorf("phases %v, error %v", got, err)
	}
}
