package eval

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"teamtalk/model"
	"teamtalk/model/backend"
	"teamtalk/model/backend/backendtest"
	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
	"teamtalk/recipe/mini"
)

// bench is the mini model and an adapter that changes it.
type bench struct {
	options Options
	adapter map[string][]float32
}

func open(t *testing.T) *bench {
	t.Helper()
	dev, err := backend.Open(backend.Kind(backendtest.Fastest(t)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dev.Close)
	cp, err := mini.OpenBase()
	if err != nil {
		t.Fatal(err)
	}
	defer cp.Close()
	tok, err := cp.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	w, err := model.LoadWeights(dev, cp.Config, cp)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Free)
	lora := model.LoRA{Rank: 2, Alpha: 4, Targets: []string{"o_proj"}}
	if err := lora.Validate(); err != nil {
		t.Fatal(err)
	}
	b := &bench{adapter: map[string][]float32{}}
	for _, s := range lora.Specs(cp.Config) {
		for i := range s.Rows * s.Cols {
			b.adapter[s.Name] = append(b.adapter[s.Name], float32(i%7-3)/16)
		}
	}
	b.options = Options{
		Device: dev, Weights: w, Tokenizer: tok, LoRA: lora, Problems: mini.Problems().Holdout[:5], Stop: cp.Config.EOSTokenIDs, Slots: 2, Rows: 12,
		Settings: experiment.Evaluation{Samples: 2, Temperature: 0.9, TopP: 0.95, RepetitionPenalty: 1, MaxCompletionLength: 24}, Grade: artifact.Grade,
	}
	return b
}

// jobs are the untrained model under both prompts and a changed one under the team prompt: a round of two and a round of one.
func (b *bench) jobs() []Job {
	plain, team := mini.System(false), mini.System(true)
	return []Job{
		{Run: experiment.EvalRun{Model: experiment.Base, Prompt: "baseline", Seed: 1}, System: plain},
		{Run: experiment.EvalRun{Model: experiment.Base, Prompt: "recipe", Seed: 1}, System: team},
		{Run: experiment.EvalRun{Model: "recipe-17", Prompt: "recipe", Seed: 17}, System: team, Adapter: b.adapter},
	}
}

