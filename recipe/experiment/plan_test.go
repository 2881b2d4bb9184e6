package experiment

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// testPlan is the mini preset with a small model and data filled in.
func testPlan(t *testing.T) Plan {
	t.Helper()
	p, err := Preset("mini")
	if err != nil {
		t.Fatal(err)
	}
	p.Model = Model{Name: "test", Source: "embedded", DType: "float32", ChatTemplate: "chatml"}
	tasks := func(word string, n int) (ts []Task) {
		for i := range n {
			ts = append(ts, NewTask(i, fmt.Sprintf("%s problem %d?", word, i), fmt.Sprint(i), true))
		}
		return ts
	}
	p.Data = Data{Source: "mini", Draw: "in order", Train: NewSplit("train", tasks("train", 6)), Holdout: NewSplit("holdout", tasks("held-out", 4))}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	return p
}

// onTestSplit is testPlan with an evaluation on a test split of six tasks, the four held-out ones among them.
func onTestSplit(t *testing.T) Plan {
	t.Helper()
	p := testPlan(t)
	n := 1
	if err := p.Apply(Overrides{TestSamples: &n}); err != nil {
		t.Fatal(err)
	}
	test := NewSplit("test", append(slices.Clone(p.Data.Holdout.Tasks), NewTask(4, "one more?", "1", false), NewTask(5, "and one?", "2", false)))
	p.Data.Test = &test
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestHashCoversEverySetting(t *testing.T) {
	base := testPlan(t)
	want, err := base.Hash()
	if err != nil {
		t.Fatal(err)
	}
	again := testPlan(t)
	if h, _ := again.Hash(); h != want {
		t.Errorf("the same plan made twice hashes to %s and %s", want, h)
	}
	for _, c := range []struct {
		why    string
		change func(*Plan)
	}{
		{"a prompt", func(p *Plan) { p.Arms = slices.Clone(p.Arms); p.Arms[1].System += " " }},
		{"a planned seed", func(p *Plan) { p.Seeds = []int64{17, 19} }},
		{"the margin, which decides what counts as equivalent", func(p *Plan) { p.Margin = 0.05 }},
		{"a gold answer of the holdout", func(p *Plan) {
			p.Data.Holdout.Tasks = slices.Clone(p.Data.Holdout.Tasks)
			p.Data.Holdout.Tasks[0].Gold = "7"
		}},
		{"one nested training setting", func(p *Plan) { p.Training.LoRA.R = 8 }},
		{"evaluation temperature", func(p *Plan) { p.Evaluation.Temperature = 1 }},
	} {
		p := testPlan(t)
		c.change(&p)
		if h, _ := p.Hash(); h == want {
			t.Errorf("%s: changed, but the hash is the same", c.why)
		}
	}
}

func TestValidateRefuses(t *testing.T) {
	for _, c := range []struct {
		why    string
		change func(*Plan)
		want   string
	}{
		{"names are folders and split at the hyphen", func(p *Plan) { p.Arms[0].Name = "base-line" }, "hyphen"},
		{"base is the untrained model", func(p *Plan) { p.Arms[0].Name = "base" }, "base"},
		{"a seed twice would count one run as two", func(p *Plan) { p.Seeds = []int64{17, 17} }, "twice"},
		{"an arm twice likewise", func(p *Plan) { p.TrainArms = []string{"recipe", "recipe"} }, "twice"},
		{"an arm that does not exist", func(p *Plan) { p.TrainArms = []string{"other"} }, "not an arm"},
		{"no seed", func(p *Plan) { p.Seeds = nil }, "-seeds"},
		{"a group of one has advantage 0", func(p *Plan) { p.Training.NumGenerations = 1 }, "num_generations"},
		{"a misspelt loss", func(p *Plan) { p.Training.LossType = "gspo" }, "expected grpo"},
		{"pass@8 of 4 samples", func(p *Plan) { p.Evaluation.Ks = []int{8} }, "needs 8 samples"},
		{"no margin, no equivalence", func(p *Plan) { p.Margin = 0 }, "margin"},
		{"an arm against itself", func(p *Plan) { p.Primary.B = p.Primary.A }, "different arms"},
		{"a leaked task, under another number, spelt differently", func(p *Plan) {
			p.Data.Train = NewSplit("train", append(p.Data.Train.Tasks, NewTask(99, "Held-Out  problem 2?", "2", false)))
		}, "train 99 = holdout 2"},
		{"a gold answer changed without the split's hash", func(p *Plan) { p.Data.Holdout.Tasks[0].Gold = "8" }, "hash"},
		{"text that is not the hashed text", func(p *Plan) { p.Data.Train.Tasks[0].Text = "other" }, "text does not have the hash"},
		{"the test split is evaluated on, and there is none", func(p *Plan) { p.Data.Test = nil }, "go together"},
		{"a test split that nothing evaluates on", func(p *Plan) { p.Evaluation.Test, p.Secondary = nil, nil }, "go together"},
		{"no sample of it", func(p *Plan) { p.Evaluation.Test.Samples = 0 }, "at least 1"},
		{"no prompt for it", func(p *Plan) { p.Evaluation.Test.Prompts = nil }, "prompts"},
		{"a prompt for it that nobody knows", func(p *Plan) { p.Evaluation.Test.Prompts = []string{"team"} }, `prompt "team"`},
		{"a comparison on it that its replies cannot give", func(p *Plan) { p.Evaluation.Test.Prompts = []string{PromptPlain} }, `under the prompt "own"`},
		{"a comparison on tasks that nobody knows", func(p *Plan) { p.Secondary[1].Tasks = "validation" }, `tasks "validation"`},
		{"the primary comparison is the held-out tasks'", func(p *Plan) { p.Primary.Tasks = TasksTest }, "primary"},
		{"a train task in the test split, beyond the held-out tasks", func(p *Plan) {
			test := NewSplit("test", append(p.Data.Test.Tasks, NewTask(50, "TRAIN problem 3?", "3", false)))
			p.Data.Test = &test
		}, "train 3 = test 50"},
		{"a gold answer of the test split changed without its hash", func(p *Plan) { p.Data.Test.Tasks[0].Gold = "8" }, "data: test: the tasks hash"},
		{"another version", func(p *Plan) { p.Version = 2 }, "version"},
	} {
		p := onTestSplit(t)
		c.change(&p)
		err := p.Validate()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, expected one with %q", c.why, err, c.want)
		}
	}
}

