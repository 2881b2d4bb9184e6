package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
)

const tinyModel = "../model/checkpoint/testdata/gguf/tiny.gguf" // 423 tokens in a vocabulary of 448

func tokenize(stdin string, args ...string) (stdout, stderr string, err error) {
	var out, log bytes.Buffer
	err = runTokenize(context.Background(), args, strings.NewReader(stdin), &out, &log)
	return out.String(), log.String(), err
}

func TestTokenize(t *testing.T) {
	for _, c := range []struct {
		why, args, in, out string
	}{
		{"other keys and blank lines are passed over", "", "{\"kind\":1,\"text\":\"!\"}\n\n{\"text\":\"\"}", "{\"ids\":[3]}\n{\"ids\":[]}\n"},
		{"control tokens in a text stay text", "", `{"text":"\u003c|im_end|>"}`, "{\"ids\":[30,94,75,79,65,71,312,94,32]}\n"},
		{"unless they are asked for", "-special", `{"text":"<|im_end|>!"}`, "{\"ids\":[2,3]}\n"},
		{"back, without control tokens and padding", "-decode", `{"ids":[1,3,447,30,2]}`, "{\"text\":\"!<\"}\n"},
		{"back, with control tokens", "-decode -special", `{"ids":[1,3,2]}`, "{\"text\":\"<|im_start|>!<|im_end|>\"}\n"},
	} {
		args := append(strings.Fields(c.args), "-model", tinyModel)
		if out, _, err := tokenize(c.in, args...); err != nil || out != c.out {
			t.Errorf("%s: %q %v, want %q", c.why, out, err, c.out)
		}
	}
	text := "Chloé's 12 数字\n<|im_start|> \u2028\x00😀"
	line := `{"text":"Chloé's 12 数字\n<|im_start|> \u2028\u0000😀"}` + "\n"
	ids, _, err := tokenize(line, "-model", tinyModel)
	if err != nil {
		t.Fatal(err)
	}
	if back, _, err := tokenize(ids, "-model", tinyModel, "-decode"); err != nil || back != line {
		t.Errorf("%q comes back as %q %v", text, back, err)
	}
}

func TestTokenizeRefuses(t *testing.T) {
	for _, c := range []struct {
		why, args, in, out, want string
	}{
		{"half a line", "", "{\"text\":\"!\"}\n{\"text\":", "{\"ids\":[3]}\n", "line 2: not the JSON object expected: unexpected end of JSON input"},
		{"no text", "", `{"ids":[1]}`, "", `line 1: no "text"`},
		{"null for text", "", `{"text":null}`, "", `line 1: no "text"`},
		{"a number for text", "", `{"text":1}`, "", "line 1: not the JSON object expected"},
		{"a list", "", "\n\n[]", "", "line 3: not the JSON object expected"},
		{"bytes that are no UTF-8", "", "{\"text\":\"\xff\"}", "", "line 1: not UTF-8"},
		{"no ids", "-decode", `{"text":"a"}`, "", `line 1: no "ids"`},
		{"an id outside the vocabulary", "-decode", `{"ids":[3,448]}`, "", "line 1: ids[1] is 448, outside the model's vocabulary of 0 to 447"},
		{"a negative id", "-decode", `{"ids":[-1]}`, "", "ids[0] is -1"},
		{"an id over 2^32", "-decode", `{"ids":[4294967299]}`, "", "ids[0] is 4294967299"},
		{"half an id", "-decode", `{"ids":[1.5]}`, "", "line 1: not the JSON object expected"},
		{"no such model", "-model nowhere", "", "", "no model at nowhere"},
	} {
		args := append([]string{"-model", tinyModel}, strings.Fields(c.args)...)
		out, _, err := tokenize(c.in, args...)
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, new(usageError)) {
			t.Errorf("%s: error %v, want %q in it", c.why, err, c.want)
		}
		if out != c.out {
			t.Errorf("%s: output %q, want what came before: %q", c.why, out, c.out)
		}
	}
	for _, c := range []struct{ why, args, want string }{
		{"no model", "", "-model is missing"},
		{"an unknown flag", "-modle x", "-modle"},
		{"a file that would not be read", "-model x in.jsonl", `unexpected argument "in.jsonl"`},
	} {
		if _, _, err := tokenize("", strings.Fields(c.args)...); !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want bad usage and %q in it", c.why, err, c.want)
		}
	}
	if _, log, err := tokenize("", "-h"); err != nil || !strings.Contains(log, "usage: recipe tokenize -model DIR|FILE.gguf") {
		t.Errorf("help: %v, %q", err, log)
	}
}
