package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Data says which problems are trained on and which are held out, by position and by content.
type Data struct {
	Source  string `json:"source"` // "gsm8k" or "mini"
	Files   []File `json:"files"`  // what the problems were read from; empty when they are generated
	Draw    string `json:"draw"`   // how the split was drawn, in words, enough to draw it again
	Train   Split  `json:"train"`
	Holdout Split  `json:"holdout"`
	Test    *Split `json:"test,omitempty"` // the whole test split, where the plan evaluates on it
}

// Split is an ordered list of tasks taken from one named split of the source.
type Split struct {
	From   string `json:"from"`   // e.g. "train", "test"
	SHA256 string `json:"sha256"` // of the tasks: see SplitHash
	Tasks  []Task `json:"tasks"`
}

// Task is one problem. Published artifacts hold no text of other people's data sets: Text is empty for them, and a reader who has the
// data set finds the problem by Index and checks it by SHA256.
type Task struct {
	Index  int    `json:"index"`          // position in the source's split
	SHA256 string `json:"sha256"`         // TextHash of the question
	Gold   string `json:"gold"`           // the right answer, a number; fixed with the plan, so that replies can be graded again
	Text   string `json:"text,omitempty"` // the question, only where this project wrote it
}

// TextHash identifies a question by its words: SHA-256, in hexadecimal, of the text in lower case with every run of
// white space as one blank. Copies that differ in case or spacing have the same hash.
func TextHash(question string) string {
	h := sha256.Sum256([]byte(strings.Join(strings.Fields(strings.ToLower(question)), " ")))
	return hex.EncodeToString(h[:])
}

// NewTask makes a task; keepText is for problems that this project wrote.
func NewTask(index int, question, gold string, keepText bool) Task {
	t := Task{Index: index, SHA256: TextHash(question), Gold: gold}
	if keepText {
		t.Text = question
	}
	return t
}

// NewSplit makes a split and its hash.
func NewSplit(from string, tasks []Task) Split {
	return Split{From: from, SHA256: SplitHash(tasks), Tasks: tasks}
}

// SplitHash is the SHA-256 over the lines "index sha256 gold\n" of the tasks in their order.
func SplitHash(tasks []Task) string {
	h := sha256.New()
	for _, t := range tasks {
		fmt.Fprintf(h, "%d %s %s\n", t.Index, t.SHA256, t.Gold)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Overlapping is a held-out task whose words are also a train task's.
type Overlapping struct {
	Train, Holdout int // indices in their splits
	SHA256         string
}

func (o Overlapping) String() string {
	return fmt.Sprintf("train %d = holdout %d (text %.12s)", o.Train, o.Holdout, o.SHA256)
}

// Overlap returns the held-out tasks that are also in train, compared by text (not by index: the same problem under
// another number is found). The order is that of holdout.
func Overlap(train, holdout []Task) []Overlapping {
	in := make(map[string]int, len(train))
	for _, t := range train {
		if _, ok := in[t.SHA256]; !ok {
			in[t.SHA256] = t.Index
		}
	}
	var dup []Overlapping
	for _, h := range holdout {
		if i, ok := in[h.SHA256]; ok {
			dup = append(dup, Overlapping{Train: i, Holdout: h.Index, SHA256: h.SHA256})
		}
	}
	return dup
}

// OverlapControl shows that [Overlap] can fail: it plants the first held-out task in train under an unused index and says
// whether exactly that copy is found beside what was there.
func OverlapControl(train, holdout []Task) (caught bool) {
	if len(holdout) == 0 {
		return false
	}
	planted := holdout[0]
	planted.Index = -1
	with := append([]Task{planted}, train...)
	for _, o := range Overlap(with, holdout) {
		if o.SHA256 == planted.SHA256 && o.Train == -1 {
			return true
		}
	}
	return false
}

// validate checks one split after the other.
func (d *Data) validate() error {
	type named struct {
		name string
		Split
	}
	splits := []named{{"train", d.Train}, {"holdout", d.Holdout}}
	if d.Test != nil {
		splits = append(splits, named{"test", *d.Test})
	}
	for _, s := range splits {
		if len(s.Tasks) == 0 {
			return fmt.Errorf("data: %s has no tasks", s.name)
		}
		seen := map[int]bool{}
		for _, t := range s.Tasks {
			switch {
			case len(t.SHA256) != 64:
				return fmt.Errorf("data: %s task %d: sha256 %q is not 64 hexadecimal digits", s.name, t.Index, t.SHA256)
			case t.Gold == "":
				return fmt.Errorf("data: %s task %d has no gold answer", s.name, t.Index)
			case t.Text != "" && TextHash(t.Text) != t.SHA256:
				return fmt.Errorf("data: %s task %d: the text does not have the hash that stands beside it", s.name, t.Index)
			case seen[t.Index]:
				return fmt.Errorf("data: %s holds task %d twice", s.name, t.Index)
			}
			seen[t.Index] = true
		}
		if h := SplitHash(s.Tasks); h != s.SHA256 {
			return fmt.Errorf("data: %s: the tasks hash to %.12s, the plan says %.12s", s.name, h, s.SHA256)
		}
	}
	return nil
}
