package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
)

// questions finds the held-out tasks' texts in a data set's *.jsonl files, lines with a "question", by their hashes.
func questions(run, dir string) (map[string]string, error) {
	rec, err := artifact.Load(os.DirFS(run))
	if err != nil {
		return nil, err
	}
	want := map[string]bool{}
	for _, t := range rec.Plan.Data.Holdout.Tasks {
		want[t.SHA256] = true
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	found := map[string]string{}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 16<<20)
		for n := 1; lines.Scan(); n++ {
			if strings.TrimSpace(lines.Text()) == "" {
				continue
			}
			var row struct{ Question string }
			if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
				f.Close()
				return nil, fmt.Errorf("%s:%d: expected an object with a question: %w", name, n, err)
			}
			if h := experiment.TextHash(row.Question); want[h] {
				found[h] = row.Question
			}
		}
		f.Close()
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("none of the %d held-out questions is in %s/*.jsonl: expected the data set that the run was made with (%s)", len(want), dir, rec.Plan.Data.Source)
	}
	return found, nil
}
