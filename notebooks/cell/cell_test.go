package cell

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"teamtalk/recipe/artifact/artifacttest"
	"teamtalk/recipe/experiment"
	"teamtalk/recipe/mini"
	"teamtalk/report/analysis"
	"teamtalk/report/stats"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// synthetic writes a small simulated run and loads it.
func synthetic(t *testing.T, o artifacttest.Options) *Run {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if err := artifacttest.Write(dir, o); err != nil {
		t.Fatal(err)
	}
	r, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// printed returns what f prints: outside a notebook everything is shown as text.
func printed(t *testing.T, f func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = w
	got := make(chan string)
	go func() {
		b, _ := io.ReadAll(r)
		got <- string(b)
	}()
	f()
	os.Stdout = stdout
	w.Close()
	return <-got
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what is shown now (-update rewrites it):\n%s", file, got)
	}
}

// What a cell shows of a plan and a run, as text.
func TestShown(t *testing.T) {
	r := synthetic(t, artifacttest.Options{Tasks: 12, Steps: 4})
	golden(t, "shown.txt", printed(t, func() {
		Prompts(r.Record.Plan, mini.Problems().Holdout[0].Question)
		Grades("18", `\boxed{18}`, "Solver: 18\nChecker: yes\nLead: \\boxed{18}", "The answer is not 18.")
		Plan(r.Record.Plan)
		r.Arms()
		talks := r.Replies(func(x Reply) bool { return x.Talk.Talks })
		Counts("speakers", talks, func(x Reply) string { return x.Talk.Order })
		Read(talks, 1)
	}))
}

// What is the report's own comes from the report: its sentences, figures and sections.
func TestShownOfReport(t *testing.T) {
	r := synthetic(t, artifacttest.Options{Tasks: 12, Steps: 4})
	primary := r.Numbers.Contrasts[analysis.Primary]
	for _, c := range []struct {
		why   string
		show  func()
		wants []string
	}{
		{"intervals", r.Intervals, []string{"ci_both", difference(primary.CIBoth), primary.Sentence}},
		{"curves", func() { r.Figure("curves") }, []string{"over 4 steps", "baseline-17"}},
		{"forest", func() { r.Figure("forest") }, []string{stats.Signed(float64(primary.Delta), 3)}},
		{"logged metrics", func() { r.Curves("entropy", "grad_norm") }, []string{"2 panels over 4 steps", "grad_norm"}},
		{"sections", func() { r.Sections("Result", "How sure") }, []string{"## Result\n", "**Verdict", "### How sure\n"}},
	} {
		got := printed(t, c.show)
		for _, want := range c.wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", c.why, want, got)
			}
		}
	}
}

// The HTML of a table: lines kept, numbers to the right, everything from a model escaped, nothing left for MathJax.
func TestTableHTML(t *testing.T) {
	golden(t, "table.html", tableHTML([]string{"reply", "tokens", "rate", "interval"}, [][]string{
		{"Solver: $5 & <b>more</b>\nChecker: \\[ 5 \\]", "12", "−0.250", "[0.1, 0.2]"},
		{"a text that is too long to stay on one line", "n/a", "12.5%", "n/a"},
	})+"\n")
}

func TestCount(t *testing.T) {
	for _, c := range []struct {
		k, n int
		want string
	}{{1, 4, "1 of 4 (25.0%)"}, {0, 3, "0 of 3 (0.0%)"}, {0, 0, "0 of 0"}} {
		if got := Count(c.k, c.n); got != c.want {
			t.Errorf("Count(%d, %d) = %q, want %q", c.k, c.n, got, c.want)
		}
	}
}

// Replies come with their task, and a condition that nothing meets gives none.
func TestReplies(t *testing.T) {
	r := synthetic(t, artifacttest.Options{Tasks: 12, Steps: 2})
	all := r.Replies(nil)
	if want := 12 * 4 * len(r.Record.Plan.Evaluations()); len(all) != want {
		t.Fatalf("%d replies, want %d", len(all), want)
	}
	golds := map[int]string{}
	for _, task := range r.Record.Plan.Data.Holdout.Tasks {
		golds[task.Index] = task.Gold
	}
	for _, x := range all {
		if x.Gold != golds[x.Task] || x.Gold == "" || x.Model == "" || x.Prompt == "" {
			t.Fatalf("a reply without its task: %+v", x)
		}
	}
	if none := r.Replies(func(Reply) bool { return false }); len(none) != 0 {
		t.Errorf("%d replies for a condition that is never met", len(none))
	}
	if one := r.Replies(func(x Reply) bool { return x.Model == experiment.Base }); len(one) != 2*12*4 {
		t.Errorf("%d replies of the untrained model, want %d", len(one), 2*12*4)
	}
}

