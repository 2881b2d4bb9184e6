package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
	"teamtalk/report/analysis"
)

// Sum is the SHA-256 of b in hexadecimal, as manifests hold it.
func Sum(b []byte) string { return sum(b) }

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// checksums are those of the run's files that are not weights: from the manifest, or, for a run without one, computed.
func checksums(rec *artifact.Record, fsys fs.FS) map[string]string {
	if rec.Manifest != nil {
		return rec.Manifest.Sums()
	}
	sums, err := artifact.Sums(fsys)
	if err != nil {
		return map[string]string{}
	}
	return sums
}

// Manifest is the report's manifest.json.
type Manifest struct {
	Version int               `json:"version"`
	Run     analysis.Identity `json:"run"`
	Inputs  map[string]string `json:"inputs"`            // artifacts that were read: path to SHA-256
	Learned string            `json:"learned,omitempty"` // SHA-256 of the section Learned, when it was given
	Texts   string            `json:"texts,omitempty"`   // SHA-256 of the questions, when the data set was given
	Files   []File            `json:"files"`
}

// File is one file of the report.
type File struct {
	Path   string `json:"path"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func reportManifest(files Files, rec *artifact.Record, sums map[string]string, o Options) ([]byte, error) {
	m := Manifest{Version: analysis.Version, Inputs: sums, Run: analysis.Identity{PlanSHA256: rec.PlanSHA256, ManifestSHA256: rec.ManifestSHA256,
		Complete: rec.Manifest != nil && len(rec.Missing) == 0, Missing: rec.Missing, Synthetic: rec.Plan.Model.Source == "synthetic"}}
	if o.Learned != "" {
		m.Learned = sum([]byte(o.Learned))
	}
	if len(o.Questions) > 0 {
		b, err := json.Marshal(o.Questions)
		if err != nil {
			return nil, fmt.Errorf("page: %w", err)
		}
		m.Texts = sum(b)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		m.Files = append(m.Files, File{name, len(files[name]), sum(files[name])})
	}
	return marshal(m)
}

// tasksCSV has one line per held-out task: counts per evaluation, and the difference of the primary comparison.
func tasksCSV(an *analysis.Report) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	head := []string{"task", "sha256", "gold", "delta", "flip", "talk", "truncated"}
	for _, e := range an.EvalOrder {
		head = append(head, csvText(e+"/right"), csvText(e+"/graded"), csvText(e+"/talk"), csvText(e+"/truncated"), csvText(e+"/samples"))
	}
	w.Write(head) // a bytes.Buffer does not fail
	for _, t := range an.Tasks {
		delta := ""
		if t.Delta.OK() {
			delta = strconv.FormatFloat(float64(t.Delta), 'g', -1, 64)
		}
		row := []string{strconv.Itoa(t.Index), csvText(t.SHA256), csvNumber(t.Gold), delta, string(t.Flip), strconv.FormatBool(t.Talk), strconv.FormatBool(t.Cut)}
		for _, e := range an.EvalOrder {
			c := t.Cells[e]
			row = append(row, strconv.Itoa(c.Right), strconv.Itoa(c.Graded), strconv.Itoa(c.Talk), strconv.Itoa(c.Cut), strconv.Itoa(c.Samples))
		}
		w.Write(row)
	}
	w.Flush()
	return b.Bytes()
}

// csvNumber leaves a number as it is, so that -5 stays one, and treats everything else as text.
func csvNumber(s string) string {
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	return csvText(s)
}

// evalResults is the Hugging Face Hub's .eval_results format: a list of values, each with a data set, a date and notes. The format holds one number
// per entry; the interval, its scope and the counts stand in the notes.
func evalResults(an *analysis.Report) []byte {
	var b bytes.Buffer
	id := map[string]string{"gsm8k": "openai/gsm8k"}[an.Plan.Data.Source]
	if id == "" {
		id = "teamtalk/" + an.Plan.Data.Source
	}
	date := ""
	if len(an.Sessions) > 0 && len(an.Sessions[0].Started) >= 10 {
		date = an.Sessions[0].Started[:10]
	}
	q := func(s string) string { // a JSON string is a YAML string
		var j bytes.Buffer
		e := json.NewEncoder(&j)
		e.SetEscapeHTML(false)
		if e.Encode(Visible(s)) != nil { // a string always has a JSON form
			return `""`
		}
		return string(bytes.TrimSuffix(j.Bytes(), []byte("\n")))
	}
	fmt.Fprintf(&b, "# Written by the report of plan %.12s; a subset of the data set's %s split.\n", an.Run.PlanSHA256, an.Plan.Data.Holdout.From)
	order := an.RowOrder
	if an.Test != nil {
		order = slices.Concat(order, an.Test.RowOrder)
	}
	for _, key := range order {
		row := an.Rows[key]
		tasks, samples, which, task := an.HoldoutTasks, an.Plan.Evaluation.Samples, "held-out subset, not the whole split", an.Plan.Data.Source+"-heldout-"+strconv.Itoa(an.HoldoutTasks)
		if row.Tasks == experiment.TasksTest {
			tasks, samples, which, task = an.Test.Tasks, an.Plan.Evaluation.Test.Samples, "the whole "+an.Plan.Data.Test.From+" split", an.Plan.Data.Source+"-"+an.Plan.Data.Test.From
		}
		notes := fmt.Sprintf("%s; pass@1, %s; %d runs x %d tasks x %d samples, temperature %v, top_p %v; %s",
			row.Display, interval(row), max(1, len(row.Runs)), tasks, samples, an.Plan.Evaluation.Temperature, an.Plan.Evaluation.TopP, which)
		if an.Plan.Preset == "mini" {
			notes = "mini run, a demonstration; " + notes
		}
		if an.Run.Synthetic {
			notes = "SYNTHETIC, not a result; " + notes
		}
		fmt.Fprintf(&b, "- dataset:\n    id: %s\n    task_id: %s\n  value: %s\n", q(id), q(task), value(row.Mean))
		if date != "" {
			fmt.Fprintf(&b, "  date: %s\n", q(date))
		}
		fmt.Fprintf(&b, "  notes: %s\n", q(notes))
	}
	return b.Bytes()
}

func value(n analysis.Num) string {
	if !n.OK() {
		return "null"
	}
	return strconv.FormatFloat(float64(n), 'g', -1, 64)
}

// interval is the widest scope that the row has.
func interval(row *analysis.Row) string {
	if row.CIBoth.OK() {
		return row.CIBoth.String()
	}
	return row.CITasks.String()
}
