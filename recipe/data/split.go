package data

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// Split is a draw of problems by row: Train indexes the train file, Holdout the test file.
type Split struct {
	Rule    string `json:"rule"` // how the rows were drawn, in words
	Train   []int  `json:"train"`
	Holdout []int  `json:"holdout"`
}

//go:embed split.json
var originalSplit []byte

// OriginalSplit is the draw of the experiment that is reproduced: 512 of GSM8K's train problems and 120 of its test
// problems, the first rows of NumPy's permutation with seed 0.
func OriginalSplit() Split {
	var s Split
	if err := json.Unmarshal(originalSplit, &s); err != nil {
		panic("data: the embedded split.json is broken: " + err.Error())
	}
	return s
}

// Draw picks the problems of a split, in the split's order. A row that the data does not have, or a row named twice, is
// an error: it means that the split was drawn on other data. Test is left empty: it is the caller's to ask for g.Test.
func (g *GSM8K) Draw(s Split) (Set, error) {
	train, err := pick("train", g.Train, s.Train)
	if err != nil {
		return Set{}, err
	}
	holdout, err := pick("holdout", g.Test, s.Holdout)
	if err != nil {
		return Set{}, err
	}
	return Set{Name: "gsm8k", Train: train, Holdout: holdout}, nil
}

func pick(what string, from []Problem, rows []int) ([]Problem, error) {
	if len(rows) == 0 {
		return nil, fmt.Errorf("the split's %s list is empty: expected at least one row", what)
	}
	seen := make(map[int]bool, len(rows))
	problems := make([]Problem, len(rows))
	for i, r := range rows {
		if r < 0 || r >= len(from) {
			return nil, fmt.Errorf("the split's %s list names row %d, the data has %d rows: use the data the split was drawn on, or another split",
				what, r, len(from))
		}
		if seen[r] {
			return nil, fmt.Errorf("the split's %s list names row %d twice: expected every row once", what, r)
		}
		seen[r] = true
		problems[i] = from[r]
	}
	return problems, nil
}
