package backend

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"teamtalk/model/backend/backendtest"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
)

var devices = map[Kind]*Device{}

// onDevices runs a test on every backend that is to be tested: see backendtest.
func onDevices(t *testing.T, test func(t *testing.T, d *Device)) {
	for _, name := range backendtest.Names(t) {
		t.Run(name, func(t *testing.T) { test(t, device(t, Kind(name))) })
	}
}

func device(t *testing.T, kind Kind) *Device {
	t.Helper()
	backendtest.Need(t, string(kind))
	if devices[kind] == nil {
		d, err := Open(kind)
		if err != nil {
			t.Fatal(err)
		}
		devices[kind] = d
	}
	return devices[kind]
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, d := range devices {
		d.Close()
	}
	os.Exit(code)
}

// random is a tensor of normal values.
func random(r *rand.Rand, dims ...int) *tensors.Tensor {
	n := 1
	for _, d := range dims {
		n *= d
	}
	flat := make([]float64, n)
	for i := range flat {
		flat[i] = r.NormFloat64()
	}
	return tensors.FromFlatDataAndDimensions(flat, dims...)
}

func flatOf(t *testing.T, x *tensors.Tensor) []float64 {
	t.Helper()
	flat, err := tensors.CopyFlatData[float64](x)
	if err != nil {
		t.Fatal(err)
	}
	return flat
}

// weighted is a scalar that depends on every element of y in its own way.
func weighted(y *graph.Node) *graph.Node {
	w := make([]float64, y.Shape().Size())
	for i := range w {
		w[i] = math.Sin(float64(3*i + 1))
	}
	return graph.ReduceAllSum(graph.Mul(graph.Reshape(y, -1), graph.Const(y.Graph(), w)))
}

// gradientCheck compares a rule's gradients of a scalar function with those of another computation of the same function and
// with central differences, in float64.
func gradientCheck(t *testing.T, d *Device, in []*tensors.Tensor, rule, reference func(in []*graph.Node) *graph.Node) {
	t.Helper()
	var shape []shapes.Shape
	for _, x := range in {
		shape = append(shape, x.Shape())
	}
	gradients := func(f func(in []*graph.Node) *graph.Node) [][]float64 {
		t.Helper()
		p, err := d.Compile("gradient", shape, func(_ *graph.Graph, in []*graph.Node) []*graph.Node {
			loss := f(in)
			return append(graph.Gradient(loss, in...), loss)
		})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		out, err := p.Run(in...)
		if err != nil {
			t.Fatal(err)
		}
		var flat [][]float64
		for _, x := range out {
			flat = append(flat, flatOf(t, x))
			x.MustFinalizeAll()
		}
		return flat
	}
	got := gradients(rule)
	compare := func(what string, want [][]float64, tolerance float64) {
		t.Helper()
		for i := range want {
			for j := range want[i] {
				if math.Abs(got[i][j]-want[i][j]) > tolerance*(1+math.Abs(want[i][j])) {
					t.Errorf("gradient of input %d at %d is %g, %s gives %g", i, j, got[i][j], what, want[i][j])
					return
				}
			}
		}
	}
	if reference != nil {
		compare("GoMLX's own rule", gradients(reference), 1e-12)
	}
	// The host walks over every element: on the Go backend, where a call costs microseconds.
	host := device(t, Go)
	p, err := host.Compile("value", shape, func(_ *graph.Graph, in []*graph.Node) []*graph.Node { return []*graph.Node{rule(in)} })
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	values := make([][]float64, len(in))
	for i, x := range in {
		values[i] = flatOf(t, x)
	}
	value := func() float64 {
		t.Helper()
		var args []*tensors.Tensor
		for i, x := range in {
			args = append(args, tensors.FromFlatDataAndDimensions(values[i], x.Shape().Dimensions...))
		}
		out, err := p.Run(args...)
		if err != nil {
			t.Fatal(err)
		}
		return flatOf(t, out[0])[0]
	}
	want := make([][]float64, len(in))
	for i := range in {
		for j := range values[i] {
			const h = 1e-4
			x := values[i][j]
			values[i][j] = x + h
			up := value()
			values[i][j] = x - h
			down := value()
			values[i][j] = x
			want[i] = append(want[i], (up-down)/(2*h))
		}
	}
	compare("the difference quotient", want, 1e-6)
}

