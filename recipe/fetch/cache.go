package fetch

import (
	"fmt"
	"os"
	"path/filepath"
)

// CacheDir is where this project keeps what it got, below $XDG_CACHE_HOME or the system's usual cache folder:
// CacheDir("hub") is ~/.cache/teamtalk/hub on Linux. It is not made.
func CacheDir(kind string) (string, error) {
	base := os.Getenv("XDG_CACHE_HOME")
	if !filepath.IsAbs(base) {
		var err error
		if base, err = os.UserCacheDir(); err != nil {
			return "", fmt.Errorf("no cache folder: %w: set XDG_CACHE_HOME", err)
		}
	}
	return filepath.Join(base, "teamtalk", kind), nil
}
