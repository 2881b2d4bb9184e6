package backendtest

import (
	"os"
	"testing"
)

// XLA takes the last of several values of a flag, so that the user's stands behind.
func TestCompileQuickly(t *testing.T) {
	for before, want := range map[string]string{
		"":                                   "--xla_backend_optimization_level=0 ",
		"--xla_backend_optimization_level=3": "--xla_backend_optimization_level=0 --xla_backend_optimization_level=3",
	} {
		t.Setenv("XLA_FLAGS", before)
		CompileQuickly()
		if got := os.Getenv("XLA_FLAGS"); got != want {
			t.Errorf("XLA_FLAGS %q became %q, want %q", before, got, want)
		}
	}
}
