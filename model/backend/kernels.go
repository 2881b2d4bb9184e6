package backend

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"teamtalk/model/backend/tuned"
	"teamtalk/model/flock"
)

// kernels is a folder in which XLA keeps, for every product and fusion, which kernel it found fastest on a card
// (--xla_gpu_per_fusion_autotune_cache_dir), so that a later process neither measures again nor chooses otherwise: kernels round
// sums in different orders, and a run would part from the same run made before. What the published runs were made with comes with
// the program ([tuned]).
//
// XLA guards the files against half-written ones, not against compilations that measure the same thing at the same time, each of which
// goes on with its own choice. So programs that were never compiled with this folder are compiled by one process at a time, in a
// session; and where a session measured, its programs are compiled once more, from what the folder says at its end.
type kernels struct {
	dir      string
	sessions *sessions
}

// sessions has the session of this process, if one is under way. Programs that are compiled side by side share it.
type sessions struct {
	sync.Mutex
	now *session
}

type session struct {
	k        kernels
	compiles int           // under way or waiting for the lock; guarded by sessions
	began    chan struct{} // closed when the lock is held, or cannot be had
	err      error         // why it cannot
	unlock   func()
	choices  int // in the folder at the start
	known    []string
	ended    chan struct{} // closed when no compilation is under way
	measured bool          // the folder has more choices than at the start
}

// measuring is how long a process waits for another that measures. The largest program of a 1.5B model took under a minute.
const measuring = 10 * time.Minute

// kernelsOf is the folder for a plugin's file below a cache folder; the choices of one build of XLA are not those of another. It
// holds those that this program brings along for the build.
func kernelsOf(cache, plugin string) (kernels, error) {
	build, err := buildOf(plugin)
	if err != nil {
		return kernels{}, err
	}
	k := kernels{filepath.Join(cache, "teamtalk", "xla-autotune", build), &sessions{}}
	if err := errors.Join(os.MkdirAll(k.choices(), 0o755), os.MkdirAll(k.programs(), 0o755)); err != nil {
		return kernels{}, err
	}
	set, err := tuned.Of(build)
	if err != nil {
		return kernels{}, err
	}
	return k, set.Write(k.dir)
}

// buildOf names a build of a plugin: the file's name and the hash of its size, first and last MiB. The whole file has hundreds of
// megabytes.
func buildOf(plugin string) (string, error) {
	f, err := os.Open(plugin)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	const part = 1 << 20
	h := sha256.New()
	fmt.Fprintln(h, info.Size())
	for _, at := range []int64{0, max(0, info.Size()-part)} {
		if _, err := io.Copy(h, io.NewSectionReader(f, at, part)); err != nil {
			return "", err
		}
	}
	return filepath.Base(plugin) + "-" + hex.EncodeToString(h.Sum(nil))[:12], nil
}

// choices is XLA's own folder. programs has a file for each program that was compiled with it.
func (k kernels) choices() string { return filepath.Join(k.dir, tuned.Choices) }

func (k kernels) programs() string { return filepath.Join(k.dir, tuned.Programs) }

// choosing calls compile for the program with this hash so that its kernels are those that the folder has afterwards, which can take
// two calls; the second replaces what the first compiled. That the folder cannot be used is no error: XLA then measures.
func (k kernels) choosing(program [sha256.Size]byte, compile func() error) error {
	known := filepath.Join(k.programs(), hex.EncodeToString(program[:]))
	if k.dir == "" || exists(known) {
		return compile()
	}
	s := k.join()
	if s.err != nil || exists(known) { // or another process measured meanwhile
		s.leave("")
		return compile()
	}
	err := compile()
	if err != nil {
		known = ""
	}
	if s.leave(known) && err == nil {
		return compile()
	}
	return err
}

// join enters this process's session, or begins one when no other process has one.
func (k kernels) join() *session {
	k.sessions.Lock()
	s := k.sessions.now
	if s != nil {
		s.compiles++
		k.sessions.Unlock()
		<-s.began
		return s
	}
	s = &session{k: k, compiles: 1, began: make(chan struct{}), ended: make(chan struct{})}
	k.sessions.now = s
	k.sessions.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), measuring)
	defer cancel()
	s.unlock, s.err = flock.Exclusive(ctx, filepath.Join(k.dir, "lock"))
	s.choices = k.count()
	close(s.began)
	return s
}

// leave ends one compilation of a session, of a program that the file known says is known from now on ("": of none), waits for the
// others, and tells whether one of them measured.
func (s *session) leave(known string) (measured bool) {
	s.k.sessions.Lock()
	if known != "" {
		s.known = append(s.known, known)
	}
	s.compiles--
	last := s.compiles == 0
	if last {
		s.k.sessions.now = nil
	}
	s.k.sessions.Unlock()
	if !last {
		<-s.ended
		return s.measured
	}
	if s.err == nil {
		s.measured = s.k.count() > s.choices
		for _, known := range s.known {
			_ = os.WriteFile(known, nil, 0o644) // without it the next process waits for its turn, and finds the choices all the same
		}
		s.unlock()
	}
	close(s.ended)
	return s.measured
}

// count is how many choices the folder has.
func (k kernels) count() int {
	found, _ := filepath.Glob(filepath.Join(k.choices(), "*", "*.pb")) // the pattern is well-formed
	return len(found)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
