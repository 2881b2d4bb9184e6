// Package artifacttest makes run folders by simulation, for tests and benchmarks of what reads them. No model is involved: replies are
// drawn from templates with probabilities that a seed decides. Every folder says "synthetic" where the model and the device stand, and the report
// puts that above its title; none is ever a result.
package artifacttest

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
)

// Options says what to simulate. The zero value of a field takes the default in its comment.
type Options struct {
	Preset    string   // "mini"
	Seed      uint64   // of the simulation, 1
	Seeds     []int64  // training runs, the preset's
	Arm       string   // train only this arm
	Tasks     int      // held out, 120
	TestTasks int      // in the whole test split, which begins with those held out and is evaluated on once; 0 leaves that evaluation out
	Steps     int      // 40
	Effect    float64  // true advantage of the recipe in logits, 0
	RunSD     float64  // spread of training runs in logits, 0.1
	Hostile   []string // texts that replace the first replies of every evaluation
	Unsealed  bool     // stop before the manifest is written
	Same      bool     // every reply is right: nothing varies
	EditPlan  func(*experiment.Plan)
	EditCheck func([]artifact.Check) []artifact.Check
}

// newWorld is what a folder is made from: the options with their defaults, and the seeded draws.
func newWorld(o Options) *world {
	def(&o.Preset, "mini")
	def(&o.Seed, 1)
	def(&o.Tasks, 120)
	def(&o.Steps, 40)
	def(&o.RunSD, 0.1)
	return &world{Options: o, rng: rand.New(rand.NewPCG(o.Seed, 0))}
}

// Write makes the folder dir, which must not exist.
func Write(dir string, o Options) error {
	w := newWorld(o)
	o = w.Options
	plan, err := w.plan()
	if err != nil {
		return err
	}
	run, err := artifact.Create(dir, plan, environment(o))
	if err != nil {
		return err
	}
	for _, r := range plan.Runs() {
		if err := w.train(run, r); err != nil {
			return err
		}
	}
	for _, e := range plan.Evaluations() {
		if err := run.WriteEval(e, w.evaluate(e)); err != nil {
			return err
		}
		if err := run.AppendPhase(artifact.Phase{Name: phase(e), Runs: []string{e.Model}, Seconds: 2.5, DeviceSeconds: 2.5, PeakHostBytes: 300 << 20}); err != nil {
			return err
		}
	}
	checks := []artifact.Check{
		{ID: "contamination", Title: "No run of 13 words is shared between train and holdout", Source: "lambert2025evaluation", Status: artifact.Pass,
			Value:   fmt.Sprintf("0 shared, %d held-out texts compared with %d train texts", len(plan.Data.Holdout.Tasks), len(plan.Data.Train.Tasks)),
			Control: artifact.Control{Planted: "one held-out problem in upper case among the train problems", Caught: true}},
	}
	if plan.Evaluation.Test != nil {
		checks = append(checks, artifact.Check{ID: "contamination-test", Title: "No run of 13 words is shared between train and the test split", Source: "lambert2025evaluation", Status: artifact.Pass,
			Value:   fmt.Sprintf("0 shared, %d test texts compared with %d train texts", len(plan.Data.Test.Tasks), len(plan.Data.Train.Tasks)),
			Control: artifact.Control{Planted: "one problem of the test split in upper case among the train problems", Caught: true}})
	}
	checks = append(checks, artifact.Check{
		ID: "determinism", Title: "The same seed gives the same bytes", Status: artifact.NotRun, Value: "no second run was made",
	})
	if o.EditCheck != nil {
		checks = o.EditCheck(checks)
	}
	if err := run.WriteChecks(checks); err != nil {
		return err
	}
	first := 0.61
	for _, r := range []artifact.Round{
		{Round: 1, Changed: "reply cap 48 tokens: the team prompt was cut off in a third of its replies", Value: &first, Metric: "pass@1 recipe"},
		{Round: 2, Changed: "reply cap 96 tokens, both arms", Metric: "pass@1 recipe"},
	} {
		if err := run.AppendRound(r); err != nil {
			return err
		}
	}
	if o.Unsealed {
		return nil
	}
	return run.Seal()
}

func phase(e experiment.EvalRun) string {
	if e.Tasks == experiment.TasksTest {
		return "eval-test"
	}
	return "eval"
}