func TestDotGradient(t *testing.T) {
	cases := []struct {
		why                                          string
		lhs, rhs                                     []int
		lhsContract, lhsBatch, rhsContract, rhsBatch []int
	}{
		{"x W'", []int{3, 4}, []int{2, 4}, []int{1}, nil, []int{1}, nil},
		{"x W", []int{3, 4}, []int{4, 2}, []int{1}, nil, []int{0}, nil},
		{"x' W", []int{4, 3}, []int{4, 2}, []int{0}, nil, []int{0}, nil},
		{"batched over runs: LoRA", []int{2, 3, 4}, []int{2, 5, 4}, []int{2}, []int{0}, []int{2}, []int{0}},
		{"attention scores", []int{2, 3, 2, 2, 4}, []int{2, 3, 2, 4}, []int{4}, []int{0, 2}, []int{3}, []int{0, 2}},
		{"attention output", []int{2, 2, 3, 2, 3}, []int{2, 3, 2, 4}, []int{4}, []int{0, 1}, []int{1}, []int{0, 2}},
		{"batch axes behind, in another order", []int{4, 2, 3}, []int{3, 4, 2}, []int{0}, []int{1, 2}, []int{1}, []int{2, 0}},
		{"two contracted axes, crossed", []int{3, 4, 2}, []int{2, 5, 4}, []int{1, 2}, nil, []int{2, 0}, nil},
		{"batch between, two contracted", []int{4, 2, 3, 2}, []int{2, 3, 4}, []int{0, 2}, []int{1}, []int{2, 1}, []int{0}},
		{"nothing left of either", []int{5}, []int{5}, []int{0}, nil, []int{0}, nil},
		{"outer product", []int{2}, []int{3}, nil, nil, nil, nil},
	}
	onDevices(t, func(t *testing.T, d *Device) {
		for _, c := range cases {
			t.Run(c.why, func(t *testing.T) {
				r := rand.New(rand.NewPCG(5, 6))
				in := []*tensors.Tensor{random(r, c.lhs...), random(r, c.rhs...)}
				gradientCheck(t, d, in, func(in []*graph.Node) *graph.Node {
					return weighted(Dot(in[0], c.lhsContract, c.lhsBatch, in[1], c.rhsContract, c.rhsBatch))
				}, func(in []*graph.Node) *graph.Node {
					return weighted(graph.DotGeneral(in[0], c.lhsContract, c.lhsBatch, in[1], c.rhsContract, c.rhsBatch))
				})
			})
		}
		t.Run("a matrix with itself", func(t *testing.T) {
			in := []*tensors.Tensor{random(rand.New(rand.NewPCG(7, 8)), 3, 4)}
			gradientCheck(t, d, in, func(in []*graph.Node) *graph.Node { return weighted(Dot(in[0], []int{1}, nil, in[0], []int{1}, nil)) },
				func(in []*graph.Node) *graph.Node {
					return weighted(graph.DotGeneral(in[0], []int{1}, nil, in[0], []int{1}, nil))
				})
		})
		t.Run("a product of a product", func(t *testing.T) {
			r := rand.New(rand.NewPCG(9, 10))
			in := []*tensors.Tensor{random(r, 3, 4), random(r, 5, 4), random(r, 5, 2)}
			gradientCheck(t, d, in, func(in []*graph.Node) *graph.Node {
				return weighted(Dot(Dot(in[0], []int{1}, nil, in[1], []int{1}, nil), []int{1}, nil, in[2], []int{0}, nil))
			}, nil)
		})
	})
}

