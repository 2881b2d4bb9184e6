package page

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/template"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
	"teamtalk/report/analysis"
	"teamtalk/report/figure"
)

//go:embed prose/*.md
var proseFS embed.FS

//go:embed refs.json
var refsJSON []byte

// Reference is an entry of the reference list.
type Reference struct {
	Key   string `json:"key"`
	Short string `json:"short"`
	Text  string `json:"text"`
	URL   string `json:"url"`
}

// writer makes the Markdown: bindings become text between marks, and claims.
type writer struct {
	doc    *Document
	json   tree
	sums   map[string]string
	figs   map[string]figure.Figure
	refs   []Reference
	cited  []string // keys by first use
	claims []Claim
	tables int
	shown  []string // figures by first use
	rec    *artifact.Record
	o      Options
}

func newWriter(doc *Document, reportJSON []byte, sums map[string]string, figs []figure.Figure, o Options) (*writer, error) {
	t, err := newTree(reportJSON)
	if err != nil {
		return nil, err
	}
	r := &writer{doc: doc, json: t, sums: sums, figs: map[string]figure.Figure{}, o: o}
	for _, f := range figs {
		r.figs[f.ID] = f
	}
	if err := json.Unmarshal(refsJSON, &r.refs); err != nil {
		return nil, fmt.Errorf("page: refs.json: %w", err)
	}
	return r, nil
}

// bind writes the value of report.json at the tokens in a format and claims it.
func (r *writer) bind(format string, tokens ...any) (string, error) {
	ptr := pointer(tokens...)
	v, err := r.json.at(ptr)
	if err != nil {
		return "", err
	}
	format = r.cutShares(format, tokens)
	text, err := Format(ptr, format, v)
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("page: %s: %w", ptr, err)
	}
	id := len(r.claims)
	r.claims = append(r.claims, Claim{ID: id, Text: text, Pointer: ptr, Value: raw, Format: format, From: r.from(tokens)})
	return fmt.Sprintf("%c%d%c%s%c", markOpen, id, markText, text, markClose), nil
}

// cutShares is the format of an interval; one of a difference of shares is cut at ±1. The claim carries it, so that it can be made again.
func (r *writer) cutShares(format string, tokens []any) string {
	name, arg, ok := strings.Cut(format, ":")
	if ok && (name == "scoped" || name == "pair") && len(tokens) == 3 && tokens[0] == "contrasts" {
		if c := r.doc.Contrasts[fmt.Sprint(tokens[1])]; c != nil && c.Metric != "tokens" {
			return name + ":" + cutFormat + arg
		}
	}
	return format
}

// cutNote is the note of a table of differences, when an interval in it was cut.
func (r *writer) cutNote(keys ...string) string {
	for _, key := range keys {
		c := r.doc.Contrasts[key]
		if c == nil || c.Metric == "tokens" {
			continue
		}
		for _, end := range []float64{c.CITasks.Lo(), c.CITasks.Hi(), c.CIRuns.Lo(), c.CIRuns.Hi(), c.CIBoth.Lo(), c.CIBoth.Hi()} {
			if math.Abs(end) > 1 {
				return " Intervals of differences of shares are cut at minus one and plus one, since no such difference can lie outside; report.json has them uncut."
			}
		}
	}
	return ""
}

// from names the artifacts that a part of report.json was computed from.
func (r *writer) from(tokens []any) []string {
	tok := func(i int) string {
		if i < len(tokens) {
			return fmt.Sprint(tokens[i])
		}
		return ""
	}
	primary := func() []string {
		if c, ok := r.doc.Contrasts[analysis.Primary]; ok {
			return c.Files
		}
		return nil
	}
	switch tok(0) {
	case "plan", "train_tasks", "holdout_tasks", "planned_runs":
		return []string{artifact.ExperimentFile}
	case "sessions":
		return []string{artifact.EnvFile}
	case "evals":
		if e, ok := r.doc.Evals[tok(1)]; ok {
			return []string{e.File}
		}
	case "rows":
		if w, ok := r.doc.Rows[tok(1)]; ok {
			return w.Files
		}
	case "contrasts":
		if c, ok := r.doc.Contrasts[tok(1)]; ok {
			return c.Files
		}
	case "design":
		return append([]string{artifact.ExperimentFile, artifact.PhasesFile}, primary()...)
	case "curves":
		return []string{tok(1) + "/" + artifact.MetricsFile, tok(1) + "/" + artifact.CompletionsFile}
	case "cost":
		return []string{artifact.PhasesFile}
	case "rounds":
		return []string{artifact.RoundsFile}
	case "test":
		return []string{artifact.ExperimentFile}
	case "tasks", "flips", "sign_flip_p":
		return append([]string{artifact.ExperimentFile}, primary()...)
	case "arm_differences":
		var out []string
		for _, name := range r.doc.CurveOrder {
			out = append(out, name+"/"+artifact.ConfigFile)
		}
		return out
	}
	return []string{artifact.ManifestFile} // the run as a whole
}

