package trial

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"teamtalk/model/backend"
	"teamtalk/model/backend/backendtest"
	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
	"teamtalk/recipe/grpo"
	"teamtalk/recipe/lab"
)

// tiny is an experiment of two steps with replies of eight tokens.
func tiny(t *testing.T, change func(*experiment.Plan)) lab.Options {
	return lab.Options{Backend: backend.Kind(backendtest.Fastest(t)), Steps: 2, Seeds: []int64{17}, Arm: "baseline", Change: func(p *experiment.Plan) error {
		p.Training.PromptsPerStep, p.Training.NumGenerations, p.Training.SaveSteps = 2, 2, 1
		p.Training.MaxCompletionLength, p.Evaluation.MaxCompletionLength = 8, 8
		p.Evaluation.Samples, p.Evaluation.Ks = 1, []int{1}
		if change != nil {
			change(p)
		}
		return nil
	}}
}

// A plan is resolved without leaving anything behind, and names what was changed.
func TestPlan(t *testing.T) {
	before, _ := filepath.Glob(filepath.Join(os.TempDir(), "teamtalk-plan-*"))
	p, err := Plan(tiny(t, func(p *experiment.Plan) { p.Arms[1].System = "Talk." }))
	if err != nil {
		t.Fatal(err)
	}
	if p.Arms[1].System != "Talk." || len(p.Data.Holdout.Tasks) == 0 || len(p.Model.Files) == 0 {
		t.Errorf("the plan is not resolved: %q, %d held-out tasks, %d files of the model", p.Arms[1].System, len(p.Data.Holdout.Tasks), len(p.Model.Files))
	}
	after, _ := filepath.Glob(filepath.Join(os.TempDir(), "teamtalk-plan-*"))
	if len(after) > len(before) {
		t.Errorf("left behind: %q", after)
	}
	if _, err := Plan(tiny(t, func(p *experiment.Plan) { p.Seeds = nil })); err == nil {
		t.Error("a plan that cannot be run is resolved")
	}
}

// A stopped run goes on in its folder, a finished one is found, another plan gets another folder, and the name points to the last.
func TestRun(t *testing.T) {
	backendtest.Need(t, "xla-cpu") // minutes on the Go backend, and the folders are the same
	name := filepath.Join(t.TempDir(), "deeper", "mine")
	stop := tiny(t, nil)
	stop.StopAfter = 1
	if err := Run(name, stop); !errors.Is(err, grpo.ErrInterrupted) || !strings.Contains(err.Error(), "run this cell again") {
		t.Fatalf("found %v, want an interruption that says how to go on", err)
	}
	if _, err := os.Lstat(name); err == nil {
		t.Error("the name points to a run that is not finished")
	}
	if err := Run(name, tiny(t, nil)); err != nil {
		t.Fatal(err)
	}
	first, err := os.Readlink(name)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := artifact.Load(os.DirFS(name))
	if err != nil {
		t.Fatal(err)
	}
	if first != "mine-"+rec.PlanSHA256[:8] || len(rec.Sessions) != 2 || rec.Sessions[0].Command != "notebook mine" {
		t.Errorf("%s has %d sessions, the first by %q: want the plan's hash in its name and a session before and after the stop", first, len(rec.Sessions), rec.Sessions[0].Command)
	}

	// Found, not run again: the folder of another plan, made to look finished.
	other := tiny(t, func(p *experiment.Plan) { p.Training.LearningRate /= 2 })
	plan, err := Plan(other)
	if err != nil {
		t.Fatal(err)
	}
	hash, err := plan.Hash()
	if err != nil {
		t.Fatal(err)
	}
	second := fmt.Sprintf("mine-%.8s", hash)
	if second == first {
		t.Fatal("another plan has the same folder")
	}
	manifest := filepath.Join(filepath.Dir(name), second, artifact.ManifestFile)
	if err := os.MkdirAll(filepath.Dir(manifest), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(manifest, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Run(name, other); err != nil {
		t.Fatal(err)
	}
	if to, _ := os.Readlink(name); to != second {
		t.Errorf("the name points to %s, want %s", to, second)
	}
	if entries, _ := os.ReadDir(filepath.Dir(manifest)); len(entries) != 1 {
		t.Errorf("a finished run was written to: %d files", len(entries))
	}
}

// A run that somebody put under the name itself is not replaced by a link.
func TestInTheWay(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "mine")
	if err := os.Mkdir(name, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := point(name, name+"-0"); err == nil || !strings.Contains(err.Error(), "in the way") {
		t.Errorf("found %v, want a refusal", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}
