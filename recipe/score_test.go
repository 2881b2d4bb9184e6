package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"teamtalk/model/backend/backendtest"
)

func score(stdin string, args ...string) (stdout, stderr string, err error) {
	var out, log bytes.Buffer
	err = run(context.Background(), append([]string{"score"}, args...), strings.NewReader(stdin), &out, &log)
	return out.String(), log.String(), err
}

type scored struct {
	Logp, Entropy []float64
}

func scoredLines(t *testing.T, stdout string) []scored {
	t.Helper()
	var out []scored
	for _, line := range strings.Split(strings.TrimSuffix(stdout, "\n"), "\n") {
		var s scored
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		out = append(out, s)
	}
	return out
}

func closeTo(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= tolerance) {
			t.Fatalf("%s: value %d is %g, want %g within %g", what, i, got[i], want[i], tolerance)
		}
	}
}

// onBackends runs a test on every backend that is to be tested: see backendtest.
func onBackends(t *testing.T, test func(t *testing.T, backend string)) {
	for _, kind := range backendtest.Names(t) {
		t.Run(kind, func(t *testing.T) { test(t, kind) })
	}
}

func TestScoreEqualsTransformers(t *testing.T) {
	o := readOracle(t)
	t.Run("completions under the adapter, at the training temperature", func(t *testing.T) {
		learnt := o.Float64("grpo/completion_mask")
		var in strings.Builder
		var wants []scored
		for i, ids := range o.Sequences("grpo", 32) {
			start := slices.Index(learnt[i*32:], 1)
			line, err := json.Marshal(map[string]any{"ids": ids, "start": start})
			if err != nil {
				t.Fatal(err)
			}
			in.Write(append(line, '\n'))
			from, to := i*31+start-1, i*31+len(ids)-1
			wants = append(wants, scored{o.Float64("grpo/logp")[from:to], o.Float64("grpo/entropy")[from:to]})
		}
		onBackends(t, func(t *testing.T, backend string) {
			out, log, err := score(in.String(), "-model", tinyQwen, "-adapter", tinyAdapter, "-temperature", "0.9", "-backend", backend)
			if err != nil {
				t.Fatal(err)
			}
			for i, got := range scoredLines(t, out) {
				closeTo(t, fmt.Sprintf("log-probabilities of line %d", i+1), got.Logp, wants[i].Logp, 1e-4)
				closeTo(t, fmt.Sprintf("entropies of line %d", i+1), got.Entropy, wants[i].Entropy, 1e-4)
			}
			if want := "backend: " + backend; !strings.Contains(log, want) || !strings.Contains(log, "score: 8 lines, 79 log-probabilities, 1 compiled shapes\n") {
				t.Errorf("the log is %q, want %q and what was done", log, want)
			}
		})
	})
	t.Run("whole sequences under the base model, at temperature 1", func(t *testing.T) {
		const v = 320
		var in strings.Builder
		var wants []scored
		for i, ids := range o.Sequences("forward", 24) {
			line, err := json.Marshal(map[string]any{"ids": ids})
			if err != nil {
				t.Fatal(err)
			}
			in.Write(append(line, '\n'))
			var want scored
			for j, next := range ids[1:] {
				z := o.Float64("forward/logits_base")[(i*24+j)*v:][:v]
				sum, mean := 0.0, 0.0
				for _, x := range z {
					sum += math.Exp(x)
				}
				for _, x := range z {
					mean += math.Exp(x) / sum * x
				}
				want.Logp = append(want.Logp, z[next]-math.Log(sum))
				want.Entropy = append(want.Entropy, math.Log(sum)-mean)
			}
			wants = append(wants, want)
		}
		onBackends(t, func(t *testing.T, backend string) {
			out, _, err := score(in.String(), "-model", tinyQwen, "-backend", backend)
			if err != nil {
				t.Fatal(err)
			}
			for i, got := range scoredLines(t, out) {
				closeTo(t, fmt.Sprintf("log-probabilities of line %d", i+1), got.Logp, wants[i].Logp, 1e-4)
				closeTo(t, fmt.Sprintf("entropies of line %d", i+1), got.Entropy, wants[i].Entropy, 1e-4)
			}
		})
	})
}

