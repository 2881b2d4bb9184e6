package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"teamtalk/grader"
)

func grade(stdin string, args ...string) (stdout, stderr string, err error) {
	var out, log bytes.Buffer
	err = runGrade(context.Background(), args, strings.NewReader(stdin), &out, &log)
	return out.String(), log.String(), err
}

const noTalk = `,"talk":{"turns":0,"speakers":0,"talks":false,"order":"","substantive":0,"talks_substantive":false,"switches":0,"near_misses":0}}` + "\n"

func TestGrade(t *testing.T) {
	for _, c := range []struct {
		why, args, in, out, log string
	}{
		{"a right answer", "", `{"completion":"\\boxed{36}","gold":"36"}`,
			`{"completion":"\\boxed{36}","gold":"36","verdict":{"reward":1,"policy":"boxed","reason":"equal","form":"integer","has_percent":false,"has_unit":false,"boxes":1,"distinct_boxes":1,"truncated":false}` + noTalk,
			"grade: 1 lines: 1 right, 0 wrong, 0 without reward (gold is not one number)\n"},
		{"a file that begins with a byte order mark", "", "\ufeff" + `{"completion":"\\boxed{36}","gold":"36"}`,
			`{"completion":"\\boxed{36}","gold":"36","verdict":{"reward":1,"policy":"boxed","reason":"equal","form":"integer","has_percent":false,"has_unit":false,"boxes":1,"distinct_boxes":1,"truncated":false}` + noTalk,
			"grade: 1 lines: 1 right, 0 wrong, 0 without reward (gold is not one number)\n"},
		{"a wrong one, blank lines, no line end", "", "\n\n  {\"completion\":\"35\",\"gold\":\"36\"}",
			`{"completion":"35","gold":"36","verdict":{"reward":0,"policy":"last_number","reason":"not_equal","form":"integer","has_percent":false,"has_unit":false,"boxes":0,"distinct_boxes":0,"truncated":false}` + noTalk,
			"grade: 1 lines: 0 right, 1 wrong, 0 without reward (gold is not one number)\n"},
		{"an unusable reference: no reward, and the run goes on", "", `{"completion":"36","gold":"six"}` + "\n" + `{"completion":"36","gold":null}`,
			`{"completion":"36","gold":"six","verdict":{"reward":null,"policy":"none","reason":"gold_unparsable","has_percent":false,"has_unit":false,"boxes":0,"distinct_boxes":0,"truncated":false}` + noTalk +
				`{"completion":"36","gold":null,"verdict":{"reward":null,"policy":"none","reason":"gold_unparsable","has_percent":false,"has_unit":false,"boxes":0,"distinct_boxes":0,"truncated":false}` + noTalk,
			"grade: 2 lines: 0 right, 0 wrong, 2 without reward (gold is not one number)\n"},
		{"boxed only", "-boxed", `{"completion":"36","gold":"36"}`,
			`{"completion":"36","gold":"36","verdict":{"reward":0,"policy":"none","reason":"no_answer","has_percent":false,"has_unit":false,"boxes":0,"distinct_boxes":0,"truncated":false}` + noTalk,
			"grade: 1 lines: 0 right, 1 wrong, 0 without reward (gold is not one number)\n"},
		{"a number as reference; other fields stay as they are, in their order; an earlier verdict is replaced", "",
			`{"z":1.50, "verdict":{"reward":1},"completion":"Solver: <b>\nLead: 7","<é>":[{"gold":1}],"gold":7.0,"talk":3,"a":null}`,
			`{"z":1.50,"completion":"Solver: <b>\nLead: 7","<é>":[{"gold":1}],"gold":7.0,"a":null,"verdict":{"reward":1,"policy":"last_number","reason":"equal","form":"integer","has_percent":false,"has_unit":false,"boxes":0,"distinct_boxes":0,"truncated":false},` +
				`"talk":{"turns":2,"speakers":2,"talks":false,"order":"SL","substantive":2,"talks_substantive":false,"switches":1,"near_misses":0}}` + "\n",
			"grade: 1 lines: 1 right, 0 wrong, 0 without reward (gold is not one number)\n"},
		{"no lines", "", "", "", "grade: 0 lines: 0 right, 0 wrong, 0 without reward (gold is not one number)\n"},
	} {
		out, log, err := grade(c.in, strings.Fields(c.args)...)
		if err != nil || out != c.out || log != c.log {
			t.Errorf("%s: %v\n got %s%s\nwant %s%s", c.why, err, out, log, c.out, c.log)
		}
	}
}

