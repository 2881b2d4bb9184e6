package backend

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/gomlx/go-xla/pkg/pjrt"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
)

// walk is one step of a loop: a counter, a row of chaotic values, a value that stays, and a bound that is no state. It goes on
// until the counter reaches the bound.
func walk(g *graph.Graph, in []*graph.Node) []*graph.Node {
	count, x, kept, bound := in[0], in[1], in[2], in[3]
	count = graph.OnePlus(count)
	x = graph.MulScalar(graph.Mul(x, graph.OneMinus(x)), 3.9)
	return []*graph.Node{count, x, kept, graph.LessThan(count, bound)}
}

var walkShapes = []shapes.Shape{
	shapes.Make(dtypes.Int32), shapes.Make(dtypes.Float32, 5), shapes.Make(dtypes.Int32, 2), shapes.Make(dtypes.Int32),
}

func walkStart() []*tensors.Tensor {
	return []*tensors.Tensor{
		tensors.FromScalar(int32(0)), tensors.FromFlatDataAndDimensions([]float32{0.1, 0.2, 0.3, 0.4, 0.55}, 5),
		tensors.FromFlatDataAndDimensions([]int32{7, 8}, 2),
	}
}

// A loop on the device takes the steps that a loop on the host takes, bit for bit.
func TestLoopOver(t *testing.T) {
	onDevices(t, func(t *testing.T, d *Device) {
		loop, err := d.Compile("loop", walkShapes, walk, LoopOver(3))
		if err != nil {
			t.Fatal(err)
		}
		defer loop.Close()
		step, err := d.Compile("step", walkShapes, walk, InPlace(0, 0), InPlace(1, 1), InPlace(2, 2))
		if err != nil {
			t.Fatal(err)
		}
		defer step.Close()
		for _, bound := range []int32{1, 2, 50, -4} { // the step runs at least once
			limit := tensors.FromScalar(bound)
			got, err := loop.Run(append(walkStart(), limit)...)
			if err != nil {
				t.Fatal(err)
			}
			want := walkStart()
			for more := true; more; {
				out, err := step.Run(append(want, limit)...)
				if err != nil {
					t.Fatal(err)
				}
				more = tensors.ToScalar[bool](out[3])
				want = out[:3:3]
			}
			if len(got) != 3 {
				t.Fatalf("a loop over 3 values gives %d", len(got))
			}
			if a, b := tensors.ToScalar[int32](got[0]), max(bound, 1); a != b || a != tensors.ToScalar[int32](want[0]) {
				t.Errorf("bound %d: %d steps on the device, %d on the host, want %d", bound, a, tensors.ToScalar[int32](want[0]), b)
			}
			if a, b := tensors.MustCopyFlatData[float32](got[1]), tensors.MustCopyFlatData[float32](want[1]); !slices.Equal(a, b) {
				t.Errorf("bound %d: %v on the device, %v on the host", bound, a, b)
			}
			if a := tensors.MustCopyFlatData[int32](got[2]); !slices.Equal(a, []int32{7, 8}) {
				t.Errorf("bound %d: the value that stays became %v", bound, a)
			}
		}
	})
}

