package cell

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"teamtalk/recipe/artifact"
	"teamtalk/report/analysis"
	"teamtalk/report/page"
	"teamtalk/report/stats"
)

// Run is a run folder in memory: what was recorded, and every number that follows from it.
type Run struct {
	Dir     string
	Record  *artifact.Record
	Numbers *analysis.Report

	report func() (page.Files, error) // made when first asked for: it grades every reply again
}

var loaded sync.Map // folder, without links, to *Run

// Load reads a complete run. A cell that asks for the same one again gets the same again.
func Load(dir string) (*Run, error) {
	if _, err := os.Stat(filepath.Join(dir, artifact.ManifestFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no complete run: run the cell that makes it first", dir)
	}
	folder, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	if r, ok := loaded.Load(folder); ok {
		return r.(*Run), nil
	}
	r := &Run{Dir: dir, report: sync.OnceValues(func() (page.Files, error) { return page.Build(os.DirFS(folder), page.Options{}) })}
	if r.Record, err = artifact.Load(os.DirFS(folder)); err != nil {
		return nil, err
	}
	if r.Numbers, err = analysis.New(r.Record); err != nil {
		return nil, err
	}
	loaded.Store(folder, r)
	return r, nil
}

// Report makes the run's report in memory: its files by name, "report.md", "figures/fig-forest.svg" and so on.
func (r *Run) Report() (page.Files, error) { return r.report() }

// Newest returns the complete run that was started last in the first of the folders that has one, or "" if none has. Times are
// the runs' own; of equal ones the last name wins.
func Newest(folders ...string) string {
	for _, folder := range folders {
		best, when := "", ""
		entries, _ := os.ReadDir(folder) // a folder that is not there has no run
		for _, e := range entries {
			dir := filepath.Join(folder, e.Name())
			if _, err := os.Stat(filepath.Join(dir, artifact.ManifestFile)); err != nil {
				continue
			}
			if started, err := artifact.Started(os.DirFS(dir)); err == nil && started >= when {
				best, when = dir, started
			}
		}
		if best != "" {
			return best
		}
	}
	return ""
}

// Arms shows every model under every prompt: pass@1 with its interval over new tasks, and the share of replies that talk. The
// interval over new training runs too is [Run.Intervals]'s business.
func (r *Run) Arms() {
	var rows [][]string
	for _, key := range r.Numbers.RowOrder {
		w := r.Numbers.Rows[key]
		each := "one model"
		if w.Trained {
			var parts []string
			for _, x := range w.Each {
				parts = append(parts, num(x, 3))
			}
			each = strings.Join(parts, ", ")
		}
		rows = append(rows, []string{w.Display, each, num(w.Mean, 3), interval(w.CITasks), num(w.Share.Talk.Rate, 3), num(w.Tokens, 1)})
	}
	Table([]string{"model and prompt", "each run", "pass@1", "ci_tasks", "talk", "tokens"}, rows...)
}

// Intervals shows the plan's comparisons of the arms with all three intervals, and the sentences that may be said about them.
func (r *Run) Intervals() {
	var rows [][]string
	var sentences []string
	for _, key := range []string{analysis.Primary, analysis.Plain} {
		c, ok := r.Numbers.Contrasts[key]
		if !ok {
			continue
		}
		name := map[string]string{analysis.Primary: "each arm under its own prompt", analysis.Plain: "both under the plain prompt"}[key]
		rows = append(rows, []string{name, stats.Signed(float64(c.Delta), 3), difference(c.CITasks), difference(c.CIRuns), difference(c.CIBoth), string(c.Verdict)})
		sentences = append(sentences, c.Sentence)
	}
	if len(rows) == 0 {
		OK(fmt.Errorf("%s compares no two arms: plan both arms", r.Dir))
	}
	Table([]string{"recipe minus baseline, pass@1", "difference", "ci_tasks", "ci_runs", "ci_both", "verdict"}, rows...)
	Markdown(strings.Join(sentences, "\n\n"))
}

// Figure shows a figure of the report: "curves", "forest", "dumbbell" or "histogram".
func (r *Run) Figure(name string) {
	svg, ok := Must(r.Report())["figures/fig-"+name+".svg"]
	if !ok {
		OK(fmt.Errorf("the report of %s has no figure %q", r.Dir, name))
	}
	SVG(svg, name)
}

// num writes a number with fixed decimals, or "n/a" for one that the design cannot give.
func num(x analysis.Num, decimals int) string { return stats.Fixed(float64(x), decimals) }

// interval writes the ends of an interval of a rate; its scope stands above the column.
func interval[S stats.Scope](i stats.Interval[S]) string { return ends(i, stats.Fixed) }

// difference writes the ends of an interval of a difference.
func difference[S stats.Scope](i stats.Interval[S]) string { return ends(i, stats.Signed) }

func ends[S stats.Scope](i stats.Interval[S], format func(float64, int) string) string {
	if !i.OK() {
		return "n/a"
	}
	return "[" + format(i.Lo(), 3) + ", " + format(i.Hi(), 3) + "]"
}

// Count writes k of n with the share: "12 of 48 (25.0%)".
func Count(k, n int) string {
	if n == 0 {
		return "0 of 0"
	}
	return fmt.Sprintf("%d of %d (%s)", k, n, stats.Percent(float64(k)/float64(n), 1))
}