// named are the checksums of the artifacts that claims name.
func (r *writer) named(claims []Claim) map[string]string {
	m := map[string]string{}
	for _, c := range claims {
		for _, f := range c.From {
			if f == artifact.ManifestFile {
				m[f] = r.doc.Run.ManifestSHA256
			} else {
				m[f] = r.sums[f]
			}
		}
	}
	return m
}

// sections are the prose files in their order.
func sections() []string {
	names, err := proseFS.ReadDir("prose")
	if err != nil {
		panic(err) // embedded
	}
	var out []string
	for _, n := range names {
		out = append(out, n.Name())
	}
	return out
}

// learnedSection is the one that Options.Learned replaces; learnedFile is where a report keeps that text.
const (
	learnedSection = "60-learned.md"
	learnedFile    = "learned.md"
)

// markdown renders every section.
func (r *writer) markdown(rec *artifact.Record) (string, error) {
	r.rec = rec
	var b strings.Builder
	for _, name := range sections() {
		text, err := proseFS.ReadFile("prose/" + name)
		if err != nil {
			return "", fmt.Errorf("page: %w", err)
		}
		if name == learnedSection && r.o.Learned != "" {
			name, text = learnedFile, []byte(r.o.Learned)
		}
		t, err := template.New(name).Option("missingkey=error").Funcs(r.funcs()).Parse(string(text))
		if err != nil {
			return "", fmt.Errorf("page: %w", err)
		}
		if err := t.Execute(&b, r.doc); err != nil {
			return "", fmt.Errorf("page: %w", err)
		}
		b.WriteString("\n")
	}
	return tidy(b.String()), nil
}

// tidy leaves one blank line where templates left several, outside of fences, and one newline at the end.
func tidy(s string) string {
	var b strings.Builder
	blank, fence := 0, ""
	for _, l := range strings.Split(strings.TrimSpace(s), "\n") {
		switch marker := l[:len(l)-len(strings.TrimLeft(l, "`"))]; {
		case fence == "" && len(marker) >= 3:
			fence = marker
		case fence != "" && l == fence:
			fence = ""
		}
		if fence == "" {
			l = strings.TrimRight(l, " ")
		}
		if l == "" && fence == "" {
			if blank++; blank > 1 {
				continue
			}
		} else {
			blank = 0
		}
		b.WriteString(l + "\n")
	}
	return b.String()
}

// funcs is what templates can say. Anything that writes a number goes through b.
func (r *writer) funcs() template.FuncMap {
	return template.FuncMap{
		"b":     r.bind,
		"cite":  r.cite,
		"ref":   r.refShort,
		"title": r.title,
		"table": r.tableByName,
		"fig":   r.figure,
		"fence": Fence,
		"details": func(summary string) string {
			return fmt.Sprintf("%c%s%c", markDetails, summary, markSummary)
		},
		"enddetails":   func() string { return string(markEnd) },
		"browser":      func() string { return string(markBrowser) },
		"references":   r.references,
		"example":      r.example,
		"commands":     r.commands,
		"has":          func(key string) bool { _, ok := r.doc.Contrasts[key]; return ok },
		"row":          func(key string) bool { _, ok := r.doc.Rows[key]; return ok },
		"contrast":     func(key string) *analysis.Contrast { return r.doc.Contrasts[key] },
		"separated":    separated,
		"verdict":      r.verdict,
		"verdictMeans": r.verdictMeans,
		"failed":       r.failed,
		"arm":          r.armName,
		"promptOf":     r.promptOf,
		"talks":        r.talks,
		"passed":       r.passed,
		"join":         strings.Join,
	}
}

