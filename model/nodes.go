package model

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

// Small graph pieces that both backends have.

func zeros(g *Graph, dtype dtypes.DType, dims ...int) *Node {
	return Zeros(g, shapes.Make(dtype, dims...))
}

// iota2 counts along one axis of [n, m], in int32.
func iota2(g *Graph, n, m, axis int) *Node {
	return Iota(g, shapes.Make(dtypes.Int32, n, m), axis)
}

func f32(x *Node) *Node { return ConvertDType(x, dtypes.Float32) }

// rowMax is the maximum of each row, kept as a column, without a gradient. [n, v] -> [n, 1]
func rowMax(x *Node) *Node {
	return StopGradient(InsertAxes(ReduceMax(x, -1), -1))
}
