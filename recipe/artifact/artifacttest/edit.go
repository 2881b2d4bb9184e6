package artifacttest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"teamtalk/recipe/artifact"
)

// EditLines rewrites a log of a run folder, compressed or not, line by line. The manifest is left as it is.
func EditLines(dir, path string, edit func(lines [][]byte) [][]byte) error {
	name := filepath.Join(dir, filepath.FromSlash(path))
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	packed := strings.HasSuffix(path, ".gz")
	if packed {
		zr, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return err
		}
		if data, err = io.ReadAll(zr); err != nil {
			return err
		}
	}
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	data = append(bytes.Join(edit(lines), []byte("\n")), '\n')
	if packed {
		var b bytes.Buffer
		zw := gzip.NewWriter(&b)
		if _, err := zw.Write(data); err != nil {
			return err
		}
		if err := zw.Close(); err != nil {
			return err
		}
		data = b.Bytes()
	}
	return os.WriteFile(name, data, 0o644)
}

// Replace replaces the first old in a file, which must be there.
func Replace(dir, path, old, now string) error {
	return EditLines(dir, path, func(lines [][]byte) [][]byte {
		for i, l := range lines {
			if bytes.Contains(l, []byte(old)) {
				lines[i] = bytes.Replace(l, []byte(old), []byte(now), 1)
				return lines
			}
		}
		panic(fmt.Sprintf("artifacttest: %s does not hold %q", path, old))
	})
}

// Reseal makes the manifest anew, as somebody would who wants to hide an edit.
func Reseal(dir string) error {
	// By its name a run that is being sealed has it.
	if err := os.Rename(filepath.Join(dir, artifact.ManifestFile), filepath.Join(dir, ".tmp-"+artifact.ManifestFile)); err != nil {
		return err
	}
	r, err := artifact.Open(dir)
	if err != nil {
		return err
	}
	return r.Seal()
}
