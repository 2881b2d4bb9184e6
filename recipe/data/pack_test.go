package data

import (
	"slices"
	"strings"
	"testing"
)

func TestPackByHand(t *testing.T) {
	long := Reply([]int32{11, 12}, []int32{13, 14})
	long.Advantages = []float32{.5, .5, .5, .5}
	long.OldLogp = []float32{0, 0, -1, -2}
	got, err := Pack([]Sequence{long, Reply([]int32{21}, []int32{22, 23}), Reply([]int32{31}, []int32{32})}, 0, 6)
	if err != nil {
		t.Fatal(err)
	}
	// The second sequence opens a row, because three tokens do not fit behind four; the third still fits into the first row.
	check(t, "ids", got.IDs, []int32{11, 12, 13, 14, 31, 32, 21, 22, 23, 0, 0, 0})
	check(t, "segments", got.Segments, []int32{1, 1, 1, 1, 2, 2, 1, 1, 1, 0, 0, 0})
	check(t, "positions", got.Positions, []int32{0, 1, 2, 3, 0, 1, 0, 1, 2, 0, 0, 0})
	check(t, "targets", got.Targets, []int32{12, 13, 14, 0, 32, 0, 22, 23, 0, 0, 0, 0})
	check(t, "weights", got.Weights, []float32{0, 1, 1, 0, 1, 0, 1, 1, 0, 0, 0, 0})
	check(t, "advantages", got.Advantages, []float32{.5, .5, .5, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	check(t, "old log-probabilities", got.OldLogp, []float32{0, -1, -2, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	check(t, "places", got.Places, []Place{{0, 0, 4}, {1, 0, 3}, {0, 4, 2}})
	check(t, "unpacked", got.Unpack(0, got.OldLogp), long.OldLogp)
	if got.WeightSum() != 5 {
		t.Errorf("weight sum: got %v, the replies have 5 tokens", got.WeightSum())
	}
}

func check[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// Whatever the lengths: every token lies in the rows exactly once, segments do not touch, positions restart, and nothing
// is predicted across a segment's end.
func FuzzPack(f *testing.F) {
	f.Add(uint64(1), uint8(30), uint8(40), uint8(0))
	f.Add(uint64(2), uint8(1), uint8(1), uint8(1))
	f.Add(uint64(3), uint8(200), uint8(17), uint8(0))
	f.Add(uint64(4), uint8(9), uint8(64), uint8(20))
	f.Fuzz(func(t *testing.T, seed uint64, n, width, fixed uint8) {
		s, T := NewRand(seed, "pack test"), int(width)+1
		var seqs []Sequence
		id := int32(0)
		for range n {
			q := Sequence{}
			for i := range s.Between(1, T) {
				id++ // every token of the test is another id, so that each can be followed
				q.IDs = append(q.IDs, id)
				w := float32(0)
				if i > 0 {
					w = float32(s.Float64())
				}
				q.Weights = append(q.Weights, w)
				q.Advantages = append(q.Advantages, float32(s.Float64()))
				q.OldLogp = append(q.OldLogp, -float32(s.Float64()))
			}
			seqs = append(seqs, q)
		}
		p, err := Pack(seqs, int(fixed), T)
		if err != nil {
			if fixed == 0 || !strings.Contains(err.Error(), "does not fit into") {
				t.Fatal(err)
			}
			return
		}
		if fixed > 0 && p.R != int(fixed) || p.T != T || len(p.IDs) != p.R*T {
			t.Fatalf("shape [%d, %d], asked for %d rows of %d", p.R, p.T, fixed, T)
		}
		verifyPacked(t, p, seqs)
	})
}

func verifyPacked(t *testing.T, p *Packed, seqs []Sequence) {
	t.Helper()
	owner := make([]int, p.R*p.T) // sequence number + 1
	for i, at := range p.Places {
		if at.Len != len(seqs[i].IDs) || at.Col < 0 || at.Col+at.Len > p.T || at.Row >= p.R {
			t.Fatalf("sequence %d of %d tokens is at %+v", i, len(seqs[i].IDs), at)
		}
		for k := range at.Len {
			c := at.Row*p.T + at.Col + k
			if owner[c] != 0 {
				t.Fatalf("column %d holds sequences %d and %d", c, owner[c]-1, i)
			}
			owner[c] = i + 1
			if p.IDs[c] != seqs[i].IDs[k] || int(p.Positions[c]) != k || p.Segments[c] < 1 {
				t.Fatalf("sequence %d token %d: id %d, position %d, segment %d", i, k, p.IDs[c], p.Positions[c], p.Segments[c])
			}
			if k+1 == at.Len {
				if p.Targets[c] != 0 || p.Weights[c] != 0 || p.Advantages[c] != 0 || p.OldLogp[c] != 0 {
					t.Fatalf("sequence %d predicts something after its end", i)
				}
			} else if p.Targets[c] != seqs[i].IDs[k+1] || p.Weights[c] != seqs[i].Weights[k+1] || p.Advantages[c] != seqs[i].Advantages[k+1] || p.OldLogp[c] != seqs[i].OldLogp[k+1] {
				t.Fatalf("sequence %d: what column %d predicts is not token %d", i, c, k+1)
			}
		}
	}
	for c := range owner {
		if owner[c] == 0 && (p.IDs[c] != 0 || p.Segments[c] != 0 || p.Positions[c] != 0 || p.Targets[c] != 0 || p.Weights[c] != 0 || p.Advantages[c] != 0 || p.OldLogp[c] != 0) {
			t.Fatalf("padding column %d is not empty", c)
		}
		if c%p.T > 0 && owner[c] != owner[c-1] && owner[c] != 0 && p.Segments[c] == p.Segments[c-1] {
			t.Fatalf("sequences %d and %d share segment %d", owner[c-1]-1, owner[c]-1, p.Segments[c])
		}
	}
}

func TestPackerStopsWhenFull(t *testing.T) {
	p, err := NewPacker(2, 4)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		why string
		n   int
		ok  bool
	}{
		{"first row", 3, true},
		{"does not fit behind it: second row", 2, true},
		{"no row has room for three", 3, false},
		{"a shorter one still fits", 1, true},
		{"and into the second row", 2, true},
		{"all full", 1, false},
	} {
		ok, err := p.Add(Reply(nil, make([]int32, c.n)))
		if err != nil || ok != c.ok {
			t.Errorf("%d, %s: got %v, %v", i, c.why, ok, err)
		}
	}
	if p.Len() != 4 {
		t.Errorf("%d sequences were placed, want 4", p.Len())
	}
	if got := p.Pack(); got.R != 2 || len(got.Places) != 4 {
		t.Errorf("got %d rows with %d sequences", got.R, len(got.Places))
	}
	empty, _ := NewPacker(3, 4)
	if got := empty.Pack(); got.R != 3 || got.WeightSum() != 0 {
		t.Errorf("a fixed shape must not depend on what is in it: got %d rows", got.R)
	}
}

func TestPackRefuses(t *testing.T) {
	for _, c := range []struct {
		why  string
		s    Sequence
		want string
	}{
		{"nothing", Sequence{}, "expected a sequence of 1 to 4 tokens, found 0"},
		{"longer than a row", Reply([]int32{1, 2}, []int32{3, 4, 5}), "expected a sequence of 1 to 4 tokens, found 5"},
		{"weights missing", Sequence{IDs: []int32{1, 2}}, "2 tokens, 0 weights"},
		{"advantages of another length", Sequence{IDs: []int32{1}, Weights: []float32{0}, Advantages: []float32{1, 1}}, "2 advantages"},
		{"weight on a token that nothing predicts", Sequence{IDs: []int32{1}, Weights: []float32{1}}, "weight 0 on a sequence's first token"},
	} {
		if _, err := Pack([]Sequence{c.s}, 0, 4); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.why, err, c.want)
		}
	}
	if _, err := Pack([]Sequence{Reply(nil, []int32{1, 2}), Reply(nil, []int32{1, 2})}, 1, 3); err == nil || !strings.Contains(err.Error(), "does not fit into 1 rows of 3") {
		t.Errorf("too many for the rows: got %v", err)
	}
	if _, err := NewPacker(-1, 3); err == nil {
		t.Error("a negative number of rows passes")
	}
}

// A training batch of the mini preset: 48 sequences of about 85 tokens.
func BenchmarkPack(b *testing.B) {
	s := NewRand(1, "pack bench")
	var seqs []Sequence
	for range 48 {
		seqs = append(seqs, Reply(make([]int32, 50), make([]int32, s.Between(15, 70))))
	}
	for b.Loop() {
		if _, err := Pack(seqs, 0, 192); err != nil {
			b.Fatal(err)
		}
	}
}
