package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"teamtalk/model/checkpoint"
	"teamtalk/model/tokenizer"
	"teamtalk/recipe/mini"
)

func generate(stdin string, args ...string) (stdout, stderr string, err error) {
	var out, log bytes.Buffer
	err = run(context.Background(), append([]string{"generate"}, args...), strings.NewReader(stdin), &out, &log)
	return out.String(), log.String(), err
}

// idsOf reads the ids of each line.
func idsOf(t *testing.T, stdout string) [][]int32 {
	t.Helper()
	var all [][]int32
	for _, line := range strings.Split(strings.TrimSuffix(stdout, "\n"), "\n") {
		var l struct{ IDs []int32 }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, l.IDs)
	}
	return all
}

func TestGenerateGreedyEqualsTransformers(t *testing.T) {
	o := readOracle(t)
	var in strings.Builder
	for _, ids := range o.Sequences("forward", 24) {
		fmt.Fprintf(&in, "{\"ids\":%s}\n", marshal(t, ids))
	}
	onBackends(t, func(t *testing.T, backend string) {
		out, log, err := generate(in.String(), "-ids", "-model", tinyQwen, "-adapter", tinyAdapter, "-temperature", "0", "-top_p", "1", "-max_tokens", "20", "-backend", backend)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range idsOf(t, out) {
			for j, id := range got {
				if float64(id) != o.Float64("greedy/ids")[i*20+j] {
					t.Errorf("line %d: %v, want %v", i+1, got, o.Float64("greedy/ids")[i*20:(i+1)*20])
					break
				}
			}
			if len(got) != 20 {
				t.Errorf("line %d: %d new ids, want 20", i+1, len(got))
			}
		}
		for _, want := range []string{"backend: " + backend, "generate: 3 lines, 60 new ids, 1 compiled shapes", "model: no tokenizer (", "the configuration's ids [2] end a reply"} {
			if !strings.Contains(log, want) {
				t.Errorf("the log is %q, want %q", log, want)
			}
		}
	})
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// A line's replies are its own: the lines around it, their lengths and how they are batched do not matter; seed, place and
// sample do.
func TestGenerateIDs(t *testing.T) {
	flags := []string{"-ids", "-model", tinyQwen, "-backend", "go", "-max_tokens", "12"}
	prompts := [][]int32{{5, 6, 7}, {9}, {5, 6, 7}}
	for i := range 40 { // three widths
		prompts = append(prompts, slices.Repeat([]int32{int32(i), 300}, 1+i*2))
	}
	var lines []string
	for i, p := range prompts {
		lines = append(lines, fmt.Sprintf(`{"task":%d,"ids":%s,"b":"<"}`, i, marshal(t, p)))
	}
	out, log, err := generate(strings.Join(lines, "\n"), flags...)
	if err != nil {
		t.Fatal(err)
	}
	all := idsOf(t, out)
	if len(all) != len(prompts) || !strings.Contains(log, " 3 compiled shapes") {
		t.Errorf("%d lines for %d: %s", len(all), len(prompts), log)
	}
	for i, line := range strings.Split(strings.TrimSpace(out), "\n") {
		if want := fmt.Sprintf(`{"task":%d,"b":"<","ids":%s}`, i, marshal(t, all[i])); line != want {
			t.Errorf("line %d is %s, want %s", i+1, line, want)
		}
		if n := len(all[i]); n == 0 || n > 12 || n < 12 && all[i][n-1] != 2 || slices.Contains(all[i][:n-1], 2) {
			t.Errorf("line %d: %v, want 12 ids or an end at id 2", i+1, all[i])
		}
	}
	if slices.Equal(all[0], all[2]) {
		t.Errorf("one prompt on two lines has one reply: %v", all[0])
	}

	few, _, err := generate(strings.Join(lines[:2], "\n")+"\n\n"+lines[2], flags...)
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range idsOf(t, few) {
		if !slices.Equal(got, all[i]) {
			t.Errorf("line %d of few is %v, of many %v", i+1, got, all[i])
		}
	}
	again, _, err := generate(lines[0], append(flags, "-seed", "2")...)
	if err != nil || slices.Equal(idsOf(t, again)[0], all[0]) {
		t.Errorf("seed 2 (error %v) draws what seed 1 draws", err)
	}

	three, _, err := generate(lines[0]+"\n"+lines[1], append(flags, "-n", "3")...)
	if err != nil {
		t.Fatal(err)
	}
	drawn := idsOf(t, three)
	if len(drawn) != 6 || !slices.Equal(drawn[0], all[0]) || !slices.Equal(drawn[3], all[1]) || slices.Equal(drawn[0], drawn[1]) || slices.Equal(drawn[1], drawn[2]) {
		t.Errorf("three samples of two lines: %v; the first of each is %v and %v", drawn, all[0], all[1])
	}
	if want := fmt.Sprintf(`{"task":1,"b":"<","ids":%s,"sample":2}`, marshal(t, drawn[5])); strings.Split(three, "\n")[5] != want {
		t.Errorf("the last sample is %s, want %s", strings.Split(three, "\n")[5], want)
	}
}

// A batch is as large as the lines ask for and the memory allows.
func TestGenerateBatches(t *testing.T) {
	in := strings.Repeat(`{"ids":[5,6,7]}`+"\n", 70)
	out, _, err := generate(in, "-ids", "-model", tinyQwen, "-backend", "go", "-max_tokens", "2", "-n", "2", "-temperature", "0")
	if err != nil {
		t.Fatal(err)
	}
	all := idsOf(t, out)
	if len(all) != 140 {
		t.Fatalf("%d replies, want 140", len(all))
	}
	for i := range all {
		if !slices.Equal(all[i], all[0]) {
			t.Errorf("reply %d is %v, the first %v", i, all[i], all[0])
		}
	}
}

// pieces is a writer that keeps what comes apart.
type pieces []string

func (p *pieces) Write(b []byte) (int, error) {
	*p = append(*p, string(b))
	return len(b), nil
}

func tinyTokenizer(t *testing.T) *tokenizer.Tokenizer {
	t.Helper()
	cp, err := checkpoint.Open(tinyModel)
	if err != nil {
		t.Fatal(err)
	}
	defer cp.Close()
	tok, err := cp.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// What is streamed is what the ids say: the chat form of the prompt goes in, and the new ids' text comes out, piece by piece.
func TestGenerateStreams(t *testing.T) {
	tok := tinyTokenizer(t)
	chat, err := tok.ChatML([]tokenizer.Message{{Role: "system", Content: "Be brief. 数"}, {Role: "user", Content: "Why <|im_end|>?"}}, true)
	if err != nil {
		t.Fatal(err)
	}
	flags := []string{"-model", tinyModel, "-backend", "go", "-max_tokens", "30", "-temperature", "1.3", "-n", "3"}
	out, _, err := generate(fmt.Sprintf(`{"ids":%s}`, marshal(t, chat)), append(flags, "-ids")...)
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for i, ids := range idsOf(t, out) {
		want += fmt.Sprintf("== reply %d of 3\n%s\n", i+1, tok.Decode(ids))
	}
	var got pieces
	var log bytes.Buffer
	if err := runGenerate(context.Background(), append(flags, "-system", "Be brief. 数", "-prompt", "Why <|im_end|>?"), strings.NewReader(""), &got, &log); err != nil {
		t.Fatal(err)
	}
	if strings.Join(got, "") != want {
		t.Errorf("streamed %q, want %q", strings.Join(got, ""), want)
	}
	if len(got) < 15 {
		t.Errorf("the reply came in %d pieces: %q", len(got), got)
	}
	for _, want := range []string{"model: ", "backend: go", "reply 3: ", fmt.Sprintf("prompt of %d tokens", len(chat))} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log is %q, want %q", log.String(), want)
		}
	}
	one, _, err := generate("", append(flags, "-system", "Be brief. 数", "-prompt", "Why <|im_end|>?", "-n", "1")...)
	if first := strings.TrimPrefix(strings.Split(want, "== reply 2")[0], "== reply 1 of 3\n"); err != nil || one != first {
		t.Errorf("one reply is %q %v, the first of three %q", one, err, first)
	}
}

