package model

import (
	"fmt"
	"math"

	"teamtalk/model/backend"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

// batchShape is what the sampling programs are compiled for.
type batchShape struct {
	prompts int // P, sorted by run
	group   int // G completions of each prompt; rows = P·G
	prompt  int // Tp columns of prompt, padded on the left: every prompt ends at the same column
	reply   int // C columns of reply
	columns int // S columns of the cache, at most Tp + C
	nucleus bool
}

func (b batchShape) rows() int { return b.prompts * b.group }

func (b batchShape) String() string {
	return fmt.Sprintf("p%d_g%d_t%d_c%d_s%d_n%t", b.prompts, b.group, b.prompt, b.reply, b.columns, b.nucleus)
}

// The state of a decoding loop. Row i has written its tokens up to column `column`, which holds `token`.
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
	inKeys               // [N, 2] noise keys
	inLimit              // scalar: the column at which to return
	inTemperature        // scalar
	inNucleus            // scalar
	inWeights
)

func (s *Sampler) stateShapes(b batchShape) []shapes.Shape {
	c, n := s.weights.Config, b.rows()
	out := []shapes.Shape{
		shapes.Make(dtypes.Int32), shapes.Make(dtypes.Int32, n), shapes.Make(dtypes.Bool, n),
		shapes.Make(dtypes.Int32, n, b.reply), shapes.Make(dtypes.Float32, n, b.reply), shapes.Make(dtypes.Float32, n, b.reply),
	}
	for range 2 * c.NumHiddenLayers {
		out = append(out, shapes.Make(s.weights.DType, n, c.NumKeyValueHeads, b.columns, c.HeadDim))
	}
	return out
}

func (s *Sampler) constShapes(b batchShape) []shapes.Shape {
	n := b.rows()
	return append([]shapes.Shape{
		shapes.Make(dtypes.Int32, n), shapes.Make(dtypes.Uint32, n, 2), shapes.Make(dtypes.Int32),
		shapes.Make(dtypes.Float32), shapes.Make(dtypes.Float32),
	}, s.served.shapes(s.weights)...)
}

// compilePrefill compiles the pass over the prompts: once for each prompt, its keys and values handed to all G rows, and the
// first token of every row. Inputs: ids [P, Tp], done [N], the constants. Outputs: the loop's state.
func (s *Sampler) compilePrefill(b batchShape) (*backend.Program, error) {
	in := append([]shapes.Shape{shapes.Make(dtypes.Int32, b.prompts, b.prompt), shapes.Make(dtypes.Bool, b.rows())}, s.constShapes(b)...)
	return s.dev.Compile("prefill_"+b.String(), in, func(g *Graph, in []*Node) []*Node {
		ids, done, consts := in[0], in[1], in[2:]
		c := s.weights.Config
		net := s.served.network(s.weights, consts[inWeights:])
		p, t := b.prompts, b.prompt
		start := Slice(Reshape(consts[inStart], p, b.group), AxisRange(), AxisRange(0, 1)) // [P, 1]
		column := iota2(g, p, t, 1)
		segments := ConvertDType(GreaterOrEqual(column, BroadcastToDims(start, p, t)), dtypes.Int32)
		positions := Max(Sub(column, start), zeros(g, dtypes.Int32))
		rows := attendRows(c, segments)
		caches := make([]*Node, 2*c.NumHiddenLayers)
		hand := func(x *Node) *Node { // [P·Tp, kv, D] -> [N, kv, S, D]
			x = TransposeAllAxes(Reshape(x, p, t, c.NumKeyValueHeads, c.HeadDim), 0, 2, 1, 3)
			x = BroadcastToDims(InsertAxes(x, 1), p, b.group, c.NumKeyValueHeads, t, c.HeadDim)
			x = Reshape(x, b.rows(), c.NumKeyValueHeads, t, c.HeadDim)
			return Concatenate([]*Node{x, zeros(g, x.DType(), b.rows(), c.NumKeyValueHeads, b.columns-t, c.HeadDim)}, 2)
		}
		x := net.hidden(Reshape(ids, -1), Reshape(positions, -1), func(l int, q, k, v *Node) *Node {
			caches[2*l], caches[2*l+1] = hand(k), hand(v)
			return rows(l, q, k, v)
		})
		x = Reshape(Slice(Reshape(x, p, t, c.HiddenSize), AxisRange(), AxisRange(t-1, t)), p, c.HiddenSize)
		logits := net.logits(x) // [P, V]
		logits = Reshape(BroadcastToDims(InsertAxes(logits, 1), p, b.group, c.VocabSize), b.rows(), c.VocabSize)
		state := make([]*Node, stCaches)
		state[stColumn] = Const(g, int32(t))
		state[stDone] = done
		state[stTokens] = zeros(g, dtypes.Int32, b.rows(), b.reply)
		state[stLogp], state[stEntropy] = zeros(g, dtypes.Float32, b.rows(), b.reply), zeros(g, dtypes.Float32, b.rows(), b.reply)
		s.take(b, state, logits, consts, Const(g, int32(0)))
		return append(state, caches...)
	})
}

