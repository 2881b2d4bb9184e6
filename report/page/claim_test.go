package page

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"teamtalk/report/stats"
)

func claimsOf(t testing.TB, files Files) Claims {
	t.Helper()
	var cs Claims
	if err := json.Unmarshal(files["claims.json"], &cs); err != nil {
		t.Fatal(err)
	}
	return cs
}

func TestFormat(t *testing.T) {
	for _, c := range []struct{ ptr, format, json, want string }{
		{"/x", "+3", "0.02291", "+0.023"},
		{"/x", "+3", "-0.02291", "−0.023"},
		{"/x", "+3", "-0.00001", "0.000"}, // no minus zero
		{"/x", "3", "1", "1.000"},
		{"/x", "3", "null", "n/a"},
		{"/x", "%1", "0.0303", "3.0%"},
		{"/x", "i", "854144", "854,144"},
		{"/x", "i", "1234", "1234"},
		{"/x", "g", "1e-05", "1e-05"},
		{"/x", "p", "0.0001", "< 0.001"},
		{"/x", "dur", "90", "90.0\u00a0s"},
		{"/x", "dur", "150", "2.5\u00a0min"},
		{"/x", "dur", "9000", "2.5\u00a0h"},
		{"/x", "~2", "7.34e-8", "7.3e−08"},
		{"/x", "~2", "0.0123", "0.012"},
		{"/x", "MiB", "1610612736", "1536"},
		{"/x", "text", `"a|b <i>"`, `a\|b &lt;i&gt;`},
		{"/x", "code", `"a|b"`, "`a∣b`"},
		{"/x", "clip", `"0123456789abcdef"`, "`0123456789ab`"},
		{"/x", "list", `["a","b"]`, "`a`, `b`"},
		{"/x", "list", `[]`, "none"},
		{"/x", "share", `{"k":3,"n":480,"rate":0.00625}`, "3 of 480 (0.6%)"},
		{"/x/ci_both", "scoped:+3", "[-0.1,0.2]", "95% [−0.100, +0.200] over new training runs and new tasks"},
		{"/x/ci_tasks", "scoped:+3", "[-0.1,0.2]", "95% [−0.100, +0.200] over new tasks, for these models"},
		{"/x/ci_tasks", "pair:3", "[0.1,0.2]", "[0.100, 0.200]"},
		{"/x/ci_both", "pair:cut:+3", "[-1.792,1.677]", "[−1.000, +1.000]"}, // no difference of shares lies outside
		{"/x/ci_both", "scoped:cut:+3", "[-1.062,-0.4]", "95% [−1.000, −0.400] over new training runs and new tasks"},
		{"/x/ci_both", "pair:+1", "[-1.792,16.77]", "[−1.8, +16.8]"}, // lengths are not shares
		{"/x/ci_runs", "pair:3", "null", "none"},
		{"/x/ci_runs", "pair:3", "[0.5,0.5]", "none"}, // nothing varied
	} {
		d := json.NewDecoder(strings.NewReader(c.json))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		if got, err := Format(c.ptr, c.format, v); err != nil || got != c.want {
			t.Errorf("Format(%q, %q, %s) = %q, %v; want %q", c.ptr, c.format, c.json, got, err, c.want)
		}
	}
}

func TestFormatRefuses(t *testing.T) {
	for _, c := range []struct {
		why, ptr, format string
		v                any
	}{
		{"text where a number is wanted", "/x", "+3", "abc"},
		{"a number where text is wanted", "/x", "list", json.Number("1")},
		{"a format that does not exist", "/x", "$2", json.Number("1")},
		{"an interval whose name is no scope", "/x/interval", "pair:3", []any{json.Number("1"), json.Number("2")}},
		{"half an interval", "/x/ci_both", "pair:3", []any{json.Number("1")}},
	} {
		if got, err := Format(c.ptr, c.format, c.v); err == nil {
			t.Errorf("%s: got %q", c.why, got)
		}
	}
}

