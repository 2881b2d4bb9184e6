package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"teamtalk/model/backend"
	"teamtalk/recipe/artifact"
	"teamtalk/recipe/data"
	"teamtalk/recipe/experiment"
)

const (
	baseFolder = "../mini/base"
	twoOrThree = "../data/testdata/gsm8k" // files in GSM8K's form that are not GSM8K's
)

// planned makes a run of which only the plan is written.
func planned(t *testing.T, o Options) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	o = small(t, o)
	o.Out, o.PlanOnly = dir, true
	l, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	return dir
}

// otherModel copies the mini model's folder with one bit of its last weight turned.
func otherModel(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "base")
	if err := os.CopyFS(dir, os.DirFS(baseFolder)); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "model.safetensors")
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)-2] ^= 1
	if err := os.WriteFile(name, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	top := t.TempDir()
	file := filepath.Join(top, "file")
	if err := os.WriteFile(file, []byte("no folder"), 0o644); err != nil {
		t.Fatal(err)
	}
	there := filepath.Join(top, "there")
	if err := os.Mkdir(there, 0o755); err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(top, "fresh")
	for _, c := range []struct {
		name string
		o    Options
		want []string
	}{
		{"no such preset", Options{Preset: "maxi"}, []string{`unknown preset "maxi"`, "mini", "qwen"}},
		{"a folder in the way", Options{Out: there}, []string{there + " exists already; nothing is overwritten", "-resume " + there}},
		{"a file where a folder must be", Options{Out: filepath.Join(file, "run")}, []string{filepath.Join(file, "run") + ": expected a folder that can be made, found that", "not a directory; name another with -out"}},
		{"a folder below a file", Options{Out: filepath.Join(file, "runs", "run")}, []string{"expected a folder that can be made", "not a directory; name another with -out"}},
		{"a folder that no system takes", Options{Out: filepath.Join(top, strings.Repeat("n", 300))}, []string{"expected a folder that can be made", "file name too long; name another with -out"}},
		{"a folder where none can be made", Options{Out: "/proc/run"}, []string{"/proc/run: expected a folder that can be made, found that /", "name another with -out"}},
		{"no model", Options{Preset: "qwen", Out: fresh}, []string{"preset qwen needs a model", "-model", "Hugging Face folder, a GGUF file or hub:NAME"}},
		{"a model that is not there", Options{Model: filepath.Join(top, "none"), Out: fresh}, []string{"no model at " + filepath.Join(top, "none"), "config.json"}},
		{"a folder that holds no model", Options{Model: there, Out: fresh}, []string{there, "config.json"}},
		{"a file that is no model", Options{Model: file, Out: fresh}, []string{file}},
		{"no data", Options{Preset: "qwen", Model: baseFolder, Out: fresh}, []string{"needs GSM8K", "-data", "train.jsonl and test.jsonl", "fetch"}},
		{"data that is not there", Options{Preset: "qwen", Model: baseFolder, Data: there, Out: fresh}, []string{"no data file " + filepath.Join(there, "train.jsonl"), "expected a folder with"}},
		{"other data", Options{Preset: "qwen", Model: baseFolder, Data: twoOrThree, Out: fresh},
			[]string{"train.jsonl is not the expected file: expected sha256 " + data.PinnedGSM8K.Train + ", found ", "-any-data"}},
		{"other data, accepted, but too little", Options{Preset: "qwen", Model: baseFolder, Data: twoOrThree, AnyData: true, Out: fresh}, []string{"the split's train list names row", "the data has 3 rows"}},
		{"a plan that contradicts itself", Options{Out: fresh, Change: func(p *experiment.Plan) error { p.Evaluation.Ks = []int{8}; return nil }}, []string{"pass@8 needs 8 samples per task, the plan has 4"}},
		{"prompts that are too long", Options{Out: fresh, Change: func(p *experiment.Plan) error { p.Training.MaxPromptLength = 3; return nil }},
			[]string{"max_prompt_length is 3", "expected a shorter system message, or -max-prompt-length "}},
		{"a change that fails", Options{Out: fresh, Change: func(*experiment.Plan) error { return errors.New("no such arm") }}, []string{"no such arm"}},
		{"nothing held out", Options{Out: fresh, Problems: &data.Set{Name: "own", Train: smallSet().Train}}, []string{"expected some to train on and some held out, found 24 and 0"}},
		{"a plan alone for no backend", Options{Out: fresh, PlanOnly: true, Backend: backend.Auto}, []string{"the backend it is for"}},
		{"no such run", Options{Resume: filepath.Join(top, "none")}, []string{filepath.Join(top, "none") + " is not a run folder"}},
		{"a folder that is no run", Options{Resume: there}, []string{there + " is not a run folder", "experiment.json"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.o.Backend == "" {
				c.o.Backend = backend.Go
			}
			l, err := Open(t.Context(), c.o)
			if err == nil {
				l.Close()
				t.Fatal("it opens")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q, want %q in it", err, w)
				}
			}
			if _, err := os.Lstat(fresh); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the run's folder is there all the same: %v", err)
			}
		})
	}
	if left, err := os.ReadDir(there); err != nil || len(left) > 0 {
		t.Errorf("the folder that was in the way now holds %v (%v)", left, err)
	}
}

