package bench

import (
	"bytes"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"teamtalk/model"
	"teamtalk/model/backend"
	"teamtalk/model/backend/backendtest"
	"teamtalk/model/checkpoint"
	"teamtalk/recipe/cost"
	"teamtalk/recipe/experiment"
	"teamtalk/recipe/mini"
)

func TestMain(m *testing.M) {
	backendtest.CompileQuickly()
	os.Exit(m.Run())
}

func TestRates(t *testing.T) {
	for _, c := range []struct {
		why    string
		line   Line
		tokens float64
		want   Line
	}{
		{"2 ms for 4 TFLOP and 1 GB, of 4000 TFLOP/s and 1000 GB/s; 48 tokens",
			Line{Unit: "ms a step", Times: []float64{9, 2, 1}, Work: &cost.Work{FLOPs: 4e12, Bytes: 1e9}}, 48,
			Line{TokensPerS: 24000, TFLOPs: 2000, GBs: 500, ShareFLOPs: 0.5, ShareBytes: 0.5}},
		{"the mean where a line's figure is the mean", Line{Unit: "s", Mean: true, Times: []float64{1, 2, 6}}, 30, Line{TokensPerS: 10}},
		{"a unit that is no time has no rates", Line{Unit: "GiB", Times: []float64{1}}, 30, Line{}},
	} {
		got := c.line
		got.rates(c.tokens, peaks{4e15, 1e12})
		for _, x := range []struct {
			name      string
			got, want float64
		}{
			{"tokens/s", got.TokensPerS, c.want.TokensPerS}, {"TFLOP/s", got.TFLOPs, c.want.TFLOPs}, {"GB/s", got.GBs, c.want.GBs},
			{"share of matmul", got.ShareFLOPs, c.want.ShareFLOPs}, {"share of copy", got.ShareBytes, c.want.ShareBytes},
		} {
			if math.Abs(x.got-x.want) > 1e-9*math.Abs(x.want) {
				t.Errorf("%s: %s is %g, want %g", c.why, x.name, x.got, x.want)
			}
		}
	}
}

func TestSharesNeedPeaks(t *testing.T) {
	l := Line{Unit: "ms", Times: []float64{1}, Work: &cost.Work{FLOPs: 1, Bytes: 1}}
	if l.rates(0, peaks{}); l.ShareFLOPs != 0 || l.ShareBytes != 0 {
		t.Errorf("shares %g and %g of peaks that were not measured", l.ShareFLOPs, l.ShareBytes)
	}
}

func TestJudge(t *testing.T) {
	goals := []Goal{{"a", "", 2}}
	for _, c := range []struct {
		why  string
		line Line
		want string // met, missed, none
	}{
		{"the median is held against the goal", Line{Name: "a", Times: []float64{1, 2, 9}}, "met"},
		{"the median above it", Line{Name: "a", Times: []float64{1, 2.1, 2.2}}, "missed"},
		{"the mean, where the goal is for the mean", Line{Name: "a", Mean: true, Times: []float64{1, 2, 9}}, "missed"},
		{"a line without a goal", Line{Name: "b", Times: []float64{9}}, "none"},
	} {
		c.line.judge(goals)
		got := "none"
		if c.line.Met != nil {
			got = map[bool]string{true: "met", false: "missed"}[*c.line.Met]
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.why, got, c.want)
		}
	}
}

// A goal that no line is named for would never be held against anything.
func TestGoalsAreOfLines(t *testing.T) {
	for _, g := range h200 {
		name := g.Line
		for _, cut := range []string{"load-", "train-8x"} {
			if strings.HasPrefix(name, cut) {
				name = strings.TrimRight(strings.TrimSuffix(cut, "8x"), "-")
			}
		}
		if !slices.Contains(Names(), name) {
			t.Errorf("goal %q is of no line among %v", g.Line, Names())
		}
	}
}

func TestAgeFrom(t *testing.T) {
	stat := "42 (a (b) c) R 1 42 42 0 -1 4194304 1 0 0 0 5 6 0 0 20 0 9 0 12345 1000 20"
	got, err := ageFrom(stat, "130.45 200.00\n")
	if err != nil || got != 7*time.Second {
		t.Errorf("started 123.45 s after boot, now 130.45: age %v, error %v, want 7s", got, err)
	}
	for _, c := range []struct{ why, stat, uptime string }{
		{"a short line", "42 (a) R 1", "130.45 1"}, {"no uptime", stat, ""}, {"no number", strings.Replace(stat, "12345", "x", 1), "130.45 1"},
	} {
		if _, err := ageFrom(c.stat, c.uptime); err == nil {
			t.Errorf("%s: no error", c.why)
		}
	}
}

