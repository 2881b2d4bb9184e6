//go:build unix

package backend

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// smi puts a stand-in for nvidia-smi on the PATH: a machine with three GPUs, the last of them divided.
func smi(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	script := `#!/bin/sh
case "$*" in
-L) printf 'GPU 0: NVIDIA H200 (UUID: GPU-aa)\nGPU 1: NVIDIA H200 (UUID: GPU-bb)\nGPU 2: NVIDIA H200 (UUID: GPU-cc)\n  MIG 1g.18gb Device 0: (UUID: MIG-dd)\n' ;;
*) echo "asked: $*"; echo "second line" ;;
esac
`
	if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestVisibleGPUs(t *testing.T) {
	smi(t)
	const unset = "(unset)"
	for _, c := range []struct {
		why, visible string
		gpus         []string
		asked        string // what nvidia-smi is asked of the GPU that is computed on
	}{
		{"all that the driver lists; a part of a divided GPU is none", unset, []string{"0", "1", "2"}, " -i 0"},
		{"an empty list hides all", "", nil, " -i 0"},
		{"so does -1", "-1", nil, " -i -1"},
		{"the list's own order", "2,0", []string{"2", "0"}, " -i 2"},
		{"CUDA stops at the first word that names none", "1,-1,0", []string{"1"}, " -i 1"},
		{"UUIDs stay UUIDs", "GPU-bb, GPU-cc", []string{"GPU-bb", "GPU-cc"}, " -i GPU-bb"},
		{"a part of a GPU is visible, and cannot be asked for", "MIG-dd", []string{"MIG-dd"}, ""},
	} {
		t.Setenv(VisibleDevices, c.visible) // restores what was there, also after Unsetenv
		if c.visible == unset {
			os.Unsetenv(VisibleDevices)
		}
		if got := VisibleGPUs(); !slices.Equal(got, c.gpus) {
			t.Errorf("%s: %q gives %q, want %q", c.why, c.visible, got, c.gpus)
		}
		want := "asked: --query-gpu=name --format=csv,noheader,nounits" + c.asked
		if got, err := QueryGPU("name"); err != nil || got != want {
			t.Errorf("%s: %q, error %v; want %q", c.why, got, err, want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	os.Unsetenv(VisibleDevices)
	if got := VisibleGPUs(); len(got) > 0 {
		t.Errorf("without a driver: %q, want none", got)
	}
	if got, err := QueryGPU("name"); err == nil {
		t.Errorf("without a driver the GPU's name is %q, want an error", got)
	}
}
