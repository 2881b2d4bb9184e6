package notebooks_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pins are the requirements of a list, "NAME==VERSION ; MARKER", each of which must come with hashes.
func pins(t *testing.T, list string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../scripts/notebook/" + list)
	if err != nil {
		t.Fatal(err)
	}
	all, last := map[string]bool{}, ""
	pin := regexp.MustCompile(`^([a-z0-9._-]+==[0-9][0-9a-z.]*(?: ; .+?)?)( \\)?$`)
	hash := regexp.MustCompile(`^    --hash=sha256:[0-9a-f]{64}( \\)?$`)
	goesOn := false
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		switch {
		case strings.HasPrefix(line, "#"):
		case goesOn && hash.MatchString(line):
			all[last] = true
			goesOn = strings.HasSuffix(line, `\`)
		case !goesOn && pin.MatchString(line):
			m := pin.FindStringSubmatch(line)
			last, all[m[1]], goesOn = m[1], false, m[2] != ""
		default:
			t.Errorf("%s:%d: %q is neither NAME==VERSION nor its hash", list, i+1, line)
		}
	}
	return all
}

// Everything that is installed is pinned by version and hash, and JupyterLab comes with what the tests execute notebooks with.
func TestPins(t *testing.T) {
	tools, lab := pins(t, "tools.txt"), pins(t, "lab.txt")
	for list, all := range map[string]map[string]bool{"tools.txt": tools, "lab.txt": lab} {
		for name, hashed := range all {
			if !hashed {
				t.Errorf("%s: %s has no hash", list, name)
			}
		}
	}
	versions := map[string]bool{}
	for name := range lab {
		versions[strings.Fields(name)[0]] = true
	}
	for name := range tools {
		if !versions[strings.Fields(name)[0]] {
			t.Errorf("lab.txt does not have %s of tools.txt", name)
		}
	}
	for want, all := range map[string]map[string]bool{"nbconvert": tools, "nbclient": tools, "jupyterlab": lab} {
		found := false
		for name := range all {
			found = found || strings.HasPrefix(name, want+"==")
		}
		if !found {
			t.Errorf("%s is in no list", want)
		}
	}
}

// project is a folder with the scripts and stand-ins for the programs that they call; nothing here asks a network.
func project(t *testing.T, programs map[string]string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), `a "project"`)
	put := func(name, text string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"install.sh", "open.sh", "kernel.sh", "export.sh", "tools.txt", "lab.txt"} {
		text, err := os.ReadFile("../scripts/notebook/" + name)
		if err != nil {
			t.Fatal(err)
		}
		put("scripts/notebook/"+name, string(text))
	}
	put("notebooks/a.ipynb", "{}")
	for name, body := range programs {
		put(name, "#!/bin/sh\n"+body+"\n")
	}
	return root
}

func script(t *testing.T, root, name string, args ...string) (code int, says string) {
	t.Helper()
	c := exec.Command(filepath.Join(root, "scripts/notebook", name), args...)
	c.Dir = t.TempDir()
	c.Env = []string{"PATH=" + filepath.Join(root, "path") + ":/usr/bin:/bin", "HOME=/nowhere"}
	out, _ := c.CombinedOutput()
	return c.ProcessState.ExitCode(), string(out)
}

func TestInstall(t *testing.T) {
	const (
		goOK  = "path/go"
		pythn = "path/python3"
		// venv makes an environment whose jupyter is there at once, pip notes that it was called.
		works = `case "$*" in *"-m venv"*) for d; do :; done; mkdir -p "$d/bin"; touch "$d/bin/python" "$d/bin/jupyter"; chmod +x "$d/bin/"* ;;
*install*) echo "PIP $*" ;; esac`
	)
	for _, c := range []struct {
		why      string
		programs map[string]string
		args     []string
		code     int
		says     string
		stamp    string // the list that counts as installed afterwards
	}{
		{"no kind", map[string]string{goOK: ""}, nil, 2, "usage", ""},
		{"no such kind", map[string]string{goOK: ""}, []string{"everything"}, 2, "usage", ""},
		{"the kernel cannot be built", map[string]string{goOK: "echo broken; exit 1"}, []string{"kernel"}, 1, "could not be built", ""},
		{"the kernel alone needs no Python", map[string]string{goOK: "", pythn: "exit 1"}, []string{"kernel"}, 0, "", ""},
		{"Python is too old", map[string]string{goOK: "", pythn: `case "$*" in *version_info*) exit 1 ;; -V) echo Python 3.8.1 ;; esac`}, []string{"tools"}, 1, "3.10 or newer is needed, found Python 3.8.1", ""},
		{"no pip", map[string]string{goOK: "", pythn: `case "$*" in *pip*) exit 1 ;; esac`}, []string{"tools"}, 1, "has no pip", ""},
		{"pip finds nothing", map[string]string{goOK: "", pythn: strings.Replace(works, `echo "PIP $*"`, "exit 1", 1)}, []string{"tools"}, 1, "pip's words are above", ""},
		{"tools", map[string]string{goOK: "", pythn: works}, []string{"tools"}, 0, "--require-hashes", "tools"},
		{"JupyterLab", map[string]string{goOK: "", pythn: works}, []string{"lab"}, 0, "lab.txt", "lab"},
	} {
		t.Run(c.why, func(t *testing.T) {
			root := project(t, c.programs)
			code, says := script(t, root, "install.sh", c.args...)
			if code != c.code || !strings.Contains(says, c.says) {
				t.Errorf("exit code %d, want %d; it says %q, want %q", code, c.code, says, c.says)
			}
			stamps, _ := filepath.Glob(filepath.Join(root, ".venv", "installed-*.txt"))
			if c.stamp == "" && len(stamps) > 0 || c.stamp != "" && (len(stamps) != 1 || filepath.Base(stamps[0]) != "installed-"+c.stamp+".txt") {
				t.Errorf("counted as installed: %q, want %q", stamps, c.stamp)
			}
			if c.code == 0 {
				checkKernel(t, root)
			}
			if c.stamp != "" { // a second call has nothing to do
				if code, says := script(t, root, "install.sh", "tools"); code != 0 || strings.Contains(says, "PIP") {
					t.Errorf("called again it exits with %d and says %q", code, says)
				}
				if _, err := os.Stat(filepath.Join(root, ".venv/share/jupyter/kernels/gonb/kernel.json")); err != nil {
					t.Errorf("VS Code will not find the kernel: %v", err)
				}
			}
		})
	}
}

// checkKernel reads the kernel's description, in a folder whose name needs quoting.
func checkKernel(t *testing.T, root string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, ".jupyter/kernels/gonb/kernel.json"))
	if err != nil {
		t.Fatal(err)
	}
	var k struct {
		Argv     []string `json:"argv"`
		Language string   `json:"language"`
	}
	if err := json.Unmarshal(raw, &k); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	if len(k.Argv) != 2 || k.Argv[0] != filepath.Join(root, "scripts/notebook/kernel.sh") || k.Argv[1] != "{connection_file}" || k.Language != "go" {
		t.Errorf("the kernel is %+v", k)
	}
}

// The kernel finds goimports beside itself, and says what to do where it was not built.
func TestKernel(t *testing.T) {
	root := project(t, map[string]string{"bin/gonb": `echo "$@"; command -v goimports`, "bin/goimports": ""})
	code, says := script(t, root, "kernel.sh", "/a b/connection.json")
	if want := "-raw_error --kernel /a b/connection.json\n" + filepath.Join(root, "bin/goimports") + "\n"; code != 0 || says != want {
		t.Errorf("exit code %d, %q, want %q", code, says, want)
	}
	if code, says := script(t, project(t, nil), "kernel.sh", "x"); code != 1 || !strings.Contains(says, "make notebook-kernel") {
		t.Errorf("not built: exit code %d, %q", code, says)
	}
}

// JupyterLab keeps everything inside the project, trusts the project's notebooks and gets the flags of make notebook LAB=...
func TestOpen(t *testing.T) {
	root := project(t, map[string]string{".venv/bin/jupyter": `echo "jupyter $*"; env | grep -E '^(JUPYTER|IPYTHON)' | sort`})
	code, says := script(t, root, "open.sh", "--no-browser")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, says)
	}
	for _, want := range []string{"jupyter trust " + root + "/notebooks/a.ipynb\n", "jupyter lab --ServerApp.root_dir=" + root + " --no-browser " + root + "/notebooks/team-talk.ipynb\n"} {
		if !strings.Contains(says, want) {
			t.Errorf("no %q in\n%s", want, says)
		}
	}
	kept := regexp.MustCompile(`(?m)^(\w+)=(.*)$`).FindAllStringSubmatch(says, -1)
	if len(kept) != 2*4 {
		t.Errorf("expected four folders for each of two calls:\n%s", says)
	}
	for _, m := range kept {
		if !strings.HasPrefix(m[2], root+"/.jupyter") {
			t.Errorf("%s is %s, outside the project", m[1], m[2])
		}
	}
}

func TestExportUsage(t *testing.T) {
	root := project(t, nil)
	if code, says := script(t, root, "export.sh"); code != 2 || !strings.Contains(says, "usage") {
		t.Errorf("no folder: exit code %d, %q", code, says)
	}
	if code, says := script(t, root, "export.sh", filepath.Join(root, "out")); code != 1 || !strings.Contains(says, "make notebook-tools") {
		t.Errorf("no Jupyter: exit code %d, %q", code, says)
	}
}
