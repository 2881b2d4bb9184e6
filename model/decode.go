package model

import (
	"fmt"
	"math"

	"teamtalk/model/backend"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

// batchShape is what a decoding loop is compiled for.
type batchShape struct {
	rows    int // N
	prompt  int // Tp columns of prompt, padded on the left: every prompt ends at the same column
	reply   int // C columns of reply
	columns int // S columns of the cache
	nucleus bool
}

func (b batchShape) String() string {
	return fmt.Sprintf("n%d_t%d_c%d_s%d_p%t", b.rows, b.prompt, b.reply, b.columns, b.nucleus)
}

// prefillShape is what a pass over prompts is compiled for: chunk prompts of group rows each, into the state of a batch.
type prefillShape struct {
	batchShape
	chunk, group int
}

// regroupShape is a move of rows from one state to another.
type regroupShape struct{ from, to batchShape }

// The state of a decoding loop. Row i has written its tokens up to column `column`, where it writes `token` next.
const (
	stColumn  = iota // scalar: where the step writes
	stToken          // [N] the token to feed
	stDone           // [N] bool
	stTokens         // [N, C] the reply so far
	stLogp           // [N, C] log-probabilities of its tokens
	stEntropy        // [N, C] entropies of the distributions they came from
	stCaches         // k and v of each layer, [N, kv, S, D]
)

// The other inputs of a decoding step, before the weights.
const (
	inStart       = iota // [N] first column of the row's prompt
	inRun                // [N] whose adapters the row uses
	inKeys               // [N, 2] noise keys
	inTemperature        // scalar
	inNucleus            // scalar
	inLimit              // scalar: the column at which to return
	inWeights
)

func (s *Sampler) stateShapes(b batchShape) []shapes.Shape {
	c, n := s.weights.Config, b.rows
	out := []shapes.Shape{
		shapes.Make(dtypes.Int32), shapes.Make(dtypes.Int32, n), shapes.Make(dtypes.Bool, n),
		shapes.Make(dtypes.Int32, n, b.reply), shapes.Make(dtypes.Float32, n, b.reply), shapes.Make(dtypes.Float32, n, b.reply),
	}
	for range 2 * c.NumHiddenLayers {
		out = append(out, shapes.Make(s.weights.DType, n, c.NumKeyValueHeads, b.columns, c.HeadDim))
	}
	return out
}

// rowShapes are the shapes of inStart to inLimit for n rows.
func rowShapes(n int) []shapes.Shape {
	scalar := shapes.Make(dtypes.Float32)
	return []shapes.Shape{
		shapes.Make(dtypes.Int32, n), shapes.Make(dtypes.Int32, n), shapes.Make(dtypes.Uint32, n, 2), scalar, scalar, shapes.Make(dtypes.Int32),
	}
}

// compileBlank compiles the making of an empty state.
func (s *Sampler) compileBlank(b batchShape) (*backend.Program, error) {
	return s.dev.Compile("blank_"+b.String(), nil, func(g *Graph, _ []*Node) []*Node {
		var out []*Node
		for _, shape := range s.stateShapes(b) {
			out = append(out, Zeros(g, shape))
		}
		return out
	})
}

// compilePrefill compiles the pass over a chunk of prompts: once for each prompt, its keys and values handed to all G rows, and
// the first token of every row, written into the state from row `first` on. Inputs: the state; ids [P, Tp], done [P·G], first;
// the rows' inputs and the weights. Outputs: the state. On a backend without in-place updates the chunk is the whole batch.
func (s *Sampler) compilePrefill(b prefillShape) (*backend.Program, error) {
	states := s.stateShapes(b.batchShape)
	r := b.chunk * b.group
	in := append(append([]shapes.Shape(nil), states...),
		shapes.Make(dtypes.Int32, b.chunk, b.prompt), shapes.Make(dtypes.Bool, r), shapes.Make(dtypes.Int32))
	in = append(append(in, rowShapes(r)...), s.served.shapes(s.weights)...)
	var opts []backend.Option
	for i := range states {
		opts = append(opts, backend.InPlace(i, i))
	}
	name := fmt.Sprintf("prefill_%s_%dx%d", b.batchShape, b.chunk, b.group)
	return s.dev.Compile(name, in, func(g *Graph, in []*Node) []*Node {
		state, in := append([]*Node(nil), in[:len(states)]...), in[len(states):]
		ids, done, first, rows := in[0], in[1], in[2], in[3:]
		c := s.weights.Config
		p, t := b.chunk, b.prompt
		of := func(x *Node) *Node { // a row's value, for its prompt: [P·G] -> [P, 1]
			return Slice(Reshape(x, p, b.group), AxisRange(), AxisRange(0, 1))
		}
		start := of(rows[inStart])
		net := s.served.network(s.weights, rows[inWeights:], Reshape(BroadcastToDims(of(rows[inRun]), p, t), -1))
		column := iota2(g, p, t, 1)
		segments := ConvertDType(GreaterOrEqual(column, BroadcastToDims(start, p, t)), dtypes.Int32)
		positions := Max(Sub(column, start), zeros(g, dtypes.Int32))
		attention := attendRows(c, segments, nil, nil)
		hand := func(cache, x *Node) *Node { // [P·Tp, kv, D] into [N, kv, S, D]
			x = TransposeAllAxes(Reshape(x, p, t, c.NumKeyValueHeads, c.HeadDim), 0, 2, 1, 3)
			x = BroadcastToDims(InsertAxes(x, 1), p, b.group, c.NumKeyValueHeads, t, c.HeadDim)
			return s.place(cache, Reshape(x, r, c.NumKeyValueHeads, t, c.HeadDim), first)
		}
		x := net.hidden(Reshape(ids, -1), Reshape(positions, -1), func(l int, q, k, v *Node) *Node {
			at := stCaches + 2*l
			state[at], state[at+1] = hand(state[at], k), hand(state[at+1], v)
			return attention(l, q, k, v)
		})
		x = Reshape(Slice(Reshape(x, p, t, c.HiddenSize), AxisRange(), AxisRange(t-1, t)), p, c.HiddenSize)
		logits := net.logits(x) // [P, V]
		logits = Reshape(BroadcastToDims(InsertAxes(logits, 1), p, b.group, c.VocabSize), r, c.VocabSize)
		s.take(b.batchShape, state, logits, rows, done, Const(g, int32(0)), first)
		state[stColumn] = Const(g, int32(t))
		return state
	}, opts...)
}

// compileLoop compiles the decoding loop. Inputs: the state, the rows' inputs, the weights. Outputs: the state.
func (s *Sampler) compileLoop(b batchShape) (*backend.Program, error) {
	states := s.stateShapes(b)
	in := append(append(append([]shapes.Shape(nil), states...), rowShapes(b.rows)...), s.served.shapes(s.weights)...)
	return s.dev.Compile("decode_"+b.String(), in, func(g *Graph, in []*Node) []*Node {
		c := s.weights.Config
		state, rows := append([]*Node(nil), in[:len(states)]...), in[len(states):]
		net := s.served.network(s.weights, rows[inWeights:], rows[inRun])
		column, n, start := state[stColumn], b.rows, rows[inStart]
		positions := Sub(BroadcastToDims(column, n), start)
		seen := LogicalAnd(
			GreaterOrEqual(iota2(g, n, b.columns, 1), BroadcastToDims(Reshape(start, n, 1), n, b.columns)),
			LessOrEqual(iota2(g, n, b.columns, 1), BroadcastToDims(column, n, b.columns)))
		bias := Reshape(Where(seen, zeros(g, dtypes.Float32), Const(g, float32(-1e30))), n, 1, 1, b.columns)
		heads, kv, d := c.NumAttentionHeads, c.NumKeyValueHeads, c.HeadDim
		x := net.hidden(state[stToken], positions, func(l int, q, k, v *Node) *Node {
			kc := s.write(state[stCaches+2*l], Reshape(k, n, kv, 1, d), column)
			vc := s.write(state[stCaches+2*l+1], Reshape(v, n, kv, 1, d), column)
			state[stCaches+2*l], state[stCaches+2*l+1] = kc, vc
			q = Reshape(q, n, kv, heads/kv, d)
			scores := backend.Dot(q, []int{3}, []int{0, 1}, kc, []int{3}, []int{0, 1}) // [N, kv, heads/kv, S]
			p := backend.Softmax(scores, 1/math.Sqrt(float64(d)), bias)
			o := backend.Dot(p, []int{3}, []int{0, 1}, vc, []int{2}, []int{0, 1})
			return Reshape(o, n, heads*d)
		})
		s.take(b, state, net.logits(x), rows, state[stDone], Sub(OnePlus(column), Const(g, int32(b.prompt))), Const(g, int32(0)))
		state[stColumn] = OnePlus(column)
		more := LogicalAnd(LessThan(state[stColumn], rows[inLimit]), LogicalNot(LogicalAll(state[stDone])))
		return append(state, more)
	}, backend.LoopOver(len(states)))
}

// compileRegroup compiles the move to fewer rows, a longer cache, or both. Inputs: the state, which rows to take [N'].
// Outputs: the new state.
func (s *Sampler) compileRegroup(r regroupShape) (*backend.Program, error) {
	in := append(s.stateShapes(r.from), shapes.Make(dtypes.Int32, r.to.rows))
	return s.dev.Compile("regroup_"+r.from.String()+"_"+r.to.String(), in, func(g *Graph, in []*Node) []*Node {
		take := in[len(in)-1]
		out := append([]*Node(nil), in[:len(in)-1]...)
		for i := stToken; i < len(out); i++ {
			if r.to.rows != r.from.rows {
				out[i] = Gather(out[i], InsertAxes(take, -1))
			}
			if i >= stCaches && r.to.columns > r.from.columns {
				dims := out[i].Shape().Clone().Dimensions
				dims[2] = r.to.columns - r.from.columns
				out[i] = Concatenate([]*Node{out[i], zeros(g, out[i].DType(), dims...)}, 2)
			}
		}
		return out
	})
}

// take samples token number t (a scalar) of as many rows as logits has and puts it into the state from row `first` on. Rows
// that are done take padding.
func (s *Sampler) take(b batchShape, state []*Node, logits *Node, rows []*Node, done, t, first *Node) {
	g, r := logits.Graph(), logits.Shape().Dimensions[0]
	var nucleus *Node
	if b.nucleus {
		nucleus = rows[inNucleus]
	}
	token, logp, entropy := sample(logits, rows[inTemperature], nucleus, rows[inKeys], t)
	token = Where(done, zeros(g, dtypes.Int32, r), token)
	none := zeros(g, dtypes.Float32, r)
	state[stTokens] = s.writeReply(state[stTokens], token, first, t)
	state[stLogp] = s.writeReply(state[stLogp], Where(done, none, logp), first, t)
	state[stEntropy] = s.writeReply(state[stEntropy], Where(done, none, entropy), first, t)
	ends := done
	for _, id := range s.options.Stop {
		ends = LogicalOr(ends, Equal(token, Const(g, id)))
	}
	state[stToken], state[stDone] = s.place(state[stToken], token, first), s.place(state[stDone], ends, first)
}

// place puts x into to from row `first` on; the other axes from 0 on. Without in-place updates x has all rows.
func (s *Sampler) place(to, x, first *Node) *Node {
	if x.Shape().Equal(to.Shape()) {
		return x
	}
	if s.dev.InPlaceUpdates() {
		at := []*Node{first}
		for range to.Rank() - 1 {
			at = append(at, Const(to.Graph(), int32(0)))
		}
		return DynamicUpdateSlice(to, x, at)
	}
	rest := to.Shape().Clone().Dimensions // a cache: columns after the prompt
	rest[2] -= x.Shape().Dimensions[2]
	return Concatenate([]*Node{x, zeros(to.Graph(), x.DType(), rest...)}, 2)
}

// write puts x [N, kv, 1, D] into column of the cache [N, kv, S, D].
func (s *Sampler) write(cache, x, column *Node) *Node {
	if s.dev.InPlaceUpdates() {
		zero := Const(column.Graph(), int32(0))
		return DynamicUpdateSlice(cache, x, []*Node{zero, zero, column, zero})
	}
	dims := cache.Shape().Dimensions
	here := Equal(Iota(cache.Graph(), shapes.Make(dtypes.Int32, dims...), 2), BroadcastToDims(column, dims...))
	return Where(here, BroadcastToDims(x, dims...), cache)
}

// writeReply puts x [r] into column t of [N, C] from row `first` on.
func (s *Sampler) writeReply(reply, x, first, t *Node) *Node {
	r := x.Shape().Dimensions[0]
	if s.dev.InPlaceUpdates() {
		return DynamicUpdateSlice(reply, Reshape(x, r, 1), []*Node{first, t})
	}
	dims := reply.Shape().Dimensions
	here := Equal(iota2(reply.Graph(), r, dims[1], 1), BroadcastToDims(t, dims...))
	return Where(here, BroadcastToDims(Reshape(x, r, 1), dims...), reply)
}