// separated says which way a difference goes by the interval over new runs and new tasks: "up", "down", or "" when that does not tell.
func separated(c *analysis.Contrast) string {
	switch {
	case c == nil || !c.CIBoth.OK() || c.CIBoth.Lo() == c.CIBoth.Hi():
		return ""
	case c.CIBoth.Lo() > 0:
		return "up"
	case c.CIBoth.Hi() < 0:
		return "down"
	}
	return ""
}

// failed are the places of the failed checks. A run under way fails those that look for what is not there yet: it has none.
func (r *writer) failed() (places []int) {
	for i, c := range r.doc.Checks {
		if c.Status == artifact.Fail && r.doc.Run.Complete {
			places = append(places, i)
		}
	}
	return places
}

// verdict is the primary comparison's, or why there is none.
func (r *writer) verdict() string {
	if c, ok := r.doc.Contrasts[analysis.Primary]; ok {
		return string(c.Verdict)
	}
	return "none"
}

// verdictMeans says what the verdict's word means.
func (r *writer) verdictMeans() string {
	if c, ok := r.doc.Contrasts[analysis.Primary]; ok && c.Verdict == "unresolved" && !c.CIBoth.OK() {
		return "There is no interval over new training runs, so that nothing can be said about training again."
	}
	return verdictWords[r.verdict()]
}

var verdictWords = map[string]string{
	"better":     "The interval over new training runs and new tasks lies above zero.",
	"worse":      "The interval over new training runs and new tasks lies below zero.",
	"equivalent": "Two one-sided tests over new training runs and new tasks both rule out a difference as large as the margin that the plan fixed before training; their interval stands under Result.",
	"unresolved": "The interval over new training runs and new tasks covers zero and is wider than the margin of the plan: this design cannot tell whether there is a difference.",
	"degenerate": "Nothing varied, so that there is no interval to read.",
	"none":       "There is no comparison.",
}

// armName is the plan's first or second arm of the primary comparison, "a" or "b".
func (r *writer) armName(side string) string {
	if side == "a" {
		return r.doc.Plan.Primary.A
	}
	return r.doc.Plan.Primary.B
}

// promptOf is the plan's name for the prompt of the primary comparison's first or second arm.
func (r *writer) promptOf(side string) (string, error) {
	i := slices.IndexFunc(r.doc.Plan.Arms, func(a experiment.Arm) bool { return a.Name == r.armName(side) })
	return r.bind("text", "plan", "arms", i, "prompt")
}

// talks says whether the experiment is about talk: the second arm's prompt asks for it, and the untrained model does not ignore that.
func (r *writer) talks() bool {
	b, err := r.doc.Plan.Arm(r.armName("b"))
	if err != nil || !b.Talk {
		return false
	}
	base, ok := r.doc.Rows["base-"+b.Name]
	return !ok || base.Share.Talk.K > 0
}

// passed says whether the check of this name did.
func (r *writer) passed(id string) bool {
	return slices.ContainsFunc(r.doc.Checks, func(c artifact.Check) bool { return c.ID == id && c.Status == artifact.Pass })
}

func (r *writer) title() (string, error) {
	t, err := r.bind("text", "plan", "question", "title")
	if r.doc.Plan.Preset == "mini" {
		t = "Mini run. " + t
	}
	if r.doc.Run.Synthetic {
		t = "Synthetic. " + t
	}
	return t, err
}

// cite refers to an entry by its number, which is that of its first use.
func (r *writer) cite(keys ...string) (string, error) {
	var out []string
	for _, key := range keys {
		if !slices.ContainsFunc(r.refs, func(x Reference) bool { return x.Key == key }) {
			return "", fmt.Errorf("no reference is called %q", key)
		}
		i := slices.Index(r.cited, key)
		if i < 0 {
			i = len(r.cited)
			r.cited = append(r.cited, key)
		}
		out = append(out, fmt.Sprintf("%c%d%c", markCite, i+1, markCiteEnd))
	}
	return strings.Join(out, " "), nil
}

