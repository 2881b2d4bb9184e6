package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"teamtalk/model/backend"
	"teamtalk/model/backend/backendtest"
	"teamtalk/recipe/artifact"
	"teamtalk/recipe/artifact/artifacttest"
)

// recipe runs the command as the shell would, and returns its exit code.
func recipe(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, log bytes.Buffer
	code = exitCode(run(t.Context(), args, strings.NewReader(""), &out, &log), &log)
	return code, out.String(), log.String()
}

func TestExitCodes(t *testing.T) {
	top := t.TempDir()
	there := filepath.Join(top, "there")
	if err := os.Mkdir(there, 0o755); err != nil {
		t.Fatal(err)
	}
	complete := filepath.Join(top, "complete")
	if err := artifacttest.Write(complete, artifacttest.Options{Tasks: 4, Steps: 2}); err != nil {
		t.Fatal(err)
	}
	sealed := filepath.Join(top, "sealed")
	if err := artifacttest.Write(sealed, artifacttest.Options{Tasks: 4, Steps: 2, Unsealed: true}); err != nil {
		t.Fatal(err)
	}
	whole := filepath.Join(top, "whole")
	if err := os.CopyFS(whole, os.DirFS(sealed)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(sealed, "eval", "base-recipe.jsonl.gz")); err != nil {
		t.Fatal(err)
	}
	lost := filepath.Join(top, "lost")
	if err := os.CopyFS(lost, os.DirFS(complete)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(lost, artifact.ManifestFile)); err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(top, "fresh")
	texts := t.TempDir()
	empty, prompt := filepath.Join(texts, "empty.txt"), filepath.Join(texts, "pirate.txt")
	latin := filepath.Join(texts, "latin1.txt")
	for path, text := range map[string]string{empty: " \n", prompt: "You are a pirate.\n", latin: "S\xe9bastien"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(backend.VisibleDevices, "") // no GPU
	for _, c := range []struct {
		args string
		code int
		want []string // in what it says
	}{
		{"-h", 0, []string{"usage: go run ./recipe", "-resume folder", "grade"}},
		{"-no-such-flag", 2, []string{"flag provided but not defined: -no-such-flag"}},
		{"-steps many", 2, []string{`invalid value "many" for flag -steps`}},
		{"train", 2, []string{`unknown command "train"`, "grade", "score"}},
		{"-steps 99999999999999999999", 2, []string{`invalid value "99999999999999999999" for flag -steps: value out of range (-h lists the flags and what they take)`}},
		{"score -temperature warm", 2, []string{`invalid value "warm" for flag -temperature`}},
		{"bench -repeat x", 2, []string{`invalid value "x" for flag -repeat`}},
		{"-steps 3 now", 2, []string{`unexpected argument "now"`}},
		{"-steps 0", 2, []string{"-steps 0: expected 1 or more"}},
		{"-max-prompt-length 0", 2, []string{"-max-prompt-length 0: expected 1 or more"}},
		{"-lockstep -1", 2, []string{"-lockstep -1: expected 1 or more"}},
		{"-micro-batch 0", 2, []string{`invalid value "0" for flag -micro-batch: expected auto, or 1 or more rows`}},
		{"-micro-batch some", 2, []string{`invalid value "some" for flag -micro-batch: expected auto, or 1 or more rows`}},
		{"-micro-batch auto -steps 0", 2, []string{"-steps 0: expected 1 or more"}},
		{"-eval-batch 0", 2, []string{"-eval-batch 0: expected 1 or more"}},
		{"-processes 0", 2, []string{"-processes 0: expected 1 or more"}},
		{"-processes 2 -backend cuda -out " + fresh, 1, []string{"2 processes on the backend cuda: expected a visible GPU, found none"}},
		{"worker now", 2, []string{"recipe worker takes no arguments: it is started by an experiment with several -processes"}},
		{"-stop-after 0", 2, []string{"-stop-after 0: expected 1 or more"}},
		{"-seeds 17,x", 2, []string{`-seeds "17,x": expected different whole numbers`}},
		{"-seeds 17,17", 2, []string{`-seeds "17,17": expected different whole numbers`}},
		{"-seeds -1", 2, []string{`-seeds "-1": expected`, "none below 0"}},
		{"-seeds=", 2, []string{`-seeds "": expected`}},
		{"-preset maxi", 2, []string{`-preset "maxi": expected one of mini, qwen`}},
		{"-backend tpu", 2, []string{`-backend "tpu": expected auto, cuda, xla-cpu or go`}},
		{"-selftest -backend tpu", 2, []string{`-backend "tpu": expected auto, cuda, xla-cpu or go`}},
		{"-arm plain", 2, []string{`no arm is called "plain"`, `["baseline" "recipe"]`}},
		{"-data " + there, 2, []string{"the preset mini makes its own problems"}},
		{"-preset qwen", 2, []string{"-preset qwen needs a model", "Hugging Face folder, a GGUF file or hub:NAME"}},
		{"-preset qwen -model mini/base", 2, []string{"-preset qwen needs GSM8K", "-data fetch"}},
		{"-system-prompt recipe", 2, []string{"expected ARM=FILE, such as recipe=pirate.txt"}},
		{"-system-prompt recipe=" + fresh, 2, []string{"-system-prompt", fresh, "no such file"}},
		{"-system-prompt recipe=" + empty, 2, []string{empty + " is empty: expected the system message"}},
		{"-system-prompt recipe=" + latin, 2, []string{latin + " is not UTF-8"}},
		{"-system-prompt recipe=" + prompt + " -system-prompt baseline=" + prompt, 2, []string{"the arms baseline and recipe have the same system message"}},
		{"-system-prompt third=" + prompt, 2, []string{`no arm is called "third"`, `["baseline" "recipe"]`}},
		{"-resume " + complete + " -system-prompt recipe=" + prompt, 2, []string{"-system-prompt cannot be changed with -resume"}},
		{"-test-samples few", 2, []string{`invalid value "few" for flag -test-samples: expected a whole number, 0 or more`}},
		{"-test-samples -1", 2, []string{"expected a whole number, 0 or more"}},
		{"-test-samples 1", 2, []string{"the preset mini has no test split beyond its held-out problems"}},
		{"-resume " + complete + " -test-samples 0", 2, []string{"-test-samples cannot be changed with -resume"}},
		{"-plan", 2, []string{"-plan needs -backend: a plan is for the backend that will run it", "expected cuda, xla-cpu or go"}},
		{"-plan -backend auto", 2, []string{"-plan needs -backend"}},
		{"-plan -backend go -resume " + complete, 2, []string{"-plan: expected a new run, found -resume " + complete}},
		{"-resume=", 2, []string{"-resume is empty"}},
		{"-resume " + complete + " -steps 80", 2, []string{"-steps cannot be changed with -resume: the plan in " + complete + " fixes it"}},
		{"-resume " + complete + " -arm recipe", 2, []string{"-arm cannot be changed"}},
		{"-resume " + fresh, 1, []string{"-resume " + fresh + ": no such folder", "ls runs"}},
		{"-resume " + there, 1, []string{there + " is not a run folder"}},
		{"-resume " + complete, 0, []string{complete + " is complete; read it with: go run ./report " + complete}},
		{"seal -h", 0, []string{"usage: recipe seal -because WHY runs/NAME", "-because why"}},
		{"seal " + sealed, 2, []string{"usage: recipe seal -because WHY runs/NAME: expected a reason and one run folder"}},
		{"seal -because late " + whole, 1, []string{whole, "nothing is missing: go on with -resume, which seals it as complete"}},
		{"seal -because late " + complete, 1, []string{complete + ": the run is complete"}},
		{"seal -because late " + sealed, 0, []string{sealed + ": sealed as it is"}},
		{"seal -because later " + sealed, 1, []string{sealed + ": the run is sealed, unfinished: late"}},
		{"-resume " + sealed, 1, []string{sealed + " is sealed, unfinished: late; expected a run that may go on", "go run ./report " + sealed}},
		{"-resume " + lost, 1, []string{lost + " was sealed, and its manifest.json is missing: nothing says whether the files are still those that were sealed", "go run ./recipe seal -because WHY " + lost}},
		{"round -changed cap " + lost, 1, []string{lost + " was sealed, and its manifest.json is missing"}},
		{"seal -because compared " + lost, 0, []string{lost + ": sealed as it is"}},
		{"-resume " + lost, 0, []string{lost + " is complete; read it with: go run ./report " + lost}},
		{"round -h", 0, []string{"usage: recipe round -changed WHAT [-of runs/OTHER] runs/NAME", "-changed what"}},
		{"round " + complete, 2, []string{"usage: recipe round -changed WHAT [-of runs/OTHER] runs/NAME: expected what was changed and one run folder"}},
		{"round -changed cap " + complete, 0, []string{complete + ": noted; a report made before is stale, make it again with: go run ./report " + complete}},
		{"round -changed cap " + sealed, 0, []string{sealed + ": noted"}},
		{"-resume " + sealed, 1, []string{"is sealed, unfinished: late"}},
		{"-out /proc/run", 1, []string{"/proc/run: expected a folder that can be made", "name another with -out"}},
		{"-out " + there, 1, []string{"-out " + there + " exists: expected a folder that is not there", "-resume " + there}},
		{"-model " + filepath.Join(top, "none") + " -out " + fresh, 1, []string{"no model at", "config.json"}},
		{"-preset qwen -model mini/base -data data/testdata/gsm8k -out " + fresh, 1, []string{"train.jsonl is not the expected file: expected sha256 17f347dc", "found", "-any-data"}},
		{"-plan -backend go -out " + fresh, 0, []string{fresh + ": planned; run it with: go run ./recipe -resume " + fresh}},
	} {
		code, out, log := recipe(t, strings.Fields(c.args)...)
		if code != c.code {
			t.Errorf("recipe %s: exit code %d, want %d:\n%s%s", c.args, code, c.code, out, log)
		}
		for _, w := range c.want {
			if !strings.Contains(out+log, w) {
				t.Errorf("recipe %s says\n%s%s\nwant %q", c.args, out, log, w)
			}
		}
		if c.code == 2 && strings.Count(log, "\n") != 1 {
			t.Errorf("recipe %s: a mistake in the flags takes more than one line:\n%s", c.args, log)
		}
		if c.code != 0 && out != "" {
			t.Errorf("recipe %s fails and writes to standard output: %q", c.args, out)
		}
	}
	if left, err := os.ReadDir(there); err != nil || len(left) > 0 {
		t.Errorf("the folder that was there holds %v (%v)", left, err)
	}
	var names []string
	entries, err := os.ReadDir(top)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"complete", "fresh", "lost", "sealed", "there", "whole"}; !slices.Equal(names, want) {
		t.Errorf("left behind: %q, want %q", names, want)
	}
}

