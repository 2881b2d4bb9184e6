package fetch

import (
	"fmt"
	"io"
	"path/filepath"
	"time"
)

// Printer returns a Progress that writes a line about the file under way at most every so often, and one when it is complete.
func Printer(w io.Writer, every time.Duration) Progress {
	var current string
	var last time.Time
	return func(path string, done, total int64) {
		now := time.Now()
		if path != current {
			current, last = path, now
		}
		if done != total && now.Sub(last) < every {
			return
		}
		last = now
		if total > 0 {
			fmt.Fprintf(w, "%s: %s of %s\n", filepath.Base(path), size(done), size(total))
		} else {
			fmt.Fprintf(w, "%s: %s\n", filepath.Base(path), size(done))
		}
	}
}

func size(bytes int64) string {
	switch {
	case bytes >= 1e9:
		return fmt.Sprintf("%.2f GB", float64(bytes)/1e9)
	case bytes >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
	}
	return fmt.Sprintf("%.1f kB", float64(bytes)/1e3)
}
