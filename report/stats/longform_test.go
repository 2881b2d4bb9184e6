package stats

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
)

const head = "arm,run,task,sample,correct\n"

func TestReadResults(t *testing.T) {
	r, err := ReadResults(context.Background(), strings.NewReader("\ufeff"+`correct, task ,note,arm,run,sample
1,t10,"a, ""quoted""
note",plain,18,0
TRUE,2,x,plain,17,0
0,2,x,plain,17,1
,10,x,plain,17,0
false,10,x,team,1,a
1,t10,x,team,1,a
`))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(r.Tasks, " "); got != "2 10 t10" {
		t.Errorf("tasks %q: expected whole numbers by value, then the rest", got)
	}
	plain, team := r.Arms[0], r.Arms[1]
	if plain.Name != "plain" || team.Name != "team" || strings.Join(plain.Runs, " ") != "17 18" || strings.Join(r.Ignored, " ") != "note" {
		t.Errorf("arms %q, %q, runs %q, ignored %q", plain.Name, team.Name, plain.Runs, r.Ignored)
	}
	want := Outcomes{{{1, 2}, {}, {}}, {{}, {}, {1, 1}}}
	for i := range want {
		for j := range want[i] {
			if plain.Outcomes[i][j] != want[i][j] {
				t.Errorf("run %d, task %d: %v, expected %v", i, j, plain.Outcomes[i][j], want[i][j])
			}
		}
	}
	missing, short := r.Gaps()
	if len(missing) != 5 || len(short) != 3 || missing[0] != (Gap{"plain", "18", "2", 0}) || short[0] != (Gap{"plain", "18", "t10", 1}) {
		t.Errorf("missing %v, short %v", missing, short)
	}
	if r.Rows != 6 || r.Ungraded != 1 || r.Samples != 2 {
		t.Errorf("%d rows, %d ungraded, %d samples", r.Rows, r.Ungraded, r.Samples)
	}
}

func TestReadResultsErrors(t *testing.T) {
	rows := "A,1,1,1,1\nB,1,1,1,0\n"
	for _, c := range []struct{ why, table, want string }{
		{"empty", "", "the table is empty: expected the header arm,run,task,sample,correct"},
		{"no header", rows, `no column "arm" in the header "A,1,1,1,1"`},
		{"a column is missing", "arm,run,task,correct\n", `no column "sample"`},
		{"a column comes twice", "arm,run,task,sample,correct,arm\n", `column "arm" comes twice`},
		{"another separator", "arm;run;task;sample;correct\n", "separate the fields with commas"},
		{"header only", head, "0 arms"},
		{"one arm", head + "A,1,1,1,1\n", "1 arms"},
		{"three arms", head + rows + "C,1,1,1,0\n", `line 4: a third arm "C"`},
		{"a short row", head + rows + "A,1,2,1\n", "line 4: not as many fields"},
		{"an open quote", head + rows + `A,1,"2,1,1` + "\n", "expected comma-separated values"},
		{"a stray quote", head + rows + `A,1,2",1,1` + "\n", "line 4"},
		{"an empty label", head + rows + "A,,2,1,1\n", "line 4: run is empty"},
		{"a rate for a verdict", head + rows + "A,1,2,1,0.5\n", `line 4: correct is "0.5": expected 1 or 0`},
		{"a word for a verdict", head + rows + "A,1,2,1,yes\n", `correct is "yes"`},
		{"the same answer twice", head + rows + "A,1,1,1,0\n", "line 4: arm \"A\", run \"1\", task \"1\", sample \"1\" was on line 2 already"},
	} {
		_, err := ReadResults(context.Background(), strings.NewReader(c.table))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "expected") {
			t.Errorf("%s: %v, expected %q", c.why, err, c.want)
		}
	}
	broken := errors.New("the disk is gone")
	if _, err := ReadResults(context.Background(), &failing{head + rows, broken}); !errors.Is(err, broken) {
		t.Errorf("a reader that fails: %v", err)
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	long := strings.Builder{}
	long.WriteString(head)
	for i := range 5000 {
		long.WriteString("A,1,1," + strconv.Itoa(i) + ",1\n")
	}
	if _, err := ReadResults(stopped, strings.NewReader(long.String())); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

type failing struct {
	text string
	err  error
}

func (f *failing) Read(p []byte) (int, error) {
	if f.text == "" {
		return 0, f.err
	}
	n := copy(p, f.text)
	f.text = f.text[n:]
	return n, nil
}

// TestRowOrderDoesNotMatter: the same rows in reverse give the same tables, but for which arm comes first.
func TestRowOrderDoesNotMatter(t *testing.T) {
	raw, err := os.ReadFile("../testdata/tiny.csv")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(raw)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var reversed bytes.Buffer
	w := csv.NewWriter(&reversed)
	w.Write(rows[0])
	for i := len(rows) - 1; i > 0; i-- {
		w.Write(rows[i])
	}
	w.Flush()
	r, err := ReadResults(context.Background(), bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	q, err := ReadResults(context.Background(), &reversed)
	if err != nil {
		t.Fatal(err)
	}
	c, d := must(Compare(r.Arms[0].Outcomes, r.Arms[1].Outcomes, 0.02)), must(Compare(q.Arms[1].Outcomes, q.Arms[0].Outcomes, 0.02))
	one, _ := c.MarshalJSON()
	two, _ := d.MarshalJSON()
	if !bytes.Equal(one, two) {
		t.Errorf("other bytes for another order of rows:\n%s\n%s", one, two)
	}
}

// FuzzReadResults: no table may panic or be read into counts that cannot be.
func FuzzReadResults(f *testing.F) {
	f.Add(head + "A,1,1,1,1\nB,1,1,1,0\n")
	f.Add("\ufeff" + head + "A,1,1,1,\nB,2,x,1,true\nA,1,x,\"\n\",0\n")
	f.Add("correct,sample,task,run,arm,arm\n")
	f.Fuzz(func(t *testing.T, table string) {
		r, err := ReadResults(context.Background(), strings.NewReader(table))
		if err != nil {
			return
		}
		graded := 0
		for _, a := range r.Arms {
			if err := a.Outcomes.check(a.Name); err != nil {
				t.Fatal(err)
			}
			for _, run := range a.Outcomes {
				for _, c := range run {
					graded += c.Samples
				}
			}
		}
		if graded+r.Ungraded != r.Rows {
			t.Fatalf("%d graded and %d ungraded of %d rows", graded, r.Ungraded, r.Rows)
		}
		if c, err := Compare(r.Arms[0].Outcomes, r.Arms[1].Outcomes, 0.02); err == nil {
			if _, err := c.MarshalJSON(); err != nil {
				t.Fatal(err)
			}
			c.Sentence(Names{})
		}
	})
}
