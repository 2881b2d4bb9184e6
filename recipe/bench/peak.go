package bench

import (
	"context"
	"time"

	"teamtalk/model/backend"
	"teamtalk/recipe/cost"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
)

// turns is how often a peak's program goes round on the device, so that the call itself does not count.
const turns = 16

// peak measures what the machine reaches at the most favourable work: a large product in the weights' type, and a large array
// read and written.
func (b *session) peak(ctx context.Context) error {
	side, words := 1024, 1<<25
	if b.Device.Kind == backend.CUDA {
		side, words = 8192, 1<<28
	}
	n := float64(side)
	square := shapes.Make(b.Device.DType, side, side)
	flops, err := b.round(ctx, "peak-matmul", square, cost.Work{FLOPs: 2 * n * n * n, Bytes: 3 * n * n * float64(b.costs.Bytes)}, func(x, other *Node) *Node {
		return backend.Dot(x, []int{1}, nil, other, []int{1}, nil)
	})
	if err != nil {
		return err
	}
	bytes, err := b.round(ctx, "peak-copy", shapes.Make(dtypes.Float32, words), cost.Work{FLOPs: float64(words), Bytes: 2 * 4 * float64(words)}, func(x, _ *Node) *Node {
		return AddScalar(x, 1)
	})
	if err != nil {
		return err
	}
	b.peaks = peaks{flops.Work.FLOPs / (flops.best() * 1e-3), bytes.Work.Bytes / (bytes.best() * 1e-3)}
	return nil
}

// best is the shortest time.
func (l Line) best() float64 { low, _, _ := l.spread(); return low }

// round times one turn of a loop x = f(x, other) on the device.
func (b *session) round(ctx context.Context, name string, s shapes.Shape, w cost.Work, f func(x, other *Node) *Node) (Line, error) {
	count := shapes.Make(dtypes.Int32)
	start, err := b.Device.Compile(name+"-start", nil, func(g *Graph, _ []*Node) []*Node {
		// Values of many sizes, that a product neither blows up nor lets vanish: with zeros a chip draws less power and runs faster.
		mixed := func(by float64) *Node {
			x := Sin(MulScalar(Iota(g, shapes.Make(dtypes.Float32, s.Dimensions...), s.Rank()-1), by))
			if s.Rank() == 2 {
				x = MulScalar(Mul(x, Cos(MulScalar(Iota(g, shapes.Make(dtypes.Float32, s.Dimensions...), 0), by*1.7))), 0.02)
			}
			return ConvertDType(x, s.DType)
		}
		if s.Rank() == 1 {
			return []*Node{mixed(0.7)}
		}
		return []*Node{mixed(0.7), mixed(1.3)}
	})
	if err != nil {
		return Line{}, err
	}
	defer start.Close()
	in := []shapes.Shape{count, s}
	if s.Rank() == 2 {
		in = append(in, s)
	}
	loop, err := b.Device.Compile(name, in, func(g *Graph, in []*Node) []*Node {
		next := OnePlus(in[0])
		return []*Node{next, f(in[1], in[len(in)-1]), LessThan(next, Const(g, int32(turns)))}
	}, backend.LoopOver(2))
	if err != nil {
		return Line{}, err
	}
	defer loop.Close()
	values, err := start.Run()
	if err != nil {
		return Line{}, err
	}
	state, other := values[0], values[1:]
	defer func() {
		for _, t := range append([]*tensors.Tensor{state}, other...) {
			if t.Ok() {
				t.MustFinalizeAll()
			}
		}
	}()
	l := Line{Name: name, Unit: "ms", Work: &w, Compile: loop.CompileTime.Seconds()}
	for i := range b.Repeat + 1 {
		if err := ctx.Err(); err != nil {
			return Line{}, err
		}
		began := time.Now()
		out, err := loop.Run(append([]*tensors.Tensor{tensors.FromScalar(int32(0)), state}, other...)...)
		if err != nil {
			return Line{}, err
		}
		tensors.ToScalar[int32](out[0]) // waits
		if i > 0 {
			l.Times = append(l.Times, 1e3*time.Since(began).Seconds()/turns)
		}
		out[0].MustFinalizeAll()
		state = out[1]
	}
	b.add(l, 0)
	return l, nil
}
