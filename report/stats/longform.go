package stats

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Columns are those of a long-form table: one row per answer.
var Columns = []string{"arm", "run", "task", "sample", "correct"}

// Results are the answers of a long-form table, one Outcomes per arm over the same tasks.
type Results struct {
	Arms     []ArmResults // in the order in which the table names them first
	Tasks    []string     // every task of any run; whole numbers by value, then other labels by bytes
	Samples  int          // the most rows that any cell has: what a whole cell is expected to have
	Rows     int
	Ungraded int      // rows whose correct is empty
	Ignored  []string // columns beside Columns
}

// ArmResults is one arm; Outcomes[i][t] belongs to run label Runs[i] and task Results.Tasks[t].
type ArmResults struct {
	Name     string
	Runs     []string // ordered as tasks are
	Outcomes Outcomes
}

// Gap is a cell with fewer graded answers than a whole cell has; Graded 0 is a missing cell.
type Gap struct {
	Arm    string `json:"arm"`
	Run    string `json:"run"`
	Task   string `json:"task"`
	Graded int    `json:"graded"`
}

// Gaps lists the cells without any graded answer and those with some but not all, by arm, task and run. Nothing is filled in for
// either: Compare leaves out the tasks of the first and uses what the second have.
func (r Results) Gaps() (missing, short []Gap) {
	for _, a := range r.Arms {
		for t, task := range r.Tasks {
			for i, run := range a.Runs {
				switch n := a.Outcomes[i][t].Samples; {
				case n == 0:
					missing = append(missing, Gap{a.Name, run, task, 0})
				case n < r.Samples:
					short = append(short, Gap{a.Name, run, task, n})
				}
			}
		}
	}
	return missing, short
}

type cellKey struct{ arm, run, task string }

type cellRows struct {
	cell Cell
	rows map[string]int // sample label → line
}

// ReadResults reads CSV (RFC 4180, UTF-8, comma) whose header has the Columns in any order; others are ignored and named. arm,
// run, task and sample are labels, and no sample of a cell may come twice; correct is 1 or 0, true or false, or empty for an
// answer that was not graded. The order of rows matters only for the order of arms. Errors name the line.
func ReadResults(ctx context.Context, in io.Reader) (Results, error) {
	buffered := bufio.NewReaderSize(in, 1<<16)
	if mark, err := buffered.Peek(3); err == nil && string(mark) == "\ufeff" {
		buffered.Discard(3)
	}
	read := csv.NewReader(buffered)
	read.ReuseRecord = true
	at, ignored, err := header(read)
	if err != nil {
		return Results{}, err
	}
	out := Results{Ignored: ignored}
	var arms []string
	cells := map[cellKey]*cellRows{}
	for {
		row, err := read.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return Results{}, rowError(err)
		}
		line, _ := read.FieldPos(0)
		if out.Rows++; out.Rows%4096 == 0 && ctx.Err() != nil {
			return Results{}, ctx.Err()
		}
		var label [4]string
		for i := range label {
			if label[i] = strings.Clone(strings.TrimSpace(row[at[i]])); label[i] == "" {
				return Results{}, fmt.Errorf("line %d: %s is empty: expected a label", line, Columns[i])
			}
		}
		graded, right, err := verdictOf(row[at[4]])
		if err != nil {
			return Results{}, fmt.Errorf("line %d: %w", line, err)
		}
		if !slices.Contains(arms, label[0]) {
			if arms = append(arms, label[0]); len(arms) > 2 {
				return Results{}, fmt.Errorf("line %d: a third arm %q beside %q and %q: expected two; keep the rows of two arms", line, label[0], arms[0], arms[1])
			}
		}
		key := cellKey{label[0], label[1], label[2]}
		c := cells[key]
		if c == nil {
			c = &cellRows{rows: map[string]int{}}
			cells[key] = c
		}
		if first, twice := c.rows[label[3]]; twice {
			return Results{}, fmt.Errorf("line %d: arm %q, run %q, task %q, sample %q was on line %d already: expected each sample once", line, key.arm, key.run, key.task, label[3], first)
		}
		c.rows[label[3]] = line
		out.Samples = max(out.Samples, len(c.rows))
		switch {
		case !graded:
			out.Ungraded++
		case right:
			c.cell.Correct++
			fallthrough
		default:
			c.cell.Samples++
		}
	}
	if len(arms) != 2 {
		return Results{}, fmt.Errorf("%d arms %q in %d rows: expected two", len(arms), arms, out.Rows)
	}
	out.fill(arms, cells)
	return out, nil
}

