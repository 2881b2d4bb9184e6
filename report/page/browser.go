package page

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"strings"

	"teamtalk/grader"
	"teamtalk/report/analysis"
	"teamtalk/report/stats"
)

const (
	// dataBudget bounds the compressed replies in the page, in bytes of base64; what does not fit stays in the run folder.
	dataBudget = 2 << 20
	// blockBytes is how much text one compressed block holds: small enough to open at once, large enough to compress well.
	blockBytes = 200 << 10
	// replyBytes is how much of one reply the page shows.
	replyBytes = 16 << 10
)

// taskData is what the page's script shows of one task. Texts went through Visible, and the script shows them as text.
type taskData struct {
	Task     int         `json:"task"`
	Question string      `json:"question,omitempty"`
	Gold     string      `json:"gold"`
	Replies  []replyData `json:"replies"`
}

type replyData struct {
	Eval   int    `json:"e"` // index in the page's list of evaluations
	Sample int    `json:"s"`
	Text   string `json:"t"`
	Tokens int    `json:"k"`
	Cut    bool   `json:"c,omitempty"`
	Right  int    `json:"r"` // 0, 1, or -1 for not graded
	Reason string `json:"w"`
	Turns  int    `json:"n,omitempty"`
}

// browser makes the table of all tasks, readable without scripts, and the compressed replies that the script opens.
func (r *writer) browser() (table, data string, err error) {
	blocks, where, left, err := r.replyBlocks()
	if err != nil {
		return "", "", err
	}
	var d strings.Builder
	type evalInfo struct {
		Model  string `json:"model"`
		Prompt string `json:"prompt"`
	}
	config := struct {
		Evals    []evalInfo `json:"evals"`
		Speakers []string   `json:"speakers"`
	}{Speakers: grader.DefaultTeam().Speakers}
	for _, name := range r.doc.EvalOrder {
		e := r.doc.Evals[name]
		config.Evals = append(config.Evals, evalInfo{e.Model, Visible(r.promptName(e.Prompt))})
	}
	raw, err := json.Marshal(config) // escapes <, > and &: it cannot end the element
	if err != nil {
		return "", "", fmt.Errorf("page: %w", err)
	}
	fmt.Fprintf(&d, "<script type=\"application/json\" id=\"samples-config\">%s</script>\n", raw)
	for i, b := range blocks {
		fmt.Fprintf(&d, "<script type=\"text/plain\" id=\"block-%d\">%s</script>\n", i, b)
	}
	return r.taskTable(where, left), d.String(), nil
}

// replyBlocks compresses the replies task by task. where gives a task's block; left counts the tasks that did not fit.
func (r *writer) replyBlocks() (blocks []string, where map[int]int, left int, err error) {
	byTask := map[int][]replyData{}
	for i, name := range r.doc.EvalOrder {
		for _, rp := range r.doc.Evals[name].Record {
			right := -1
			if rp.Verdict.Reward != nil {
				right = *rp.Verdict.Reward
			}
			byTask[rp.Task] = append(byTask[rp.Task], replyData{i, rp.Sample, Visible(cut(rp.Text, replyBytes)), rp.Tokens, rp.Truncated(), right, rp.Verdict.Reason, rp.Talk.Turns})
		}
	}
	where = map[int]int{}
	var pending []taskData
	size, total := 0, 0
	flush := func() error {
		if len(pending) == 0 {
			return nil
		}
		raw, err := json.Marshal(pending)
		if err != nil {
			return fmt.Errorf("page: %w", err)
		}
		var z bytes.Buffer
		zw, err := gzip.NewWriterLevel(&z, gzip.BestCompression)
		if err != nil {
			return fmt.Errorf("page: %w", err)
		}
		if _, err := zw.Write(raw); err != nil {
			return fmt.Errorf("page: %w", err)
		}
		if err := zw.Close(); err != nil {
			return fmt.Errorf("page: %w", err)
		}
		b := base64.StdEncoding.EncodeToString(z.Bytes())
		if total+len(b) > dataBudget {
			left += len(pending)
		} else {
			total += len(b)
			for _, t := range pending {
				where[t.Task] = len(blocks)
			}
			blocks = append(blocks, b)
		}
		pending, size = nil, 0
		return nil
	}
	for _, t := range r.doc.Tasks {
		text := t.Text
		if text == "" {
			text = r.o.Questions[t.SHA256]
		}
		pending = append(pending, taskData{t.Index, Visible(text), Visible(t.Gold), byTask[t.Index]})
		for _, rp := range byTask[t.Index] {
			size += len(rp.Text) + 60
		}
		if size >= blockBytes {
			if err := flush(); err != nil {
				return nil, nil, 0, err
			}
		}
	}
	return blocks, where, left, flush()
}

