package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"teamtalk/model/backend/tuned"
)

const (
	build = "xla_cuda_plugin.so-0123456789ab"
	known = "ed0e56ab8b2a0ecb/000de3da15600e9241f3cca2680eb984"
	other = "ed0e56ab8b2a0ecb/00abbc0dfaec0d1c688a6d6d545d774b"
)

// Runs were made with what the file says: a later measurement adds to it and changes nothing.
func TestCollectAdds(t *testing.T) {
	into, cache := t.TempDir(), filepath.Join(t.TempDir(), build)
	measure := func(choices map[string]string) {
		s := tuned.Set{Choices: map[string][]byte{}}
		for name, entry := range choices {
			s.Choices[name] = []byte(entry)
		}
		if err := s.Write(cache); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(cache, tuned.Programs), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	measure(map[string]string{known: "kernel 1"})
	if err := collect(into, cache, "a card"); err != nil {
		t.Fatal(err)
	}
	measure(map[string]string{known: "kernel 2", other: "kernel 3"})
	if err := collect(into, cache+"/", "a card"); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(into, build+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := tuned.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	if string(s.Choices[known]) != "kernel 1" || string(s.Choices[other]) != "kernel 3" || len(s.Comments) != 1 {
		t.Errorf("%s", raw)
	}
}

func TestNothingToCollect(t *testing.T) {
	empty := filepath.Join(t.TempDir(), build)
	for _, sub := range []string{tuned.Choices, tuned.Programs} {
		if err := os.MkdirAll(filepath.Join(empty, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ why, dir, want string }{
		{"a cache that nothing was compiled with", empty, "no choices"},
		{"no cache", t.TempDir(), tuned.Choices},
	} {
		if err := collect(t.TempDir(), c.dir, ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.why, err, c.want)
		}
	}
}