// The end of a reply: the configuration's ids and the tokenizer's, both of Qwen's.
func TestStopIDs(t *testing.T) {
	tok := tinyTokenizer(t)
	for _, c := range []struct {
		why        string
		configured []int32
		tok        *tokenizer.Tokenizer
		want       []int32
	}{
		{"no tokenizer", []int32{7, 2}, nil, []int32{2, 7}},
		{"the tokenizer adds its own", []int32{2}, tok, []int32{0, 2}},
		{"nothing configured", nil, tok, []int32{0, 2}},
		{"nothing at all: max_tokens alone ends a reply", nil, nil, nil},
	} {
		if got := stopIDs(c.configured, c.tok); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.why, got, c.want)
		}
	}
}

// Without -model the model inside the program answers, under the system message that it was made with.
func TestGenerateEmbedded(t *testing.T) {
	flags := []string{"-backend", "go", "-temperature", "0", "-max_tokens", "8", "-prompt", "Ann has 2 pens and buys 3. How many pens has she?"}
	plain, log, err := generate("", flags...)
	if err != nil || strings.TrimSpace(plain) == "" || !strings.Contains(log, "finish") {
		t.Fatalf("%q %v %s", plain, err, log)
	}
	same, _, err := generate("", append(flags, "-model", "mini", "-system", mini.SystemPlain)...)
	if err != nil || same != plain {
		t.Errorf("with its own system message written out: %q %v, want %q", same, err, plain)
	}
}

// failing is a reader that went away.
type failing struct{ after int }