func TestNewest(t *testing.T) {
	root := t.TempDir()
	published, own := filepath.Join(root, "results"), filepath.Join(root, "runs")
	if got := Newest(published, own); got != "" {
		t.Errorf("found %q where no folder is", got)
	}
	for _, dir := range []string{own + "/a", own + "/b"} {
		if err := artifacttest.Write(dir, artifacttest.Options{Tasks: 2, Steps: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if got := Newest(published, own); got != own+"/b" {
		t.Errorf("found %q, want the last of two that began at the same time", got)
	}
	if err := artifacttest.Replace(own+"/a", "env.json", `"started": "20`, `"started": "21`); err != nil {
		t.Fatal(err)
	}
	if got := Newest(published, own); got != own+"/a" {
		t.Errorf("found %q, want the one that began later", got)
	}
	if err := artifacttest.Write(published+"/c", artifacttest.Options{Tasks: 2, Steps: 1, Unsealed: true}); err != nil {
		t.Fatal(err)
	}
	if got := Newest(published, own); got != own+"/a" {
		t.Errorf("found %q, want a complete run", got)
	}
	if err := artifacttest.Write(published+"/d", artifacttest.Options{Tasks: 2, Steps: 1}); err != nil {
		t.Fatal(err)
	}
	if got := Newest(published, own); got != published+"/d" {
		t.Errorf("found %q, want the first folder that has one", got)
	}
}

// Mistakes end the cell with exit code 1 and say what to do.
func TestMistakes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := artifacttest.Write(dir, artifacttest.Options{Tasks: 4, Steps: 1}); err != nil {
		t.Fatal(err)
	}
	one := filepath.Join(t.TempDir(), "run")
	if err := artifacttest.Write(one, artifacttest.Options{Tasks: 4, Steps: 1, Arm: "recipe"}); err != nil {
		t.Fatal(err)
	}
	mistakes := map[string]func(){
		"holds no complete run: run the cell that makes it first": func() { Must(Load(filepath.Join(dir, "nowhere"))) },
		`has no figure "pie"`:           func() { Must(Load(dir)).Figure("pie") },
		`no section "Nothing"`:          func() { Must(Load(dir)).Sections("Nothing") },
		"a row of 1 cells under 2":      func() { Table([]string{"a", "b"}, []string{"1"}) },
		"expected an SVG":               func() { SVG([]byte("<p>"), "p") },
		"compares no two arms":          func() { Must(Load(one)).Intervals() },
		`unknown preset "maxi"`:         func() { Must(experiment.Preset("maxi")) },
		"no run has the metric \"loss!": func() { Must(Load(dir)).Curves("loss!") },
	}
	if name := os.Getenv("CELL_MISTAKE"); name != "" {
		mistakes[name]()
		return
	}
	for want := range mistakes {
		c := exec.Command(os.Args[0], "-test.run=^TestMistakes$")
		c.Env = append(os.Environ(), "CELL_MISTAKE="+want)
		var stderr bytes.Buffer
		c.Stderr = &stderr
		c.Run()
		if code := c.ProcessState.ExitCode(); code != 1 || !strings.Contains(stderr.String(), want) || !strings.HasPrefix(stderr.String(), "error: ") {
			t.Errorf("exit code %d, want 1; standard error %q, want %q", code, stderr.String(), want)
		}
	}
}

func TestProgress(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"step 3/40  a reward 0.50", `<progress value="3" max="40" style="width:16em"></progress> <code>step 3/40  a reward 0.50</code>`},
		{"evaluation 120/3840  1s left", `<progress value="120" max="3840" style="width:16em"></progress> <code>evaluation 120/3840  1s left</code>`},
		{"training <b>", `<code>training &lt;b&gt;</code>`},
	} {
		if got := progressHTML(c.line); got != c.want {
			t.Errorf("%q is shown as %s, want %s", c.line, got, c.want)
		}
	}
	if got := printed(t, func() { NewProgress().Done("done") }); got != "done\n" {
		t.Errorf("Done prints %q", got)
	}
	p := NewProgress()
	if n, err := fmt.Fprint(p, "half a li"); n != 9 || err != nil || string(p.line) != "half a li" {
		t.Errorf("a line without its end: %d, %v, %q kept", n, err, p.line)
	}
}
