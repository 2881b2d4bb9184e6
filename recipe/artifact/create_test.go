//go:build unix

package artifact

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A folder of which a full disk takes the first files is none, so that the same command can be given again.
func TestAFailedCreationLeavesNothing(t *testing.T) {
	plan := testPlan(t)
	whole := filepath.Join(t.TempDir(), "run")
	if _, err := Create(whole, plan, Env{}); err != nil {
		t.Fatal(err)
	}
	env, err := os.Stat(filepath.Join(whole, EnvFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why  string
		room int64 // bytes that a file may grow to
	}{
		{"the disk is full at the first file", 5},
		{"the disk is full at the plan", env.Size() + 5},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		limitFiles(t, uint64(c.room))
		_, err := Create(dir, plan, Env{})
		limitFiles(t, 0)
		if !errors.Is(err, syscall.EFBIG) {
			t.Fatalf("%s: error %v, want the system's", c.why, err)
		}
		if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the folder is there (%v)", c.why, err)
		}
		if _, err := Create(dir, plan, Env{}); err != nil {
			t.Errorf("%s: made again: %v", c.why, err)
		}
	}
}

// limitFiles makes writes fail that would let a file grow beyond so many bytes; 0: no more.
func limitFiles(t *testing.T, bytes uint64) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Cur = bytes; bytes == 0 {
		limit.Cur = limit.Max
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
}

// A process that is killed while it creates a run leaves a folder without a plan: what to do with it is said.
func TestOpenSaysWhatAFolderWithoutAPlanIs(t *testing.T) {
	top := t.TempDir()
	for _, c := range []struct{ why, dir, want string }{
		{"no plan in it", top, "expected the plan, " + ExperimentFile + ", in it, found none; if it is what a process left that was stopped while it began a run, it holds no result: remove it"},
		{"no folder", filepath.Join(top, "none"), "is not a run folder: open "},
	} {
		if _, err := Open(c.dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.why, err, c.want)
		}
	}
}
