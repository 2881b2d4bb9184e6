package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"teamtalk/model/checkpoint"
	"teamtalk/recipe/artifact"
	"teamtalk/recipe/data"
	"teamtalk/recipe/experiment"
	"teamtalk/recipe/grpo"
)

// config reads a training run's config.json as any program would.
func config(t *testing.T, dir, run string) experiment.RunConfig {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, run, artifact.ConfigFile))
	if err != nil {
		t.Fatal(err)
	}
	var c experiment.RunConfig
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestArmsDifferInThePromptAndInNothingElse(t *testing.T) {
	dir := neverStopped(t)
	for _, c := range []struct {
		a, b string
		want []string
		why  string
	}{
		{"baseline-17", "recipe-17", []string{"system_prompt"}, "two arms at one seed"},
		{"baseline-18", "recipe-18", []string{"system_prompt"}, "at the other"},
		{"recipe-17", "recipe-18", []string{"seed", "streams.data_order", "streams.eval", "streams.lora_init", "streams.sampling"}, "two seeds of one arm: the comparison can see a difference"},
	} {
		ds, err := experiment.ArmDiff(config(t, dir, c.a), config(t, dir, c.b))
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, d := range ds {
			paths = append(paths, d.Path)
		}
		if !slices.Equal(paths, c.want) {
			t.Errorf("%s and %s differ in %q, want %q: %s", c.a, c.b, paths, c.want, c.why)
		}
	}
}

// The plan, with the hashes of both splits, is on disk before there is anything to train with, and every run carries its hash.
func TestTheHoldoutIsFrozenBeforeTraining(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	l, err := Open(t.Context(), small(t, Options{Out: dir}))
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	before := record(t, dir)
	if len(before.Runs) > 0 || before.Manifest != nil {
		t.Fatal("opened, and there are runs already")
	}
	set := smallSet()
	if got := before.Plan.Data.Holdout; got.SHA256 != experiment.SplitHash(data.Tasks(set.Holdout, true)) || len(got.Tasks) != smallHoldout {
		t.Errorf("the plan holds out %d tasks of hash %.12s", len(got.Tasks), got.SHA256)
	}
	after := record(t, neverStopped(t))
	if after.PlanSHA256 != before.PlanSHA256 {
		t.Errorf("the plan of a finished run is %.12s, of one that was only opened %.12s", after.PlanSHA256, before.PlanSHA256)
	}
	for _, r := range after.Runs {
		if r.Config.PlanSHA256 != before.PlanSHA256 || r.Config.Settings.Holdout != before.Plan.Data.Holdout.SHA256 {
			t.Errorf("%s was trained under plan %.12s with holdout %.12s", r.Config.Run.Name, r.Config.PlanSHA256, r.Config.Settings.Holdout)
		}
	}
	held := map[string]bool{}
	for _, task := range after.Plan.Data.Holdout.Tasks {
		held[task.SHA256] = true
	}
	for _, r := range after.Runs {
		for _, x := range r.Rollouts {
			if held[x.TaskSHA256] {
				t.Fatalf("%s was trained on a held-out task", r.Config.Run.Name)
			}
		}
	}
}

func TestALeakedProblemIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	set := smallSet()
	leaked := data.NewProblem(set.Train[0].Split, len(set.Train), strings.ToUpper(set.Holdout[2].Question), set.Holdout[2].Gold)
	set.Train = append(slices.Clone(set.Train), leaked)
	dir := filepath.Join(t.TempDir(), "run")
	o := small(t, Options{Out: dir})
	o.Problems = set
	_, err := Open(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "1 held-out tasks are also train tasks, first train 24 = holdout 2") {
		t.Errorf("error %v, want both tasks named", err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the run's folder is there: %v", err)
	}
}