func TestSliceGradient(t *testing.T) {
	onDevices(t, func(t *testing.T, d *Device) {
		for _, c := range []struct {
			axis, start, limit int
			dims               []int
		}{
			{0, 0, 2, []int{4, 3}}, {0, 1, 3, []int{4, 3}}, {1, 2, 3, []int{4, 3}}, {2, 1, 4, []int{2, 3, 5}}, {0, 3, 4, []int{4}},
			{1, 0, 3, []int{2, 3}}, // everything
		} {
			t.Run(fmt.Sprintf("axis %d of %v from %d to %d", c.axis, c.dims, c.start, c.limit), func(t *testing.T) {
				var reference func(in []*graph.Node) *graph.Node
				if d.Kind != Go { // whose Slice has no gradient of GoMLX's
					reference = func(in []*graph.Node) *graph.Node {
						specs := make([]graph.SliceAxisSpec, len(c.dims))
						for i := range specs {
							specs[i] = graph.AxisRange()
						}
						specs[c.axis] = graph.AxisRange(c.start, c.limit)
						return weighted(graph.Mul(graph.Slice(in[0], specs...), graph.Slice(in[0], specs...)))
					}
				}
				in := []*tensors.Tensor{random(rand.New(rand.NewPCG(11, 12)), c.dims...)}
				gradientCheck(t, d, in, func(in []*graph.Node) *graph.Node {
					y := Slice(in[0], c.axis, c.start, c.limit)
					return weighted(graph.Mul(y, y))
				}, reference)
			})
		}
	})
}

func TestDotAppendedGradient(t *testing.T) {
	onDevices(t, func(t *testing.T, d *Device) {
		r := rand.New(rand.NewPCG(13, 14))
		in := []*tensors.Tensor{random(r, 3, 4), random(r, 3, 2), random(r, 5, 2)} // x, z, B
		frozen := make([][]float64, 5)
		for i := range frozen {
			for range 4 {
				frozen[i] = append(frozen[i], r.NormFloat64())
			}
		}
		gradientCheck(t, d, in, func(in []*graph.Node) *graph.Node {
			return weighted(DotAppended(in[0], in[1], graph.Const(in[0].Graph(), frozen), in[2]))
		}, func(in []*graph.Node) *graph.Node {
			w := graph.Const(in[0].Graph(), frozen)
			return weighted(graph.Add(graph.DotGeneral(in[0], []int{1}, nil, w, []int{1}, nil), graph.DotGeneral(in[1], []int{1}, nil, in[2], []int{1}, nil)))
		})
	})
}

func TestSoftmaxGradient(t *testing.T) {
	onDevices(t, func(t *testing.T, d *Device) {
		in := []*tensors.Tensor{random(rand.New(rand.NewPCG(15, 16)), 2, 3, 4), random(rand.New(rand.NewPCG(17, 18)), 2, 3, 4)}
		// One row sees everything, one two columns, one a single column, whose weight is 1 whatever its score.
		bias := [][]float64{{0, 0, 0, 0}, {0, 0, -1e30, -1e30}, {-1e30, 0, -1e30, -1e30}}
		const scale = 0.7
		gradientCheck(t, d, in, func(in []*graph.Node) *graph.Node {
			b := graph.InsertAxes(graph.Const(in[0].Graph(), bias), 0)
			return weighted(graph.Mul(Softmax(in[0], scale, b), in[1]))
		}, func(in []*graph.Node) *graph.Node {
			x := graph.Add(graph.MulScalar(in[0], scale), graph.InsertAxes(graph.Const(in[0].Graph(), bias), 0))
			e := graph.Exp(graph.Sub(x, graph.StopGradient(graph.InsertAxes(graph.ReduceMax(x, -1), -1))))
			return weighted(graph.Mul(graph.Div(e, graph.InsertAxes(graph.ReduceSum(e, -1), -1)), in[1]))
		})
	})
}

// What Dot and Slice remember for their gradients is dropped with the graph.
func TestRecordsAreForgotten(t *testing.T) {
	d := device(t, Go)
	square := []shapes.Shape{shapes.Make(dtypes.Float32, 3, 3)}
	p, err := d.Compile("forgotten", square, func(_ *graph.Graph, in []*graph.Node) []*graph.Node {
		return []*graph.Node{Slice(Dot(in[0], []int{1}, nil, in[0], []int{1}, nil), 0, 1, 2)}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := d.Compile("broken", square, func(g *graph.Graph, in []*graph.Node) []*graph.Node {
		Dot(in[0], []int{1}, nil, in[0], []int{1}, nil)
		panic("no such layer")
	}); err == nil || err.Error() != "building broken: no such layer" {
		t.Errorf("a build that panics: error %v", err)
	}
	n := 0
	products.Range(func(any, any) bool { n++; return true })
	if n != 0 {
		t.Errorf("%d products are remembered after their graphs", n)
	}
}