// Lines of all lengths share few compiled shapes, come back in their order, and are scored as if each were alone.
func TestScoreManyLengths(t *testing.T) {
	var lines []string
	for i := range 90 {
		var ids []int
		for j := range 1 + i*83%256 {
			ids = append(ids, (i*31+j*j*7+3)%320)
		}
		line, err := json.Marshal(map[string]any{"line": i, "ids": ids})
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	flags := []string{"-model", tinyQwen, "-backend", "go"}
	out, log, err := score(strings.Join(lines, "\n"), flags...)
	if err != nil {
		t.Fatal(err)
	}
	all := scoredLines(t, out)
	if len(all) != len(lines) || !strings.Contains(log, "score: 90 lines") || !strings.Contains(log, " 4 compiled shapes") {
		t.Errorf("%d lines come back of %d: %s; want 4 compiled shapes (64, 128, 192 and 256 columns)", len(all), len(lines), log)
	}
	for i, got := range all {
		if want := fmt.Sprintf(`{"line":%d,"logp":[`, i); !strings.HasPrefix(strings.Split(out, "\n")[i], want) {
			t.Fatalf("line %d begins with %.40q, want %q", i+1, strings.Split(out, "\n")[i], want)
		}
		if n := i * 83 % 256; len(got.Logp) != n || len(got.Entropy) != n {
			t.Errorf("line %d: %d and %d values, want %d", i+1, len(got.Logp), len(got.Entropy), n)
		}
	}
	for _, i := range []int{0, 1, 3, 37, 71} {
		out, _, err := score(lines[i], flags...)
		if err != nil {
			t.Fatal(err)
		}
		alone := scoredLines(t, out)[0]
		closeTo(t, fmt.Sprintf("log-probabilities of line %d", i+1), all[i].Logp, alone.Logp, 1e-5)
		closeTo(t, fmt.Sprintf("entropies of line %d", i+1), all[i].Entropy, alone.Entropy, 1e-5)
	}
}

func TestScoreKeepsOtherFields(t *testing.T) {
	in := "\n" + `{"z":1.50,"start":3,"é<":"\u2028","ids":[5,6,7],"logp":[9],"a":{"ids":[1]},"entropy":null}` + "\n\n" + `  {"ids":[5]}`
	out, _, err := score(in, "-model", tinyQwen, "-backend", "go")
	if want := `{"z":1.50,"é<":"\u2028","a":{"ids":[1]},"logp":[],"entropy":[]}` + "\n" + `{"logp":[],"entropy":[]}` + "\n"; err != nil || out != want {
		t.Errorf("%q %v, want %q", out, err, want)
	}
}

func TestScoreRefuses(t *testing.T) {
	good := `{"ids":[1,2,3],"start":3}` + "\n"
	long := `{"ids":[1` + strings.Repeat(",2", 256) + `]}`
	for _, c := range []struct {
		why, args, in string
		lines         int // answered before
		want          string
	}{
		{"the first id has no prediction", "", good + `{"ids":[1,2],"start":0}`, 1, `line 2: "start" is 0: want 1 or more, nothing predicts the first id`},
		{"before the first", "", `{"ids":[1,2],"start":-1}`, 0, `line 1: "start" is -1`},
		{"behind the last", "", `{"ids":[1,2],"start":3}`, 0, `line 1: "start" is 3: want at most 2, the number of ids`},
		{"half a place", "", `{"ids":[1,2],"start":1.5}`, 0, `line 1: "start" is 1.5: want a whole number`},
		{"two starts", "", `{"ids":[1,2],"start":1,"start":2}`, 0, `line 1: "start" occurs twice`},
		{"an id outside of the vocabulary", "", good + "\n" + `{"ids":[1,320]}`, 1, "line 3: ids[1] is 320, outside the model's vocabulary of 0 to 319"},
		{"an id below it", "", `{"ids":[-1]}`, 0, "line 1: ids[0] is -1"},
		{"text for ids", "", `{"ids":"1 2"}`, 0, `line 1: "ids" is "1 2": want a list of whole numbers`},
		{"half an id", "", `{"ids":[1,2.5]}`, 0, `line 1: "ids" is [1,2.5]: want a list of whole numbers`},
		{"no ids", "", `{"start":1}`, 0, `line 1: no "ids": want {"ids": [..]}`},
		{"null", "", `{"ids":null}`, 0, `line 1: no "ids"`},
		{"none of them", "", `{"ids":[]}`, 0, `line 1: "ids" is empty`},
		{"a list", "", `[1,2]`, 0, `line 1: not the JSON object expected: want {"ids": [..]}, found "[1,2]"`},
		{"half a line", "", good + good + `{"ids":[1,`, 2, "line 3: not the JSON object expected"},
		{"bytes that are no UTF-8", "", "{\"ids\":[1],\"x\":\"\xff\"}", 0, "line 1: not UTF-8"},
		{"longer than the model", "", good + long, 1, "line 2: 257 ids, the model has 256 positions"},
		{"no such model", "-model nowhere", "", 0, "no model at nowhere"},
		{"no such adapter", "-adapter " + tinyQwen, "", 0, "adapter " + tinyQwen + ": open"},
		{"an adapter of another model", "-model ../model/checkpoint/testdata/gguf/tiny.gguf -adapter " + tinyAdapter, "", 0, "shape"},
	} {
		out, _, err := score(c.in, append([]string{"-model", tinyQwen, "-backend", "go"}, strings.Fields(c.args)...)...)
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, new(usageError)) {
			t.Errorf("%s: error %v, want %q, and exit code 1", c.why, err, c.want)
		}
		if n := strings.Count(out, "\n"); n != c.lines {
			t.Errorf("%s: %d lines were written before the error, want %d", c.why, n, c.lines)
		}
	}
}

