// Package notebooks_test executes every notebook from a clean kernel and reads what came out, because Jupyter does not: a cell
// that panics, exits with a code or fails its test leaves nbconvert's exit code at zero. It also holds the notebooks that are
// committed to what they promise: outputs of a good run, of these sources, without a path of the machine they were made on.
//
//	make notebook-tools            what the tests need
//	go test ./notebooks -update    executes the notebooks and writes their outputs into them
//
// TEAMTALK_TEST_NOTEBOOKS=off leaves out whatever needs Jupyter.
package notebooks_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// names are the notebooks in the order in which a reader meets them.
var names = []string{"team-talk", "your-experiment", "read-a-run"}

// notebook is a file of nbformat 4.5.
type notebook struct {
	Cells    []cell         `json:"cells"`
	Metadata map[string]any `json:"metadata"`
	Format   int            `json:"nbformat"`
	Minor    int            `json:"nbformat_minor"`
}

type cell struct {
	Type     string         `json:"cell_type"`
	Count    *int           `json:"execution_count"`
	ID       string         `json:"id"`
	Metadata map[string]any `json:"metadata"`
	Outputs  []output       `json:"outputs"`
	Source   lines          `json:"source"`
}

// output is any of nbformat's kinds: a stream has Name and Text, display data has Data, an error has the last three.
type output struct {
	Type      string         `json:"output_type"`
	Name      string         `json:"name,omitempty"`
	Text      lines          `json:"text,omitempty"`
	Data      map[string]any `json:"data,omitempty"`
	Metadata  map[string]any `json:"metadata,omitempty"`
	Count     *int           `json:"execution_count,omitempty"`
	EName     string         `json:"ename,omitempty"`
	EValue    string         `json:"evalue,omitempty"`
	Traceback []string       `json:"traceback,omitempty"`
}

// lines is text that nbformat stores as a string or as a list of lines.
type lines string

func (l *lines) UnmarshalJSON(b []byte) error {
	var all []string
	if err := json.Unmarshal(b, &all); err == nil {
		*l = lines(strings.Join(all, ""))
		return nil
	}
	return json.Unmarshal(b, (*string)(l))
}

// split is how Jupyter writes text: a list of lines, each with its line feed.
func split(s string) []string {
	if s == "" {
		return []string{}
	}
	return slices.DeleteFunc(strings.SplitAfter(s, "\n"), func(line string) bool { return line == "" })
}

// data is the output's text of a MIME type, or "".
func (o output) data(mime string) string {
	switch v := o.Data[mime].(type) {
	case string:
		return v
	case []any:
		var b strings.Builder
		for _, line := range v {
			fmt.Fprint(&b, line)
		}
		return b.String()
	}
	return ""
}

func parse(raw []byte) (*notebook, error) {
	var n notebook
	if err := json.Unmarshal(raw, &n); err != nil {
		return nil, err
	}
	if n.Format != 4 || n.Minor < 5 {
		return nil, fmt.Errorf("nbformat %d.%d: expected 4.5 or newer", n.Format, n.Minor)
	}
	return &n, nil
}

func read(t *testing.T, path string) *notebook {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n, err := parse(raw)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return n
}

