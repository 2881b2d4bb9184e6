package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var updateCompare = flag.Bool("update-compare", false, "rewrite the golden files of compare")

// compareRun calls the command as the shell does and returns what it wrote and exited with.
func compareRun(stdin string, args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	code = exitCode(run(context.Background(), append([]string{"compare"}, args...), strings.NewReader(stdin), &out, &errs), &errs)
	return out.String(), errs.String(), code
}

// table writes long form: counts[arm][run][task] right answers of samples; -1 leaves the cell out, and a count above samples adds
// that many ungraded answers to none right.
func table(samples int, arms []string, counts ...[][]int) string {
	var b strings.Builder
	b.WriteString("arm,run,task,sample,correct\n")
	for a, runs := range counts {
		for i, tasks := range runs {
			for t, k := range tasks {
				for s := 0; s < samples && k >= 0; s++ {
					correct := map[bool]string{true: "1", false: "0"}[s < k]
					if k > samples {
						correct = map[bool]string{true: "", false: "0"}[s < k-samples]
					}
					fmt.Fprintf(&b, "%s,%d,%d,%d,%s\n", arms[a], 17+i, t+1, s, correct)
				}
			}
		}
	}
	return b.String()
}

// TestCompareText is the whole text of the tables that a reader will meet; read the golden files.
func TestCompareText(t *testing.T) {
	example, err := os.ReadFile("testdata/tiny.csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ why, golden, table string }{
		{"the example", "tiny", string(example)},
		{"missing cells, short cells, ungraded answers, unequal runs", "gaps", table(4, []string{"plain", "team"},
			[][]int{{4, 3, 2, 0, 1, 4}, {3, 4, -1, 1, 0, 4}}, [][]int{{4, 4, 3, 1, 2, 4}, {4, 3, 3, 8, 2, 3}, {4, 3, 3, 1, 6, -1}})},
		{"one run per arm", "one-run", table(4, []string{"plain", "team"}, [][]int{{4, 3, 2, 0, 1, 4}}, [][]int{{4, 4, 3, 1, 2, 4}})},
		{"two runs against one, and an interval that is cut at one", "cut", table(1, []string{"A", "B"}, [][]int{{1, 0, 1, 0, 1, 0}, {1, 0, 1, 0, 1, 0}}, [][]int{{1, 1, 1, 1, 1, 1}})},
		{"nothing varies", "degenerate", table(2, []string{"plain", "team"}, [][]int{{2, 2, 2}, {2, 2, 2}}, [][]int{{2, 2, 2}, {2, 2, 2}})},
	} {
		got, stderr, code := compareRun(c.table, "-")
		if code != 0 || stderr != "" {
			t.Errorf("%s: exit %d: %s", c.why, code, stderr)
		}
		path := filepath.Join("testdata", "compare-"+c.golden+".txt")
		if *updateCompare {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: %s differs (go test ./report -update-compare rewrites it). Got:\n%s", c.why, path, got)
		}
	}
}

// TestCompareOracle holds the JSON of the example against values computed by another implementation.
func TestCompareOracle(t *testing.T) {
	raw, err := os.ReadFile("stats/testdata/stats_oracle.json")
	if err != nil {
		t.Fatal(err)
	}
	var oracle struct {
		Tiny struct{ Expected map[string]any }
	}
	if err := json.Unmarshal(raw, &oracle); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := compareRun("", "testdata/tiny.csv", "-json")
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"delta", "ci_tasks", "ci_runs", "ci_both", "p_both", "V_task", "V_runs", "V_int", "df_runs", "verdict", "components", "p_tasks", "n", "S", "R", "run_means", "d", "wins_losses_ties"} {
		want, ok := oracle.Tiny.Expected[key]
		if !ok {
			t.Errorf("the oracle has no %s", key)
		}
		near(t, key, got[key], want)
	}
	if got["scopes"].(map[string]any)["ci_both"] != "over new training runs and new tasks" || !strings.Contains(got["sentence"].(string), "over new training runs and new tasks") {
		t.Errorf("the scope is not said: %v, %v", got["scopes"], got["sentence"])
	}
}

