package data

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"teamtalk/model/flock"
	"teamtalk/recipe/fetch"
)

// GSM8KBaseURL is the folder of the published files (see GSM8KSource) as a server hands them out.
const GSM8KBaseURL = "https://raw.githubusercontent.com/openai/grade-school-math/master/grade_school_math/data"

// FetchGSM8K makes dir hold GSM8K's train.jsonl and test.jsonl, checked against PinnedGSM8K, so that ReadGSM8K accepts it.
// Files that are there are checked and not asked for again; other files of these names are an error and stay. baseURL "" is
// GSM8KBaseURL; progress may be nil.
func FetchGSM8K(ctx context.Context, dir, baseURL string, progress fetch.Progress) error {
	return fetchProblems(ctx, dir, baseURL, PinnedGSM8K, &fetch.Getter{Progress: progress})
}

func fetchProblems(ctx context.Context, dir, baseURL string, want Hashes, getter *fetch.Getter) error {
	if baseURL == "" {
		baseURL = GSM8KBaseURL
	}
	unlock, err := flock.Exclusive(ctx, filepath.Join(dir, ".lock"))
	if err != nil {
		return fmt.Errorf("GSM8K: %w", err)
	}
	defer unlock()
	for _, f := range []struct{ name, sha256 string }{{GSM8KTrainFile, want.Train}, {GSM8KTestFile, want.Test}} {
		err := getter.Get(ctx, fetch.File{URL: strings.TrimRight(baseURL, "/") + "/" + f.name, Path: filepath.Join(dir, f.name), SHA256: f.sha256})
		switch {
		case fetch.Unreachable(err):
			return fmt.Errorf("GSM8K: cannot reach %s: %w: on a machine with a network, get %s and %s from %s, copy their folder here, and pass it as the data",
				baseURL, err, GSM8KTrainFile, GSM8KTestFile, GSM8KSource)
		case err != nil:
			return fmt.Errorf("GSM8K: %w", err)
		}
	}
	return nil
}
