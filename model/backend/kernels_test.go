package backend

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func noCard() string { return "" }

// Another build of the plugin, be it of the same size, has a folder of its own; the same build, elsewhere, has not.
func TestKernelsAreOfABuild(t *testing.T) {
	cache := t.TempDir()
	write := func(content string) string {
		path := filepath.Join(t.TempDir(), "xla_cuda_plugin.so")
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	dir := func(plugin string) string {
		k, err := kernelsOf(cache, plugin, noCard)
		if err != nil {
			t.Fatal(err)
		}
		return k.dir
	}
	a := dir(write("build 1"))
	if b := dir(write("build 1")); b != a {
		t.Errorf("one build has the folders %s and %s", a, b)
	}
	if b := dir(write("build 2")); b == a {
		t.Errorf("two builds share %s", a)
	}
	if _, err := kernelsOf(cache, filepath.Join(cache, "missing.so"), noCard); err == nil {
		t.Error("a plugin that is not there has a folder")
	}
}

// Where the cache cannot be written, as in a container, the kernels that come with the program are among the temporary files, in a
// folder that processes share.
func TestKernelsWithoutACache(t *testing.T) {
	plugin := filepath.Join(t.TempDir(), "xla_cuda_plugin.so")
	if err := os.WriteFile(plugin, []byte("a build"), 0o644); err != nil {
		t.Fatal(err)
	}
	tmp, cache := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Setenv("PATH", t.TempDir()) // no nvidia-smi
	for _, c := range []struct{ why, cache, tmp, below string }{
		{"in the cache", cache, tmp, cache},
		{"no cache", plugin, tmp, tmp},
		{"no cache, in another process", plugin, tmp, tmp},
		{"neither", plugin, plugin, ""},
	} {
		t.Setenv("XDG_CACHE_HOME", c.cache)
		t.Setenv("TMPDIR", c.tmp)
		k := kernelsFor(plugin)
		if (k.dir != "") != (c.below != "") || !strings.HasPrefix(k.dir, c.below) || k.dir != "" && !exists(k.choices()) {
			t.Errorf("%s: the folder is %q, want it below %q", c.why, k.dir, c.below)
		}
	}
	found, err := filepath.Glob(filepath.Join(tmp, "*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, error %v, want one folder", found, err)
	}
	// A folder that others could write to is not used.
	if err := os.Chmod(found[0], 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", plugin)
	t.Setenv("TMPDIR", tmp)
	if k := kernelsFor(plugin); k.dir != "" {
		t.Errorf("%s is used, which others can write to", k.dir)
	}
}
