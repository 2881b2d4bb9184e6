package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"

	"teamtalk/grader"
)

// runGrade grades JSON Lines {"completion":..,"gold":..}: every line comes back with its fields in their order, and
// "verdict" (grader.Verdict) and "talk" (grader.TalkCount) behind them. Fields of these two names are replaced. A reference
// that is not one number gives a null reward and is counted; a line that is not as expected ends the run.
func runGrade(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("grade", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, `usage: recipe grade [-boxed] < x.jsonl    {"completion":..,"gold":..} -> the same with "verdict":{"reward":0|1|null,..},"talk":{..},
                                              which replace fields of these names
`)
		flags.PrintDefaults()
	}
	boxed := flags.Bool("boxed", false, `pay an answer in \boxed{} only, and no "#### 42", "answer is 42" or last number`)
	if help, err := parseFlags(flags, args); help || err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return usagef("grade: unexpected argument %q: the lines are read from standard input", flags.Arg(0))
	}
	var rule grader.Rule
	if *boxed {
		rule = grader.BoxedOnly()
	}
	count := map[grader.Reward]int{}
	err := eachLine(ctx, stdin, stdout, func(in, out []byte) ([]byte, error) {
		out, reward, err := gradeLine(rule, in, out)
		if err == nil {
			count[reward]++
		}
		return out, err
	})
	fmt.Fprintf(stderr, "grade: %d lines: %d right, %d wrong, %d without reward (gold is not one number)\n",
		count[grader.Right]+count[grader.Wrong]+count[grader.NoReward], count[grader.Right], count[grader.Wrong], count[grader.NoReward])
	return err
}

// gradeLine appends the graded line to out.
func gradeLine(rule grader.Rule, in, out []byte) ([]byte, grader.Reward, error) {
	var whole json.RawMessage
	if err := parseLine(in, &whole); err != nil {
		return nil, 0, err
	}
	if in[0] != '{' {
		return nil, 0, fmt.Errorf(`not the JSON object expected: want {"completion": "..", "gold": ".."}, found %.40q`, in)
	}
	var completion, gold *string
	d := json.NewDecoder(bytes.NewReader(in))
	d.Token() // the brace; in is known to be one valid object, so none of the tokens can fail
	out = append(out, '{')
	for d.More() {
		key, _ := d.Token()
		name, _ := key.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, 0, err
		}
		var err error
		switch name {
		case "verdict", "talk":
			continue
		case "completion":
			err = stringField(name, value, &completion)
		case "gold":
			err = goldField(value, &gold)
		}
		if err != nil {
			return nil, 0, err
		}
		if out, err = appendJSON(out, name); err != nil {
			return nil, 0, err
		}
		out = append(append(append(out, ':'), value...), ',')
	}
	if completion == nil || gold == nil {
		return nil, 0, fmt.Errorf(`no %q: want {"completion": "..", "gold": ".."}`, map[bool]string{true: "completion", false: "gold"}[completion == nil])
	}
	verdict, talk := rule.Grade(*completion, *gold), grader.Talk(*completion)
	out, err := appendJSON(append(out, `"verdict":`...), verdict)
	if err == nil {
		out, err = appendJSON(append(out, `,"talk":`...), talk)
	}
	return append(out, '}'), verdict.Reward, err
}

// stringField reads a field that must be one string.
func stringField(name string, value json.RawMessage, into **string) error {
	if *into != nil {
		return fmt.Errorf("%q occurs twice: want it once", name)
	}
	if value[0] != '"' {
		return fmt.Errorf("%q is %.40s: want a string", name, value)
	}
	*into = new(string)
	return json.Unmarshal(value, *into)
}

// goldField reads the reference: a string, a JSON number, or null for a reference that is missing and so unusable.
func goldField(value json.RawMessage, into **string) error {
	if c := value[0]; *into == nil && (c == '-' || c >= '0' && c <= '9') {
		s := string(value)
		*into = &s
		return nil
	}
	if *into == nil && string(value) == "null" {
		*into = new(string)
		return nil
	}
	return stringField("gold", value, into)
}

// appendJSON appends v without the escapes that are only for HTML.
func appendJSON(out []byte, v any) ([]byte, error) {
	b := bytes.NewBuffer(out)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}
