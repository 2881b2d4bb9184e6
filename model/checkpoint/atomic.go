package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// writeFile writes a new file so that it is there complete or not at all: a temporary file in the same folder, synced, then
// renamed. A name that is taken is an error.
func writeFile(path string, write func(io.Writer) error) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s exists already: choose another place or remove it", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone already when all went well
	err = errors.Join(write(f), f.Chmod(0o644), f.Sync())
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// writeSummed is [writeFile] that also returns the SHA-256 of what was written, in hex. It is taken on the way to the disk, not read
// back from it: of what a disk spoilt it would be the sum of the spoilt bytes.
func writeSummed(path string, write func(io.Writer) error) (sum string, err error) {
	h := sha256.New()
	if err := writeFile(path, func(w io.Writer) error { return write(io.MultiWriter(w, h)) }); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// syncDir makes a rename last; some file systems cannot sync a folder, which is no failure.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) {
		return err
	}
	return nil
}
