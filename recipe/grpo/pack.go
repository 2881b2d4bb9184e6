package grpo

import (
	"fmt"
	"sort"
)

// reply is a completion to learn from.
type reply struct {
	run       int // whose adapters
	group     int // whose prompt, among the run's
	prompt    []int32
	ids       []int32
	weight    float32
	advantage float32
}

// place says where a reply's predictions lie: in pass number pass, from number from on.
type place struct{ pass, from int }

// packed is what all runs learn from in one step: passes of R rows of T tokens with K predictions. A row is of one run, and a
// pass holds rows of any: no run waits for another that has more to learn.
type packed struct {
	rows, t, k int
	passes     []*pass
	places     []place // of each reply
}

// pass is a micro-batch while it is filled.
type pass struct {
	MicroBatch
	used     []int         // tokens of each row
	segments []int32       // segments of each row so far
	open     []map[int]seg // for each row: the groups whose prompt stands there
	picks    int
}

// free says whether a reply of run may go to a row: nothing stands there, or the run's own.
func (p *pass) free(row, run int) bool { return p.used[row] == 0 || int(p.Runs[row]) == run }

// seg is a prompt in a row.
type seg struct {
	number, branches int32
	last             int32 // flat index of the prompt's last token
}

// pack lays replies into rows, first fit, run after run, longest groups and longest replies first. A reply goes where its prompt already
// stands if there is room, so that a group's prompt is computed as few times as possible.
func pack(replies []reply, rows, t, k int) (*packed, error) {
	p := &packed{rows: rows, t: t, k: k, places: make([]place, len(replies))}
	type prompt struct{ run, group int }
	total := map[prompt]int{}
	for _, r := range replies {
		total[prompt{r.run, r.group}] += len(r.ids)
	}
	order := make([]int, len(replies))
	for i, r := range replies {
		order[i] = i
		if n := len(r.prompt) + len(r.ids); n > t || len(r.ids) > k || len(r.prompt) == 0 {
			return nil, fmt.Errorf("packing: a prompt of %d tokens and a reply of %d do not fit into rows of %d", len(r.prompt), len(r.ids), t)
		}
	}
	sort.SliceStable(order, func(a, b int) bool {
		x, y := replies[order[a]], replies[order[b]]
		if x.run != y.run {
			return x.run < y.run
		}
		if x.group != y.group {
			if m, n := total[prompt{x.run, x.group}], total[prompt{y.run, y.group}]; m != n {
				return m > n
			}
			return x.group < y.group
		}
		return len(x.ids) > len(y.ids)
	})
	for _, i := range order {
		p.add(i, replies[i])
	}
	return p, nil
}

func (p *packed) add(i int, r reply) {
	for _, withPrompt := range []bool{true, false} {
		for n, ps := range p.passes {
			if ps.picks+len(r.ids) > p.k {
				continue
			}
			for row := range p.rows {
				if !ps.free(row, r.run) {
					continue
				}
				_, stands := ps.open[row][r.group]
				need := len(r.ids)
				if !stands {
					need += len(r.prompt)
				}
				if stands == withPrompt && ps.used[row]+need <= p.t {
					p.put(i, n, row, r)
					return
				}
			}
		}
	}
	p.passes = append(p.passes, newPass(p.rows, p.t, p.k))
	p.put(i, len(p.passes)-1, 0, r)
}

func newPass(rows, t, k int) *pass {
	ps := &pass{used: make([]int, rows), segments: make([]int32, rows), open: make([]map[int]seg, rows)}
	for _, x := range []*[]int32{&ps.IDs, &ps.Segments, &ps.Branches, &ps.Positions} {
		*x = make([]int32, rows*t)
	}
	ps.Runs = make([]int32, rows)
	ps.At, ps.Targets = make([]int32, k), make([]int32, k)
	ps.Weights, ps.Advantages = make([]float32, k), make([]float32, k)
	return ps
}

func (p *packed) put(i, n, row int, r reply) {
	ps := p.passes[n]
	if ps.open[row] == nil {
		ps.open[row] = map[int]seg{}
	}
	write := func(id, segment, branch, position int32) int32 {
		at := row*p.t + ps.used[row]
		ps.IDs[at], ps.Segments[at], ps.Branches[at], ps.Positions[at] = id, segment, branch, position
		ps.used[row]++
		return int32(at)
	}
	ps.Runs[row] = int32(r.run)
	s, stands := ps.open[row][r.group]
	if !stands {
		ps.segments[row]++
		s.number = ps.segments[row]
		for pos, id := range r.prompt {
			s.last = write(id, s.number, 0, int32(pos))
		}
	}
	s.branches++
	ps.open[row][r.group] = s
	p.places[i] = place{n, ps.picks}
	before := s.last
	for pos, id := range r.ids {
		ps.At[ps.picks], ps.Targets[ps.picks] = before, id
		ps.Weights[ps.picks], ps.Advantages[ps.picks] = r.weight, r.advantage
		ps.picks++
		before = write(id, s.number, s.branches, int32(len(r.prompt)+pos))
	}
}