func TestArmsDifferInThePromptAndInNothingElse(t *testing.T) {
	for _, preset := range PresetNames {
		p := testPlan(t)
		q, err := Preset(preset)
		if err != nil {
			t.Fatal(err)
		}
		q.Model, q.Data = p.Model, p.Data
		a, err := q.RunConfig("baseline", 17, Runtime{Backend: "go"})
		if err != nil {
			t.Fatal(err)
		}
		b, _ := q.RunConfig("recipe", 17, Runtime{Backend: "go"})
		if got := paths(t, a, b); !slices.Equal(got, []string{"system_prompt"}) {
			t.Errorf("%s: the arms differ in %q", preset, got)
		}
	}
}

// The comparison has to be able to fail: any planted second difference is named.
func TestArmDiffNamesPlantedDifferences(t *testing.T) {
	p := testPlan(t)
	for _, c := range []struct {
		change func(*RunConfig)
		want   string
	}{
		{func(c *RunConfig) { c.Settings.Training.LearningRate *= 2 }, "training.learning_rate"},
		{func(c *RunConfig) { c.Settings.Training.LoRA.TargetModules = []string{"q_proj"} }, "training.lora.target_modules.1"},
		{func(c *RunConfig) { c.Settings.Evaluation.MaxCompletionLength++ }, "evaluation.max_completion_length"},
		{func(c *RunConfig) { c.Settings.Runtime.MicroBatch = 3 }, "runtime.micro_batch"},
		{func(c *RunConfig) { c.Settings.TrainSHA256 = "x" }, "train_sha256"},
		{func(c *RunConfig) { c.Settings.Streams.Sampling++ }, "streams.sampling"},
	} {
		a, _ := p.RunConfig("baseline", 17, Runtime{})
		b, _ := p.RunConfig("recipe", 17, Runtime{})
		c.change(&b)
		if got := paths(t, a, b); !slices.Contains(got, c.want) || !slices.Contains(got, "system_prompt") {
			t.Errorf("planted %s, found %q", c.want, got)
		}
	}
}

func paths(t *testing.T, a, b RunConfig) (ps []string) {
	t.Helper()
	ds, err := ArmDiff(a, b)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range ds {
		ps = append(ps, d.Path)
	}
	return ps
}

func TestEvaluations(t *testing.T) {
	p := testPlan(t)
	p.Seeds = []int64{17}
	var got []string
	for _, e := range p.Evaluations() {
		got = append(got, e.Name())
	}
	want := []string{"base-baseline", "base-recipe", "baseline-17-baseline", "recipe-17-recipe", "recipe-17-baseline"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q: the baseline's own prompt is the plain one and is sampled once", got, want)
	}
}

