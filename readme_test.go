// Package readme_test holds what a newcomer reads against what the programs do: every command in the README exists, knows the
// flags that it is given and, where that takes seconds, is run.
package readme_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// quick are the commands that the test runs: the tools, by how a line goes on after "go run ./".
var quick = []string{"recipe grade", "recipe tokenize", "recipe score", "recipe generate", "report compare"}

// elsewhere are the commands that it does not run, only looks up with their flags, and what does run them.
var elsewhere = map[string]string{
	"make run":             ".ci/run, by its parts",
	"make test":            ".ci/run",
	"make notebook":        "tests of notebooks: its scripts, with stand-ins for pip and JupyterLab",
	"make notebook-kernel": "tests of notebooks, which use that kernel as the README says",
	"make plugin-cuda":     "nothing here: 1.9 GB; the pins are tested in setup_test.go",
	"make reproduce MODEL=hub:Qwen/Qwen2.5-1.5B-Instruct DATA=fetch":                                        "nothing here: a GPU",
	"make reproduce MODEL=qwen2.5-coder-1.5b-instruct-q4_k_m.gguf DATA=fetch SEEDS=17,18,19,20,21,22,23,24": "TestReproduceHandsOn, but for the GPU",
	"go run ./recipe -selftest":                    "recipe/selftest's test",
	"go run ./recipe":                              ".ci/run",
	"go run ./recipe -arm recipe -steps 80":        "nothing here: the command above with other values",
	"go run ./recipe -system-prompt recipe=my.txt": "TestSystemPrompt in recipe, with -plan",
	"go run ./recipe -resume runs/mini-1":          "recipe/lab's tests",
	"go run ./recipe -preset qwen -model hub:Qwen/Qwen2.5-1.5B-Instruct -data fetch": "nothing here: a GPU and a network",
	"go run ./report":             ".ci/run",
	"go run ./report runs/mini-1": ".ci/run, with the name of its run",
	"go run ./report check -out report/writeup/team-talk-1.5b recipe/results/team-talk-1.5b":  "TestPublishedWriteUpsAreFresh in report",
	"go run ./report verify -out report/writeup/team-talk-1.5b recipe/results/team-talk-1.5b": "TestPublishedWriteUpsAreFresh in report",
	"go run ./report -out runs/again recipe/results/climb/team-talk-1.5b-again":               "TestAgainIsTheReports, into another folder",
	"go run ./report watch runs/mini-1":                                                       "TestWatch in report",
	"go run ./report export runs/mini-1":                                                      "TestCompareOfAnExportIsTheReports in report",
	"go run ./report check":                                                                   ".ci/run",
	"go run ./report lint":                                                                    ".ci/run",
	"go run ./report verify":                                                                  ".ci/run",
}

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blocks are the fenced blocks of a language.
func blocks(text, language string) (all []string) {
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

// commands are the lines of the README's sh blocks without comments.
func commands(t *testing.T) (all []string) {
	comment := regexp.MustCompile(`(^|\s+)# .*$`)
	for _, block := range blocks(readme(t), "sh") {
		for _, line := range strings.Split(block, "\n") {
			if line = strings.TrimSpace(comment.ReplaceAllString(line, "")); line != "" {
				all = append(all, line)
			}
		}
	}
	if len(all) < 10 {
		t.Fatalf("found %d commands in the README: the test does not read it as it is written", len(all))
	}
	return all
}

func TestCommands(t *testing.T) {
	bin := build(t)
	workplace := t.TempDir()
	for _, name := range []string{"recipe", "model", ".plugin"} {
		abs, err := filepath.Abs(name)
		if err == nil {
			err = os.Symlink(abs, filepath.Join(workplace, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for _, line := range commands(t) {
		seen[line] = true
		t.Run(line, func(t *testing.T) {
			if target, ok := strings.CutPrefix(line, "make "); ok {
				checkTarget(t, strings.Fields(target)[0])
			} else {
				checkFlags(t, bin, line)
			}
			if where := elsewhere[line]; where == "" {
				runLine(t, bin, workplace, line)
			} else if where == ".ci/run" {
				checkCI(t, line)
			}
		})
	}
	for line := range elsewhere {
		if !seen[line] {
			t.Errorf("the README no longer has %q: take it out of this test", line)
		}
	}
}

// build makes bin/recipe and bin/report in a folder of the test's.
func build(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", bin+"/", "./recipe", "./report").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

func checkTarget(t *testing.T, target string) {
	t.Helper()
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(target) + `:`).Match(makefile) {
		t.Errorf("the Makefile has no target %s", target)
	}
}

func checkCI(t *testing.T, line string) {
	t.Helper()
	ci, err := os.ReadFile(".ci/run")
	if err != nil {
		t.Fatal(err)
	}
	// CI may add flags, to be quicker, and calls built programs by the same names.
	if !strings.Contains(string(ci), line) && !strings.Contains(string(ci), strings.Replace(line, "go run ./", "bin/", 1)) {
		t.Errorf(".ci/run does not run it")
	}
}

var (
	goRun    = regexp.MustCompile(`go run \./(recipe|report)\b([^|<>]*)`)
	quoted   = regexp.MustCompile(`'[^']*'`)
	flagWord = regexp.MustCompile(`^--?([A-Za-z][A-Za-z0-9_-]*)(=.*)?$`)
	helpFlag = regexp.MustCompile(`(?m)^\s+-([A-Za-z][A-Za-z0-9_-]*)`)
	command  = regexp.MustCompile(`^[a-z]+$`)
)

// checkFlags asks the program itself, by -h, whether it has the subcommand and the flags of a line.
func checkFlags(t *testing.T, bin, line string) {
	t.Helper()
	m := goRun.FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("expected make or go run ./recipe or ./report")
	}
	words := strings.Fields(quoted.ReplaceAllString(m[2], "quoted"))
	ask := []string{"-h"}
	if len(words) > 0 && command.MatchString(words[0]) {
		ask = []string{words[0], "-h"}
	}
	help, err := exec.Command(filepath.Join(bin, m[1]), ask...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", m[1], strings.Join(ask, " "), err, help)
	}
	var known []string
	for _, f := range helpFlag.FindAllStringSubmatch(string(help), -1) {
		known = append(known, f[1])
	}
	for _, w := range words {
		if f := flagWord.FindStringSubmatch(w); f != nil && !slices.Contains(known, f[1]) {
			t.Errorf("%s %s knows no flag -%s, only %q", m[1], words[0], f[1], known)
		}
	}
}

// runLine runs a line as it stands, with the built programs.
func runLine(t *testing.T, bin, dir, line string) {
	t.Helper()
	if !slices.ContainsFunc(quick, func(q string) bool { return strings.Contains(line, "go run ./"+q) }) {
		t.Fatalf("nothing runs this command: put it into quick or elsewhere")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-euc", strings.ReplaceAll(line, "go run ./", bin+"/"))
	c.Dir = dir
	c.Env = append(os.Environ(), "PWD="+dir)
	out, err := c.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			out = append(out, exit.Stderr...)
		}
		t.Fatalf("%v\n%s", err, out)
	}
	if len(out) == 0 && !strings.Contains(line, ">") {
		t.Error("it prints nothing")
	}
}

// The table of dependencies is go.mod's list of direct requirements and tools, with the same versions.
func TestDependencies(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	tools := string(mod)
	tools = tools[strings.Index(tools, "\ntool ("):]
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)( // indirect)?$`).FindAllStringSubmatch(string(mod), -1) {
		if m[3] == "" || strings.Contains(tools, m[1]+"/") {
			want = append(want, m[1]+" "+m[2])
		}
	}
	var got []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\S+)` \\| (v\\S+) \\| .{10,} \\|$").FindAllStringSubmatch(readme(t), -1) {
		got = append(got, m[1]+" "+m[2])
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("the README's table has\n%s\ngo.mod has\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestLayout(t *testing.T) {
	listed := blocks(readme(t), "text")
	if len(listed) != 1 {
		t.Fatalf("expected one block with the layout, found %d", len(listed))
	}
	for _, line := range strings.Split(strings.TrimSpace(listed[0]), "\n") {
		dir := strings.Fields(line)[0]
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			t.Errorf("the README's layout names %s, which is no folder", dir)
		}
	}
}

// The result at the top is the write-up's: its verdict and its table stand there word for word.
func TestResultIsTheWriteUps(t *testing.T) {
	writeup, err := os.ReadFile("report/writeup/team-talk-1.5b/report.md")
	if err != nil {
		t.Fatal(err)
	}
	linesOf(t, "result", string(writeup))
}

// make reproduce hands on what it is given.
func TestReproduceHandsOn(t *testing.T) {
	for _, c := range []struct {
		seeds string
		want  string
	}{
		{"SEEDS=17,18,19", "bin/recipe -preset qwen -model 'm.gguf' -data 'd' -seeds '17,18,19'\n"},
		{"SEEDS=", "bin/recipe -preset qwen -model 'm.gguf' -data 'd' \n"},
	} {
		out, err := exec.Command("make", "-n", "reproduce", "MODEL=m.gguf", "DATA=d", c.seeds).CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v\n%s\nwant %q", c.seeds, err, out, c.want)
		}
	}
}

// What the README says of the same plan run again is what a report of that run says.
func TestAgainIsTheReports(t *testing.T) {
	const run = "recipe/results/climb/team-talk-1.5b-again"
	out := t.TempDir()
	if text, err := exec.Command("go", "run", "./report", "-out", out, run).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	page, err := os.ReadFile(filepath.Join(out, "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	readme := linesOf(t, "again", string(page))

	for name, sentence := range map[string]string{"recipe-19": "`recipe-19`, the third below, in %d of %d replies", "recipe-20": "`recipe-20` talks in %d of %d replies, the others in none"} {
		talks, all := talking(t, run, name)
		if want := fmt.Sprintf(sentence, talks, all); !strings.Contains(readme, want) {
			t.Errorf("README.md does not say %q", want)
		}
	}
	for _, seed := range []int{17, 18, 21, 22, 23, 24} {
		if talks, _ := talking(t, run, fmt.Sprintf("recipe-%d", seed)); talks != 0 {
			t.Errorf("README.md says that recipe-%d does not talk, it does in %d replies", seed, talks)
		}
	}
}

// talking counts the replies of a trained run on the test split, under its own prompt, that talk.
func talking(t *testing.T, run, name string) (talks, all int) {
	t.Helper()
	f, err := os.Open(filepath.Join(run, "eval", name+"-recipe-test.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	replies, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(replies); ; all++ {
		var reply struct{ Talk struct{ Talks bool } }
		if err := d.Decode(&reply); errors.Is(err, io.EOF) {
			return talks, all
		} else if err != nil {
			t.Fatal(err)
		}
		if reply.Talk.Talks {
			talks++
		}
	}
}

// linesOf checks that the verdicts and tables of a block of the README stand in a page, and returns the README.
func linesOf(t *testing.T, block, page string) string {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(readme), "<!-- "+block+" -->")
	text, _, found := strings.Cut(text, "<!-- /"+block+" -->")
	if !found {
		t.Fatalf("README.md has no %s", block)
	}
	lines := map[string]bool{}
	for _, l := range strings.Split(page, "\n") {
		lines[l] = true
	}
	checked := 0
	for _, l := range strings.Split(text, "\n") {
		if strings.HasPrefix(l, "|") || strings.HasPrefix(l, "**") {
			checked++
			if !lines[l] {
				t.Errorf("not in the report: %s", l)
			}
		}
	}
	if checked < 6 {
		t.Errorf("%d lines of verdict and table, want at least 6", checked)
	}
	return string(readme)
}
