package page

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"teamtalk/recipe/artifact/artifacttest"
)

// sums names every file of a report with its checksum.
func sums(files Files) string {
	var b strings.Builder
	for _, n := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintln(&b, Sum(files[n]), n)
	}
	return b.String()
}

func TestTwiceTheSameBytes(t *testing.T) {
	run := syntheticRun(t, small())
	want := sums(mustBuild(t, os.DirFS(run), Options{}))
	if got := sums(mustBuild(t, os.DirFS(run), Options{})); got != want {
		t.Errorf("a second time:\n%swant\n%s", got, want)
	}
	moved := filepath.Join(t.TempDir(), "elsewhere", "under another name")
	if err := os.CopyFS(moved, os.DirFS(run)); err != nil {
		t.Fatal(err)
	}
	if got := sums(mustBuild(t, os.DirFS(moved), Options{})); got != want {
		t.Errorf("in another folder:\n%swant\n%s", got, want)
	}
}

// TestAnotherProcess runs this test binary again under another locale, time zone and number of processors.
func TestAnotherProcess(t *testing.T) {
	if dir := os.Getenv("REPORT_OF"); dir != "" { // the other process
		fmt.Print("sums:\n" + sums(mustBuild(t, os.DirFS(dir), Options{})) + "end\n")
		return
	}
	run := syntheticRun(t, small())
	want := sums(mustBuild(t, os.DirFS(run), Options{}))
	for _, env := range [][]string{{"TZ=Pacific/Kiritimati", "LC_ALL=tr_TR.UTF-8", "LANG=tr_TR.UTF-8", "GOMAXPROCS=1"}, {"TZ=America/Caracas", "LC_ALL=C", "HOME=/nonexistent", "GOMAXPROCS=7"}} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestAnotherProcess$")
		cmd.Dir = t.TempDir()
		cmd.Env = append(append(os.Environ(), env...), "REPORT_OF="+run)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", env, err, out)
		}
		_, got, _ := strings.Cut(string(out), "sums:\n")
		got, _, _ = strings.Cut(got, "end\n")
		if got != want {
			t.Errorf("under %v:\n%swant\n%s", env, got, want)
		}
	}
}

// The order of the lines in the artifacts does not matter. Their checksums do, and stand on the page; everything else is the same.
func TestShuffledInput(t *testing.T) {
	run := syntheticRun(t, small())
	before := mustBuild(t, os.DirFS(run), Options{})
	rng := rand.New(rand.NewPCG(3, 0))
	shuffle := func(lines [][]byte) [][]byte {
		rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		return lines
	}
	for _, path := range []string{"eval/base-baseline.jsonl.gz", "eval/recipe-17-recipe.jsonl.gz", "baseline-18/completions.jsonl.gz"} {
		if err := artifacttest.EditLines(run, path, shuffle); err != nil {
			t.Fatal(err)
		}
	}
	if err := artifacttest.Reseal(run); err != nil {
		t.Fatal(err)
	}
	after := mustBuild(t, os.DirFS(run), Options{})
	digest := func(files Files) string {
		_, rest, _ := strings.Cut(string(files["report.json"]), `"manifest_sha256": "`)
		return rest[:64]
	}
	for _, name := range []string{"report.md", "report.json", "tasks.csv", "eval_results.yaml", "report.html"} {
		was := bytes.ReplaceAll(before[name], []byte(digest(before)), []byte(digest(after)))
		was = bytes.ReplaceAll(was, []byte(digest(before)[:12]), []byte(digest(after)[:12]))
		if !bytes.Equal(was, after[name]) {
			t.Errorf("%s depends on the order of the input:\n%s", name, strings.Join(Diff(string(was), string(after[name])), "\n"))
		}
	}
}
