package cell

import (
	"bytes"
	"fmt"
	"html"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
)

// Progress shows the last line that was written to it, with a bar when the line counts something ("step 3/40 ..."). It stays
// one output however many lines there are.
type Progress struct {
	id    string
	line  []byte
	shown time.Time
}

// NewProgress makes a progress display below the cell.
func NewProgress() *Progress { return &Progress{id: "progress_" + gonbui.UniqueId()} }

// Write takes lines, as a log does.
func (p *Progress) Write(b []byte) (int, error) {
	p.line = append(p.line, b...)
	for {
		end := bytes.IndexByte(p.line, '\n')
		if end < 0 {
			return len(b), nil
		}
		line := string(p.line[:end])
		p.line = p.line[end+1:]
		if !gonbui.IsNotebook {
			fmt.Fprintln(os.Stderr, line)
		} else if time.Since(p.shown) > 200*time.Millisecond {
			gonbui.UpdateHTML(p.id, progressHTML(line))
			p.shown = time.Now()
		}
	}
}

// Done replaces the display by its outcome.
func (p *Progress) Done(text string) {
	if !gonbui.IsNotebook {
		fmt.Println(text)
		return
	}
	gonbui.UpdateHTML(p.id, html.EscapeString(text))
	gonbui.Sync()
	OK(gonbui.Error())
}

var counted = regexp.MustCompile(`\b([0-9]+)/([0-9]+)\b`)

func progressHTML(line string) string {
	bar := ""
	if m := counted.FindStringSubmatch(line); m != nil {
		done, _ := strconv.Atoi(m[1]) // digits, of a length that a counter has
		all, _ := strconv.Atoi(m[2])
		bar = fmt.Sprintf(`<progress value="%d" max="%d" style="width:16em"></progress> `, done, all)
	}
	return bar + "<code>" + html.EscapeString(line) + "</code>"
}