func TestGradeTwice(t *testing.T) {
	once, _, err := grade(`{"id":7,"completion":"Solver: 3\nChecker: 3\nLead: \\boxed{3}","gold":"3"}` + "\n")
	if err != nil {
		t.Fatal(err)
	}
	if twice, _, err := grade(once); err != nil || twice != once {
		t.Errorf("graded again: %v\n got %s\nwant %s", err, twice, once)
	}
}

func TestGradeRefuses(t *testing.T) {
	const good = `{"completion":"36","gold":"36"}` + "\n"
	for _, c := range []struct {
		why, in, want string
	}{
		{"half a line", `{"completion":"36",`, "line 2: not the JSON object expected"},
		{"two objects on a line", `{"completion":"36","gold":"36"} {}`, "line 2: not the JSON object expected"},
		{"a list", `["36","36"]`, `line 2: not the JSON object expected: want {"completion"`},
		{"null", `null`, "line 2: not the JSON object expected"},
		{"no completion", `{"gold":"36"}`, `line 2: no "completion"`},
		{"no gold", `{"completion":"36"}`, `line 2: no "gold"`},
		{"other case", `{"Completion":"36","gold":"36"}`, `line 2: no "completion"`},
		{"a completion that is no text", `{"completion":36,"gold":"36"}`, `line 2: "completion" is 36: want a string`},
		{"a gold that is no text", `{"completion":"36","gold":["36"]}`, `line 2: "gold" is ["36"]: want a string`},
		{"twice the same field", `{"completion":"36","completion":"37","gold":"36"}`, `line 2: "completion" occurs twice`},
		{"twice a numeric gold", `{"completion":"36","gold":36,"gold":37}`, `line 2: "gold" occurs twice`},
		{"bytes that are no UTF-8", "{\"completion\":\"\xff\",\"gold\":\"36\"}", "line 2: not UTF-8"},
	} {
		out, log, err := grade(good + c.in + "\n" + good)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.why, err, c.want)
		}
		if strings.Count(out, "\n") != 1 || !strings.HasPrefix(log, "grade: 1 lines") {
			t.Errorf("%s: the line before it is to come back: %q %q", c.why, out, log)
		}
		if exitCode(err, io.Discard) != 1 {
			t.Errorf("%s: exit code %d, want 1", c.why, exitCode(err, io.Discard))
		}
	}
	for _, args := range [][]string{{"x.jsonl"}, {"-nonsense"}} {
		if _, _, err := grade("", args...); exitCode(err, io.Discard) != 2 {
			t.Errorf("%q: exit code %d (%v), want 2", args, exitCode(err, io.Discard), err)
		}
	}
	if _, log, err := grade("", "-h"); err != nil || !strings.Contains(log, "usage: recipe grade") {
		t.Errorf("-h: %v %q", err, log)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := runGrade(ctx, nil, strings.NewReader(good), io.Discard, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestGradeLongLines: a line may be many megabytes long, and the grader's own size limit is a verdict and not an error.
func TestGradeLongLines(t *testing.T) {
	long := `{"note":"` + strings.Repeat("y", 6<<20) + `","completion":"` + strings.Repeat("x", 3<<20) + ` \\boxed{36}","gold":"36"}`
	over := `{"completion":"` + strings.Repeat("x", 5<<20) + ` \\boxed{36}","gold":"36"}`
	out, _, err := grade(long + "\n" + over + "\n")
	if err != nil {
		t.Fatal(err)
	}
	var verdicts []grader.Verdict
	for line := range strings.SplitSeq(strings.TrimSpace(out), "\n") {
		var l struct{ Verdict grader.Verdict }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		verdicts = append(verdicts, l.Verdict)
	}
	if len(verdicts) != 2 || verdicts[0].Reward != grader.Right || verdicts[1].Reason != grader.LimitSize {
		t.Errorf("got %+v", verdicts)
	}
	if !strings.HasPrefix(out, long[:len(long)-1]+`,"verdict":`) {
		t.Error("the fields of the long line do not come back as they were")
	}
}