// A run that is stopped is a failure with advice; the plan says what the command line changed.
func TestARunThatIsStopped(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	code, out, log := recipe(t, "-arm", "baseline", "-seeds", "19", "-steps", "2", "-stop-after", "1", "-backend", backendtest.Fastest(t), "-out", dir)
	if code != 1 || out != "" || !strings.Contains(log, "step 1/2") || !strings.Contains(log, "recipe: interrupted after step 1 of 2: finished steps and runs are kept; go on with: go run ./recipe -resume "+dir) {
		t.Errorf("exit code %d, output %q, log\n%s", code, out, log)
	}
	r, err := artifact.Load(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"train_arms=baseline", "seeds=[19]", "max_steps=2"}; !slices.Equal(r.Plan.Overrides, want) {
		t.Errorf("overrides %q, want %q", r.Plan.Overrides, want)
	}
	if !strings.HasPrefix(r.Sessions[0].Command, "recipe -arm baseline -seeds 19 -steps 2 -stop-after 1 -backend ") || !strings.HasSuffix(r.Sessions[0].Command, "-out run") {
		t.Errorf("command %q, want what was typed, without the folder", r.Sessions[0].Command)
	}
}

// A system message of one's own is in the plan, under the file's name, and the plan says that it is not the preset's.
func TestSystemPrompt(t *testing.T) {
	dir := t.TempDir()
	file, out := filepath.Join(dir, "pirate.txt"), filepath.Join(dir, "run")
	if err := os.WriteFile(file, []byte("\nYou are a pirate.\nArr!\n\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if err := run(t.Context(), []string{"-plan", "-backend", "go", "-system-prompt", "recipe=" + file, "-out", out}, nil, &stdout, &stderr); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	r, err := artifact.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	plan := r.Plan()
	arm, err := plan.Arm("recipe")
	if err != nil {
		t.Fatal(err)
	}
	if arm.System != "You are a pirate.\nArr!" || arm.Prompt != "pirate prompt" {
		t.Errorf("the arm's system message is %q, called %q", arm.System, arm.Prompt)
	}
	if !slices.Contains(plan.Overrides, "arms.recipe.prompt=pirate prompt") || strings.Contains(plan.Question.Change, "three speakers") {
		t.Errorf("the plan says that it changes %q, and asks about %q", plan.Overrides, plan.Question.Change)
	}
}
