package backend

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

func TestCardLine(t *testing.T) {
	for _, c := range []struct {
		why, line   string
		total, used int64
		bad         bool
	}{
		{"an H200 that nobody uses", "143771, 4\n", 143771 << 20, 4 << 20, false},
		{"an error in words", "No devices were found\n", 0, 0, true},
		{"no numbers", "[N/A], [N/A]\n", 0, 0, true},
		{"nothing", "", 0, 0, true},
	} {
		total, used, err := cardLine(c.line)
		if total != c.total || used != c.used || (err != nil) != c.bad {
			t.Errorf("%s: total %d, used %d, error %v", c.why, total, used, err)
		}
	}
}

func TestRoomOf(t *testing.T) {
	for _, c := range []struct {
		why               string
		total, used, want int64
	}{
		{"an empty card: XLA's share of it", 1000, 10, 920},
		{"others hold a half: what is free", 1000, 500, 500},
		{"full", 1000, 1000, 0},
		{"fuller than full, between two readings", 1000, 1010, 0},
	} {
		if got := roomOf(c.total, c.used); got != c.want {
			t.Errorf("%s: %d, want %d", c.why, got, c.want)
		}
	}
}

func TestFirstGPU(t *testing.T) {
	for visible, want := range map[string]string{"": "0", "3": "3", "2,0": "2", " 1 , 0": "1", "GPU-8932f937,GPU-1": "GPU-8932f937"} {
		if got := firstGPU(visible); got != want {
			t.Errorf("CUDA_VISIBLE_DEVICES=%q: card %q, want %q", visible, got, want)
		}
	}
}

func TestMemAvailable(t *testing.T) {
	name := filepath.Join(t.TempDir(), "meminfo")
	for text, want := range map[string]int64{
		"MemTotal:       24000000 kB\nMemFree:         1000 kB\nMemAvailable:   23000000 kB\n": 23000000 << 10,
		"MemTotal:       24000000 kB\n": 0, "MemAvailable: many kB\n": 0,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := memAvailable(name); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if got := memAvailable(name + ".absent"); got != 0 {
		t.Errorf("no file: %d", got)
	}
}

func TestExhausted(t *testing.T) {
	for _, c := range []struct {
		why  string
		err  error
		want bool
	}{
		{"none", nil, false},
		{"another", errors.New("INTERNAL: broken"), false},
		{"XLA's, wrapped", fmt.Errorf("running gradient: %w", errors.New("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 51539607552 bytes.")), true},
	} {
		if got := Exhausted(c.err); got != c.want {
			t.Errorf("%s: %t", c.why, got)
		}
	}
}

// A program's usage is what its shapes say, and the device lists it.
func TestUsage(t *testing.T) {
	d := device(t, XLACPU)
	before := len(d.Programs())
	vector := shapes.Make(dtypes.Float32, 1000)
	p, err := d.Compile("sum of two", []shapes.Shape{vector, vector}, func(_ *graph.Graph, in []*graph.Node) []*graph.Node {
		return []*graph.Node{graph.Add(in[0], in[1])}
	}, InPlace(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	all := d.Programs()[before:]
	if len(all) != 1 || all[0].Name != "sum of two" {
		t.Fatalf("programs %+v", all)
	}
	if u := all[0].Usage; u.Arguments != 8000 || u.Outputs < 4000 || u.Outputs > 4100 || u.Aliased != 4000 || u.Total() < 8000 {
		t.Errorf("two vectors of 4,000 bytes, the sum in place of one: %+v", u)
	}
	if all[0].Scatters {
		t.Error("a sum of two vectors is said to scatter")
	}
	// The gradient of a gather is a scatter.
	indices := shapes.Make(dtypes.Int32, 3, 1)
	p, err = d.Compile("gather", []shapes.Shape{vector, indices}, func(_ *graph.Graph, in []*graph.Node) []*graph.Node {
		return graph.Gradient(graph.ReduceAllSum(graph.Gather(in[0], in[1])), in[0])
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if all := d.Programs(); !all[len(all)-1].Scatters {
		t.Error("a gather's gradient is said not to scatter")
	}
	if d.Room() < 1<<20 {
		t.Errorf("room %d bytes", d.Room())
	}
}