func TestResumeSaysWhatIsNotTheSame(t *testing.T) {
	set := smallSet()
	set.Holdout = slices.Clone(set.Holdout)
	set.Holdout[0].Gold += "1"
	edited := planned(t, Options{})
	name := filepath.Join(edited, artifact.ExperimentFile)
	raw, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, []byte(strings.Replace(string(raw), `"learning_rate": 0.002`, `"learning_rate": 0.003`, 1)), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	hashes := func(folder string) string {
		l, err := Open(t.Context(), small(t, Options{Model: folder, Out: filepath.Join(t.TempDir(), "run")}))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return l.Plan.Model.Files[0].SHA256[:12]
	}
	other := otherModel(t)
	for _, c := range []struct {
		name string
		o    Options
		dir  string
		want []string
	}{
		{"another model", Options{Model: other}, planned(t, Options{Model: baseFolder}),
			[]string{"expected base, model.safetensors of sha256 " + hashes(baseFolder), "found base, model.safetensors of sha256 " + hashes(other), "name the same file with -model"}},
		{"no model where one was named", Options{}, planned(t, Options{Model: other}), []string{"expected base", "name the same file with -model"}},
		{"other problems", Options{Problems: set}, planned(t, Options{}), []string{"the problems are not those", "expected train", "found", "-data"}},
		{"an edited plan", Options{}, edited, []string{"it was changed after it was written"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			problems := c.o.Problems
			c.o.Resume = c.dir
			o := small(t, c.o)
			if problems != nil {
				o.Problems = problems
			}
			l, err := Open(t.Context(), o)
			if err == nil {
				l.Close()
				t.Fatal("it opens")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q, want %q in it", err, w)
				}
			}
		})
	}
}

// The folder is found wanting before the model and the backend are opened: neither is there here.
func TestAFolderThatCannotBeMadeIsFoundFirst(t *testing.T) {
	t.Setenv("TEAMTALK_PJRT_CPU", "/no/such/plugin.so")
	_, err := Open(t.Context(), Options{Out: "/proc/run", Model: filepath.Join(t.TempDir(), "none"), Backend: backend.XLACPU})
	if err == nil || !strings.Contains(err.Error(), "/proc/run: expected a folder that can be made") {
		t.Errorf("error %v, want the folder", err)
	}
}

