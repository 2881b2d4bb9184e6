// Package backendtest says which backends tests run on.
package backendtest

import (
	"os"
	"slices"
	"testing"
)

// Variable chooses. Unset, or empty: every test runs on the Go backend and on XLA's CPU plugin, and a missing plugin (make
// plugin) fails it. "go": on the Go backend alone, for machines where no plugin can be had.
const Variable = "TEAMTALK_TEST_BACKENDS"

// Names are the backends to test, as backend.Kind calls them, the slowest first.
func Names(t testing.TB) []string {
	t.Helper()
	switch v := os.Getenv(Variable); v {
	case "":
		return []string{"go", "xla-cpu"}
	case "go":
		return []string{"go"}
	default:
		t.Fatalf(`%s is %q: expected "go", or nothing for both the Go backend and XLA's CPU plugin`, Variable, v)
		return nil
	}
}

// Fastest is the last of Names, for what takes long and is the same on all of them.
func Fastest(t testing.TB) string {
	t.Helper()
	names := Names(t)
	return names[len(names)-1]
}

// Need is for a test of what only the named backend has: where that one is not to be tested, neither is the rest.
func Need(t testing.TB, name string) {
	t.Helper()
	if !slices.Contains(Names(t), name) {
		t.Skipf("about %s, which %s=%s leaves out", name, Variable, os.Getenv(Variable))
	}
}