func near(t *testing.T, key string, got, want any) {
	t.Helper()
	switch w := want.(type) {
	case map[string]any:
		for k, v := range w {
			near(t, key+"."+k, got.(map[string]any)[k], v)
		}
	case []any:
		if len(got.([]any)) != len(w) {
			t.Errorf("%s: %v, expected %v", key, got, want)
			return
		}
		for i, v := range w {
			near(t, fmt.Sprint(key, i), got.([]any)[i], v)
		}
	case float64:
		if g, ok := got.(float64); !ok || math.Abs(g-w) > 1e-9 {
			t.Errorf("%s: %v, expected %v", key, got, want)
		}
	default:
		if got != want {
			t.Errorf("%s: %v, expected %v", key, got, want)
		}
	}
}

// TestCompareNulls: one run per arm has no interval over runs, and JSON says null.
func TestCompareNulls(t *testing.T) {
	stdout, _, code := compareRun(table(4, []string{"plain", "team"}, [][]int{{4, 3, 2}}, [][]int{{4, 4, 3}}), "-json", "-")
	var got map[string]any
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 {
		t.Fatalf("exit %d, %v", code, err)
	}
	for _, key := range []string{"ci_runs", "ci_both", "p_both", "V_runs", "V_int", "df_runs"} {
		if v, ok := got[key]; !ok || v != nil {
			t.Errorf("%s is %v, expected null", key, v)
		}
	}
	if got["verdict"] != "unresolved" || got["ci_tasks"] == nil {
		t.Errorf("verdict %v, ci_tasks %v", got["verdict"], got["ci_tasks"])
	}
}

// TestCompareCopies: one run under several names, and answers that do not vary, have no interval over new runs in text nor in JSON.
func TestCompareCopies(t *testing.T) {
	one, other := []int{4, 3, 2, 0, 1, 4, 1, 2, 0, 3, 4, 2}, []int{4, 4, 3, 1, 2, 4, 1, 3, 1, 4, 4, 1}
	for _, c := range []struct {
		why, table, verdict string
		says                string
		none, given         []string
	}{
		{"five copies in each arm", table(4, []string{"plain", "team"}, [][]int{one, one, one, one, one}, [][]int{other, other, other, other, other}), "unresolved",
			"the runs 17, 18, 19, 20 and 21 of arm plain, and the runs 17, 18, 19, 20 and 21 of arm team are identical on every task", []string{"runs", "both"}, []string{"tasks"}},
		{"labels that would move the cursor", table(4, []string{"pl\x1bain", "team"}, [][]int{one, one, one}, [][]int{other, other, other}), "unresolved",
			`of arm "pl\x1bain"`, []string{"runs", "both"}, []string{"tasks"}},
		{"all wrong against all right", table(4, []string{"plain", "team"}, [][]int{{0, 0, 0}, {0, 0, 0}}, [][]int{{4, 4, 4}, {4, 4, 4}}), "degenerate",
			"Nothing varied", []string{"tasks", "runs", "both"}, nil},
		{"runs that differ", table(4, []string{"plain", "team"}, [][]int{one, other}, [][]int{other, one}), "unresolved", "are not separated", nil, []string{"runs", "both"}},
	} {
		text, stderr, code := compareRun(c.table, "-")
		if code != 0 || !strings.Contains(text, "Verdict: "+c.verdict+"\n") || !strings.Contains(text, c.says) || strings.Contains(text, "\x1b") {
			t.Errorf("%s: exit %d, %s; want %s and %q:\n%s", c.why, code, stderr, c.verdict, c.says, text)
		}
		stdout, _, _ := compareRun(c.table, "-", "-json")
		var got map[string]any
		if err := json.Unmarshal([]byte(stdout), &got); err != nil {
			t.Fatal(err)
		}
		for want, scopes := range map[bool][]string{false: c.none, true: c.given} {
			for _, s := range scopes {
				row := text[strings.Index(text, "\n  ci_"+s)+1:]
				row = row[:strings.Index(row, "\n")]
				if strings.Contains(row, "  none ") == want || (got["ci_"+s] != nil) != want || (got["p_"+s] != nil) != want {
					t.Errorf("%s: want a ci_%s: %v; text has %q, JSON %v and p %v", c.why, s, want, row, got["ci_"+s], got["p_"+s])
				}
			}
		}
		if got["verdict"] != c.verdict {
			t.Errorf("%s: JSON says %v", c.why, got["verdict"])
		}
	}
}

