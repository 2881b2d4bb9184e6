package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"teamtalk/model/backend"
	"teamtalk/recipe/cost"
)

// Line is one line of the table: what repetitions took, and what they moved.
type Line struct {
	Name  string    `json:"name"`
	Unit  string    `json:"unit"` // of Times
	Times []float64 `json:"times"`
	// Mean marks a line whose goal is held against the mean of Times; the others' is held against the median.
	Mean    bool    `json:"mean,omitempty"`
	Compile float64 `json:"compile_s,omitempty"`
	Note    string  `json:"note,omitempty"` // what was not as in a real run

	TokensPerS float64    `json:"tokens_per_s,omitempty"`
	Work       *cost.Work `json:"work,omitempty"`        // of one repetition, at the least
	TFLOPs     float64    `json:"tflop_per_s,omitempty"` // achieved, of what the products need
	GBs        float64    `json:"gb_per_s,omitempty"`    // achieved, of what must be read or written at least once
	// Shares of what this machine was measured to reach in peak-matmul and peak-copy.
	ShareFLOPs float64 `json:"share_of_matmul,omitempty"`
	ShareBytes float64 `json:"share_of_copy,omitempty"`

	Parts    map[string][]float64 `json:"parts,omitempty"`    // in seconds, of each repetition
	Programs []backend.Compiled   `json:"programs,omitempty"` // compiled for this line, with the memory of each

	Goal float64 `json:"goal,omitempty"` // at most, in Unit
	Met  *bool   `json:"met,omitempty"`
}

// spread is the minimum, median and maximum. The median of an even number is the upper of the two in the middle.
func (l Line) spread() (low, median, high float64) {
	s := slices.Sorted(slices.Values(l.Times))
	return s[0], s[len(s)/2], s[len(s)-1]
}

// figure is what the line comes to: the median, or the mean.
func (l Line) figure() float64 {
	if !l.Mean {
		_, median, _ := l.spread()
		return median
	}
	sum := 0.0
	for _, t := range l.Times {
		sum += t
	}
	return sum / float64(len(l.Times))
}

// seconds are the length of the line's unit of time; 0 for other units.
func (l Line) seconds() float64 {
	switch {
	case l.Unit == "s":
		return 1
	case strings.HasPrefix(l.Unit, "ms"):
		return 1e-3
	}
	return 0
}

// peaks are what the machine was measured to reach; 0 where it was not.
type peaks struct{ flops, bytes float64 } // per second

// rates fills in what follows from the times: operations and bytes per second, shares of the peaks, tokens per second of tokens
// a repetition.
func (l *Line) rates(tokens float64, p peaks) {
	s := l.figure() * l.seconds()
	if s <= 0 {
		return
	}
	l.TokensPerS = tokens / s
	if l.Work == nil {
		return
	}
	l.TFLOPs, l.GBs = l.Work.FLOPs/s/1e12, l.Work.Bytes/s/1e9
	if p.flops > 0 {
		l.ShareFLOPs = l.Work.FLOPs / s / p.flops
	}
	if p.bytes > 0 {
		l.ShareBytes = l.Work.Bytes / s / p.bytes
	}
}

// judge holds the line against its goal.
func (l *Line) judge(goals []Goal) {
	g := goalOf(goals, l.Name)
	if g == nil {
		return
	}
	met := l.figure() <= g.Most
	l.Goal, l.Met = g.Most, &met
}

// memory is the most that one of the line's programs takes, in bytes.
func (l Line) memory() int64 {
	most := int64(0)
	for _, p := range l.Programs {
		most = max(most, p.Usage.Total())
	}
	return most
}

const header = "line                    min    median       max unit        compile    tokens/s  TFLOP/s   GB/s  matmul  copy  memory    goal\n"

// String is the line of the table.
func (l Line) String() string {
	low, median, high := l.spread()
	text := fmt.Sprintf("%-18s %9.3f %9.3f %9.3f %-10s %6.1f s %11s %8s %6s %7s %5s %7s", l.Name, low, median, high, l.Unit, l.Compile,
		number(l.TokensPerS, 0, ""), number(l.TFLOPs, 2, ""), number(l.GBs, 0, ""), number(100*l.ShareFLOPs, 0, "%"), number(100*l.ShareBytes, 0, "%"),
		number(float64(l.memory())/(1<<30), 2, ""))
	if l.Met != nil {
		text += fmt.Sprintf("  %7.4g %s", l.Goal, map[bool]string{true: "met", false: "MISSED"}[*l.Met])
		if l.Mean {
			text += fmt.Sprintf(" (mean %.3f)", l.figure())
		}
	}
	return text + "\n"
}

// number is a value with digits after the point, or a dash where there is none.
func number(x float64, digits int, unit string) string {
	if x == 0 || math.IsNaN(x) {
		return "-"
	}
	return fmt.Sprintf("%.*f%s", digits, x, unit)
}
