package artifact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// tempPrefix marks what a killed process may leave behind; never part of a manifest.
const tempPrefix = ".tmp-"

// WriteFile writes name whole: to a temporary file beside it, synced, then renamed, then the folder synced. A reader sees the old file,
// or none, or the new one.
func WriteFile(name string, data []byte) (err error) {
	dir := filepath.Dir(name)
	f, err := os.CreateTemp(dir, tempPrefix)
	if err != nil {
		return fmt.Errorf("artifact: %w", err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("artifact: writing %s: %w", name, err)
		}
	}()
	if _, err = f.Write(data); err != nil {
		return err
	}
	if err = f.Chmod(0o644); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), name); err != nil {
		return err
	}
	return syncDir(dir)
}

// writeNew is WriteFile for a name that must not exist yet.
func writeNew(name string, data []byte) error {
	if _, err := os.Lstat(name); err == nil {
		return fmt.Errorf("artifact: %s exists already; nothing is overwritten", name)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("artifact: %w", err)
	}
	return WriteFile(name, data)
}

// writeDir lets write fill a temporary folder and then renames it to name, which must not exist.
func writeDir(name string, write func(dir string) error) (err error) {
	if _, err := os.Lstat(name); err == nil {
		return fmt.Errorf("artifact: %s exists already; nothing is overwritten", name)
	}
	parent := filepath.Dir(name)
	tmp, err := os.MkdirTemp(parent, tempPrefix)
	if err != nil {
		return fmt.Errorf("artifact: %w", err)
	}
	defer func() {
		if err != nil {
			os.RemoveAll(tmp)
			err = fmt.Errorf("artifact: writing %s: %w", name, err)
		}
	}()
	if err = write(tmp); err != nil {
		return err
	}
	if err = filepath.WalkDir(tmp, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return syncDir(p) // an open and an fsync serve files and folders alike
	}); err != nil {
		return err
	}
	if err = os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	if err = os.Rename(tmp, name); err != nil {
		return err
	}
	return syncDir(parent)
}

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// encode is indented JSON without HTML escapes, newline at the end.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	return b.Bytes(), nil
}

// line is one line of JSON Lines.
func line(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	return b.Bytes(), nil
}