func (b *bench) evaluate(t *testing.T, e *Evaluator) map[string][]artifact.Reply {
	t.Helper()
	out := map[string][]artifact.Reply{}
	if err := e.Evaluate(t.Context(), func(j Job, replies []artifact.Reply) error {
		out[j.Run.Name()] = replies
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func (b *bench) new(t *testing.T, jobs []Job, o Options) *Evaluator {
	t.Helper()
	e, err := New(jobs, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func TestEvaluate(t *testing.T) {
	b := open(t)
	o := b.options
	var progress []string
	o.Progress = func(done, all int) { progress = append(progress, fmt.Sprintf("%d/%d", done, all)) }
	e := b.new(t, b.jobs(), o)
	all := b.evaluate(t, e)
	// 12 rows are 3 problems of 2 models with 2 samples: two batches a round, the last one filled up.
	if want := []string{"12/30", "20/30", "26/30", "30/30"}; !slices.Equal(progress, want) {
		t.Errorf("progress %q, want %q", progress, want)
	}
	for name, replies := range all {
		for i, r := range replies {
			p := o.Problems[i/2]
			verdict, talk := artifact.Grade(r.Text, p.Gold)
			if r.Task != p.Index || r.TaskSHA256 != p.SHA256 || r.Sample != i%2 || !reflect.DeepEqual(r.Verdict, verdict) || r.Talk != talk {
				t.Errorf("%s, reply %d: task %d, sample %d, or another grade than its text has", name, i, r.Task, r.Sample)
			}
			if r.Tokens < 1 || r.Tokens > 24 || r.Truncated() != (r.Tokens == 24 && !strings.Contains(r.Text, `}`)) {
				t.Errorf("%s, reply %d: %d tokens, finish %s: %q", name, i, r.Tokens, r.FinishReason, r.Text)
			}
		}
	}
	if a, b := all["base-recipe"], all["recipe-17-recipe"]; len(a) != 10 || len(b) != 10 || reflect.DeepEqual(a, b) {
		t.Errorf("%d and %d replies, want 10 and 10; the adapter changes them: %t", len(a), len(b), !reflect.DeepEqual(a, b))
	}

	t.Run("another batch gives the same replies", func(t *testing.T) {
		o := b.options
		o.Rows, o.Slots = 4, 1
		if other := b.evaluate(t, b.new(t, b.jobs(), o)); !reflect.DeepEqual(other, all) {
			t.Error("a reply depends on what shares its batch")
		}
	})
	t.Run("what is done keeps its place and is not written again", func(t *testing.T) {
		jobs := b.jobs()
		jobs[0].Done = true
		again := b.evaluate(t, b.new(t, jobs, b.options))
		if _, ok := again["base-baseline"]; ok || len(again) != 2 || !reflect.DeepEqual(again["base-recipe"], all["base-recipe"]) {
			t.Errorf("%d evaluations written, want two, with the replies that they had", len(again))
		}
	})
	t.Run("beginnings", func(t *testing.T) {
		count := func(shift int64) (same, whole, of int) {
			begun, err := e.Begin(t.Context(), 8, shift)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range begun {
				replies := all[x.Job.Run.Name()]
				at := slices.IndexFunc(replies, func(r artifact.Reply) bool { return r.Task == x.Task && r.Sample == x.Sample })
				if x.Of(replies[at].Text) {
					same++
				}
				if x.Whole {
					whole++
				}
			}
			return same, whole, len(begun)
		}
		if same, whole, of := count(0); same != of || of != 12 || whole == of {
			t.Errorf("%d of %d begin as they did, %d of them whole; want all 12 of the first batch, not all whole", same, of, whole)
		}
		if same, _, of := count(1); same == of {
			t.Errorf("with another seed %d of %d begin as they did", same, of)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := e.Evaluate(ctx, func(Job, []artifact.Reply) error { return errors.New("written") }); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want that it was cancelled, and nothing written", err)
		}
		if _, err := e.Begin(ctx, 8, 0); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want that it was cancelled", err)
		}
	})
	t.Run("a reply that cannot be written", func(t *testing.T) {
		full := errors.New("no space left")
		if err := e.Evaluate(t.Context(), func(Job, []artifact.Reply) error { return full }); !errors.Is(err, full) {
			t.Errorf("error %v, want %v", err, full)
		}
	})
}

func TestBeginningOf(t *testing.T) {
	for _, c := range []struct {
		begin Beginning
		text  string
		want  bool
		why   string
	}{
		{Beginning{Text: "Solver: 3"}, "Solver: 3+4=7", true, "the rest is not looked at"},
		{Beginning{Text: "Solver: 3"}, "Solver: 4+4=8", false, "another number"},
		{Beginning{Text: "Solver: 3+4=7"}, "Solver: 3", false, "the reply ended sooner"},
		{Beginning{Text: "7", Whole: true}, "7", true, "all of it"},
		{Beginning{Text: "7", Whole: true}, "7 and more", false, "the reply went on"},
		{Beginning{Text: "caf\uFFFD"}, "café", true, "the last token ends within a letter"},
	} {
		if got := c.begin.Of(c.text); got != c.want {
			t.Errorf("%+v of %q: %t, want %t: %s", c.begin, c.text, got, c.want, c.why)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	good := Options{Problems: mini.Problems().Holdout[:1], Settings: experiment.Evaluation{Samples: 1, RepetitionPenalty: 1}}
	for _, c := range []struct {
		jobs   int
		change func(*Options)
		want   string
	}{
		{0, func(*Options) {}, "no jobs"},
		{1, func(o *Options) { o.Problems = nil }, "no held-out problems"},
		{1, func(o *Options) { o.Settings.Samples = 0 }, "0 samples per task, expected 1 or more"},
		{1, func(o *Options) { o.Settings.TopK = 50 }, "top_k and repetition_penalty: expected 0 and 1"},
		{1, func(o *Options) { o.Settings.RepetitionPenalty = 1.1 }, "top_k and repetition_penalty: expected 0 and 1"},
	} {
		o := good
		c.change(&o)
		if _, err := New(make([]Job, c.jobs), o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// A round that is not there is an error, and one whose jobs are done asks nothing of the model, which is not there either.
func TestEvaluateRound(t *testing.T) {
	jobs := make([]Job, 5)
	jobs[4].Done = true
	e := &Evaluator{jobs: jobs, slots: 4}
	for _, round := range []int{-1, 2} {
		if err := e.EvaluateRound(t.Context(), round, nil); err == nil || !strings.Contains(err.Error(), "of 2: expected 0 to 1") {
			t.Errorf("round %d: error %v, want that there are two", round, err)
		}
	}
	if err := e.EvaluateRound(t.Context(), 1, nil); err != nil {
		t.Errorf("a round that is done: error %v", err)
	}
}
