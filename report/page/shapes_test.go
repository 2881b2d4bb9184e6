package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/artifact/artifacttest"
	"teamtalk/recipe/experiment"
)

// Every kind of run that the command line can make has a page, whose every number is bound.
func TestEveryShapeHasAPage(t *testing.T) {
	base := func(edit func(*artifacttest.Options)) artifacttest.Options {
		o := artifacttest.Options{Tasks: 20, Steps: 2}
		edit(&o)
		return o
	}
	for _, c := range []struct {
		why  string
		o    artifacttest.Options
		says []string
		not  []string
	}{
		{"one arm", base(func(o *artifacttest.Options) { o.Arm = "recipe" }), []string{"**Verdict: none.**", "This is not the preset as it stands"}, []string{"fig-forest"}},
		{"one seed", base(func(o *artifacttest.Options) { o.Seeds = []int64{17} }),
			[]string{"**Verdict: unresolved.** There is no interval over new training runs", "nothing can be said about training again", "| Sampler-trainer difference, largest mean of a step | Of a single token |"}, []string{"of one reward in each group"}},
		{"three seeds", base(func(o *artifacttest.Options) { o.Seeds = []int64{1, 2, 3} }), []string{"3 runs per arm"}, nil},
		{"not finished", base(func(o *artifacttest.Options) { o.Unsealed = true }), []string{"**Not complete.**", "**fail**"}, nil},
		{"nothing varies", base(func(o *artifacttest.Options) { o.Same = true }), []string{"**Verdict: degenerate.**", "| 2, 2 of one reward in each group |", "A step with one reward in each group had no gradient"}, nil},
		{"a large effect", base(func(o *artifacttest.Options) { o.Effect, o.Tasks, o.RunSD = 4, 60, 0.01 }), []string{"**Verdict: better.**", "ended higher"}, []string{"Verdict: unresolved"}},
		{"a large loss", base(func(o *artifacttest.Options) { o.Effect, o.Tasks, o.RunSD = -4, 60, 0.01 }), []string{"**Verdict: worse.**", "ended lower"}, nil},
		{"a wide margin", base(func(o *artifacttest.Options) {
			o.Seeds, o.Tasks, o.RunSD, o.Seed = []int64{1, 2, 3, 4}, 60, 0.01, 2
			o.EditPlan = func(p *experiment.Plan) { p.Margin = 0.4 }
		}), []string{"**Verdict: equivalent.**", "a detour, not a handicap"}, []string{"is not evidence that there is none"}},
		{"another prompt", base(func(o *artifacttest.Options) {
			o.EditPlan = func(p *experiment.Plan) {
				before, err := experiment.Preset("mini")
				if err != nil {
					t.Fatal(err)
				}
				p.Arms[1].System, p.Arms[1].Prompt, p.Arms[1].Talk = "You are a pirate.", "pirate prompt", false
				if err := p.Record(before); err != nil {
					t.Fatal(err)
				}
			}
		}), []string{"same trainer and settings under the pirate prompt", "Before any training the pirate prompt, in the place of the plain prompt, changes", "With the pirate prompt gone", "`arms.recipe.prompt=pirate prompt`", "Whether the pirate prompt helps"},
			[]string{"under the team prompt", "the team prompt changes", "the team prompt gone", "three speakers", "a conversation has to fit", "make the talk pay"}},
		{"one prompt for both arms", base(func(o *artifacttest.Options) {
			o.EditPlan = func(p *experiment.Plan) { p.Arms[1].System = p.Arms[0].System }
		}), []string{"### In what the arms differ"}, []string{"### The arms differ in the prompt and in nothing else"}},
		{"the real preset", base(func(o *artifacttest.Options) { o.Preset = "qwen" }), []string{"What this run can show", "Solver:"}, []string{"mini run", "Mini run"}},
		{"the whole test split", base(func(o *artifacttest.Options) { o.TestTasks = 50 }),
			[]string{"### The whole test split", "On the whole test split of 50 tasks the difference is", "50 tasks, of which 20 are those held out (samples per task: 1)", "(samples per task: 1): the untrained model under every arm's prompt, every trained run under its own prompt.",
				"the others are secondary", "| whole test split | `", "test.samples_per_task=1", "Own prompts, whole test split: "}, nil},
		{"the whole test split, under both prompts", base(func(o *artifacttest.Options) {
			o.TestTasks = 30
			o.EditPlan = func(p *experiment.Plan) {
				p.Evaluation.Test.Samples, p.Evaluation.Test.Prompts = 2, []string{experiment.PromptOwn, experiment.PromptPlain}
				p.Secondary = append(p.Secondary, experiment.Comparison{A: "baseline", B: "recipe", Prompt: experiment.PromptPlain, Metric: "pass@1", Tasks: experiment.TasksTest})
			}
		}), []string{"(samples per task: 2)", "its own and the plain prompt", "Recipe minus baseline, both under the plain prompt", "The recipe's runs without their prompt, minus with it"}, nil},
		{"the whole test split, one seed", base(func(o *artifacttest.Options) { o.TestTasks, o.Seeds = 30, []int64{17} }), []string{"### The whole test split", "No interval over new training runs exists"}, nil},
		{"the whole test split, one arm", base(func(o *artifacttest.Options) { o.TestTasks, o.Arm = 30, "recipe" }), []string{"### The whole test split", "What training added to the recipe"}, []string{"the verdict above does not read it"}},
		{"the whole test split, nothing varies", base(func(o *artifacttest.Options) { o.TestTasks, o.Same = 30, true }), []string{"**Verdict: degenerate.**"}, nil},
	} {
		files, err := Build(os.DirFS(syntheticRun(t, c.o)), Options{})
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		says(t, c.why, files, c.says, c.not)
	}
}