// On the whole test split: after all others, the untrained model first, then seed by seed every arm.
func TestEvaluationsOnTheTestSplit(t *testing.T) {
	p := onTestSplit(t)
	ordinary := len(p.Evaluations()) - 6
	for _, c := range []struct {
		prompts []string
		want    []string
	}{
		{[]string{PromptOwn}, []string{"base-baseline-test", "base-recipe-test", "baseline-17-baseline-test", "recipe-17-recipe-test", "baseline-18-baseline-test", "recipe-18-recipe-test"}},
		{[]string{PromptOwn, PromptPlain}, []string{"base-baseline-test", "base-recipe-test", "baseline-17-baseline-test", "recipe-17-recipe-test", "recipe-17-baseline-test",
			"baseline-18-baseline-test", "recipe-18-recipe-test", "recipe-18-baseline-test"}},
	} {
		p.Evaluation.Test.Prompts = c.prompts
		var got []string
		for i, e := range p.Evaluations() {
			switch {
			case (e.Tasks == TasksTest) != (i >= ordinary):
				t.Errorf("evaluation %d is %s", i, e.Name())
			case e.Tasks == TasksTest:
				got = append(got, e.Name())
				if len(p.TasksOf(e)) != 6 || p.SamplesOf(e) != 1 || e.Stream() != EvalTest {
					t.Errorf("%s: %d tasks x %d from the stream %s, want 6 x 1 from %s", e.Name(), len(p.TasksOf(e)), p.SamplesOf(e), e.Stream(), EvalTest)
				}
			case len(p.TasksOf(e)) != 4 || p.SamplesOf(e) != 4 || e.Stream() != Eval:
				t.Errorf("%s: %d tasks x %d from the stream %s, want 4 x 4 from %s", e.Name(), len(p.TasksOf(e)), p.SamplesOf(e), e.Stream(), Eval)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("under %q: %q, want %q", c.prompts, got, c.want)
		}
	}
}

func TestApplyTestSamples(t *testing.T) {
	for _, c := range []struct {
		preset      string
		samples     int
		want        int // samples of the plan, 0: not evaluated on
		override    string
		comparisons int
		why         string
	}{
		{"qwen", 1, 1, "", 1, "the preset's own number is no change"},
		{"qwen", 3, 3, "test.samples_per_task=3", 1, "more of the same"},
		{"qwen", 0, 0, "test.samples_per_task=0", 0, "left out, and the comparison on it with it"},
		{"mini", 2, 2, "test.samples_per_task=2", 1, "added, for problems of one's own"},
		{"mini", 0, 0, "", 0, "the mini preset has none"},
	} {
		p, err := Preset(c.preset)
		if err == nil {
			err = p.Apply(Overrides{TestSamples: &c.samples})
		}
		if err != nil {
			t.Fatal(err)
		}
		samples, comparisons := 0, 0
		if p.Evaluation.Test != nil {
			samples = p.Evaluation.Test.Samples
		}
		for _, s := range p.Secondary {
			if s.Tasks == TasksTest {
				comparisons++
			}
		}
		if got := strings.Join(p.Overrides, " "); samples != c.want || got != c.override || comparisons != c.comparisons {
			t.Errorf("%s with %d: %d samples, overrides %q, %d comparisons; want %d, %q, %d: %s", c.preset, c.samples, samples, got, comparisons, c.want, c.override, c.comparisons, c.why)
		}
	}
	p, n := testPlan(t), -1
	if err := p.Apply(Overrides{TestSamples: &n}); err == nil || !strings.Contains(err.Error(), "expected 0 or more") {
		t.Errorf("-1 samples: error %v", err)
	}
}

func TestApplyRecordsWhatIsNotThePreset(t *testing.T) {
	p := testPlan(t)
	if err := p.Apply(Overrides{Arm: "recipe", Steps: 80, MaxPromptLength: 160, Seeds: []int64{17, 18}}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"train_arms=recipe", "max_steps=80", "max_prompt_length=160"}; !slices.Equal(p.Overrides, want) {
		t.Errorf("overrides %q, want %q: the seeds given are the preset's own", p.Overrides, want)
	}
	if p.Training.MaxSteps != 80 || p.Training.MaxPromptLength != 160 || len(p.Runs()) != 2 {
		t.Errorf("steps %d, runs %v", p.Training.MaxSteps, p.Runs())
	}
	if err := p.Apply(Overrides{MaxPromptLength: -1}); err == nil {
		t.Error("prompts of -1 tokens are planned")
	}
	if err := p.Apply(Overrides{Arm: "plain"}); err == nil || !strings.Contains(err.Error(), `"recipe"`) {
		t.Errorf("an unknown arm: %v, expected an error that names the arms", err)
	}
}

func TestStreams(t *testing.T) {
	seen := map[uint64]string{}
	for _, s := range []Stream{LoRAInit, DataOrder, Sampling, Eval, EvalTest} {
		for seed := range int64(50) {
			v := s.Seed(seed)
			if v >= 1<<53 {
				t.Errorf("%s of %d is %d: a JSON reader that uses doubles would change it", s, seed, v)
			}
			if old, ok := seen[v]; ok {
				t.Errorf("%s of %d equals %s", s, seed, old)
			}
			seen[v] = fmt.Sprint(s, seed)
		}
	}
}

func TestOverlap(t *testing.T) {
	p := testPlan(t)
	if d := Overlap(p.Data.Train.Tasks, p.Data.Holdout.Tasks); len(d) != 0 {
		t.Errorf("found %v in disjoint splits", d)
	}
	if !OverlapControl(p.Data.Train.Tasks, p.Data.Holdout.Tasks) {
		t.Error("a planted copy was not found")
	}
	if OverlapControl(p.Data.Train.Tasks, nil) {
		t.Error("with nothing held out the check compares nothing, and says it works")
	}
}
