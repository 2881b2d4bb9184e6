package model

import (
	"fmt"
	"math"
	"time"

	"github.com/gomlx/gomlx/pkg/core/tensors"
)

// batch is a request while it is being sampled.
type batch struct {
	s       *Sampler
	request Request
	shape   batchShape
	group   int
	rows    []int // the reply that each row of the state writes: prompt·group + sample
	state   []*tensors.Tensor
	inputs  []*tensors.Tensor // of the rows, in the order of inStart to inLimit
	column  int               // where the next step writes
	done    bool              // every row has ended
	replies []Completion
}

func newBatch(s *Sampler, r Request, shape batchShape) *batch {
	b := &batch{s: s, request: r, shape: shape, group: len(r.Prompts[0].Keys), replies: make([]Completion, shape.rows)}
	for i := range shape.rows {
		b.rows = append(b.rows, i)
	}
	b.inputs = b.rowInputs(b.rows)
	return b
}

// rowInputs are the tensors inStart to inTemperature, inNucleus for rows; inLimit is set by each call.
func (b *batch) rowInputs(rows []int) []*tensors.Tensor {
	n := len(rows)
	start, run, keys := make([]int32, n), make([]int32, n), make([]uint32, 2*n)
	perRun := len(b.request.Prompts) / b.s.options.Runs
	for i, row := range rows {
		p := b.request.Prompts[row/b.group]
		run[i] = int32(row / b.group / perRun)
		start[i] = int32(b.shape.prompt - max(1, len(p.IDs)))
		if len(p.IDs) > 0 {
			key := p.Keys[row%b.group]
			keys[2*i], keys[2*i+1] = key[0], key[1]
		}
	}
	return []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(start, n), tensors.FromFlatDataAndDimensions(run, n), tensors.FromFlatDataAndDimensions(keys, n, 2),
		tensors.FromScalar(float32(b.request.Temperature)), tensors.FromScalar(float32(b.request.TopP)), tensors.FromScalar(int32(0)),
	}
}

// prefill takes the prompts, chunk by chunk, and samples every row's first token.
func (b *batch) prefill() error {
	began := time.Now()
	defer func() { b.s.PrefillTime += time.Since(began) }()
	shape := b.s.prefillShape(b.shape, b.request)
	blank, err := compiled(b.s, b.s.blanks, b.shape, b.s.compileBlank)
	if err != nil {
		return err
	}
	program, err := compiled(b.s, b.s.prefills, shape, b.s.compilePrefill)
	if err != nil {
		return err
	}
	if b.state, err = blank.Run(); err != nil {
		return err
	}
	for from := 0; from < len(b.request.Prompts); from += shape.chunk {
		// The last chunk is as large as the others: it takes some prompts once more, to the same effect.
		at := min(from, len(b.request.Prompts)-shape.chunk)
		rows := b.rows[at*b.group : (at+shape.chunk)*b.group]
		ids := make([]int32, shape.chunk*shape.prompt)
		done := make([]bool, len(rows))
		for i, p := range b.request.Prompts[at : at+shape.chunk] {
			copy(ids[(i+1)*shape.prompt-len(p.IDs):], p.IDs)
			for j := range b.group {
				done[i*b.group+j] = len(p.IDs) == 0
			}
		}
		mine := append([]*tensors.Tensor{
			tensors.FromFlatDataAndDimensions(ids, shape.chunk, shape.prompt), tensors.FromFlatDataAndDimensions(done, len(done)),
			tensors.FromScalar(int32(at * b.group)),
		}, b.rowInputs(rows)...)
		in := append(append(b.state, mine...), b.s.served.inputs(b.s.weights)...)
		b.state, err = program.Run(in...)
		free(mine)
		if err != nil {
			return err
		}
	}
	b.column = b.shape.prompt
	return nil
}

// decode runs the loop up to a column.
func (b *batch) decode(limit int) error {
	program, err := compiled(b.s, b.s.loops, b.shape, b.s.compileLoop)
	if err != nil {
		return err
	}
	began := time.Now()
	b.inputs[inLimit].MustFinalizeAll()
	b.inputs[inLimit] = tensors.FromScalar(int32(limit))
	in := append(append(b.state, b.inputs...), b.s.served.inputs(b.s.weights)...)
	if b.state, err = program.Run(in...); err != nil {
		return err
	}
	now := int(tensors.ToScalar[int32](b.state[stColumn]))
	b.state[stColumn].FinalizeLocal() // the loop takes the device's copy away
	b.s.LoopTime += time.Since(began)
	b.s.Steps += now - b.column
	b.s.RowSteps += (now - b.column) * b.shape.rows
	b.done = now < limit
	b.column = now
	return nil
}

