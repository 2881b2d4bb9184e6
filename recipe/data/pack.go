package data

import "fmt"

// Sequence is one tokenised text to train on. The per-token slices are aligned with IDs: entry i belongs to the
// prediction of IDs[i] from the tokens before it.
type Sequence struct {
	IDs        []int32
	Weights    []float32 // share of each prediction in the loss; Weights[0] must be 0, nothing predicts the first token
	Advantages []float32 // optional: nil is 0 everywhere
	OldLogp    []float32 // optional: the sampler's log-probabilities; nil is 0 everywhere
}

// Reply makes the sequence of a prompt and the reply that is learnt: weight 0 on the prompt, 1 on the reply.
func Reply(prompt, reply []int32) Sequence {
	s := Sequence{IDs: append(append(make([]int32, 0, len(prompt)+len(reply)), prompt...), reply...)}
	s.Weights = make([]float32, len(s.IDs))
	for i := max(len(prompt), 1); i < len(s.IDs); i++ {
		s.Weights[i] = 1
	}
	return s
}

// Packed is R rows of T tokens, flat, row after row. Several sequences share a row; attention must stay within a segment,
// and the padding after the last one has segment 0, token 0 and weight 0.
//
// Column c of a row holds the input token and, in Targets, Weights, Advantages and OldLogp, what belongs to the prediction
// made there: Targets[c] is the next token of the same segment. The last token of a segment predicts nothing: its target
// is 0 with weight 0.
type Packed struct {
	R, T       int
	IDs        []int32
	Targets    []int32
	Segments   []int32 // 1, 2, .. within a row; 0 is padding
	Positions  []int32 // restarts at 0 in every segment
	Weights    []float32
	Advantages []float32
	OldLogp    []float32
	Places     []Place // where each sequence went, in the order they were given
}

// Place is where a sequence lies: Len tokens of row Row from column Col on.
type Place struct{ Row, Col, Len int }

// WeightSum is the sum of all weights: the number of trained tokens where weights are 0 and 1.
func (p *Packed) WeightSum() float64 {
	sum := 0.0
	for _, w := range p.Weights {
		sum += float64(w)
	}
	return sum
}

// Unpack takes per-prediction values [R*T], such as log-probabilities that were computed on the packed rows, back to
// sequence i: the result has one value per token, and 0 for the first, which nothing predicts.
func (p *Packed) Unpack(i int, values []float32) []float32 {
	at := p.Places[i]
	out := make([]float32, at.Len)
	start := at.Row*p.T + at.Col
	copy(out[1:], values[start:start+at.Len-1])
	return out
}

// Packer fills rows first-fit: every sequence goes into the first row that still has room for it.
type Packer struct {
	rows, t int
	used    []int // tokens in each row that was begun
	seqs    []Sequence
	places  []Place
}

// NewPacker makes rows of t tokens. With rows > 0 there are exactly that many, the last ones empty if need be, so that one
// compiled shape serves every batch; with rows = 0 there are as many as it takes.
func NewPacker(rows, t int) (*Packer, error) {
	if rows < 0 || t < 1 {
		return nil, fmt.Errorf("pack: expected 0 or more rows of at least 1 token, found %d rows of %d", rows, t)
	}
	return &Packer{rows: rows, t: t}, nil
}

// Add places a sequence. It returns false, with nothing changed, if all rows are in use and none has room. A sequence
// that no row could ever hold, or whose slices do not fit together, is an error. The sequence is not copied until Pack.
func (p *Packer) Add(s Sequence) (bool, error) {
	if err := s.check(p.t); err != nil {
		return false, err
	}
	n, row := len(s.IDs), 0
	for row < len(p.used) && p.used[row]+n > p.t {
		row++
	}
	if row == len(p.used) {
		if p.rows > 0 && row == p.rows {
			return false, nil
		}
		p.used = append(p.used, 0)
	}
	p.seqs = append(p.seqs, s)
	p.places = append(p.places, Place{row, p.used[row], n})
	p.used[row] += n
	return true, nil
}

func (s Sequence) check(t int) error {
	n := len(s.IDs)
	if n == 0 || n > t {
		return fmt.Errorf("pack: expected a sequence of 1 to %d tokens, found %d: cap the replies or make the rows longer", t, n)
	}
	if len(s.Weights) != n || (s.Advantages != nil && len(s.Advantages) != n) || (s.OldLogp != nil && len(s.OldLogp) != n) {
		return fmt.Errorf("pack: expected one weight (and, where given, advantage and old log-probability) per token, found %d tokens, %d weights, %d advantages, %d log-probabilities",
			n, len(s.Weights), len(s.Advantages), len(s.OldLogp))
	}
	if s.Weights[0] != 0 {
		return fmt.Errorf("pack: expected weight 0 on a sequence's first token, which nothing predicts, found %v", s.Weights[0])
	}
	return nil
}

// Len is the number of sequences placed so far.
func (p *Packer) Len() int { return len(p.seqs) }

// Pack writes the rows. The packer may go on being used.
func (p *Packer) Pack() *Packed {
	r := len(p.used)
	if p.rows > 0 {
		r = p.rows
	}
	n := r * p.t
	out := &Packed{R: r, T: p.t,
		IDs: make([]int32, n), Targets: make([]int32, n), Segments: make([]int32, n), Positions: make([]int32, n),
		Weights: make([]float32, n), Advantages: make([]float32, n), OldLogp: make([]float32, n),
		Places: append([]Place(nil), p.places...),
	}
	segment := make([]int32, r)
	for i, s := range p.seqs {
		at := p.places[i]
		segment[at.Row]++
		start := at.Row*p.t + at.Col
		copy(out.IDs[start:], s.IDs)
		for k := range s.IDs {
			out.Segments[start+k] = segment[at.Row]
			out.Positions[start+k] = int32(k)
		}
		// The column of token k-1 predicts token k.
		copy(out.Targets[start:], s.IDs[1:])
		copy(out.Weights[start:], s.Weights[1:])
		if s.Advantages != nil {
			copy(out.Advantages[start:], s.Advantages[1:])
		}
		if s.OldLogp != nil {
			copy(out.OldLogp[start:], s.OldLogp[1:])
		}
	}
	return out
}

// Pack places all sequences, in order, into rows of t tokens: see NewPacker for rows. Sequences that do not fit into a
// fixed number of rows are an error.
func Pack(seqs []Sequence, rows, t int) (*Packed, error) {
	p, err := NewPacker(rows, t)
	if err != nil {
		return nil, err
	}
	for i, s := range seqs {
		ok, err := p.Add(s)
		if err != nil {
			return nil, fmt.Errorf("sequence %d: %w", i, err)
		}
		if !ok {
			return nil, fmt.Errorf("pack: sequence %d of %d does not fit into %d rows of %d tokens: expected room for all, use more or longer rows", i, len(seqs), rows, t)
		}
	}
	return p.Pack(), nil
}
