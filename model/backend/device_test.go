package backend

import (
	"os"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

func TestOpenTakesTheBestThatOpens(t *testing.T) {
	t.Setenv("TEAMTALK_PJRT_CUDA", "/no/such/plugin.so")
	t.Setenv("TEAMTALK_PJRT_CPU", "/no/such/plugin.so")
	d, err := Open(Auto)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.Kind != Go || d.String() != "go" || d.InPlaceUpdates() || d.DType != dtypes.Float32 || d.Plugin != "" {
		t.Errorf("without plugins auto opens %s: %+v", d, d.Kind)
	}
	if len(d.Passed) != 2 || !strings.HasPrefix(d.Passed[0], "cuda: ") || !strings.HasPrefix(d.Passed[1], "xla-cpu: TEAMTALK_PJRT_CPU names no library") {
		t.Errorf("reasons %q, want one for cuda and one for xla-cpu", d.Passed)
	}
	if _, err := Open(XLACPU); err == nil {
		t.Error("xla-cpu opens without a plugin")
	}
}

func TestOpenByName(t *testing.T) {
	d := device(t, XLACPU)
	if d.Kind != XLACPU || !d.InPlaceUpdates() || d.DType != dtypes.Float32 || d.Plugin == "" || d.Version == "" || d.Passed != nil {
		t.Errorf("xla-cpu is %+v", d.Kind)
	}
	if s := d.String(); !strings.HasPrefix(s, "xla-cpu (") || !strings.HasSuffix(s, ".so, cpu)") || strings.Contains(s, "/") {
		t.Errorf("%q, want the plugin's file and what it calls itself, without a path", s)
	}
	if _, err := Open("tpu"); err == nil || !strings.Contains(err.Error(), `backend "tpu": expected auto, cuda, xla-cpu or go`) {
		t.Errorf("an unknown backend: error %v", err)
	}
}

func TestVersionOf(t *testing.T) {
	for _, c := range []struct{ why, platform, version, want string }{
		{"what XLA's CUDA plugin says", "cuda", "cuda 13000", "cuda 13000"},
		{"what its CPU plugin says", "cpu", "cpu", "cpu"},
		{"a version without the name", "rocm", "60300", "rocm 60300"},
		{"a version that begins with a longer word", "cpu", "cpuid 7", "cpu cpuid 7"},
		{"no version", "cpu", "", "cpu"},
		{"lines become one", "tpu", "tpu\nbuilt  today\n", "tpu built today"},
	} {
		if got := versionOf(c.platform, c.version); got != c.want {
			t.Errorf("%s: %q, want %q", c.why, got, c.want)
		}
	}
}

func TestOpenRefusesWhatIsNoPlugin(t *testing.T) {
	path := library(t, t.TempDir(), "text.so")
	t.Setenv("TEAMTALK_PJRT_CPU", path)
	if _, err := Open(XLACPU); err == nil || !strings.Contains(err.Error(), path+" does not open") {
		t.Errorf("a file that is no library: error %v", err)
	}
}

// The Go backend greets on standard output, where this project's tools write JSON.
func TestOpenIsQuiet(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stdout
	os.Stdout = w
	d, err := Open(Go)
	os.Stdout = before
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	w.Close()
	said := make([]byte, 100)
	if n, _ := r.Read(said); n > 0 {
		t.Errorf("opening the Go backend writes %q to standard output", said[:n])
	}
}

func TestAddXLAFlag(t *testing.T) {
	t.Setenv("XLA_FLAGS", "")
	if !addXLAFlag("--xla_one=1") || !addXLAFlag("--xla_two=2") || !addXLAFlag("--xla_one=1") {
		t.Error("a flag that is set is not")
	}
	if got, want := os.Getenv("XLA_FLAGS"), "--xla_one=1 --xla_two=2"; got != want {
		t.Errorf("flags %q, want %q", got, want)
	}
	if addXLAFlag("--xla_one=3") {
		t.Error("the user's choice does not stay")
	}
	if got, want := os.Getenv("XLA_FLAGS"), "--xla_one=1 --xla_two=2"; got != want {
		t.Errorf("flags %q, want %q", got, want)
	}
}
