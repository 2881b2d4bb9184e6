package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every published write-up is what its artifacts give today, byte for byte, and holds no number that is typed in.
func TestPublishedWriteUpsAreFresh(t *testing.T) {
	dirs, err := filepath.Glob("writeup/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no published write-up found: %v", err)
	}
	for _, dir := range dirs {
		results := filepath.Join("..", "recipe", "results", filepath.Base(dir))
		if _, err := os.Stat(results); err != nil {
			t.Errorf("%s has no artifacts: %v", dir, err)
			continue
		}
		for _, command := range []string{"check", "lint", "verify"} {
			var out, errs strings.Builder
			if err := run(context.Background(), []string{command, "-out", dir, results}, io.LimitReader(nil, 0), &out, &errs); err != nil {
				t.Errorf("report %s of %s: %v\n%s%s", command, dir, err, out.String(), errs.String())
			}
		}
	}
}
