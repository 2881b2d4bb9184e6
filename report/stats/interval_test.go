package stats

import (
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"strings"
	"testing"
)

// TestScopesDoNotMix type-checks other people's code against interval.go: what names another scope must not compile.
func TestScopesDoNotMix(t *testing.T) {
	fset := token.NewFileSet()
	std := importer.ForCompiler(fset, "source", nil)
	var files []*ast.File
	for _, name := range []string{"interval.go", "format.go"} {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(fset, name, source, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	pkg, err := (&types.Config{Importer: std}).Check("stats", fset, files, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why, code, complaint string
	}{
		{"the same scope (the control: this harness can compile)", `func f(i stats.Interval[stats.Both]) stats.Interval[stats.Both] { return i }`, ""},
		{"any scope, for code that prints all", `func f[S stats.Scope](i stats.Interval[S]) string { return i.String() }`, ""},
		{"a tasks interval where new runs are claimed", `func f(i stats.Interval[stats.Tasks]) stats.Interval[stats.Both] { return i }`, "cannot use i"},
		{"conversion", `func f(i stats.Interval[stats.Tasks]) stats.Interval[stats.Both] { return stats.Interval[stats.Both](i) }`, "cannot convert i"},
		{"conversion the other way", `func f(i stats.Interval[stats.Both]) stats.Interval[stats.Runs] { return stats.Interval[stats.Runs](i) }`, "cannot convert i"},
		{"an argument", `func headline(stats.Interval[stats.Both]) {}
			func f(i stats.Interval[stats.Runs]) { headline(i) }`, "cannot use i"},
		{"an interval made up from numbers", `var i = stats.Interval[stats.Both]{lo: 0.1, hi: 0.2}`, "unexported"},
		{"the ends taken apart", `func f(i stats.Interval[stats.Tasks]) float64 { return i.lo }`, "no field or method lo"},
		{"a scope of one's own", `type Everything struct{}
			var i stats.Interval[Everything]`, "does not satisfy"},
		{"a scope of one's own that embeds one", `type Everything struct{ stats.Tasks }
			func f(i stats.Interval[Everything]) stats.Interval[stats.Both] { return i }`, "cannot use i"},
	} {
		f, err := parser.ParseFile(fset, "other.go", "package other\nimport \"stats\"\n"+c.code, 0)
		if err != nil {
			t.Fatalf("%s: %v", c.why, err)
		}
		_, err = (&types.Config{Importer: importerOf{"stats": pkg}}).Check("other", fset, []*ast.File{f}, nil)
		switch {
		case c.complaint == "" && err != nil:
			t.Errorf("%s: %v, expected it to compile", c.why, err)
		case c.complaint != "" && (err == nil || !strings.Contains(err.Error(), c.complaint)):
			t.Errorf("%s: the compiler says %v, expected %q", c.why, err, c.complaint)
		}
	}
}

type importerOf map[string]*types.Package

func (m importerOf) Import(path string) (*types.Package, error) { return m[path], nil }

func TestIntervalText(t *testing.T) {
	ci := around[Both](0.125, 0.32670546251759364, Level)
	tasks := around[Tasks](0.125, 0.21950, Level)
	none := absent[Runs]("one training run per arm")
	for _, c := range []struct{ why, got, want string }{
		{"the scope cannot be left off", ci.String(), "95% [−0.202, +0.452] over new training runs and new tasks"},
		{"another scope says so", tasks.String(), "95% [−0.095, +0.345] over new tasks, for these models"},
		{"no interval says why", none.String(), "no interval over new training runs, on these tasks: one training run per arm"},
		{"the zero value is no interval", Interval[Both]{}.String(), "no interval over new training runs and new tasks: not computed"},
		{"no width is not certainty", around[Tasks](0.25, 0, Level).String(), "no interval over new tasks, for these models: nothing varied, so that its width cannot be estimated"},
		{"90%", around[Both](0, 0.01, 0.90).String(), "90% [−0.010, +0.010] over new training runs and new tasks"},
		{"what rounds to zero has no sign", around[Runs](0, 0.0004, Level).String(), "95% [0.000, 0.000] over new training runs, on these tasks"},
		{"lengths need fewer decimals", around[Tasks](12.34, 5, Level).WithDecimals(1).String(), "95% [+7.3, +17.3] over new tasks, for these models"},
		{"a share has no sign and stays within 0 and 1", ofShare[Tasks](-0.01, 0.03).String(), "95% [0.000, 0.030] over new tasks, for these models"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, expected %q", c.why, c.got, c.want)
		}
	}
}

// TestForRefusesAnotherScope is the rule for prose: a place that says ci_both cannot be given another interval.
func TestForRefusesAnotherScope(t *testing.T) {
	ci := around[Tasks](0.1, 0.05, Level)
	if got, err := ci.For("ci_tasks"); err != nil || got != "[+0.050, +0.150]" {
		t.Errorf("its own scope: %q, %v", got, err)
	}
	for _, key := range []string{"ci_both", "ci_runs", "", "CI_TASKS"} {
		if got, err := ci.For(key); err == nil || got != "" {
			t.Errorf("a text that says %q was given %q", key, got)
		} else if !strings.Contains(err.Error(), "ci_tasks") {
			t.Errorf("the error does not say what it has: %v", err)
		}
	}
	if got, err := around[Both](0.25, 0, Level).For("ci_both"); err == nil || got != "" {
		t.Errorf("an interval of no width rendered as %q", got)
	}
	if got, err := absent[Both]("one run").For("ci_both"); err == nil || got != "" || !strings.Contains(err.Error(), "one run") {
		t.Errorf("an interval that does not exist rendered as %q, %v", got, err)
	}
}

func TestIntervalJSON(t *testing.T) {
	got, err := json.Marshal([]any{between[Both](math0(), 0.5, Level), absent[Both]("one run"), Interval[Tasks]{}})
	if want := `[[0,0.5],null,null]`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, expected %s", got, err, want)
	}
}

// math0 is -0, which a constant cannot be.
func math0() float64 { zero := 0.0; return -zero }

func TestContains(t *testing.T) {
	ci := between[Both](-0.1, 0.2, Level)
	for x, want := range map[float64]bool{-0.1: true, 0: true, 0.2: true, 0.21: false, -0.11: false} {
		if ci.Contains(x) != want {
			t.Errorf("contains %v: expected %v", x, want)
		}
	}
	if absent[Both]("one run").Contains(0) {
		t.Error("an interval that does not exist contains 0: it would read as a null result")
	}
}