func def[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

func environment(o Options) artifact.Env {
	return artifact.Env{
		Started: fmt.Sprintf("2030-01-%02dT12:00:00Z", 1+o.Seed%28), Command: "recipe -preset " + o.Preset,
		Commit: "0123456789abcdef0123456789abcdef01234567", Go: "go1.26.8", Platform: "linux/amd64", CPUs: 2,
		Modules: []artifact.Module{{Path: "github.com/gomlx/gomlx", Version: "v0.26.0"}},
		Backend: "synthetic", Device: "synthetic (simulated, no model)", Devices: 1,
	}
}

// world is the simulation's hidden truth.
type world struct {
	Options
	rng        *rand.Rand
	p          experiment.Plan
	difficulty map[string]float64 // by task hash, logits
	problems   map[string]problem
	runEffect  map[string]float64
	talkEnd    map[string]float64
	armTask    map[string]float64
}

func (w *world) plan() (experiment.Plan, error) {
	p, err := experiment.Preset(w.Preset)
	if err != nil {
		return p, err
	}
	if err := p.Apply(experiment.Overrides{Seeds: w.Seeds, Steps: w.Steps, Arm: w.Arm}); err != nil {
		return p, err
	}
	if w.TestTasks > 0 {
		one := 1
		if err := p.Apply(experiment.Overrides{TestSamples: &one}); err != nil {
			return p, err
		}
	} else {
		p.Evaluation.Test = nil
		p.Secondary = slices.DeleteFunc(p.Secondary, func(c experiment.Comparison) bool { return c.Tasks == experiment.TasksTest })
	}
	p.Model = experiment.Model{Name: "synthetic-" + w.Preset, Source: "synthetic", DType: "float32", ChatTemplate: "chatml", Parameters: 854144,
		Files:  []experiment.File{{Name: "weights.bin", Bytes: 1, SHA256: fmt.Sprintf("%064x", 1)}},
		Config: experiment.ModelConfig{Architecture: "Qwen2ForCausalLM", HiddenSize: 128, NumHiddenLayers: 4}}
	w.difficulty, w.problems, w.armTask = map[string]float64{}, map[string]problem{}, map[string]float64{}
	seen := map[string]bool{}
	draw := func(n int, ts ...experiment.Task) []experiment.Task {
		for len(ts) < n {
			q := newProblem(w.rng)
			if seen[q.text] {
				continue
			}
			seen[q.text] = true
			t := experiment.NewTask(len(ts), q.text, fmt.Sprint(q.answer()), w.Preset == "mini")
			w.difficulty[t.SHA256], w.problems[t.SHA256] = w.rng.NormFloat64()*1.5, q
			w.armTask[t.SHA256] = w.rng.NormFloat64() * 0.3
			ts = append(ts, t)
		}
		return ts
	}
	p.Data = experiment.Data{Source: map[string]string{"mini": "mini", "qwen": "gsm8k"}[w.Preset], Draw: "simulated, in order",
		Train: experiment.NewSplit("train", draw(512)), Holdout: experiment.NewSplit("test", draw(w.Tasks))}
	if w.TestTasks > 0 {
		// From numbers of its own, so that everything else is what it is without it.
		rng := w.rng
		w.rng = rand.New(rand.NewPCG(w.Seed, 1))
		test := experiment.NewSplit("test", draw(w.TestTasks, slices.Clone(p.Data.Holdout.Tasks)...))
		p.Data.Test = &test
		w.rng = rng
	}
	if w.EditPlan != nil {
		w.EditPlan(&p)
	}
	w.p = p
	w.runEffect, w.talkEnd = map[string]float64{}, map[string]float64{}
	for _, r := range p.Runs() {
		w.runEffect[r.Name] = w.rng.NormFloat64() * w.RunSD
		w.talkEnd[r.Name] = max(0.02, 0.3+0.1*w.rng.NormFloat64())
	}
	return p, nil
}

// skill is the chance of a right reply; progress 0 is the base model, 1 a trained one.
func (w *world) skill(sha, arm, run string, progress float64) float64 {
	if w.Same {
		return 1
	}
	x := 0.4 + w.difficulty[sha]
	if arm == "recipe" {
		x += -0.4*(1-progress) + progress*w.Effect + w.armTask[sha]
	}
	x += progress * (1.2 + w.runEffect[run])
	return 1 / (1 + math.Exp(-x))
}

func (w *world) talkRate(arm, run string, progress float64) float64 {
	if arm != "recipe" {
		return 0.01
	}
	return 0.8 + progress*(w.talkEnd[run]-0.8)
}

func (w *world) reply(t experiment.Task, sample int, arm, run string, progress float64) artifact.Sampled {
	q := w.problems[t.SHA256]
	right := w.rng.Float64() < w.skill(t.SHA256, arm, run, progress)
	talk := w.rng.Float64() < w.talkRate(arm, run, progress)
	text := q.reply(w.rng, right, talk, w.Preset == "qwen")
	s := artifact.Sampled{Task: t.Index, TaskSHA256: t.SHA256, Sample: sample, Text: text, Tokens: 2 + len(text)/3, FinishReason: artifact.Stop}
	if cap := w.p.Training.MaxCompletionLength; s.Tokens > cap {
		s.Tokens = cap
	}
	if !w.Same && w.rng.Float64() < 0.03 { // cut off before the answer
		s.Text, s.Tokens, s.FinishReason = text[:len(text)/2], w.p.Training.MaxCompletionLength, artifact.Length
	}
	s.Verdict, s.Talk = artifact.Grade(s.Text, t.Gold)
	return s
}

func (w *world) evaluate(e experiment.EvalRun) []artifact.Reply {
	progress := 1.0
	if e.Model == experiment.Base {
		progress = 0
	}
	var rs []artifact.Reply
	tasks, samples := w.p.TasksOf(e), w.p.SamplesOf(e)
	for _, t := range tasks {
		for s := range samples {
			rs = append(rs, artifact.Reply{Sampled: w.reply(t, s, e.Prompt, e.Model, progress)})
		}
	}
	for i, text := range w.Hostile {
		if i < len(rs) {
			rs[i].Text = artifact.Text(text)
			rs[i].Verdict, rs[i].Talk = artifact.Grade(rs[i].Text, tasks[i/samples].Gold)
		}
	}
	return rs
}

func (w *world) train(run *artifact.Run, r experiment.Run) error {
	cfg, err := w.p.RunConfig(r.Arm, r.Seed, experiment.Runtime{Backend: "synthetic", Device: "synthetic", MicroBatch: 8, RunsLockstep: 1, Deterministic: true})
	if err != nil {
		return err
	}
	tr, err := run.OpenTraining(cfg)
	if err != nil {
		return err
	}
	defer tr.Close()
	order := rand.New(rand.NewPCG(cfg.Settings.Streams.DataOrder, 0)).Perm(len(w.p.Data.Train.Tasks))
	t := w.p.Training
	for step := 1; step <= t.MaxSteps; step++ {
		var rs []artifact.Rollout
		for i := range t.PromptsPerStep {
			task := w.p.Data.Train.Tasks[order[((step-1)*t.PromptsPerStep+i)%len(order)]]
			group := make([]artifact.Rollout, t.NumGenerations)
			mean := 0.0
			for g := range group {
				progress := math.Min(1, float64(step)/(0.7*float64(t.MaxSteps)))
				group[g] = artifact.Rollout{Prompt: i, PromptTokens: 52, Sampled: w.reply(task, g, r.Arm, r.Name, progress)}
				mean += float64(*group[g].Verdict.Reward) / float64(len(group))
			}
			for g := range group {
				group[g].Advantage = float64(*group[g].Verdict.Reward) - mean
				group[g].SumLogpSampler = -0.3 * float64(group[g].Tokens)
				group[g].SumLogpTrainer = &group[g].SumLogpSampler
			}
			rs = append(rs, group...)
		}
		if err := tr.AppendCompletions(step, rs); err != nil {
			return err
		}
		if err := tr.AppendMetrics(step, w.metrics(step, rs)); err != nil {
			return err
		}
	}
	if err := tr.Final(func(dir string) error {
		b, _ := json.Marshal(map[string]int{"r": t.LoRA.R})
		return os.WriteFile(filepath.Join(dir, "adapter_config.json"), b, 0o644)
	}); err != nil {
		return err
	}
	return run.AppendPhase(artifact.Phase{Name: "train", Runs: []string{r.Name}, Seconds: 30.25, DeviceSeconds: 30.25, Tokens: 12345, PeakHostBytes: 500 << 20})
}

// metrics are TRL's, computed from the step's rollouts.
func (w *world) metrics(step int, rs []artifact.Rollout) map[string]float64 {
	t := w.p.Training
	m := map[string]float64{"epoch": float64(step*t.PromptsPerStep) / 512, "loss": 0, "grad_norm": 0.1 + 0.02*w.rng.Float64(),
		"learning_rate": t.LearningRate * float64(t.MaxSteps-step+1) / float64(t.MaxSteps), "step_time": 0.7, "entropy": 0.4 * (1 - 0.5*float64(step)/float64(t.MaxSteps)),
		"sampling/sampling_logp_difference/mean": 1e-6, "sampling/sampling_logp_difference/max": 1e-5, "completions/min_length": math.Inf(1),
		"completions/clipped_ratio": 0, "frac_reward_zero_std": 0, "reward": 0}
	n := float64(len(rs))
	for g := 0; g < len(rs); g += t.NumGenerations {
		sum := 0
		for _, r := range rs[g : g+t.NumGenerations] {
			sum += *r.Verdict.Reward
			m["reward"] += float64(*r.Verdict.Reward) / n
			m["completions/mean_length"] += float64(r.Tokens) / n
			m["completions/max_length"] = max(m["completions/max_length"], float64(r.Tokens))
			m["completions/min_length"] = min(m["completions/min_length"], float64(r.Tokens))
			if r.Truncated() {
				m["completions/clipped_ratio"] += 1 / n
			}
		}
		if sum == 0 || sum == t.NumGenerations {
			m["frac_reward_zero_std"] += float64(t.NumGenerations) / n
		}
	}
	m["rewards/math_equal/mean"] = m["reward"]
	return m
}

// Questions are the lines of a data set that holds the questions of the run that the options make.
func Questions(o Options) []string {
	w := newWorld(o)
	o = w.Options
	p, err := w.plan()
	if err != nil {
		panic(err) // Write returns it
	}
	var lines []string
	for _, t := range p.Data.Holdout.Tasks {
		line, _ := json.Marshal(map[string]string{"question": w.problems[t.SHA256].text, "answer": "#### " + t.Gold}) // strings have a JSON form
		lines = append(lines, string(line))
	}
	return lines
}
