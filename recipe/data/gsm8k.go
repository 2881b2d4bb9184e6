package data

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// GSM8KSource is where the two files are published (MIT licence). They are not part of this repository.
const GSM8KSource = "https://github.com/openai/grade-school-math, folder grade_school_math/data"

// The names of the files in a GSM8K folder.
const (
	GSM8KTrainFile = "train.jsonl"
	GSM8KTestFile  = "test.jsonl"
)

// maxDataFile bounds a data file before it is read into memory; GSM8K's larger file has 4.2 MB.
const maxDataFile = 1 << 30

// Hashes are the SHA-256 sums, in hex, of the two files of a folder.
type Hashes struct {
	Train, Test string
}

// PinnedGSM8K are the sums of the published files: 7,473 train and 1,319 test problems.
var PinnedGSM8K = Hashes{
	Train: "17f347dc51477c50d4efb83959dbb7c56297aba886e5544ee2aaed3024813465",
	Test:  "3730d312f6e3440559ace48831e51066acaca737f6eabec99bccb9e4b3c39d14",
}

// GSM8K is a folder of problems in GSM8K's format: Cobbe et al., Training Verifiers to Solve Math Word Problems,
// arXiv:2110.14168.
type GSM8K struct {
	Train, Test []Problem
	Hashes      Hashes // of the files as read, whether they were pinned or not
}

// HashError says that a data file is not the one that was expected. A caller that offers to accept other data finds it
// with errors.As and calls ReadGSM8K again with an empty Hashes.
type HashError struct {
	Path, Want, Got string
}

func (e *HashError) Error() string {
	return fmt.Sprintf("%s is not the expected file: expected sha256 %s, found %s; get the published file from %s, "+
		"or say explicitly that other data is meant", e.Path, e.Want, e.Got, GSM8KSource)
}

// ReadGSM8K reads train.jsonl and test.jsonl from dir. Every line is {"question": .., "answer": ..} and the answer ends in
// a line "#### N"; N without its commas is the gold number. Files whose hash differs from want are refused with a
// *HashError before they are parsed; an empty field of want accepts any file.
func ReadGSM8K(dir string, want Hashes) (*GSM8K, error) {
	g := new(GSM8K)
	for _, f := range []struct {
		name, split, want string
		hash              *string
		problems          *[]Problem
	}{
		{GSM8KTrainFile, "train", want.Train, &g.Hashes.Train, &g.Train},
		{GSM8KTestFile, "test", want.Test, &g.Hashes.Test, &g.Test},
	} {
		path := filepath.Join(dir, f.name)
		text, err := readDataFile(path)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		*f.hash = hex.EncodeToString(sum[:])
		if f.want != "" && *f.hash != f.want {
			return nil, &HashError{Path: path, Want: f.want, Got: *f.hash}
		}
		if *f.problems, err = parseGSM8K(path, f.split, text); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func readDataFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("no data file %s: expected a folder with %s and %s, as in %s: %w",
			path, GSM8KTrainFile, GSM8KTestFile, GSM8KSource, err)
	case err != nil:
		return nil, fmt.Errorf("data file: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("data file %s: expected a regular file, found %s", path, info.Mode().Type())
	case info.Size() > maxDataFile:
		return nil, fmt.Errorf("data file %s: expected at most %d bytes, found %d; split it", path, maxDataFile, info.Size())
	}
	return os.ReadFile(path)
}

// number is what a gold must look like once its commas are gone: every one of GSM8K's 8,792 is an integer.
var number = regexp.MustCompile(`^-?[0-9]{1,32}(\.[0-9]{1,32})?$`)

func parseGSM8K(path, split string, text []byte) ([]Problem, error) {
	lines := bytes.Split(bytes.TrimRight(text, "\r\n"), []byte("\n"))
	if len(lines) == 1 && len(bytes.TrimSpace(lines[0])) == 0 {
		return nil, fmt.Errorf("%s: expected one problem per line, found an empty file", path)
	}
	problems := make([]Problem, 0, len(lines))
	for i, line := range lines {
		var row struct{ Question, Answer *string }
		if err := json.Unmarshal(line, &row); err != nil {
			return nil, fmt.Errorf("%s:%d: expected a JSON object with question and answer: %w", path, i+1, err)
		}
		if row.Question == nil || row.Answer == nil || strings.TrimSpace(*row.Question) == "" {
			return nil, fmt.Errorf(`%s:%d: expected "question" and "answer", at least one of them is missing or empty`, path, i+1)
		}
		gold, err := goldOf(*row.Answer)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, i+1, err)
		}
		problems = append(problems, NewProblem(split, i, *row.Question, gold))
	}
	return problems, nil
}

// goldOf takes the number after the last "####". A gold that is no number is an error here, when the data is loaded, and
// not a reward of 0 later.
func goldOf(answer string) (string, error) {
	i := strings.LastIndex(answer, "####")
	if i < 0 {
		return "", errors.New(`expected an answer that ends in "#### N", found no "####"`)
	}
	gold := strings.ReplaceAll(strings.TrimSpace(answer[i+len("####"):]), ",", "")
	if !number.MatchString(gold) {
		return "", fmt.Errorf(`expected a number after "####", found %.60q`, gold)
	}
	return gold, nil
}
