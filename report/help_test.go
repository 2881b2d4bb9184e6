package main

import (
	"strings"
	"testing"
)

// A command's -h says what that command does, not what the one that writes reports does.
func TestHelpIsTheCommandsOwn(t *testing.T) {
	for _, c := range []struct{ command, says string }{
		{"check", "Exit 0: fresh; 1: stale or edited"},
		{"lint", "numbers that are bound to nothing"},
		{"verify", "grades every reply again"},
		{"verify", "It cannot see who made the replies: a published folder holds no weights"},
		{"verify", "as report lint does"},
		{"", "Writes the write-up of a run"},
	} {
		args := []string{"-h"}
		if c.command != "" {
			args = []string{c.command, "-h"}
		}
		code, out, errs := call(t, args...)
		usage := strings.TrimRight("usage: go run ./report "+c.command, " ")
		if code != 0 || errs != "" || !strings.HasPrefix(out, usage+" ") || !strings.Contains(out, c.says) || !strings.Contains(out, "-out folder") {
			t.Errorf("report %s -h: exit %d, %q, %q; want its own usage, %q and the flags", c.command, code, out, errs, c.says)
		}
	}
}
