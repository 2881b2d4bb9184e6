package backend

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// driver builds a library with the five functions of the driver that are called. It stores what the pool's release threshold was set
// to in a file.
func driver(t *testing.T, defines ...string) (library, stored string) {
	t.Helper()
	dir := t.TempDir()
	library, stored = filepath.Join(dir, "libcuda.so.1"), filepath.Join(dir, "threshold")
	source := filepath.Join(dir, "cuda.c")
	if err := os.WriteFile(source, []byte(`
#include <stdint.h>
#include <stdio.h>
#ifndef POOLS
#define POOLS 1
#endif
#ifndef CARDS
#define CARDS 1
#endif
int cuInit(unsigned int flags) { return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = 7; return ordinal < CARDS ? 0 : 101; }
int cuDeviceGetAttribute(int *value, int attribute, int device) { *value = device == 7 && attribute == 115 && POOLS; return 0; }
#ifndef OLD
int cuDeviceGetDefaultMemPool(void **pool, int device) { *pool = (void *)stdout; return 0; }
#endif
int cuMemPoolSetAttribute(void *pool, int attribute, void *value) {
	if (pool != (void *)stdout || attribute != 4) return 1;
	FILE *f = fopen("`+stored+`", "w");
	fprintf(f, "%llu", (unsigned long long)*(uint64_t *)value);
	return fclose(f);
}
`), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", append(defines, "-shared", "-fPIC", "-o", library, source)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return library, stored
}

func TestPoolKeepsItsMemory(t *testing.T) {
	library, stored := driver(t)
	if err := hasPool(library); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stored); err == nil {
		t.Error("asking whether there is a pool changed it")
	}
	if err := keepPool(library); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(stored); err != nil || string(got) != "18446744073709551615" {
		t.Errorf("release threshold %q, %v, want the largest there is", got, err)
	}
}

func TestNoPool(t *testing.T) {
	for _, c := range []struct{ why, define, want string }{
		{"a card without pools", "-DPOOLS=0", "no memory pools"},
		{"CUDA_VISIBLE_DEVICES names none", "-DCARDS=0", "no card is visible"},
		{"a driver that knows no pools", "-DOLD", "older than memory pools"},
	} {
		library, _ := driver(t, c.define)
		for _, call := range []func(string) error{hasPool, keepPool} {
			if err := call(library); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v, want one that says %q", c.why, err, c.want)
			}
		}
	}
	if err := hasPool(filepath.Join(t.TempDir(), "libcuda.so.1")); err == nil {
		t.Error("a machine without the driver has a pool")
	}
}
