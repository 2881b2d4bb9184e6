package backend

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// library makes an empty file below a folder and returns its path.
func library(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// project is a folder to search plugins from: a working directory two levels below it, no variables set, and a python3 whose
// packages lie in the folders given.
func project(t *testing.T, packages ...string) (dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(below)
	for _, name := range pluginVariable {
		t.Setenv(name, "")
	}
	bin := t.TempDir()
	script := "#!/bin/sh\nprintf '%s\\n' " + strings.Join(packages, " ") + "\n"
	if len(packages) == 0 {
		script = "#!/bin/sh\nexit 1\n"
	}
	if err := os.WriteFile(filepath.Join(bin, "python3"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	return dir
}

const (
	cpuFirst   = "lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so"
	cpuSecond  = "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so"
	cudaFirst  = "jax_plugins/xla_cuda13/xla_cuda_plugin.so"
	cudaSecond = "jax_plugins/xla_cuda12/xla_cuda_plugin.so"
)

func found(t *testing.T, kind Kind, want string) {
	t.Helper()
	got, err := FindPlugin(kind)
	if err != nil {
		t.Errorf("%s: %v", kind, err)
	} else if got != want {
		t.Errorf("%s: found %s, want %s", kind, got, want)
	}
}

func TestFindPluginByVariable(t *testing.T) {
	dir := project(t)
	library(t, filepath.Join(dir, ".plugin"), cpuFirst) // the variable wins over it
	mine := library(t, dir, "a/b/mine.so")
	t.Setenv("TEAMTALK_PJRT_CPU", "mine.so") // from the working directory; the path that comes back is absolute
	found(t, XLACPU, mine)
	t.Setenv("TEAMTALK_PJRT_CUDA", mine)
	found(t, CUDA, mine)

	for why, value := range map[string]string{"no file": "absent.so", "a folder": ".", "an absolute path of nothing": filepath.Join(dir, "absent.so")} {
		t.Setenv("TEAMTALK_PJRT_CPU", value)
		if path, err := FindPlugin(XLACPU); err == nil || !strings.Contains(err.Error(), "TEAMTALK_PJRT_CPU") {
			t.Errorf("%s: found %q, error %v; want an error that names the variable, though .plugin has a library", why, path, err)
		}
	}
}

func TestFindPluginOrder(t *testing.T) {
	packages := []string{t.TempDir(), t.TempDir()}
	dir := project(t, packages...)
	// From the last place that is searched to the first: each new library is found in place of the one before.
	for _, place := range []struct{ dir, file string }{
		{packages[1], cpuSecond}, {packages[1], cpuFirst}, {packages[0], cpuSecond}, {packages[0], cpuFirst},
		{filepath.Join(dir, ".plugin"), cpuSecond}, {filepath.Join(dir, ".plugin"), cpuFirst},
		{filepath.Join(dir, "a", ".plugin"), cpuSecond}, {filepath.Join(dir, "a", "b", ".plugin"), cpuSecond},
		{filepath.Join(dir, "a", "b", ".plugin"), cpuFirst},
	} {
		found(t, XLACPU, library(t, place.dir, place.file))
	}
	for _, place := range []struct{ dir, file string }{
		{packages[1], cudaSecond}, {packages[1], cudaFirst}, {filepath.Join(dir, ".plugin"), cudaSecond}, {filepath.Join(dir, ".plugin"), cudaFirst},
	} {
		found(t, CUDA, library(t, place.dir, place.file))
	}
}

func TestFindPluginTellsWhatToDo(t *testing.T) {
	packages := t.TempDir()
	dir := project(t, packages)
	plugins := filepath.Join(dir, ".plugin")
	library(t, plugins, "something/else.so")
	library(t, dir, "a/.plugin") // a file of that name is no folder of plugins
	for kind, want := range map[Kind][]string{
		XLACPU: {cpuFirst, cpuSecond, plugins, packages, "run `make plugin`", "set TEAMTALK_PJRT_CPU"},
		CUDA:   {cudaFirst, cudaSecond, plugins, packages, "run `make plugin-cuda`", "set TEAMTALK_PJRT_CUDA"},
	} {
		_, err := FindPlugin(kind)
		if err == nil {
			t.Fatalf("%s: found in folders without a plugin", kind)
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: the error does not say %q: %v", kind, w, err)
			}
		}
		if strings.Contains(err.Error(), filepath.Join(dir, "a", ".plugin")) {
			t.Errorf("%s: a file was searched as a folder: %v", kind, err)
		}
	}
}

// Without Python, or with one that fails, the project's own folder is all there is.
func TestFindPluginWithoutPython(t *testing.T) {
	dir := project(t)
	if dirs := pythonDirs(); dirs != nil {
		t.Errorf("a python3 that fails has the folders %q", dirs)
	}
	t.Setenv("PATH", t.TempDir())
	if dirs := pythonDirs(); dirs != nil {
		t.Errorf("no python3 has the folders %q", dirs)
	}
	found(t, XLACPU, library(t, filepath.Join(dir, ".plugin"), cpuSecond))
}

func TestPluginDirsAreListedOnce(t *testing.T) {
	dir := project(t)
	var want []string
	for _, at := range []string{"a/b/.plugin", "a/.plugin", ".plugin"} { // nearest first
		path := filepath.Join(dir, filepath.FromSlash(at))
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		want = append(want, path)
	}
	got := pluginDirs()
	if len(got) < 3 || !slices.Equal(got[:3], want) {
		t.Errorf("folders %q, want them to begin with %q", got, want)
	}
	for i, d := range got {
		if slices.Contains(got[:i], d) {
			t.Errorf("%s is listed twice", d)
		}
	}
}

func TestCUDADataDir(t *testing.T) {
	packages := t.TempDir()
	plugin := library(t, packages, cudaFirst)
	if dir := cudaDataDir(plugin); dir != "" {
		t.Errorf("found %q where there is none", dir)
	}
	for _, name := range []string{"nvidia/cuda_nvcc", "nvidia/cu13"} { // the second is wanted more
		want := filepath.Join(packages, filepath.FromSlash(name))
		if err := os.MkdirAll(want, 0o755); err != nil {
			t.Fatal(err)
		}
		if dir := cudaDataDir(plugin); dir != want {
			t.Errorf("found %q, want %q", dir, want)
		}
	}
}