func header(read *csv.Reader) (at [5]int, ignored []string, err error) {
	row, err := read.Read()
	if err == io.EOF {
		return at, nil, fmt.Errorf("the table is empty: expected the header %s and one row per answer", strings.Join(Columns, ","))
	}
	if err != nil {
		return at, nil, rowError(err)
	}
	for i, name := range Columns {
		at[i] = slices.IndexFunc(row, func(s string) bool { return strings.TrimSpace(s) == name })
		if at[i] < 0 {
			hint := ""
			if len(row) == 1 && strings.ContainsAny(row[0], ";\t") {
				hint = "; separate the fields with commas"
			}
			return at, nil, fmt.Errorf("line 1: no column %q in the header %.200q: expected %s%s", name, strings.Join(row, ","), strings.Join(Columns, ","), hint)
		}
	}
	seen := map[string]bool{}
	for i, name := range row {
		name = strings.Clone(strings.TrimSpace(name))
		if slices.Contains(Columns, name) && seen[name] {
			return at, nil, fmt.Errorf("line 1: column %q comes twice: expected it once", name)
		}
		seen[name] = true
		if !slices.Contains(at[:], i) {
			ignored = append(ignored, name)
		}
	}
	return at, ignored, nil
}

func rowError(err error) error {
	if parse := new(csv.ParseError); errors.As(err, &parse) {
		if errors.Is(err, csv.ErrFieldCount) {
			return fmt.Errorf("line %d: not as many fields as the header has: expected the same number on every line", parse.Line)
		}
		return fmt.Errorf("line %d, column %d: %w: expected comma-separated values", parse.Line, parse.Column, parse.Err)
	}
	return err
}

func verdictOf(s string) (graded, right bool, err error) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "":
		return false, false, nil
	case "1", "true":
		return true, true, nil
	case "0", "false":
		return true, false, nil
	}
	return false, false, fmt.Errorf("correct is %q: expected 1 or 0 (true or false), or nothing for an answer that was not graded", s)
}

// fill lays the cells out as tables.
func (r *Results) fill(arms []string, cells map[cellKey]*cellRows) {
	runs, tasks := map[string]map[string]bool{}, map[string]bool{}
	for k := range cells {
		if runs[k.arm] == nil {
			runs[k.arm] = map[string]bool{}
		}
		runs[k.arm][k.run], tasks[k.task] = true, true
	}
	r.Tasks = labels(tasks)
	for _, arm := range arms {
		a := ArmResults{Name: arm, Runs: labels(runs[arm])}
		for _, run := range a.Runs {
			row := make([]Cell, len(r.Tasks))
			for t, task := range r.Tasks {
				if c := cells[cellKey{arm, run, task}]; c != nil {
					row[t] = c.cell
				}
			}
			a.Outcomes = append(a.Outcomes, row)
		}
		r.Arms = append(r.Arms, a)
	}
}

// labels sorts whole numbers by value before all other labels.
func labels(set map[string]bool) []string {
	out := make([]string, 0, len(set))
	for s := range set {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(cmp.Compare(numeric(a), numeric(b)), cmp.Compare(a, b))
	})
	return out
}

func numeric(s string) float64 {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return float64(n)
	}
	return math.Inf(1)
}
