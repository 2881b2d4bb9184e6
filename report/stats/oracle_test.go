package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sort"
	"strconv"
	"testing"
)

// testdata/stats_oracle.json holds values computed by another implementation, in another language. Every section and every key of
// it must be produced here: one that this test does not know fails it, so that the file cannot grow unchecked.

type tree = map[string]any

func readOracle(t testing.TB) tree {
	t.Helper()
	raw, err := os.ReadFile("testdata/stats_oracle.json")
	if err != nil {
		t.Fatal(err)
	}
	var oracle tree
	if err := json.Unmarshal(raw, &oracle); err != nil {
		t.Fatal(err)
	}
	return oracle
}

// sections maps every section to what this package makes of the inputs in it.
var sections = map[string]func(t *testing.T, want any) any{
	"meta":               func(t *testing.T, want any) any { return want }, // prose about the file
	"invariants":         knownInvariants,
	"quantiles":          oursQuantiles,
	"pass_at_k":          oursPassAtK,
	"tiny":               func(t *testing.T, want any) any { return oursCase(t, want.(tree)) },
	"edge":               oursEdge,
	"proportions":        oursProportions,
	"mcnemar_exact":      oursMcNemar,
	"min_p":              oursMinP,
	"runs_table":         oursRunsTable,
	"task_only_coverage": oursTaskOnlyCoverage,
	"design":             oursDesign,
	"bonferroni_t":       oursBonferroni,
}

func TestOracle(t *testing.T) {
	oracle := readOracle(t)
	for name := range sections {
		if _, ok := oracle[name]; !ok {
			t.Errorf("section %q has gone from the oracle: its numbers are no longer checked", name)
		}
	}
	for name, want := range oracle {
		t.Run(name, func(t *testing.T) {
			ours, ok := sections[name]
			if !ok {
				t.Fatalf("unknown section: add it to the sections table")
			}
			if n := agree(t, name, want, ours(t, want)); n == 0 {
				t.Error("nothing was compared")
			}
		})
	}
}

// TestOracleTestCanFail plants wrong, missing and unknown values.
func TestOracleTestCanFail(t *testing.T) {
	want := tree{"a": 1.0, "list": []any{1.0, nil, "word"}}
	for _, c := range []struct {
		why  string
		got  any
		bad  int
		path string
	}{
		{"equal", tree{"a": 1.0, "list": []any{1.0, nil, "word"}}, 0, ""},
		{"NaN stands for null", tree{"a": 1.0, "list": []any{1.0, math.NaN(), "word"}}, 0, ""},
		{"a number off by more than the tolerance", tree{"a": 1.00001, "list": []any{1.0, nil, "word"}}, 1, ""},
		{"a key nobody computes", tree{"list": []any{1.0, nil, "word"}}, 1, ""},
		{"a number for a null", tree{"a": 1.0, "list": []any{1.0, 0.0, "word"}}, 1, ""},
		{"NaN for a number", tree{"a": math.NaN(), "list": []any{1.0, nil, "word"}}, 1, ""},
		{"another word", tree{"a": 1.0, "list": []any{1.0, nil, "world"}}, 1, ""},
		{"a short list", tree{"a": 1.0, "list": []any{1.0, nil}}, 1, ""},
	} {
		bad := 0
		walk("x", want, c.got, func(string, string) { bad++ })
		if bad != c.bad {
			t.Errorf("%s: %d complaints, expected %d", c.why, bad, c.bad)
		}
	}
}

func agree(t *testing.T, path string, want, got any) int {
	return walk(path, want, got, func(path, complaint string) { t.Errorf("%s: %s", path, complaint) })
}

// walk compares every leaf of want with got and returns how many it compared. Integers and floats are one kind of number; a NaN
// of ours is a null of theirs.
func walk(path string, want, got any, complain func(path, complaint string)) (leaves int) {
	switch w := want.(type) {
	case tree:
		g, ok := got.(tree)
		if !ok {
			complain(path, fmt.Sprintf("got %v, expected keys %v", got, keys(w)))
			return 1
		}
		for _, k := range keys(w) {
			if _, ok := g[k]; !ok {
				complain(path+"."+k, "unknown key: nothing computes it")
				continue
			}
			leaves += walk(path+"."+k, w[k], g[k], complain)
		}
	case []any:
		g := list(got)
		if len(g) != len(w) {
			complain(path, fmt.Sprintf("got %v, expected %d values", got, len(w)))
			return 1
		}
		for i := range w {
			leaves += walk(path+"["+strconv.Itoa(i)+"]", w[i], g[i], complain)
		}
	case float64:
		g, ok := number(got)
		if !ok || !(math.Abs(g-w) <= tolerance(path)) {
			complain(path, fmt.Sprintf("got %v, expected %v within %g", got, w, tolerance(path)))
		}
		return 1
	case nil:
		if g, isNumber := number(got); got != nil && !(isNumber && math.IsNaN(g)) {
			complain(path, fmt.Sprintf("got %v, expected none", got))
		}
		return 1
	default:
		if got != want {
			complain(path, fmt.Sprintf("got %v, expected %v", got, want))
		}
		return 1
	}
	return leaves
}

// tolerance is stricter than the oracle's own (its meta section): 1e-9 also behind a quantile inversion, 1e-12 for resampled sums.
// Where run means agree exactly the oracle inverts a t with a million degrees of freedom and we the normal: there 1e-6 stands.
func tolerance(path string) float64 {
	switch {
	case contains(path, "runs_agree_exactly.expected.ref_hillis.ci"):
		return 1e-6
	case contains(path, ".percentile", ".boot_se", ".first_3_replicates", ".accel"):
		return 1e-12
	}
	return 1e-9
}

func keys(m tree) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

func list(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case []float64:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = x
		}
		return out
	case []int:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = x
		}
		return out
	}
	return nil
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	}
	return 0, false
}