// A model is the same by content, wherever it is found: a run begun with the mini model's folder goes on with the embedded one, and
// the other way round, under the plan that it was begun with.
func TestResumeKeepsThePlan(t *testing.T) {
	for _, c := range []struct{ why, begun, resumed, source string }{
		{"begun with a folder, resumed without", baseFolder, "", "huggingface"},
		{"begun without, resumed with a folder", "", baseFolder, "embedded"},
	} {
		t.Run(c.why, func(t *testing.T) {
			dir := planned(t, Options{Model: c.begun})
			run, err := artifact.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			l, err := Open(t.Context(), small(t, Options{Resume: dir, Model: c.resumed}))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if got, err := l.Plan.Hash(); err != nil || got != run.PlanSHA256() || l.Plan.Model.Source != c.source {
				t.Errorf("plan %.12s with a model from %q (%v), want %.12s and %q", got, l.Plan.Model.Source, err, run.PlanSHA256(), c.source)
			}
			config, err := l.Plan.RunConfig("baseline", 17, experiment.Runtime{Backend: "go"})
			if err != nil {
				t.Fatal(err)
			}
			training, err := l.run.OpenTraining(config)
			if err != nil {
				t.Fatalf("the run folder does not take the plan's training run: %v", err)
			}
			training.Close()
		})
	}
}

// What a run was begun with is what it goes on with, unless it is told otherwise, and then it says what differs.
func TestResumeTakesTheLayoutItWasBegunWith(t *testing.T) {
	dir := planned(t, Options{})
	run, err := artifact.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	plan := run.Plan()
	config, err := plan.RunConfig("baseline", 17, experiment.Runtime{Backend: "go", MicroBatch: 3, RunsLockstep: 2, EvalRows: 60})
	if err != nil {
		t.Fatal(err)
	}
	begun, err := run.OpenTraining(config)
	if err != nil {
		t.Fatal(err)
	}
	begun.Close()
	o := small(t, Options{Resume: dir})
	o.Backend = backend.Auto
	l, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := l.options; got.Backend != backend.Go || got.Lockstep != 2 || got.Rows != 3 || got.EvalRows != 60 {
		t.Errorf("backend %s, %d in lockstep, %d rows, %d evaluation rows; want go, 2, 3, 60", got.Backend, got.Lockstep, got.Rows, got.EvalRows)
	}
	l.options.Rows = 5
	if err := l.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "runtime.micro_batch was 3, is now 5") {
		t.Errorf("with other rows: error %v, want the setting that differs", err)
	}
}

func TestTwoProcessesDoNotWorkOnOneRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	l, err := Open(t.Context(), small(t, Options{Out: dir}))
	if err != nil {
		t.Fatal(err)
	}
	if second, err := Open(t.Context(), small(t, Options{Resume: dir})); err == nil || !strings.Contains(err.Error(), "another process works on "+dir) {
		if err == nil {
			second.Close()
		}
		t.Errorf("a second process: error %v", err)
	}
	l.Close()
	third, err := Open(t.Context(), small(t, Options{Resume: dir}))
	if err != nil {
		t.Fatalf("after the first has ended: %v", err)
	}
	third.Close()
}

func TestNewRunsTakeTheNextName(t *testing.T) {
	t.Chdir(t.TempDir())
	for i, want := range []string{"mini-1", "mini-2", "mini-3"} {
		var said strings.Builder
		o := Options{PlanOnly: true, Backend: backend.Go, Log: &said}
		l, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		if got := filepath.ToSlash(l.Dir); got != "runs/"+want {
			t.Errorf("run %d is %s, want runs/%s", i+1, got, want)
		}
		if hint := fmt.Sprintf("go run ./recipe -resume %s goes on", filepath.Join("runs", fmt.Sprintf("mini-%d", i))); (i > 0) != strings.Contains(said.String(), hint) {
			t.Errorf("run %d says %q; want the unfinished one before it named, if there is one", i+1, said.String())
		}
	}
}

func TestGoOnIsACommandForAShell(t *testing.T) {
	l := &Lab{Dir: "runs/my run", options: Options{Model: "hub:Qwen/Qwen2.5-1.5B", Data: "/data/it's", AnyData: true}}
	if got, want := l.GoOn(), `go run ./recipe -resume 'runs/my run' -model hub:Qwen/Qwen2.5-1.5B -data '/data/it'\''s' -any-data`; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