// canonical writes a notebook as it is committed: Jupyter's own form (one blank of indentation, sorted keys, lists of lines),
// executed from one on, pieces of a stream joined, and nothing that a second run of the same sources would write differently.
func canonical(n *notebook) []byte {
	count := 0
	var cells []any
	for _, c := range n.Cells {
		metadata := maps.Clone(c.Metadata)
		delete(metadata, "execution") // when each message came
		if metadata == nil {
			metadata = map[string]any{}
		}
		out := map[string]any{"cell_type": c.Type, "id": c.ID, "metadata": metadata, "source": split(string(c.Source))}
		if c.Type == "code" {
			out["execution_count"] = nil
			if c.Count != nil {
				count++
				out["execution_count"] = count
			}
			outputs := []any{}
			for _, o := range joined(c.Outputs) {
				outputs = append(outputs, o.canonical(count))
			}
			out["outputs"] = outputs
		}
		cells = append(cells, out)
	}
	metadata := map[string]any{
		"kernelspec":    map[string]any{"display_name": "Go (gonb)", "language": "go", "name": "gonb"},
		"language_info": map[string]any{"codemirror_mode": "", "file_extension": ".go", "mimetype": "text/x-go", "name": "go"},
	}
	if inputs, ok := n.Metadata["inputs"]; ok {
		metadata["inputs"] = inputs
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(map[string]any{"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}); err != nil {
		panic(err) // maps of strings and numbers
	}
	return b.Bytes()
}

// joined puts the pieces of a stream together that followed each other.
func joined(outputs []output) (all []output) {
	for _, o := range outputs {
		if last := len(all) - 1; last >= 0 && o.Type == "stream" && all[last].Type == "stream" && all[last].Name == o.Name {
			all[last].Text += o.Text
			continue
		}
		all = append(all, o)
	}
	return all
}

func (o output) canonical(count int) map[string]any {
	switch o.Type {
	case "stream":
		return map[string]any{"output_type": o.Type, "name": o.Name, "text": split(string(o.Text))}
	case "error":
		return map[string]any{"output_type": o.Type, "ename": o.EName, "evalue": o.EValue, "traceback": o.Traceback}
	}
	data := map[string]any{}
	for mime := range o.Data {
		data[mime] = split(o.data(mime))
	}
	out := map[string]any{"output_type": o.Type, "data": data, "metadata": map[string]any{}}
	if o.Type == "execute_result" {
		out["execution_count"] = count
	}
	return out
}

// What is committed is what Jupyter would save, so that opening and saving a notebook changes no line of it.
func TestCanonical(t *testing.T) {
	for _, name := range names {
		raw, err := os.ReadFile(name + ".ipynb")
		if err != nil {
			t.Fatal(err)
		}
		n, err := parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(raw, canonical(n)) {
			t.Errorf("%s.ipynb is not in the form in which it is committed: go test ./notebooks -update", name)
		}
	}
	found, err := filepath.Glob("*.ipynb")
	if err != nil || len(found) != len(names) {
		t.Errorf("the folder holds %q: expected exactly %q", found, names)
	}
}

// Two runs of the same cells differ in when messages came, in how streams were cut and in how often the kernel was asked before.
func TestCanonicalIgnores(t *testing.T) {
	const first = `{"cells": [
		{"cell_type": "markdown", "id": "a", "metadata": {}, "source": "# T"},
		{"cell_type": "code", "id": "b", "execution_count": 1, "metadata": {"execution": {"iopub.status.busy": "2026-01-02T03:04:05Z"}}, "source": ["x\n", "y"],
		 "outputs": [{"output_type": "stream", "name": "stdout", "text": ["1\n", "2\n"]}]}
		], "metadata": {"kernelspec": {"name": "gonb"}, "language_info": {"name": "go", "version": "go1.26.8"}}, "nbformat": 4, "nbformat_minor": 5}`
	const second = `{"cells": [
		{"cell_type": "markdown", "id": "a", "metadata": {}, "source": ["# T"]},
		{"cell_type": "code", "id": "b", "execution_count": 7, "metadata": {}, "source": "x\ny",
		 "outputs": [{"output_type": "stream", "name": "stdout", "text": "1\n"}, {"output_type": "stream", "name": "stdout", "text": "2\n"}]}
		], "metadata": {"kernelspec": {"name": "gonb"}, "language_info": {"name": "go", "version": "go1.27"}}, "nbformat": 4, "nbformat_minor": 5}`
	var got [2]string
	for i, text := range []string{first, second} {
		n, err := parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got[i] = string(canonical(n))
	}
	if got[0] != got[1] {
		t.Errorf("two runs of the same cells give\n%s\nand\n%s", got[0], got[1])
	}
	if other := strings.Replace(second, `"2\n"`, `"3\n"`, 1); true {
		n, err := parse([]byte(other))
		if err != nil {
			t.Fatal(err)
		}
		if string(canonical(n)) == got[0] {
			t.Error("another output is not seen")
		}
	}
}