// Every number that training went by follows from the stored replies and the plan's answers.
func TestTheRewardIsTheVerdictAndNothingElse(t *testing.T) {
	r := record(t, neverStopped(t))
	gold := map[string]string{}
	for _, task := range r.Plan.Data.Train.Tasks {
		gold[task.SHA256] = task.Gold
	}
	talkedInVain, rightAlone := 0, 0
	for _, run := range r.Runs {
		group := run.Config.Settings.Training.NumGenerations
		perStep := len(run.Rollouts) / len(run.Steps)
		rewards := map[int]float64{}
		for at := 0; at < len(run.Rollouts); at += group {
			of := run.Rollouts[at : at+group]
			mean := 0.0
			var reward []float64
			for _, x := range of {
				if x.TaskSHA256 != of[0].TaskSHA256 || x.Prompt != of[0].Prompt || x.Step != of[0].Step {
					t.Fatalf("%s: replies %d to %d are not one group", run.Config.Run.Name, at, at+group)
				}
				verdict, talk := artifact.Grade(x.Text, gold[x.TaskSHA256])
				if verdict.Reward == nil || x.Verdict.Reward == nil || *verdict.Reward != *x.Verdict.Reward || talk != x.Talk {
					t.Fatalf("%s, step %d: %q is recorded with another grade than it has", run.Config.Run.Name, x.Step, x.Text)
				}
				reward = append(reward, float64(*verdict.Reward))
				mean += float64(*verdict.Reward) / float64(group)
				rewards[x.Step] += float64(*verdict.Reward) / float64(perStep)
				switch right := *verdict.Reward == 1; {
				case talk.Talks && !right:
					talkedInVain++
				case right && !talk.Talks:
					rightAlone++
				}
			}
			for i, x := range of {
				if want := reward[i] - mean; math.Abs(x.Advantage-want) > 1e-12 {
					t.Errorf("%s, step %d: advantage %g, want reward minus group mean, %g", run.Config.Run.Name, x.Step, x.Advantage, want)
				}
			}
		}
		for _, s := range run.Steps {
			if got := s.Value("reward"); math.Abs(got-rewards[s.Step]) > 1e-12 {
				t.Errorf("%s, step %d: reward %g, want %g, the mean verdict", run.Config.Run.Name, s.Step, got, rewards[s.Step])
			}
		}
	}
	if talkedInVain == 0 || rightAlone == 0 {
		t.Errorf("%d wrong replies that talk, %d right ones that do not: nothing here would show a reward for talk", talkedInVain, rightAlone)
	}
}

func TestSamplerAndTrainerAreHeldAgainstEachOther(t *testing.T) {
	r := record(t, neverStopped(t))
	for _, run := range r.Runs {
		name := run.Config.Run.Name
		for _, s := range run.Steps {
			sum, n, trained := 0.0, 0, 0
			mean, most := s.Value("sampling/sampling_logp_difference/mean"), s.Value("sampling/sampling_logp_difference/max")
			for _, x := range run.Rollouts {
				switch {
				case x.Step != s.Step:
				case x.Advantage == 0:
					if x.SumLogpTrainer != nil {
						t.Errorf("%s, step %d: a reply without advantage was trained on", name, s.Step)
					}
				default:
					trained++
					if x.SumLogpTrainer == nil || *x.SumLogpTrainer >= 0 {
						t.Fatalf("%s, step %d: a reply that was trained on has no log-probability below 0 from the trainer", name, s.Step)
					}
					sum += math.Abs(x.SumLogpSampler - *x.SumLogpTrainer)
					n += x.Tokens
				}
			}
			if trained == 0 {
				if !math.IsNaN(mean) || s.Value("loss") != 0 {
					t.Errorf("%s, step %d: nothing was trained on, difference %g, loss %g", name, s.Step, mean, s.Value("loss"))
				}
				continue
			}
			// A sum of differences is at least the difference of the sums.
			if bound := run.Config.Settings.Training.MaxLogpDifference; !(mean <= bound && mean <= most) || sum/float64(n) > mean+1e-9 {
				t.Errorf("%s, step %d: mean difference %g, largest %g, from sums at least %g; bound %g", name, s.Step, mean, most, sum/float64(n), bound)
			}
		}
	}
}