// compileLoop compiles the decoding loop. Inputs: the state, the constants. Outputs: the state.
func (s *Sampler) compileLoop(b batchShape) (*backend.Program, error) {
	states := s.stateShapes(b)
	return s.dev.Compile("decode_"+b.String(), append(states, s.constShapes(b)...), func(g *Graph, in []*Node) []*Node {
		c := s.weights.Config
		state, consts := append([]*Node(nil), in[:len(states)]...), in[len(states):]
		net := s.served.network(s.weights, consts[inWeights:])
		column, n := state[stColumn], b.rows()
		start := consts[inStart]
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
			p := softmax(Add(MulScalar(f32(scores), 1/math.Sqrt(float64(d))), bias))
			o := backend.Dot(ConvertDType(p, vc.DType()), []int{3}, []int{0, 1}, vc, []int{2}, []int{0, 1})
			return Reshape(o, n, heads*d)
		})
		s.take(b, state, net.logits(x), consts, Sub(OnePlus(column), Const(g, int32(b.prompt))))
		state[stColumn] = OnePlus(column)
		more := LogicalAnd(LessThan(state[stColumn], consts[inLimit]), LogicalNot(LogicalAll(state[stDone])))
		return append(state, more)
	}, backend.LoopOver(len(states)))
}

// take samples token number t (a scalar) of every row and puts it into the state. Rows that are done take padding.
func (s *Sampler) take(b batchShape, state []*Node, logits *Node, consts []*Node, t *Node) {
	g := logits.Graph()
	var nucleus *Node
	if b.nucleus {
		nucleus = consts[inNucleus]
	}
	token, logp, entropy := sample(logits, consts[inTemperature], nucleus, consts[inKeys], t)
	done := state[stDone]
	token = Where(done, zeros(g, dtypes.Int32, b.rows()), token)
	none := zeros(g, dtypes.Float32, b.rows())
	state[stTokens] = s.writeReply(state[stTokens], token, t)
	state[stLogp] = s.writeReply(state[stLogp], Where(done, none, logp), t)
	state[stEntropy] = s.writeReply(state[stEntropy], Where(done, none, entropy), t)
	ends := done
	for _, id := range s.options.Stop {
		ends = LogicalOr(ends, Equal(token, Const(g, id)))
	}
	state[stToken], state[stDone] = token, ends
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

// writeReply puts x [N] into column t of [N, C].
func (s *Sampler) writeReply(reply, x, t *Node) *Node {
	n := x.Shape().Dimensions[0]
	if s.dev.InPlaceUpdates() {
		return DynamicUpdateSlice(reply, Reshape(x, n, 1), []*Node{Const(t.Graph(), int32(0)), t})
	}
	dims := reply.Shape().Dimensions
	here := Equal(iota2(reply.Graph(), n, dims[1], 1), BroadcastToDims(t, dims...))
	return Where(here, BroadcastToDims(Reshape(x, n, 1), dims...), reply)
}
