//go:build unix

// Package flock holds files, so that processes keep out of each other's way (flock(2)).
package flock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Exclusive waits until no other process holds the lock file at path, which it makes and which stays there, empty. A killed
// process holds nothing. Call unlock when done.
func Exclusive(ctx context.Context, path string) (unlock func(), err error) {
	f, err := lock(ctx, path, syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	return func() { f.Close() }, nil
}

// Shared is Exclusive for a process that works with others on one thing: each of them calls it, and one that wants it Exclusive waits until
// all of them have ended. It waits for an Exclusive one itself.
func Shared(ctx context.Context, path string) (unlock func(), err error) {
	f, err := lock(ctx, path, syscall.LOCK_SH)
	if err != nil {
		return nil, err
	}
	return func() { f.Close() }, nil
}

// ExclusiveThenShared lets others in once it had the lock alone: it waits until nobody holds the file and then holds it as Shared
// does.
func ExclusiveThenShared(ctx context.Context, path string) (unlock func(), err error) {
	f, err := lock(ctx, path, syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	// The kernel takes the one lock back before it gives the other: who came between holds it now.
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("another process took %s meanwhile: %w", path, context.DeadlineExceeded)
	}
	return func() { f.Close() }, nil
}

func lock(ctx context.Context, path string, how int) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("waiting for another process that holds %s: %w", path, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}