// options are a quick bench run of the mini model's first layer with short replies.
func options(t *testing.T, log *bytes.Buffer) Options {
	t.Helper()
	backendtest.Need(t, "xla-cpu") // the lines of memory are of what XLA lays out
	cp, err := mini.OpenBase()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cp.Close() })
	config := cp.Config
	config.NumHiddenLayers = 1 // every layer would be compiled by itself
	tok, err := cp.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	dev, err := backend.Open(backend.XLACPU)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dev.Close)
	plan := short(t, "mini")
	l := plan.Training.LoRA
	problems := mini.Problems()
	problems.Train, problems.Holdout = problems.Train[:8], problems.Holdout[:4]
	return Options{
		Device: dev, Config: config, Source: cp, From: "safetensors", Tokenizer: tok, Problems: problems, Stop: []int32{2}, Real: true, Plan: plan,
		LoRA: model.LoRA{Rank: l.R, Alpha: l.LoraAlpha, Targets: l.TargetModules}, Prompt: 32, Shapes: []Shape{{4, 64}}, Repeat: 1, Log: log,
	}
}

// short is a preset's plan with few and short replies.
func short(t *testing.T, preset string) experiment.Plan {
	t.Helper()
	plan, err := experiment.Preset(preset)
	if err != nil {
		t.Fatal(err)
	}
	plan.Training.PromptsPerStep, plan.Training.MaxCompletionLength = 2, 16
	plan.Evaluation.MaxCompletionLength, plan.Evaluation.Samples, plan.Evaluation.Ks = 16, 2, []int{1, 2}
	return plan
}

func TestRunMeasuresEveryLine(t *testing.T) {
	for _, c := range []struct {
		why   string
		alter func(*Options)
		only  []string
		want  []string
	}{
		{"the mini model on its problems", func(*Options) {}, nil, []string{
			"load-safetensors", "start", "peak-matmul", "peak-copy", "decode", "prefill", "serve", "decode-base", "prefill-base", "decode-m4", "prefill-m4", "serve-m4",
			"decode-eval", "prefill-eval", "serve-eval", "train-4x64", "update-4x64", "train-m4-4x64", "update-m4-4x64",
			"step", "memory", "step-m4", "memory-m4", "step-ratio", "eval-480"}},
		{"random weights, of which the step's line says so", func(o *Options) { o.Source = nil }, []string{"step"},
			[]string{"load-random", "peak-matmul", "peak-copy", "step", "memory"}},
		{"the preset qwen, whose plan has more evaluations than the lines", func(o *Options) { o.Source, o.Real, o.Stop, o.Plan = nil, false, []int32{-1}, short(t, "qwen") },
			[]string{"step", "step-m4", "eval-480"}, []string{"load-random", "peak-matmul", "peak-copy", "step", "memory", "step-m4", "memory-m4", "step-ratio", "eval-480"}},
		{"the start alone", func(*Options) {}, []string{"start"}, []string{"load-safetensors", "start"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			var log bytes.Buffer
			o := options(t, &log)
			o.Only = c.only
			c.alter(&o)
			r, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, l := range r.Lines {
				names = append(names, l.Name)
				low, _, high := l.spread()
				if !(low > 0) || math.IsInf(high, 1) || l.ShareFLOPs < 0 || math.IsNaN(l.ShareFLOPs) || l.Met != nil {
					t.Errorf("%+v", l)
				}
				if strings.HasPrefix(l.Name, "train") && (l.memory() == 0 || l.ShareFLOPs == 0 || l.TokensPerS == 0) {
					t.Errorf("a gradient pass without memory, share or tokens: %+v", l)
				}
				if l.Name == "step" && (len(l.Times) != stepsEach || len(l.Parts["update"]) != stepsEach || (l.Note == "") != (o.Source != nil)) {
					t.Errorf("steps: %+v", l)
				}
				if !strings.Contains(log.String(), "\n"+l.Name) {
					t.Errorf("the table lacks %s:\n%s", l.Name, log.String())
				}
			}
			if !slices.Equal(names, c.want) {
				t.Errorf("lines %q, want %q", names, c.want)
			}
		})
	}
}

func TestWanted(t *testing.T) {
	for _, c := range []struct{ why, only, want string }{
		{"the weights always, the peaks for the shares", "decode-m4", "load peak-matmul decode-m4"},
		{"one line of a group asks for the group", "memory", "load peak-matmul step"},
		{"the ratio needs both steps", "step-ratio", "load peak-matmul step step-m4"},
		{"the clock runs from the start: nothing else comes before", "start", "load start"},
	} {
		b := &session{Options: Options{Only: strings.Split(c.only, ",")}}
		var got []string
		for _, g := range groups {
			if b.wanted(g) {
				got = append(got, strings.Fields(g.lines)[0])
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: -only %s measures %q, want %q", c.why, c.only, got, c.want)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	for _, c := range []struct {
		why   string
		alter func(*Options)
		want  string
	}{
		{"an unknown line", func(o *Options) { o.Only = []string{"decode", "decoed"} }, `no line is called "decoed": expected some of load, start`},
		{"no repetition", func(o *Options) { o.Repeat = 0 }, "0 repetitions, expected 1 or more"},
		{"a model that is none", func(o *Options) { o.Config = checkpoint.Config{} }, "load: model configuration"},
	} {
		var log bytes.Buffer
		o := options(t, &log)
		c.alter(&o)
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.why, err, c.want)
		}
	}
}