// Runs of an arm whose evaluations are one and the same have shown nothing of training again, whatever the other arm did.
func TestAnArmWhoseRunsAreOne(t *testing.T) {
	for _, c := range []struct {
		why    string
		copied []string // the evaluation of the first seed stands for the second's
		says   []string
	}{
		{"the baseline's", []string{"baseline"}, []string{"the runs baseline-17 and baseline-18 of arm baseline are identical on every task"}},
		{"both arms'", []string{"baseline", "recipe"}, []string{"the runs baseline-17 and baseline-18 of arm baseline, and the runs recipe-17 and recipe-18 of arm recipe are identical on every task"}},
	} {
		dir := syntheticRun(t, artifacttest.Options{Tasks: 60, Steps: 2, Effect: 4, RunSD: 0.01})
		for _, arm := range c.copied {
			data, err := os.ReadFile(filepath.Join(dir, "eval", arm+"-17-"+arm+".jsonl.gz"))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "eval", arm+"-18-"+arm+".jsonl.gz"), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := artifacttest.Reseal(dir); err != nil {
			t.Fatal(err)
		}
		files, err := Build(os.DirFS(dir), Options{})
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		says(t, c.why, files, []string{"**Verdict: unresolved.** There is no interval over new training runs", "nothing can be said about training again"}, []string{"**Verdict: better.**"})
		for _, s := range c.says {
			if !strings.Contains(strings.ToLower(string(files["report.md"])), s) {
				t.Errorf("%s: the page does not say %q", c.why, s)
			}
		}
		var doc struct {
			Contrasts map[string]struct {
				Both *[2]float64 `json:"ci_both"`
				P    *float64    `json:"p_both"`
			}
		}
		if err := json.Unmarshal(files["report.json"], &doc); err != nil {
			t.Fatal(err)
		}
		if p := doc.Contrasts["primary"]; p.Both != nil || p.P != nil {
			t.Errorf("%s: report.json has ci_both %v, p %v", c.why, p.Both, p.P)
		}
	}
}

// A run that was sealed again after its manifest was lost says so, whether or not something is missing, and no other run does.
func TestARunThatWasSealedAgain(t *testing.T) {
	for _, c := range []struct {
		why  string
		do   func(dir string) error
		says []string
		not  []string
	}{
		{"it has its own manifest", func(string) error { return nil }, nil, []string{"Sealed again", "Not complete"}},
		{"its manifest was lost", func(dir string) error { return sealAnew(dir, artifact.ManifestFile) },
			[]string{"> **Sealed again.** The manifest that was made when the run ended is lost", "> Why it counts: compared with a copy\n"}, []string{"Not complete"}},
		{"and an evaluation with it", func(dir string) error { return sealAnew(dir, artifact.ManifestFile, "eval/recipe-18-recipe.jsonl.gz") },
			[]string{"> **Not complete.** Planned and missing: `eval/recipe-18-recipe.jsonl.gz`", "> Why: compared with a copy\n", "> **Sealed again.**"}, nil},
	} {
		dir := syntheticRun(t, artifacttest.Options{Tasks: 20, Steps: 2})
		if err := c.do(dir); err != nil {
			t.Fatal(err)
		}
		files, err := Build(os.DirFS(dir), Options{})
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		says(t, c.why, files, c.says, c.not)
	}
}

// sealAnew loses files of a run, its manifest among them, and seals what is left.
func sealAnew(dir string, lost ...string) error {
	for _, name := range lost {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	run, err := artifact.Open(dir)
	if !errors.As(err, new(*artifact.LostManifestError)) {
		return fmt.Errorf("opening it: error %w, want that its manifest is lost", err)
	}
	return run.SealAnew("compared with a copy")
}

// says fails where a page lacks something, or says what it must not, or has a number that is bound to nothing or is none.
func says(t *testing.T, why string, files map[string][]byte, want, not []string) {
	t.Helper()
	md := string(files["report.md"])
	for _, s := range want {
		if !strings.Contains(md, s) {
			t.Errorf("%s: the page does not say %q", why, s)
		}
	}
	for _, s := range not {
		if strings.Contains(md, s) {
			t.Errorf("%s: the page says %q", why, s)
		}
	}
	for _, p := range Lint(why, md, claimsOf(t, files).Claims) {
		t.Error(p)
	}
	if _, bad := VerifyClaims(files); len(bad) > 0 {
		t.Errorf("%s: %v", why, bad)
	}
	for _, bad := range []string{"NaN", "<no value>", "%!", "+Inf"} {
		if at := strings.Index(md, bad); at >= 0 {
			t.Errorf("%s: the page holds %q: %q", why, bad, md[max(0, at-80):at+20])
		}
	}
}