func (f *failing) Write(b []byte) (int, error) {
	if f.after--; f.after < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(b), nil
}

func TestGenerateStopsWhenNobodyReads(t *testing.T) {
	err := runGenerate(context.Background(), []string{"-model", tinyModel, "-backend", "go", "-max_tokens", "60", "-temperature", "1.3", "-system", "a", "-prompt", "b"},
		strings.NewReader(""), &failing{2}, io.Discard)
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v, want the writer's", err)
	}
}

func TestGenerateRefuses(t *testing.T) {
	for _, c := range []struct {
		why, args, in string
		lines         int // answered before
		want          string
	}{
		{"an id outside of the vocabulary", "-ids -max_tokens 4", "{\"ids\":[1]}\n{\"ids\":[1,320]}", 1, "line 2: ids[1] is 320, outside the model's vocabulary of 0 to 319"},
		{"no ids", "-ids", `{"text":"a"}`, 0, `line 1: no "ids"`},
		{"an empty prompt", "-ids", `{"ids":[]}`, 0, `line 1: "ids" is empty`},
		{"too long", "-ids -max_tokens 250", `{"ids":[1,2,3,4,5,6,7]}`, 0, "line 1: 7 ids; with 250 new ones they need 257 positions, the model has 256: shorten it or lower -max_tokens"},
		{"too long by default", "-ids", `{"ids":[1` + strings.Repeat(",1", 128) + `]}`, 0, "line 1: 129 ids; with 128 new ones they need 257 positions"},
		{"text for a model without a tokenizer", "-prompt a", "", 0, "tokenizer.json"},
		{"a prompt that is too long", "-model " + tinyModel + " -max_tokens 120 -prompt a", "", 0, "tokens; with 120 new ones they need"},
	} {
		out, _, err := generate(c.in, append([]string{"-model", tinyQwen, "-backend", "go"}, strings.Fields(c.args)...)...)
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, new(usageError)) {
			t.Errorf("%s: error %v, want %q, and exit code 1", c.why, err, c.want)
		}
		if n := strings.Count(out, "\n"); n != c.lines {
			t.Errorf("%s: %d lines were written before the error, want %d", c.why, n, c.lines)
		}
	}
}

func TestGenerateUsage(t *testing.T) {
	for _, c := range []struct{ why, args, want string }{
		{"nothing to answer", "", "-prompt is missing"},
		{"a prompt without its flag", "-prompt a b", `unexpected argument "b"`},
		{"two sources", "-ids -prompt a", "expected no -prompt and no -system beside it"},
		{"two sources", "-ids -system a", "expected no -prompt and no -system beside it"},
		{"none", "-prompt a -n 0", "-n 0: expected 1 to 64"},
		{"too many", "-prompt a -n 65", "-n 65: expected 1 to 64"},
		{"below zero", "-prompt a -temperature -1", "-temperature -1: expected 0 or more"},
		{"no number", "-prompt a -temperature NaN", "-temperature NaN"},
		{"no nucleus", "-prompt a -top_p 0", "-top_p 0: expected above 0, up to 1"},
		{"more than all", "-prompt a -top_p 1.1", "-top_p 1.1"},
		{"no new ids", "-prompt a -max_tokens 0", "-max_tokens 0: expected 1 or more"},
		{"a backend that does not exist", "-prompt a -backend gpu", `-backend "gpu": expected auto, cuda, xla-cpu or go`},
	} {
		_, _, err := generate("", strings.Fields(c.args)...)
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, new(usageError)) {
			t.Errorf("%s: error %v, want %q, and exit code 2", c.why, err, c.want)
		}
	}
}

// Weights that give no numbers are an error: the id that is drawn all the same would look like a reply.
func TestGenerateDamagedWeights(t *testing.T) {
	raw, err := os.ReadFile(tinyModel)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(raw) - 4096; i < len(raw); i++ {
		raw[i] = 0xFF
	}
	damaged := filepath.Join(t.TempDir(), "tiny.gguf")
	if err := os.WriteFile(damaged, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	onBackends(t, func(t *testing.T, backend string) {
		for _, c := range []struct{ why, args, in string }{
			{"a reply as it is sampled", "-prompt Why?", ""},
			{"the likeliest ids, by JSON Lines", "-ids -temperature 0", `{"ids":[5,6,7]}`},
		} {
			out, log, err := generate(c.in, append(strings.Fields(c.args), "-model", damaged, "-max_tokens", "8", "-backend", backend)...)
			if err == nil || !strings.Contains(err.Error(), "the log-probability of token 1 is NaN") || !strings.Contains(err.Error(), "weights or adapter are damaged") {
				t.Errorf("%s: error %v, want that the weights are damaged", c.why, err)
			}
			if strings.TrimSpace(out) != "" || strings.Contains(log, "finish") {
				t.Errorf("%s: %q and %q, want no reply", c.why, out, log)
			}
		}
	})
}
