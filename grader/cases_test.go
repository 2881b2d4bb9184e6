package grader

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// fileCase is a line of testdata/grader_cases.jsonl or talk_cases.jsonl. The cases were collected from the issue trackers
// and tests of other graders (source says which) and labelled by hand.
type fileCase struct {
	ID         string
	Completion string
	Encoding   string // "": the completion as it is; "bytes": \xNN stands for a byte; "parts": Parts, repeated and joined
	Parts      [][2]any
	Class      string
	Source     string

	// grader cases
	Gold   string
	Expect bool // rewarded under the default rule
	Policy string
	Strict bool // rewarded under the boxed-only rule

	// talk cases
	Turns       int
	Speakers    int
	Talks       bool
	Order       string // a prefix, if it ends in "..."
	Substantive int
}

var escapedByte = regexp.MustCompile(`\\x[0-9a-f]{2}`)

func (c fileCase) text(t *testing.T) string {
	switch c.Encoding {
	case "":
		return c.Completion
	case "bytes":
		return escapedByte.ReplaceAllStringFunc(c.Completion, func(s string) string {
			b, err := strconv.ParseUint(s[2:], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			return string([]byte{byte(b)})
		})
	case "parts":
		var b strings.Builder
		for _, p := range c.Parts {
			b.WriteString(strings.Repeat(p[0].(string), int(p[1].(float64))))
		}
		return b.String()
	}
	t.Fatalf("%s: unknown encoding %q", c.ID, c.Encoding)
	return ""
}

func readCases(t *testing.T, path string, want int) []fileCase {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var cases []fileCase
	for sc := bufio.NewScanner(bytes.NewReader(data)); sc.Scan(); {
		var c fileCase
		d := json.NewDecoder(bytes.NewReader(sc.Bytes()))
		d.DisallowUnknownFields() // a field that no test looks at is a fault of the test
		if err := d.Decode(&c); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		cases = append(cases, c)
	}
	if len(cases) != want {
		t.Fatalf("%s: %d cases, expected %d", path, len(cases), want)
	}
	return cases
}

func TestGraderCases(t *testing.T) {
	for _, c := range readCases(t, "testdata/grader_cases.jsonl", 300) {
		t.Run(c.ID+"_"+c.Class, func(t *testing.T) {
			text := c.text(t)
			v := MathEqual(text, c.Gold)
			if got := v.Reward == Right; got != c.Expect {
				t.Errorf("rewarded %v, expected %v", got, c.Expect)
			}
			if string(v.Policy) != c.Policy {
				t.Errorf("policy %s, expected %s", v.Policy, c.Policy)
			}
			if got := BoxedOnly().Grade(text, c.Gold).Reward == Right; got != c.Strict {
				t.Errorf("boxed only: rewarded %v, expected %v", got, c.Strict)
			}
			if got := v.BoxedOnly() == Right; got != c.Strict {
				t.Errorf("Verdict.BoxedOnly is %v, expected %v", got, c.Strict)
			}
			if isError := v.Reward == NoReward; isError != (c.Class == "gold_error") || isError != (v.Reason == GoldUnparsable) {
				t.Errorf("reward %d with reason %s in class %s", v.Reward, v.Reason, c.Class)
			}
			if (v.Reward == Right) != (v.Reason == Equal) || v.Reason == "" {
				t.Errorf("reward %d with reason %q", v.Reward, v.Reason)
			}
			if t.Failed() {
				t.Logf("completion %.200q gold %.100q: %+v (%s)", text, c.Gold, v, c.Source)
			}
		})
	}
}

func TestTalkCases(t *testing.T) {
	for _, c := range readCases(t, "testdata/talk_cases.jsonl", 65) {
		t.Run(c.ID+"_"+c.Class, func(t *testing.T) {
			text := c.text(t)
			got := Talk(text)
			if got.Turns != c.Turns || got.Speakers != c.Speakers || got.Talks != c.Talks || got.Substantive != c.Substantive {
				t.Errorf("%.200q:\n got %+v\nwant turns %d, speakers %d, talks %v, substantive %d", text, got, c.Turns, c.Speakers, c.Talks, c.Substantive)
			}
			if prefix, short := strings.CutSuffix(c.Order, "..."); short && !strings.HasPrefix(got.Order, prefix) || !short && got.Order != c.Order {
				t.Errorf("order %s, expected %s", got.Order, c.Order)
			}
		})
	}
}