// The words of an interval are those of its type in stats.
func TestScopedIsStats(t *testing.T) {
	run := func(right ...int) (cells []stats.Cell) {
		for _, r := range right {
			cells = append(cells, stats.Cell{Correct: r, Samples: 4})
		}
		return cells
	}
	c, err := stats.Compare(stats.Outcomes{run(1, 2, 4), run(2, 2, 3)}, stats.Outcomes{run(2, 2, 4), run(3, 1, 4)}, 0.02)
	if err != nil {
		t.Fatal(err)
	}
	for key, iv := range map[string]interface {
		String() string
		MarshalJSON() ([]byte, error)
	}{"ci_tasks": c.CITasks, "ci_runs": c.CIRuns, "ci_both": c.CIBoth} {
		raw, err := iv.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		if got, err := Format("/contrasts/x/"+key, "scoped:+3", v); err != nil || got != iv.String() {
			t.Errorf("%s: page writes %q (%v), stats %q", key, got, err, iv.String())
		}
	}
}

// A column that names one scope takes no interval of another.
func TestAColumnTakesOnlyItsScope(t *testing.T) {
	tr, err := newTree([]byte(`{"c":{"ci_tasks":[0,1]}}`))
	if err != nil {
		t.Fatal(err)
	}
	g := (&writer{json: tr, doc: &Document{}}).columns("ci_both")
	g.row(g.scoped("ci_both", "+3", "c", "ci_tasks"))
	if _, err := g.md("x"); err == nil || !strings.Contains(err.Error(), "ci_tasks in a column for ci_both") {
		t.Errorf("error %v", err)
	}
}

func TestPointers(t *testing.T) {
	tr, err := newTree([]byte(`{"a/b":{"~x":[10,{"y":null}]},"s":"t"}`))
	if err != nil {
		t.Fatal(err)
	}
	if v, err := tr.at(pointer("a/b", "~x", 0)); err != nil || v != json.Number("10") {
		t.Errorf("%v, %v", v, err)
	}
	if v, err := tr.at("/a~1b/~0x/1/y"); err != nil || v != nil {
		t.Errorf("%v, %v", v, err)
	}
	for _, bad := range []string{"/none", "/a~1b/~0x/2", "/a~1b/~0x/-1", "/s/t", "s"} {
		if v, err := tr.at(bad); err == nil {
			t.Errorf("%s: found %v", bad, v)
		}
	}
}

// Every claim says where it stands, from which artifacts it comes and what they hash to; and a changed number is found.
func TestVerifyClaims(t *testing.T) {
	files := mustBuild(t, os.DirFS(syntheticRun(t, small())), Options{})
	cs := claimsOf(t, files)
	if len(cs.Claims) < 300 {
		t.Errorf("only %d claims", len(cs.Claims))
	}
	for _, c := range cs.Claims {
		if len(c.From) == 0 || c.Line == 0 || c.Column == 0 {
			t.Errorf("claim %+v has no place or no origin", c)
		}
		for _, f := range c.From {
			if len(cs.Artifacts[f]) != 64 {
				t.Errorf("claim %d comes from %s, which has the checksum %q", c.ID, f, cs.Artifacts[f])
			}
		}
	}
	if n, bad := VerifyClaims(files); n != len(cs.Claims) || len(bad) > 0 {
		t.Errorf("%d claims, %v", n, bad)
	}
	for _, c := range []struct{ why, file, old, now, want string }{
		{"a number edited in the text", "report.md", "5 steps", "7 steps", "does not say"},
		{"a number edited in report.json", "report.json", `"curve_window": 5`, `"curve_window": 6`, "claimed"},
		{"a claim edited", "claims.json", `"pointer": "/curve_window"`, `"pointer": "/curve_windows"`, "has no /curve_windows"},
	} {
		edited := Files{}
		for n, b := range files {
			edited[n] = b
		}
		edited[c.file] = bytes.Replace(files[c.file], []byte(c.old), []byte(c.now), 1)
		if bytes.Equal(edited[c.file], files[c.file]) {
			t.Fatalf("%s: %q is not in %s", c.why, c.old, c.file)
		}
		if _, bad := VerifyClaims(edited); !strings.Contains(strings.Join(bad, "\n"), c.want) {
			t.Errorf("%s: %v, expected %q", c.why, bad, c.want)
		}
	}
}