// taskTable lists every task with its counts; the script adds filters, sorting and the replies.
func (r *writer) taskTable(where map[int]int, left int) string {
	var b strings.Builder
	esc := html.EscapeString
	own := func(arm string) []string {
		if w, ok := r.doc.Rows[arm+"-"+arm]; ok {
			return w.Evals
		}
		return nil
	}
	b.WriteString(`<div id="browser">
<form id="filters" hidden aria-label="Filter the tasks">
<label>Class <select name="flip"><option value="">all</option><option value="flips">won or lost</option><option value="won">won by the recipe</option><option value="lost">lost by the recipe</option><option value="both">solved by both</option><option value="neither">solved by neither</option></select></label>
<label><input type="checkbox" name="talk"> some reply talks</label>
<label><input type="checkbox" name="cut"> some reply is cut off</label>
<label>Task <input type="search" name="task" inputmode="numeric" size="6"></label>
<output id="count" aria-live="polite"></output>
</form>
<noscript><p>The replies themselves open with scripts on; they are also in <code>eval/*.jsonl.gz</code> of the run folder.</p></noscript>
`)
	if left > 0 {
		fmt.Fprintf(&b, "<p>The replies to %d tasks did not fit on this page; they are in <code>eval/*.jsonl.gz</code> of the run folder.</p>\n", left)
	}
	if t := r.doc.Test; t != nil && t.Replies > 0 {
		fmt.Fprintf(&b, "<p>The %d replies on the whole test split are not on this page; they are in <code>eval/*-test.jsonl.gz</code> of the run folder.</p>\n", t.Replies)
	}
	b.WriteString(`<div class="scroll tall" role="region" tabindex="0" aria-labelledby="tasks-caption"><table id="tasks"><caption id="tasks-caption"><span class="cap">Every held-out task: right replies of graded ones, by model and prompt. A task opens with its replies.</span></caption><thead><tr>`)
	sortable := func(label string, numeric bool) {
		class := ""
		if numeric {
			class = ` class="r"`
		}
		fmt.Fprintf(&b, `<th scope="col"%s>%s</th>`, class, esc(label))
	}
	sortable("Task", true)
	sortable("Gold", true)
	for _, e := range r.doc.EvalOrder {
		ev := r.doc.Evals[e]
		sortable(Visible(ev.Model+", "+r.promptName(ev.Prompt)), true)
	}
	for _, label := range []string{"Difference", "Class", "Talk", "Cut off"} {
		sortable(label, label == "Difference")
	}
	b.WriteString("</tr></thead>\n<tbody>\n")
	A, B := own(r.doc.Plan.Primary.A), own(r.doc.Plan.Primary.B)
	for _, t := range r.doc.Tasks {
		block := ""
		if n, ok := where[t.Index]; ok {
			block = fmt.Sprintf(` data-block="%d"`, n)
		}
		fmt.Fprintf(&b, `<tr id="task-%d"%s data-flip="%s" data-talk="%t" data-cut="%t"><th scope="row" class="r"><a href="#task-%d">%d</a></th><td class="r">%s</td>`,
			t.Index, block, esc(string(t.Flip)), t.Talk, t.Cut, t.Index, t.Index, esc(Visible(t.Gold)))
		for _, e := range r.doc.EvalOrder {
			c := t.Cells[e]
			fmt.Fprintf(&b, `<td class="r">%d/%d</td>`, c.Right, c.Graded)
		}
		delta := None
		if t.Delta.OK() && len(A) > 0 && len(B) > 0 {
			delta = stats.Signed(float64(t.Delta), 3)
		}
		fmt.Fprintf(&b, `<td class="r">%s</td><td>%s</td><td>%s</td><td>%s</td></tr>`+"\n", delta, esc(flipWord(t.Flip)), yes(t.Talk), yes(t.Cut))
	}
	b.WriteString("</tbody></table></div>\n<div id=\"replies\" tabindex=\"-1\" role=\"region\" aria-label=\"Replies\"></div>\n</div>\n")
	return b.String()
}

func (r *writer) promptName(arm string) string {
	for _, a := range r.doc.Plan.Arms {
		if a.Name == arm {
			return a.Prompt
		}
	}
	return arm
}

func flipWord(f analysis.Flip) string {
	if f == analysis.NoFlip {
		return None
	}
	return string(f)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
