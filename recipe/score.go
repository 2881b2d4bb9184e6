package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"

	"teamtalk/model"
	"teamtalk/model/backend"
)

// runScore computes, for JSON Lines {"ids":[..],"start":n}, the log-probability of each of ids[n:] after those before it and
// the entropy of the distribution that it came from, in nats, both at -temperature. Nothing predicts the first id: start is 1
// or more, and 1 when it is absent. Other fields come back as they are. It stops at the first line that it cannot do.
func runScore(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("score", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, `usage: recipe score [-model ..] [-adapter ..] [-temperature T] < x.jsonl    {"ids":[..],"start":n} -> {"logp":[..],"entropy":[..]} of ids[n:]
       start is 1 or more (nothing predicts the first id), and 1 when it is absent; other fields come back as they are
`)
		flags.PrintDefaults()
	}
	var m modelFlags
	m.register(flags)
	temperature := flags.Float64("temperature", 1, "divide logits by this `number` above 0")
	if help, err := parseFlags(flags, args); help || err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return usagef("score: unexpected argument %q: the lines are read from standard input", flags.Arg(0))
	}
	if !(*temperature > 0) || math.IsInf(*temperature, 1) {
		return usagef("score: -temperature %g: expected a number above 0 (at 0 there is no distribution)", *temperature)
	}
	if err := m.check(); err != nil {
		return err
	}
	o, err := m.open(ctx, stderr)
	if err != nil {
		return err
	}
	defer o.Close()
	s := &scoring{model: o, temperature: *temperature, scorers: map[int]*scorerOf{}}
	defer s.close()
	err = idLines(ctx, stdin, stdout, 1024, s.parse, func(window []*idLine) error { return s.answer(ctx, window) })
	fmt.Fprintf(stderr, "score: %d lines, %d log-probabilities, %d compiled shapes\n", s.lines, s.tokens, len(s.scorers))
	return err
}

// scoring answers windows of lines.
type scoring struct {
	model         *openModel
	temperature   float64
	scorers       map[int]*scorerOf // by columns
	lines, tokens int
}

// scorerOf is a compiled scorer of rows x the columns it is kept under.
type scorerOf struct {
	*model.Scorer
	rows int
}

// maxValues bounds logits [T, V] and attention scores [heads, T, T] of one row, together: XLA counts elements in 32 bits.
const maxValues = math.MaxInt32

// room tells whether a row of n ids can be scored in one pass.
func (s *scoring) room(n int) bool {
	c := s.model.checkpoint.Config
	t := int64(bucket(n))
	return t*(int64(c.VocabSize)+int64(c.NumAttentionHeads)*t) <= maxValues
}

// batch is the most rows of t columns that go through the model at once. Their logits take half a gigabyte, on a GPU two.
func (s *scoring) batch(t int) int {
	budget := 1 << 27
	if s.model.device.Kind == backend.CUDA {
		budget = 1 << 29
	}
	return min(16, max(1, budget/(t*s.model.checkpoint.Config.VocabSize)))
}

func (s *scoring) parse(in []byte) (*idLine, error) {
	c := s.model.checkpoint.Config
	l, err := parseIDLine(in, c.VocabSize, "start", "logp", "entropy")
	if err != nil {
		return nil, err
	}
	if l.start == nil {
		l.start = new(int)
		*l.start = 1
	}
	n := len(l.ids)
	switch {
	case *l.start < 1:
		return nil, fmt.Errorf(`"start" is %d: want 1 or more, nothing predicts the first id`, *l.start)
	case *l.start > n:
		return nil, fmt.Errorf(`"start" is %d: want at most %d, the number of ids`, *l.start, n)
	case n > c.MaxPositionEmbeddings:
		return nil, fmt.Errorf("%d ids, the model has %d positions", n, c.MaxPositionEmbeddings)
	case !s.room(n):
		most := n
		for most > 0 && !s.room(most) {
			most--
		}
		return nil, fmt.Errorf("%d ids, one pass through this model holds %d", n, most)
	}
	return l, nil
}

func (s *scoring) answer(ctx context.Context, window []*idLine) error {
	widths, lines := byWidth(window)
	for _, t := range widths {
		of := lines[t]
		sc := s.scorers[t]
		if sc == nil {
			rows := min(s.batch(t), len(of))
			scorer, err := model.NewScorer(s.model.device, s.model.weights, s.model.adapters, rows, t)
			if err != nil {
				return err
			}
			sc = &scorerOf{scorer, rows}
			s.scorers[t] = sc
		}
		for at := 0; at < len(of); at += sc.rows {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := s.score(sc, t, of[at:min(at+sc.rows, len(of))]); err != nil {
				return err
			}
		}
	}
	return nil
}

// score answers at most as many lines as the scorer has rows.
func (s *scoring) score(sc *scorerOf, t int, lines []*idLine) error {
	n := sc.rows * t
	r := model.Rows{IDs: make([]int32, n), Segments: make([]int32, n), Positions: make([]int32, n), Targets: make([]int32, n)}
	for i, l := range lines {
		for j, id := range l.ids {
			r.IDs[i*t+j], r.Segments[i*t+j], r.Positions[i*t+j] = id, 1, int32(j)
			if j+1 < len(l.ids) {
				r.Targets[i*t+j] = l.ids[j+1]
			}
		}
	}
	logp, entropy, err := sc.Score(r, s.temperature)
	if err != nil {
		return err
	}
	for i, l := range lines {
		from, to := i*t+*l.start-1, i*t+len(l.ids)-1 // the column before an id predicts it
		for j := from; j < to; j++ {
			if math.IsNaN(float64(logp[j])) || math.IsNaN(float64(entropy[j])) || math.IsInf(float64(logp[j]), 0) {
				return fmt.Errorf("line %d: the log-probability of ids[%d] is %g and the entropy %g; expected numbers: weights or adapter are damaged",
					l.number, j-i*t+1, logp[j], entropy[j])
			}
		}
		l.answer = [][]byte{appendFloats(append(appendFloats(nil, "logp", logp[from:to]), ','), "entropy", entropy[from:to])}
		s.lines++
		s.tokens += to - from
	}
	return nil
}

func (s *scoring) close() {
	for _, sc := range s.scorers {
		sc.Close()
	}
}