// regroup leaves finished rows behind, if enough of them are, and gives the cache its columns.
func (b *batch) regroup(columns int) error {
	if b.done {
		return nil
	}
	finished, err := tensors.CopyFlatData[bool](b.state[stDone])
	if err != nil {
		return err
	}
	b.state[stDone].FinalizeLocal()
	var active, ended []int
	for i, f := range finished {
		if f {
			ended = append(ended, i)
		} else {
			active = append(active, i)
		}
	}
	next := b.shape
	next.columns = columns
	for _, rows := range sizes(len(b.replies)) {
		if rows >= len(active) && rows <= b.shape.rows {
			next.rows = rows
		}
	}
	if next.rows < b.shape.rows {
		if err := b.read(); err != nil { // what the rows left behind have written
			return err
		}
	}
	program, err := compiled(b.s, b.s.regroups, regroupShape{b.shape, next}, b.s.compileRegroup)
	if err != nil {
		return err
	}
	take := make([]int32, next.rows)
	rows := make([]int, next.rows)
	for i := range take {
		at := i
		if next.rows < b.shape.rows {
			if i < len(active) {
				at = active[i]
			} else {
				at = ended[i-len(active)]
			}
		}
		take[i], rows[i] = int32(at), b.rows[at]
	}
	index := tensors.FromFlatDataAndDimensions(take, len(take))
	state, err := program.Run(append(append([]*tensors.Tensor(nil), b.state...), index)...)
	index.MustFinalizeAll()
	if err != nil {
		return err
	}
	free(b.state)
	free(b.inputs)
	b.state, b.rows, b.shape = state, rows, next
	b.inputs = b.rowInputs(rows)
	return nil
}

// read copies the replies that the state holds, whose tokens stand up to column.
func (b *batch) read() error {
	tokens, err := tensors.CopyFlatData[int32](b.state[stTokens])
	if err != nil {
		return err
	}
	logp, err := tensors.CopyFlatData[float32](b.state[stLogp])
	if err != nil {
		return err
	}
	entropy, err := tensors.CopyFlatData[float32](b.state[stEntropy])
	if err != nil {
		return err
	}
	for _, i := range []int{stTokens, stLogp, stEntropy} {
		b.state[i].FinalizeLocal()
	}
	written := min(b.column-b.shape.prompt+1, b.request.MaxTokens)
	for i, row := range b.rows {
		if len(b.request.Prompts[row/b.group].IDs) == 0 {
			continue
		}
		at := i * b.shape.reply
		ids, finish := b.s.upToStop(tokens[at : at+written])
		b.replies[row] = Completion{
			IDs:       append([]int32(nil), ids...),
			LogProbs:  append([]float32(nil), logp[at:at+len(ids)]...),
			Entropies: append([]float32(nil), entropy[at:at+len(ids)]...),
			Finish:    finish,
		}
		if err := b.replies[row].sound(b.request.Temperature); err != nil {
			return fmt.Errorf("sampling: completion %d of prompt %d: %w", row%b.group, row/b.group, err)
		}
	}
	return nil
}

// sound says what is wrong with the numbers of a completion. What is drawn from a distribution that is none is some id, often one
// that ends the reply, and looks like any other.
func (c *Completion) sound(temperature float64) error {
	finite := func(v float32) bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }
	for i, logp := range c.LogProbs {
		if h := c.Entropies[i]; !finite(logp) || !finite(h) {
			return fmt.Errorf("the log-probability of token %d is %g and the entropy %g at temperature %g; expected numbers: weights or adapter are damaged",
				i+1, logp, h, temperature)
		}
	}
	return nil
}

// upToStop cuts a reply after its first stop token.
func (s *Sampler) upToStop(ids []int32) (reply []int32, finish string) {
	for i, id := range ids {
		for _, stop := range s.options.Stop {
			if id == stop {
				return ids[:i+1], "stop"
			}
		}
	}
	return ids, "length"
}

func (b *batch) free() {
	for _, t := range append(b.state, b.inputs...) {
		if t != nil && t.Ok() {
			t.MustFinalizeAll()
		}
	}
}