func (r *writer) refShort(key string) (string, error) {
	for _, x := range r.refs {
		if x.Key == key {
			return Inline(x.Short), nil
		}
	}
	return "", fmt.Errorf("no reference is called %q", key)
}

// references lists what was cited. An entry that the built-in prose does not cite is an error, so that the list cannot be padded; a section
// Learned of the reader's own may do without some, and so may an experiment that is not about talk.
func (r *writer) references() (string, error) {
	var b strings.Builder
	for i, key := range r.cited {
		for _, x := range r.refs {
			if x.Key == key {
				fmt.Fprintf(&b, "%d. %s\n", i+1, Inline(x.Text))
			}
		}
	}
	for _, x := range r.refs {
		if r.o.Learned == "" && r.talks() && !slices.Contains(r.cited, x.Key) {
			return "", fmt.Errorf("reference %q is cited nowhere", x.Key)
		}
	}
	return b.String(), nil
}

// figure shows a figure that could be drawn, with its caption; nothing otherwise.
func (r *writer) figure(id, caption string) (string, error) {
	f, ok := r.figs[id]
	if !ok {
		return "", nil
	}
	r.shown = append(r.shown, id)
	alt, err := r.bind("text", "figures", id, "desc")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("![%s](figures/%s.svg)\n\n**Figure %d.** %s. %s\n", alt, id, len(r.shown), Inline(f.Title), caption), nil
}

// commands are those of the sessions that made the run.
func (r *writer) commands() string {
	var b strings.Builder
	for _, s := range r.doc.Sessions {
		if name, ok := strings.CutPrefix(s.Command, "notebook "); ok {
			b.WriteString("# a cell of a notebook: " + Visible(name) + "\n")
			continue
		}
		b.WriteString("go run ./" + Visible(s.Command) + "\n")
	}
	return Fence("sh", b.String())
}

// example shows one reply of each arm to the task that changed hands by most: the right one of the arm that solves it, a wrong one of the other.
func (r *writer) example() string {
	idx := r.flipped()
	if len(idx) == 0 {
		return ""
	}
	t := r.doc.Tasks[idx[0]]
	var b strings.Builder
	for _, arm := range []string{r.doc.Plan.Primary.A, r.doc.Plan.Primary.B} {
		wantRight := (arm == r.doc.Plan.Primary.B) == (t.Flip == analysis.Won)
		for _, name := range r.doc.Rows[arm+"-"+arm].Evals {
			e := r.doc.Evals[name]
			i := slices.IndexFunc(e.Record, func(x artifact.Reply) bool {
				return x.Task == t.Index && x.Verdict.Reward != nil && x.Verdict.Correct() == wantRight
			})
			if i < 0 {
				continue
			}
			fmt.Fprintf(&b, "A reply of %s to task %s, graded %s:\n\n%s\n", Code(e.Model), Code(fmt.Sprint(t.Index)), gradeWord(e.Record[i].Verdict), Fence("text", cut(e.Record[i].Text, 1200)))
			break
		}
	}
	return b.String()
}

// differing are the tasks that the arms do not do equally well, in either direction and whatever their class, by the size of the difference,
// then in their order.
func (r *writer) differing() []int {
	var idx []int
	for i, t := range r.doc.Tasks {
		if t.Delta.OK() && t.Delta != 0 {
			idx = append(idx, i)
		}
	}
	r.bySize(idx)
	return idx
}

// flipped are the tasks that changed hands, by the size of the difference, then in their order.
func (r *writer) flipped() []int {
	var idx []int
	for i, t := range r.doc.Tasks {
		if t.Flip == analysis.Won || t.Flip == analysis.Lost {
			idx = append(idx, i)
		}
	}
	r.bySize(idx)
	return idx
}

// bySize sorts indices of tasks by the size of the difference; equal ones, up to the rounding of sums over runs, keep their order.
func (r *writer) bySize(idx []int) {
	size := func(i int) float64 { return math.Round(math.Abs(float64(r.doc.Tasks[i].Delta)) * 1e9) }
	slices.SortStableFunc(idx, func(a, b int) int { return cmp.Compare(size(b), size(a)) })
}

func gradeWord(v artifact.Verdict) string {
	switch {
	case v.Reward == nil:
		return "not at all"
	case v.Correct():
		return "right"
	}
	return "wrong"
}