func TestCompareGapsJSON(t *testing.T) {
	stdout, _, _ := compareRun(table(4, []string{"plain", "team"}, [][]int{{4, -1, 2}, {1, 2, 3}}, [][]int{{4, 4, 6}, {4, 4, 4}}), "-", "-json")
	var got struct {
		Dropped  []string         `json:"dropped_tasks"`
		Missing  []map[string]any `json:"missing_cells"`
		Short    []map[string]any `json:"short_cells"`
		Ungraded int              `json:"ungraded_rows"`
		N        int              `json:"n"`
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != "{[2] [map[arm:plain graded:0 run:17 task:2]] [map[arm:team graded:2 run:17 task:3]] 2 2}" {
		t.Errorf("%v", got)
	}
}

// TestCompareBaseline: which arm is subtracted.
func TestCompareBaseline(t *testing.T) {
	small, large := [][]int{{1, 2, 3}, {2, 2, 3}}, [][]int{{3, 3, 4}, {4, 3, 4}}
	for _, c := range []struct {
		why   string
		table string
		args  []string
		plus  bool // the arm with more right answers minus the other
		by    string
	}{
		{"the first in the file", table(4, []string{"plain", "team"}, small, large), nil, true, "first in the file"},
		{"the first in the file, the other way", table(4, []string{"team", "plain"}, large, small), nil, false, "first in the file"},
		{"by its name", table(4, []string{"recipe", "Baseline"}, large, small), nil, true, "by its name"},
		{"by its name, first", table(4, []string{"baseline", "recipe"}, small, large), nil, true, "by its name"},
		{"by the flag", table(4, []string{"team", "plain"}, large, small), []string{"-baseline", "plain"}, true, "named by -baseline"},
		{"the flag beats the name", table(4, []string{"baseline", "recipe"}, small, large), []string{"-baseline=recipe"}, false, "named by -baseline"},
	} {
		stdout, stderr, code := compareRun(c.table, append([]string{"-", "-json"}, c.args...)...)
		var got struct {
			Delta float64
			By    string `json:"baseline_is"`
		}
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 {
			t.Errorf("%s: exit %d, %v, %s", c.why, code, err, stderr)
		}
		if (got.Delta > 0) != c.plus || got.By != c.by {
			t.Errorf("%s: delta %v, baseline %q", c.why, got.Delta, got.By)
		}
	}
}

func TestCompareExample(t *testing.T) {
	example, _, code := compareRun("", "-example")
	if code != 0 {
		t.Fatal(code)
	}
	one, _, code := compareRun(example, "-")
	two, _, _ := compareRun("", "testdata/tiny.csv")
	if code != 0 || strings.SplitN(one, "\n", 2)[1] != strings.SplitN(two, "\n", 2)[1] {
		t.Errorf("the example does not give the example's result:\n%s", one)
	}
	help, stderr, code := compareRun("", "-h")
	if code != 0 || stderr != "" {
		t.Errorf("help: exit %d, %s", code, stderr)
	}
	for _, want := range []string{"arm,run,task,sample,correct\n    A,1,1,1,1\n", "delta +0.125, ci_both [−0.202, +0.452]: unresolved", "-baseline arm"} {
		if !strings.Contains(help, want) {
			t.Errorf("help has no %q:\n%s", want, help)
		}
	}
	if !strings.Contains(two, "[−0.202, +0.452]") || !strings.Contains(two, "Verdict: unresolved") {
		t.Errorf("the result that help names is not the result")
	}
}

func TestCompareErrors(t *testing.T) {
	dir := t.TempDir()
	ok := table(4, []string{"plain", "team"}, [][]int{{4, 3}}, [][]int{{4, 4}})
	for _, c := range []struct {
		why, stdin string
		args       []string
		code       int
		want       string
	}{
		{"no file", "", nil, 2, "got 0 files"},
		{"two files", ok, []string{"-", "-"}, 2, "got 2 files"},
		{"unknown flag", ok, []string{"-", "-jsn"}, 2, "-jsn"},
		{"a margin in points", ok, []string{"-", "-margin", "2"}, 2, "between 0 and 1"},
		{"a negative margin", ok, []string{"-", "-margin", "-0.1"}, 2, "between 0 and 1"},
		{"not a number", ok, []string{"-", "-margin", "NaN"}, 2, "between 0 and 1"},
		{"an arm that is not there", ok, []string{"-", "-baseline", "plane"}, 2, "the file has the arms plain and team"},
		{"a file that is not there", "", []string{"nowhere.csv"}, 1, "nowhere.csv: no such file"},
		{"a folder", "", []string{dir}, 1, "is a directory"},
		{"not the table", "a,b\n1,2\n", []string{"-"}, 1, `standard input: line 1: no column "arm"`},
		{"one task", table(4, []string{"plain", "team"}, [][]int{{4}}, [][]int{{4}}), []string{"-"}, 1, "1 of 1 tasks are graded in every run"},
		{"no task in common", table(4, []string{"plain", "team"}, [][]int{{4, -1}}, [][]int{{-1, 4}}), []string{"-"}, 1, "2 cells have no graded answer: arm plain run 17 task 2; arm team run 17 task 1"},
	} {
		stdout, stderr, code := compareRun(c.stdin, c.args...)
		if code != c.code || !strings.Contains(stderr, c.want) || stdout != "" || !strings.Contains(stderr, "expected") && !strings.Contains(stderr, "-h") && !strings.Contains(stderr, "the file has") && !strings.Contains(stderr, "directory") {
			t.Errorf("%s: exit %d, %s", c.why, code, stderr)
		}
	}
}

// TestCompareHostileLabels: labels cannot move the cursor, hide text or break lines.
func TestCompareHostileLabels(t *testing.T) {
	hostile := table(4, []string{"pl\x1b[31main", "te\u202eam"}, [][]int{{4, 3, 2}, {1, 2, 3}}, [][]int{{4, 4, -1}, {4, 4, 4}})
	stdout, stderr, code := compareRun(hostile, "-")
	if code != 0 {
		t.Fatal(stderr)
	}
	if strings.ContainsAny(stdout, "\x1b\u202e") || !strings.Contains(stdout, `"pl\x1b[31main"`) {
		t.Errorf("%q", stdout)
	}
	stdout, _, _ = compareRun(hostile, "-", "-json")
	if !json.Valid([]byte(stdout)) || strings.ContainsAny(stdout, "\x1b") {
		t.Errorf("%q", stdout)
	}
	_, stderr, _ = compareRun(hostile, "-", "-baseline", "x\x1b[0m")
	if strings.Contains(stderr, "\x1b") {
		t.Errorf("%q", stderr)
	}
}

// BenchmarkCompareCSV is 120 tasks × 16 runs × 4 samples from text to text.
func BenchmarkCompareCSV(b *testing.B) {
	arm := func(shift int) [][]int {
		runs := make([][]int, 8)
		for i := range runs {
			for t := range 120 {
				runs[i] = append(runs[i], (t*7+i*3+shift*t)%5)
			}
		}
		return runs
	}
	in := table(4, []string{"plain", "team"}, arm(0), arm(1))
	for b.Loop() {
		if _, stderr, code := compareRun(in, "-"); code != 0 {
			b.Fatal(stderr)
		}
	}
}