// What is updated in place is the owner's no more; what is not stays.
func TestInPlaceTakesItsInput(t *testing.T) {
	onDevices(t, func(t *testing.T, d *Device) {
		vector := shapes.Make(dtypes.Float32, 3)
		add, err := d.Compile("add", []shapes.Shape{vector, vector}, func(_ *graph.Graph, in []*graph.Node) []*graph.Node {
			return []*graph.Node{graph.Add(in[0], in[1])}
		}, InPlace(0, 0))
		if err != nil {
			t.Fatal(err)
		}
		defer add.Close()
		read, err := d.Compile("read", []shapes.Shape{vector}, func(_ *graph.Graph, in []*graph.Node) []*graph.Node {
			return []*graph.Node{graph.Neg(in[0])}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer read.Close()
		for _, c := range []struct {
			why     string
			prepare func(x *tensors.Tensor)
		}{
			{"on the host", func(*tensors.Tensor) {}},
			{"on the device", func(x *tensors.Tensor) {
				if err := x.MaterializeOnDevice(d.Backend, false, 0); err != nil {
					t.Fatal(err)
				}
			}},
			{"read by another program before", func(x *tensors.Tensor) {
				if _, err := read.Run(x); err != nil {
					t.Fatal(err)
				}
			}},
		} {
			t.Run(c.why, func(t *testing.T) {
				x, y := tensors.FromFlatDataAndDimensions([]float32{1, 2, 3}, 3), tensors.FromFlatDataAndDimensions([]float32{10, 20, 30}, 3)
				c.prepare(x)
				out, err := add.Run(x, y)
				if err != nil {
					t.Fatal(err)
				}
				if got := tensors.MustCopyFlatData[float32](out[0]); !slices.Equal(got, []float32{11, 22, 33}) {
					t.Errorf("sum %v", got)
				}
				if x.Ok() {
					t.Error("the input that was given away is still there")
				}
				if !y.Ok() || !slices.Equal(tensors.MustCopyFlatData[float32](y), []float32{10, 20, 30}) {
					t.Error("the input that was not given away is gone or changed")
				}
				if _, err := add.Run(x, y); err == nil || !strings.Contains(err.Error(), "running add") {
					t.Errorf("the same input twice: error %v", err)
				}
			})
		}
	})
}

// address is where a tensor's values lie on the device.
func address(t *testing.T, d *Device, x *tensors.Tensor) unsafe.Pointer {
	t.Helper()
	b, err := x.Buffer(d.Backend, 0)
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.(*pjrt.Buffer).UnsafePointer()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// On XLA in place means in place: the outputs lie where the inputs lay.
func TestInPlaceIsInPlace(t *testing.T) {
	d := device(t, XLACPU)
	const n = 1 << 16
	big, scalar := shapes.Make(dtypes.Float32, 4, n), shapes.Make(dtypes.Int32)
	write := func(g *graph.Graph, in []*graph.Node) []*graph.Node {
		zero := graph.Const(g, int32(0))
		row := graph.MulScalar(graph.Ones(g, shapes.Make(dtypes.Float32, 4, 1)), 5)
		next := graph.OnePlus(in[1])
		return []*graph.Node{graph.DynamicUpdateSlice(in[0], row, []*graph.Node{zero, in[1]}), next, graph.LessThan(next, in[2])}
	}
	for _, c := range []struct {
		why  string
		opts []Option
	}{
		{"aliased", []Option{InPlace(0, 0), InPlace(1, 1)}},
		{"looped", []Option{LoopOver(2)}},
	} {
		p, err := d.Compile(c.why, []shapes.Shape{big, scalar, scalar}, write, c.opts...)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		cache := tensors.FromShape(big)
		if err := cache.MaterializeOnDevice(d.Backend, false, 0); err != nil {
			t.Fatal(err)
		}
		cache.FinalizeLocal()
		before := address(t, d, cache)
		state := []*tensors.Tensor{cache, tensors.FromScalar(int32(3))}
		for range 3 {
			out, err := p.Run(state[0], state[1], tensors.FromScalar(int32(0)))
			if err != nil {
				t.Fatal(err)
			}
			state = out[:2]
		}
		if after := address(t, d, state[0]); after != before {
			t.Errorf("%s: the cache lay at %p and lies at %p", c.why, before, after)
		}
		got := tensors.MustCopyFlatData[float32](state[0])
		for i, x := range got {
			want := float32(0)
			if col := i % n; col >= 3 && col < 6 {
				want = 5
			}
			if x != want {
				t.Fatalf("%s: value %d is %g, want %g", c.why, i, x, want)
			}
		}
	}
}

func TestCompileAndRunRefuse(t *testing.T) {
	vector := shapes.Make(dtypes.Float32, 3)
	onDevices(t, func(t *testing.T, d *Device) {
		for _, c := range []struct {
			why   string
			in    []shapes.Shape
			build Build
			opts  []Option
			want  string
		}{
			{"shapes that do not fit", []shapes.Shape{vector, shapes.Make(dtypes.Float32, 4)}, func(_ *graph.Graph, in []*graph.Node) []*graph.Node {
				return []*graph.Node{graph.Add(in[0], in[1])}
			}, nil, "building refused: "},
			{"an alias of another shape", []shapes.Shape{vector}, func(_ *graph.Graph, in []*graph.Node) []*graph.Node {
				return []*graph.Node{graph.ReduceAllSum(in[0])}
			}, []Option{InPlace(0, 0)}, "output 0, (Float32), in place of input 0, (Float32)[3]: expected one shape"},
			{"an alias of no output", []shapes.Shape{vector}, func(_ *graph.Graph, in []*graph.Node) []*graph.Node {
				return []*graph.Node{graph.Neg(in[0])}
			}, []Option{InPlace(0, 1)}, "output 1 in place of input 0: there are 1 inputs and 1 outputs"},
			{"two inputs for one output", []shapes.Shape{vector, vector}, func(_ *graph.Graph, in []*graph.Node) []*graph.Node {
				return []*graph.Node{graph.Add(in[0], in[1])}
			}, []Option{InPlace(0, 0), InPlace(1, 0)}, "output 0 in place of inputs 0 and 1"},
			{"a loop and an alias", []shapes.Shape{vector}, func(g *graph.Graph, in []*graph.Node) []*graph.Node {
				return []*graph.Node{in[0], graph.Const(g, false)}
			}, []Option{LoopOver(1), InPlace(0, 0)}, "expected no InPlace beside LoopOver"},
			{"a loop without a word of going on", []shapes.Shape{vector}, func(_ *graph.Graph, in []*graph.Node) []*graph.Node {
				return []*graph.Node{graph.Neg(in[0])}
			}, []Option{LoopOver(1)}, "a loop of 1 state values needs a step that takes them and returns them and a boolean, found 1 inputs and 1 outputs"},
			{"a loop whose state changes its shape", []shapes.Shape{vector}, func(g *graph.Graph, in []*graph.Node) []*graph.Node {
				return []*graph.Node{graph.ReduceAllSum(in[0]), graph.Const(g, false)}
			}, []Option{LoopOver(1)}, "loop state 0 enters as"},
		} {
			p, err := d.Compile("refused", c.in, c.build, c.opts...)
			if err == nil {
				_ = p.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v, want %q", c.why, err, c.want)
			}
		}
		p, err := d.Compile("double", []shapes.Shape{vector}, func(_ *graph.Graph, in []*graph.Node) []*graph.Node {
			return []*graph.Node{graph.Add(in[0], in[0])}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		x := tensors.FromFlatDataAndDimensions([]float32{1, 2, 3}, 3)
		if _, err := p.Run(x, x); err == nil || !strings.Contains(err.Error(), "running double: 2 inputs given, 1 expected") {
			t.Errorf("too many inputs: error %v", err)
		}
		if _, err := p.Run(tensors.FromScalar(float32(1))); err == nil || !strings.Contains(err.Error(), "running double: input 0 is (Float32), expected (Float32)[3]") {
			t.Errorf("an input of another shape: error %v", err)
		}
		for range 2 { // an input that is not given away can be used again
			out, err := p.Run(x)
			if err != nil {
				t.Fatal(err)
			}
			if got := tensors.MustCopyFlatData[float32](out[0]); !slices.Equal(got, []float32{2, 4, 6}) {
				t.Errorf("double of 1, 2, 3 is %v", got)
			}
		}
	})
}

func TestTogether(t *testing.T) {
	d := device(t, XLACPU)
	vector := []shapes.Shape{shapes.Make(dtypes.Float32, 3)}
	programs := make([]*Program, 4)
	var fs []func() error
	for i := range programs {
		fs = append(fs, func() (err error) {
			programs[i], err = d.Compile(fmt.Sprintf("times%d", i), vector, func(_ *graph.Graph, in []*graph.Node) []*graph.Node {
				return []*graph.Node{graph.MulScalar(in[0], float64(i))}
			})
			return err
		})
	}
	if err := Together(fs...); err != nil {
		t.Fatal(err)
	}
	for i, p := range programs { // lowerings take turns: none gets another's text
		defer p.Close()
		out, err := p.Run(tensors.FromFlatDataAndDimensions([]float32{1, 2, 3}, 3))
		if err != nil {
			t.Fatal(err)
		}
		if got := tensors.MustCopyFlatData[float32](out[0])[2]; got != float32(3*i) {
			t.Errorf("program %d gives %g, want %d", i, got, 3*i)
		}
	}
	bad := func(name string) func() error { return func() error { return fmt.Errorf("%s failed", name) } }
	if err := Together(bad("one"), func() error { return nil }, bad("two")); err == nil || err.Error() != "one failed\ntwo failed" {
		t.Errorf("error %v, want both", err)
	}
}
