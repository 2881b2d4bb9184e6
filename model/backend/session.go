package backend

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"teamtalk/model/flock"
)

// sessions has the session of this process, if one is under way. Programs that are compiled side by side share it.
type sessions struct {
	sync.Mutex
	now     *session
	without error // why this process does not wait for others any more
}

// session is the compilation of programs that were never compiled with the folder for a card like this. XLA guards the files against
// half-written ones, not against compilations that measure the same thing at the same time, each of which goes on with its own choice.
// So one process at a time has a session. Side by side within it programs can still part: whenever they measured, they are all compiled
// once more, with what was found, until nothing is. (XLA asks its memory before the folder. The two could differ only where two
// compilations end measuring the same thing within the same microseconds.)
type session struct {
	k      kernels
	began  chan struct{} // closed when the lock is held, or cannot be had
	err    error         // why it cannot
	unlock func()

	// Guarded by sessions.
	compiling int      // compilations of this round under way, or waiting for the lock
	compiled  []string // files of the programs that this round compiled
	round     *round
	rounds    int
	seen      string // the choices at the start of the round
}

// round is one compilation of all programs of a session.
type round struct {
	over  chan struct{}
	again bool // read after over is closed: the next round is to come
}

// measuring is how long a process waits for another's session. Those of a 1.5B model took one to three minutes.
const measuring = 10 * time.Minute

// mostRounds ends a session whose choices do not come to rest.
const mostRounds = 4

// choosing calls compile for the program with this hash so that its kernels are those that the folder has afterwards, which can take
// several calls; each replaces what the one before compiled. That the folder cannot be used is no error: XLA then measures.
func (k kernels) choosing(program [sha256.Size]byte, compile func() error) error {
	if k.dir == "" {
		return compile()
	}
	known := ""
	if card := k.card(); card != "" {
		known = filepath.Join(k.programs(), card, hex.EncodeToString(program[:]))
	}
	if exists(known) {
		return compile()
	}
	s := k.join()
	if s.err != nil || exists(known) { // or another process measured meanwhile
		s.leave(false, "")
		return compile()
	}
	inside := true
	defer func() {
		if inside { // an error or a panic
			s.leave(false, "")
		}
	}()
	for {
		if err := compile(); err != nil {
			return err
		}
		if inside = s.leave(true, known); !inside {
			return nil
		}
	}
}

// join enters this process's session, or begins one when no other process has one.
func (k kernels) join() *session {
	k.sessions.Lock()
	s := k.sessions.now
	if s != nil {
		s.compiling++
		k.sessions.Unlock()
		<-s.began
		return s
	}
	s = &session{k: k, compiling: 1, began: make(chan struct{}), err: k.sessions.without, round: &round{over: make(chan struct{})}}
	k.sessions.now = s
	k.sessions.Unlock()
	if s.err == nil {
		s.lock()
	}
	s.seen = k.state()
	close(s.began)
	return s
}

// lock waits for the sessions of other processes. Who waited in vain does not wait again.
func (s *session) lock() {
	ctx, cancel := context.WithTimeout(context.Background(), measuring)
	defer cancel()
	if s.unlock, s.err = flock.Exclusive(ctx, filepath.Join(s.k.dir, "lock")); s.err == nil {
		return
	}
	s.k.sessions.Lock()
	defer s.k.sessions.Unlock()
	s.k.sessions.without = s.err
	fmt.Fprintf(os.Stderr, "backend: compiling without the lock on %s (%v): processes that measure kernels at the same time may choose different ones, and differ in the last digits\n", s.k.dir, s.err)
}

// leave ends one compilation of a round, of a program whose file is known ("": none) where it compiled, and waits for the others. It
// tells whether to compile it again.
func (s *session) leave(compiled bool, known string) (again bool) {
	s.k.sessions.Lock()
	r := s.round
	s.compiling--
	if compiled {
		s.compiled = append(s.compiled, known)
	}
	if s.compiling > 0 {
		s.k.sessions.Unlock()
		if !compiled {
			return false
		}
		<-r.over
		return r.again
	}
	defer close(r.over) // after r.again is set
	now := s.k.state()
	if s.err == nil && len(s.compiled) > 0 && now != s.seen && s.rounds+1 < mostRounds {
		s.compiling, s.compiled, s.seen = len(s.compiled), nil, now
		s.rounds++
		s.round = &round{over: make(chan struct{})}
		r.again = true
		s.k.sessions.Unlock()
		if !compiled { // it is not among those that compile again
			return false
		}
		return true
	}
	s.k.sessions.now = nil
	s.k.sessions.Unlock()
	if s.err == nil {
		for _, known := range s.compiled {
			if known != "" && now == s.seen { // at rest. Without it the next process waits for its turn, and finds the choices all the same
				_ = os.MkdirAll(filepath.Dir(known), 0o755)
				_ = os.WriteFile(known, nil, 0o644)
			}
		}
		s.unlock()
	}
	return false
}
