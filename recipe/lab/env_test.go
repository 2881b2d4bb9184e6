package lab

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// `go run` records no commit, and neither do builds with -buildvcs=false: git is asked. Where there is no git, nothing is said.
func TestWorkingTree(t *testing.T) {
	_, err := exec.LookPath("git")
	have := err == nil
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(dir))
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		if out, err := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e"}, args...)...).CombinedOutput(); have && err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	expect := func(commit, dirty bool, why string) {
		t.Helper()
		rev, d := workingTree()
		if ok := len(rev) == 40 && strings.Trim(rev, "0123456789abcdef") == ""; ok != (have && commit) || d != (have && dirty) {
			t.Errorf("%s: commit %q, dirty %t; want a commit %t, dirty %t", why, rev, d, have && commit, have && dirty)
		}
	}
	expect(false, false, "no repository")
	git("init", "-q")
	write("go.mod", "module teamtalk\n\ngo 1.26.0\n")
	write("main.go", "package main\n")
	write("notebook.ipynb", "{}\n")
	git("add", ".")
	git("commit", "-q", "-m", "first")
	expect(true, false, "as committed")
	write("notebook.ipynb", "{\"cells\": []}\n")
	expect(true, false, "a notebook that was executed")
	write("main.go", "package main // changed\n")
	expect(true, true, "a changed file")
	git("commit", "-q", "-a", "-m", "second")
	write("new.go", "package main\n")
	expect(true, true, "a new file, which go would compile")
	git("add", ".")
	write("go.mod", "module other\n")
	git("commit", "-q", "-a", "-m", "third")
	expect(false, false, "another project's tree, in which the program happens to be run")
}

// What the variable says counts before anything else that is known: here the working tree of this package.
func TestACarriedBinarySaysItsCommit(t *testing.T) {
	for _, c := range []struct {
		value, rev string
		dirty      bool
	}{{"0123abc", "0123abc", false}, {"0123abc-dirty", "0123abc", true}} {
		t.Setenv("TEAMTALK_COMMIT", c.value)
		if rev, dirty := commit(); rev != c.rev || dirty != c.dirty {
			t.Errorf("TEAMTALK_COMMIT=%s: %q, dirty %t", c.value, rev, dirty)
		}
	}
}

// The record of a process names what computes, and neither the machine nor a place on it.
func TestEnvironment(t *testing.T) {
	l, err := Open(t.Context(), small(t, Options{
		Out: filepath.Join(t.TempDir(), "run"), Command: []string{"recipe", "-model", "/home/me/models/qwen", "-out=/tmp/x/run"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	e := l.environment()
	if e.Command != "recipe -model qwen -out=run" {
		t.Errorf("command %q, want it without folders", e.Command)
	}
	if e.Backend != string(l.Device.Kind) || e.Device == "" || e.Devices != 1 || e.CPUs < 1 || !strings.HasPrefix(e.Go, "go") {
		t.Errorf("%+v", e)
	}
	if onXLA := l.Device.Plugin != ""; onXLA && (len(e.Plugin.SHA256) != 64 || strings.Contains(e.Plugin.Name, "/")) {
		t.Errorf("plugin %+v, want its file's name and sum", e.Plugin)
	}
	host, err := os.Hostname()
	if s := e.Command + e.Device + e.Platform + e.Plugin.Version; err == nil && len(host) > 3 && strings.Contains(s, host) {
		t.Errorf("the host's name is in %q", s)
	}
}
