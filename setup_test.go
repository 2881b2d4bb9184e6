package readme_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every package that the scripts fetch is pinned by version and hash: pip refuses a list in which one is not, but only when
// it is run.
func TestPluginPins(t *testing.T) {
	pin := regexp.MustCompile(`^[a-z0-9-]+==[0-9.]+ --hash=sha256:[0-9a-f]{64}$`)
	lists, err := filepath.Glob("scripts/plugin/*.txt")
	if err != nil || len(lists) != 3 {
		t.Fatalf("expected the lists cpu, cpu-other and cuda, found %q, %v", lists, err)
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		pins := 0
		for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			if strings.HasPrefix(line, "#") {
				continue
			}
			if pins++; !pin.MatchString(line) {
				t.Errorf("%s: %q is not NAME==VERSION --hash=sha256:HEX", list, line)
			}
		}
		if pins == 0 {
			t.Errorf("%s names no package", list)
		}
	}
}

// The script puts a library where model/backend looks for it.
func TestPluginPlaces(t *testing.T) {
	script, err := os.ReadFile("scripts/plugin/install.sh")
	if err != nil {
		t.Fatal(err)
	}
	finder, err := os.ReadFile("model/backend/plugin.go")
	if err != nil {
		t.Fatal(err)
	}
	places := regexp.MustCompile(`echo (\S+\.so) ;;`).FindAllSubmatch(script, -1)
	if len(places) != 3 {
		t.Fatalf("expected 3 libraries in the script, found %d", len(places))
	}
	for _, p := range places {
		if !strings.Contains(string(finder), `"`+string(p[1])+`"`) {
			t.Errorf("the script installs %s, where model/backend does not look", p[1])
		}
	}
}

// What the script says and leaves where it can do nothing, and that it does nothing where nothing is to be done. uname and
// python3 are stood in for; nothing here asks a network.
func TestPluginScript(t *testing.T) {
	const linux = `case $1 in -s) echo Linux ;; *) echo x86_64 ;; esac`
	for _, c := range []struct {
		why           string
		args          []string
		uname, python string
		before        map[string]string // files below .plugin
		env           string
		code          int
		says          string
	}{
		{"another system", []string{"cpu"}, `case $1 in -s) echo Darwin ;; *) echo arm64 ;; esac`, `exit 1`, nil, "", 1,
			"no cpu plugin for Darwin/arm64"},
		{"no pip", []string{"cpu"}, linux, `exit 1`, nil, "", 1, "python3 has no pip"},
		{"pip finds nothing", []string{"cpu"}, linux, `case "$*" in *--version*) exit 0 ;; *) exit 1 ;; esac`, nil, "", 1,
			"no cpu plugin could be installed"},
		{"pip finds nothing, but there is a library", []string{"cpu"}, linux, `case "$*" in *--version*) exit 0 ;; *) exit 1 ;; esac`,
			map[string]string{"lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so": "by hand"}, "", 0, "keeping .plugin/lammps_jax_pjrt_cpu"},
		{"installed from the list as it is", []string{"cpu"}, linux, `exit 1`,
			map[string]string{"lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so": "x", "installed-cpu.txt": "LIST"}, "", 0, "is installed"},
		{"installed from an older list: not taken for the new one", []string{"cpu"}, linux, `exit 1`,
			map[string]string{"lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so": "x", "installed-cpu.txt": "other"}, "", 1, "python3 has no pip"},
		{"the user has a library", []string{"cuda"}, linux, `exit 1`, nil, "TEAMTALK_PJRT_CUDA=/opt/x.so", 0, "/opt/x.so"},
		{"JAX is installed", []string{"cuda"}, linux, `echo /opt/jax.so`, nil, "", 0, "JAX's own plugin will be used: /opt/jax.so"},
		{"no kind", nil, linux, `exit 1`, nil, "", 2, "usage"},
		{"no such kind", []string{"tpu"}, linux, `exit 1`, nil, "", 2, "usage"},
	} {
		t.Run(c.why, func(t *testing.T) {
			root := t.TempDir()
			put := func(name, text string, mode os.FileMode) {
				t.Helper()
				path := filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), mode); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range []string{"install.sh", "unpack.py", "cpu.txt", "cpu-other.txt", "cuda.txt"} {
				text, err := os.ReadFile("scripts/plugin/" + name)
				if err != nil {
					t.Fatal(err)
				}
				put("scripts/plugin/"+name, string(text), 0o755)
				if name == "cpu.txt" && c.before["installed-cpu.txt"] == "LIST" {
					c.before["installed-cpu.txt"] = string(text)
				}
			}
			for name, text := range c.before {
				put(".plugin/"+name, text, 0o644)
			}
			put("bin/uname", "#!/bin/sh\n"+c.uname+"\n", 0o755)
			put("bin/python3", "#!/bin/sh\n"+c.python+"\n", 0o755)
			cmd := exec.Command(filepath.Join(root, "scripts/plugin/install.sh"), c.args...)
			cmd.Env = []string{"PATH=" + filepath.Join(root, "bin") + ":/usr/bin:/bin", c.env}
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), c.says) {
				t.Errorf("exit code %d, want %d; it says:\n%swant %q in it", code, c.code, out, c.says)
			}
			if left, _ := filepath.Glob(filepath.Join(root, ".plugin", ".incoming*")); len(left) != 0 {
				t.Errorf("left behind: %q", left)
			}
			for name, text := range c.before {
				if got, _ := os.ReadFile(filepath.Join(root, ".plugin", name)); string(got) != text {
					t.Errorf("%s was changed", name)
				}
			}
		})
	}
}

// `make build` puts the commit into the binaries, which are run in other folders, also where GOFLAGS turns that off for every build;
// where git knows of no commit it builds all the same.
func TestBuildRecordsTheCommit(t *testing.T) {
	for _, name := range []string{"git", "make"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Fatalf("no %s on this machine: expected it, since this makes repositories and builds in them; install it", name)
		}
	}
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why, goflags string
		repository   bool
	}{
		{"no flags", "", true},
		{"builds record nothing by default, as on machines where another's files are built", "-buildvcs=false", true},
		{"a copy without git", "", false},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{
			"Makefile": string(makefile), "go.mod": "module teamtalk\n\ngo 1.26.0\n", "scripts/need.sh": "#!/bin/sh\n", ".gitignore": "bin/\n",
			"recipe/main.go": "package main\n\nfunc main() {}\n", "report/main.go": "package main\n\nfunc main() {}\n",
		} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		run := func(command ...string) string {
			cmd := exec.Command(command[0], command[1:]...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GOFLAGS="+c.goflags, "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %q: %v\n%s", c.why, command, err, out)
			}
			return strings.TrimSpace(string(out))
		}
		commit := ""
		if c.repository {
			run("git", "init", "-q")
			run("git", "add", ".")
			run("git", "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "first")
			commit = run("git", "rev-parse", "HEAD")
		}
		run("make", "build")
		if info := run("go", "version", "-m", "bin/recipe"); strings.Contains(info, "vcs.revision="+commit) != c.repository {
			t.Errorf("%s: commit %q, want it in %t:\n%s", c.why, commit, c.repository, info)
		}
	}
}
