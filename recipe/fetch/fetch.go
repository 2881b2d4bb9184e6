// Package fetch gets single files over HTTP. A file that it leaves under its own name is whole and is the one that was
// asked for: what is cut off is kept beside it and continued, what is finished is checked against a hash and only then renamed.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// File is what to get, where it goes and what it must be. At least one of SHA256 and GitBlob must be given: a file that
// nothing identifies could be neither checked nor continued.
type File struct {
	URL     string
	Path    string // final place; its folder is made
	Size    int64  // bytes; 0: not known
	SHA256  string // hex
	GitBlob string // hex; git's name for the content: SHA-1 over "blob SIZE\x00" and the content
	Token   string // sent as a bearer token, to the URL's own host only
}

// Progress is told how many bytes of a file are there, and how many it has (0: not known).
type Progress func(path string, done, total int64)

// Getter gets files. The zero value is ready to use.
type Getter struct {
	HTTP     *http.Client  // nil: one whose connections give up after 30 s without an answer
	Progress Progress      // may be nil
	Tries    int           // tries in a row that bring no new byte; 0: 5
	Wait     time.Duration // before the second of them, doubled each time; 0: 1 s
	Idle     time.Duration // a body that brings nothing for so long counts as cut off; 0: 60 s
}

// StatusError is an answer that no further try would change.
type StatusError struct {
	URL    string
	Code   int
	Status string
	Header http.Header
}

func (e *StatusError) Error() string { return fmt.Sprintf("%s answers %s", e.URL, e.Status) }

// HashError is content that is not the one that was asked for.
type HashError struct {
	Path, Kind, Want, Got string
}

func (e *HashError) Error() string {
	return fmt.Sprintf("%s: expected %s %s, found %s", e.Path, e.Kind, e.Want, e.Got)
}

// Get makes f.Path be the file that f describes. If it is there already, it is checked and nothing is sent; another content
// there is an error, never overwritten. What a cut connection, Ctrl-C or a killed process left is continued by the next
// call, if it belongs to the same content: partial files are named by the hash of the whole. Content with a wrong hash is
// thrown away and is a *HashError; a refusal by the server is a *StatusError.
//
// Two processes must not get the same file at once: see package flock.
func (g *Getter) Get(ctx context.Context, f File) error {
	id := f.SHA256
	if id == "" {
		id = f.GitBlob
	}
	if len(id) < 16 {
		return fmt.Errorf("fetch %s: expected a SHA-256 or git hash to check it by, found none", f.URL)
	}
	if _, err := os.Lstat(f.Path); err == nil {
		if err := check(f.Path, f); err != nil {
			return fmt.Errorf("there is another file in the place of %s: %w: move it away, or choose another folder", filepath.Base(f.Path), err)
		}
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
		return err
	}
	part := f.Path + "." + id[:16] + ".part"
	if err := g.fill(ctx, part, f); err != nil {
		return kept(part, err)
	}
	if err := check(part, f); err != nil {
		return errors.Join(fmt.Errorf("%s sent another content than expected, which was thrown away: %w: try again; if it stays so, the source or something in between changes the file", f.URL, err),
			os.Remove(part))
	}
	if err := os.Rename(part, f.Path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(f.Path))
}

// kept adds to err what is left for the next call.
func kept(part string, err error) error {
	info, statErr := os.Stat(part)
	if statErr != nil {
		return err
	}
	if info.Size() == 0 {
		return errors.Join(err, os.Remove(part))
	}
	return fmt.Errorf("%w (%d bytes are kept; the same command goes on from there)", err, info.Size())
}

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
