package backendtest

import (
	"fmt"
	"slices"
	"testing"
)

// recorder is a test that only notes how it ends.
type recorder struct {
	testing.TB
	fatal, skip string
}

func (r *recorder) Helper()                           {}
func (r *recorder) Fatalf(format string, args ...any) { r.fatal = fmt.Sprintf(format, args...) }
func (r *recorder) Skipf(format string, args ...any)  { r.skip = fmt.Sprintf(format, args...) }

func TestNames(t *testing.T) {
	for _, c := range []struct {
		value   string
		want    []string
		skip    bool
		fatal   bool
		fastest string
		why     string
	}{
		{"", []string{"go", "xla-cpu"}, false, false, "xla-cpu", "a machine without the plugin must not pass by testing less"},
		{"go", []string{"go"}, true, false, "go", "asked for: what make test does where no plugin can be had"},
		{"xla", nil, true, true, "", "a typing mistake must not choose anything"},
	} {
		t.Setenv(Variable, c.value)
		r := &recorder{TB: t}
		if got := Names(r); !slices.Equal(got, c.want) || (r.fatal != "") != c.fatal {
			t.Errorf("%q gives %q (fatal %q), want %q: %s", c.value, got, r.fatal, c.want, c.why)
		}
		if c.fatal {
			continue
		}
		if got := Fastest(r); got != c.fastest {
			t.Errorf("%q: the fastest is %q, want %q: %s", c.value, got, c.fastest, c.why)
		}
		if Need(r, "xla-cpu"); (r.skip != "") != c.skip {
			t.Errorf("%q: a test of xla-cpu is skipped with %q, want skipped %t: %s", c.value, r.skip, c.skip, c.why)
		}
	}
}