func TestAnotherSeedGivesOtherReplies(t *testing.T) {
	r := record(t, neverStopped(t))
	text := map[string]string{}
	for _, run := range r.Runs {
		for _, x := range run.Rollouts {
			text[run.Config.Run.Name] += x.TaskSHA256 + x.Text
		}
	}
	for _, e := range r.Evals {
		for _, x := range e.Replies {
			text[e.Name()] += x.Text
		}
	}
	for _, pair := range [][2]string{{"baseline-17", "baseline-18"}, {"recipe-17", "recipe-18"}, {"recipe-17-recipe", "recipe-18-recipe"}, {"base-baseline", "baseline-17-baseline"}} {
		if a, b := text[pair[0]], text[pair[1]]; a == b || a == "" {
			t.Errorf("%s and %s have the same replies", pair[0], pair[1])
		}
	}
}

// The adapter is PEFT's to the letter: its file names, its keys, its configuration. Read again it is the same numbers.
func TestTheFinalAdapterIsPEFTs(t *testing.T) {
	dir := neverStopped(t)
	r := record(t, dir)
	c := checkpoint.Config{}
	base, err := Open(t.Context(), small(t, Options{Out: filepath.Join(t.TempDir(), "run")}))
	if err != nil {
		t.Fatal(err)
	}
	defer base.Close()
	c = base.checkpoint.Config
	for _, run := range r.Plan.Runs() {
		final := filepath.Join(dir, run.Name, artifact.FinalDir)
		entries, err := os.ReadDir(final)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) != 2 || entries[0].Name() != "adapter_config.json" || entries[1].Name() != "adapter_model.safetensors" {
			t.Errorf("%s holds %v", final, entries)
		}
		a, err := checkpoint.ReadAdapter(final, c)
		if err != nil {
			t.Fatal(err)
		}
		if l := r.Plan.Training.LoRA; a.R != l.R || a.Alpha != l.LoraAlpha || a.BaseModel != r.Plan.Model.Name || len(a.TargetModules) != 7 {
			t.Errorf("%s: r %d, alpha %g, base %q, targets %q", run.Name, a.R, a.Alpha, a.BaseModel, a.TargetModules)
		}
		ts, err := checkpoint.ReadTensors(filepath.Join(final, "adapter_model.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		if len(ts) != c.NumHiddenLayers*7*2 {
			t.Errorf("%s: %d tensors, want A and B of seven linears in %d layers", run.Name, len(ts), c.NumHiddenLayers)
		}
		for name, shape := range map[string][]int{
			"base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight": {16, 128},
			"base_model.model.model.layers.3.mlp.down_proj.lora_B.weight":    {128, 16},
		} {
			if got := ts[name]; !slices.Equal(got.Shape, shape) {
				t.Errorf("%s: %s has shape %v, want %v", run.Name, name, got.Shape, shape)
			}
		}
		_, values, err := grpo.ReadAdapter(final, c)
		if err != nil {
			t.Fatal(err)
		}
		moved := 0
		for name, v := range values {
			if !slices.Equal(v, ts[name].Data) {
				t.Errorf("%s: %s is read as other numbers than the file holds", run.Name, name)
			}
			if strings.Contains(name, "lora_B") && slices.ContainsFunc(v, func(x float32) bool { return x != 0 }) {
				moved++
			}
		}
		if moved != c.NumHiddenLayers*7 {
			t.Errorf("%s: %d of the B matrices are no longer zero", run.Name, moved)
		}
		again := filepath.Join(t.TempDir(), "again")
		if err := os.Mkdir(again, 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := checkpoint.WriteAdapter(again, c, a); err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			x, _ := os.ReadFile(filepath.Join(final, e.Name()))
			if y, err := os.ReadFile(filepath.Join(again, e.Name())); err != nil || !bytes.Equal(x, y) {
				t.Errorf("%s: %s read and written again differs (%v)", run.Name, e.Name(), err)
			}
		}
	}
}

// The checks that only this side can make are in the record, passed, and each saw the fault that was planted.
func TestChecksAreRecordedWithTheirControls(t *testing.T) {
	r := record(t, neverStopped(t))
	var ids []string
	for _, c := range r.Checks {
		ids = append(ids, c.ID)
		if c.Status != artifact.Pass || !c.Control.Caught || c.Control.Planted == "" || c.Value == "" {
			t.Errorf("%+v, want a pass whose control was caught", c)
		}
	}
	if want := []string{"contamination", "determinism"}; !slices.Equal(ids, want) {
		t.Errorf("checks %q, want %q", ids, want)
	}
}