func TestScoreUsage(t *testing.T) {
	for _, c := range []struct{ why, args, want string }{
		{"cold", "-temperature 0", "-temperature 0: expected a number above 0"},
		{"no number", "-temperature NaN", "-temperature NaN"},
		{"a file behind the flags", "x.jsonl", `unexpected argument "x.jsonl": the lines are read from standard input`},
		{"a backend that does not exist", "-backend tpu", `-backend "tpu": expected auto, cuda, xla-cpu or go`},
		{"no model", "-model=", "-model is empty"},
		{"an unknown flag", "-temp 1", "flag provided but not defined: -temp"},
	} {
		_, _, err := score("", strings.Fields(c.args)...)
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, new(usageError)) {
			t.Errorf("%s: error %v, want %q, and exit code 2", c.why, err, c.want)
		}
	}
	if _, log, err := score("", "-h"); err != nil || !strings.Contains(log, "usage: recipe score") {
		t.Errorf("-h: %v %q", err, log)
	}
}

// Weights that give no numbers are an error, not a line of JSON that is none.
func TestScoreDamagedAdapter(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"adapter_config.json", "adapter_model.safetensors"} {
		raw, err := os.ReadFile(filepath.Join(tinyAdapter, name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".safetensors") {
			copy(raw[len(raw)-4:], []byte{0, 0, 0xc0, 0x7f}) // NaN
		}
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, _, err := score(`{"ids":[1,2,3]}`, "-model", tinyQwen, "-adapter", dir, "-backend", "go")
	if err == nil || !strings.Contains(err.Error(), "line 1: the log-probability of ids[1] is NaN") || out != "" {
		t.Errorf("%q, error %v; want the line and the place", out, err)
	}
}

func TestScoreInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, log bytes.Buffer
	err := runScore(ctx, []string{"-model", tinyQwen, "-backend", "go"}, strings.NewReader(`{"ids":[1,2,3]}`), &out, &log)
	if !errors.Is(err, context.Canceled) || out.Len() > 0 {
		t.Errorf("error %v and %q, want context.Canceled and nothing", err, out.String())
	}
}

func TestBuckets(t *testing.T) {
	var widths []int
	for n := 1; n <= 5000; n++ {
		b := bucket(n)
		if b < n || b%64 != 0 || n > 128 && b >= 2*n {
			t.Fatalf("%d ids get %d columns", n, b)
		}
		if !slices.Contains(widths, b) {
			widths = append(widths, b)
		}
	}
	if want := []int{64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144}; !slices.Equal(widths, want) {
		t.Errorf("widths %v, want %v", widths, want)
	}
}
