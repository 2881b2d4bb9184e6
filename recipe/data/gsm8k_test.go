package data

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"teamtalk/grader"
)

// testHashes are what sha256sum prints for the two files under testdata/gsm8k, which were written for these tests.
var testHashes = Hashes{
	Train: "cc276df670db9b8e57be154e2a72d89835ed249bd5837bb16dfe6dbec4937182",
	Test:  "c39e2a77a3e6ce4853b39c0637295f6158a74b6ae8f408b1f58a0e13eef59856",
}

func TestReadGSM8K(t *testing.T) {
	g, err := ReadGSM8K("testdata/gsm8k", testHashes)
	if err != nil {
		t.Fatal(err)
	}
	if g.Hashes != testHashes {
		t.Errorf("hashes: got %v, sha256sum says %v", g.Hashes, testHashes)
	}
	for _, c := range []struct {
		why     string
		p       Problem
		index   int
		split   string
		gold    string
		opening string
	}{
		{"commas are removed from the gold, never from the question", g.Train[0], 0, "train", "6000", "A ferry carries 1,200 cars"},
		{"a gold may be negative", g.Train[1], 1, "train", "-15", "A diver"},
		{"only the last #### is the answer", g.Train[2], 2, "train", "10", "A carpenter"},
		{"the test file is its own split and counts from 0", g.Test[1], 1, "test", "18", "Two clocks"},
	} {
		if c.p.Index != c.index || c.p.Split != c.split || c.p.Gold != c.gold || !strings.HasPrefix(c.p.Question, c.opening) {
			t.Errorf("%s: got %+v", c.why, c.p)
		}
	}
	// printf '%s' 'two clocks are sold for 9 dollars each. what do they bring?' | sha256sum
	if got, want := g.Test[1].SHA256, "c9ee7ecf71d8047f435d54a13988d00e772bd15a1299508f433b6bf083fc362b"; got != want {
		t.Errorf("question hash: got %s, sha256sum says %s", got, want)
	}
	if len(g.Train) != 3 || len(g.Test) != 2 {
		t.Errorf("got %d and %d problems, the files have 3 and 2 lines", len(g.Train), len(g.Test))
	}
}

func TestReadGSM8KRefusesOtherFiles(t *testing.T) {
	_, err := ReadGSM8K("testdata/gsm8k", PinnedGSM8K)
	var wrong *HashError
	if !errors.As(err, &wrong) {
		t.Fatalf("got %v, want a HashError", err)
	}
	if wrong.Want != PinnedGSM8K.Train || wrong.Got != testHashes.Train || filepath.Base(wrong.Path) != "train.jsonl" {
		t.Errorf("got %+v", wrong)
	}
	for _, part := range []string{"train.jsonl", PinnedGSM8K.Train, testHashes.Train, GSM8KSource, "other data"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message does not say %q: %v", part, err)
		}
	}
	// A right train file does not excuse a wrong test file.
	if _, err := ReadGSM8K("testdata/gsm8k", Hashes{Train: testHashes.Train, Test: testHashes.Train}); !errors.As(err, &wrong) || wrong.Got != testHashes.Test {
		t.Errorf("wrong test file: got %v", err)
	}
	// The way out that the message names.
	if g, err := ReadGSM8K("testdata/gsm8k", Hashes{}); err != nil || g.Hashes != testHashes {
		t.Errorf("other data accepted: got %v, %v", g, err)
	}
}

func TestReadGSM8KBrokenData(t *testing.T) {
	const good = `{"question": "How many?", "answer": "#### 1"}`
	for _, c := range []struct{ why, train, want string }{
		{"not JSON: name the line", good + "\n{", "train.jsonl:2: expected a JSON object"},
		{"an empty line in the middle would shift every index after it", good + "\n\n" + good, "train.jsonl:2: expected a JSON object"},
		{"no answer", `{"question": "How many?"}`, `train.jsonl:1: expected "question" and "answer"`},
		{"blank question", `{"question": " ", "answer": "#### 1"}`, `train.jsonl:1: expected "question" and "answer"`},
		{"answer is a number, not a string", `{"question": "How many?", "answer": 1}`, "train.jsonl:1: expected a JSON object"},
		{"no marker", `{"question": "How many?", "answer": "1"}`, `train.jsonl:1: expected an answer that ends in "#### N", found no "####"`},
		{"gold is a word", `{"question": "How many?", "answer": "#### six"}`, `train.jsonl:1: expected a number after "####", found "six"`},
		{"nothing after the marker", `{"question": "How many?", "answer": "1 ####"}`, `found ""`},
		{"two numbers", `{"question": "How many?", "answer": "#### 6 or 7"}`, `found "6 or 7"`},
		{"no gold is infinite", `{"question": "How many?", "answer": "#### inf"}`, `found "inf"`},
		{"empty file", "\n", "train.jsonl: expected one problem per line"},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "train.jsonl"), c.train)
		write(t, filepath.Join(dir, "test.jsonl"), good)
		_, err := ReadGSM8K(dir, Hashes{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.why, err, c.want)
		}
	}
	if _, err := ReadGSM8K(t.TempDir(), Hashes{}); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), GSM8KSource) {
		t.Errorf("missing folder: got %v", err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "train.jsonl"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadGSM8K(dir, Hashes{}); err == nil || !strings.Contains(err.Error(), "expected a regular file") {
		t.Errorf("a folder in a file's place: got %v", err)
	}
}

func TestTasks(t *testing.T) {
	g, err := ReadGSM8K("testdata/gsm8k", testHashes)
	if err != nil {
		t.Fatal(err)
	}
	for _, keep := range []bool{false, true} {
		for i, task := range Tasks(g.Train, keep) {
			p := g.Train[i]
			if task.Index != p.Index || task.Gold != p.Gold || task.SHA256 != p.SHA256 {
				t.Errorf("task %d of the plan is not problem %d: %+v", i, i, task)
			}
			if (task.Text == p.Question) != keep || (task.Text == "") == keep {
				t.Errorf("text kept: %v, asked for: %v", task.Text != "", keep)
			}
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A gold that loads is a gold that the grader can use: never "no reward" in the middle of a run.
func TestGoldsAreUsable(t *testing.T) {
	for _, answer := range []string{"#### 7", "#### -1,234", "#### 0", "#### 2.50", "#### 192,000,000", "#### 007", "#### " + strings.Repeat("9", 32)} {
		gold, err := goldOf(answer)
		if err != nil {
			t.Errorf("%s: %v", answer, err)
			continue
		}
		if v := grader.MathEqual(`\boxed{`+gold+`}`, gold); v.Reward != grader.Right {
			t.Errorf("%s: the gold %s does not equal itself: %s", answer, gold, v.Reason)
		}
	}
}
