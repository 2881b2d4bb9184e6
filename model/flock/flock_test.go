package flock

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestExclusive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", ".lock")
	unlock, err := Exclusive(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Exclusive(short, path); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second holder: got %v", err)
	}
	unlock()
	unlock, err = Exclusive(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

// Processes that work together hold one lock: who wants it alone waits for all of them.
func TestShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	try := func(lock func(context.Context, string) (func(), error)) (func(), bool) {
		t.Helper()
		short, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
		defer cancel()
		unlock, err := lock(short, path)
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		return unlock, err == nil
	}
	var held []func()
	for _, c := range []struct {
		why  string
		lock func(context.Context, string) (func(), error)
		ok   bool
	}{
		{"nobody holds it", ExclusiveThenShared, true},
		{"it is shared", Shared, true},
		{"a third one", Shared, true},
		{"another that would begin to share finds it taken", ExclusiveThenShared, false},
		{"so does one that wants it alone", Exclusive, false},
	} {
		unlock, ok := try(c.lock)
		if ok != c.ok {
			t.Errorf("%s: had %t, want %t", c.why, ok, c.ok)
		}
		if ok {
			held = append(held, unlock)
		}
	}
	for i, unlock := range held {
		if _, ok := try(Exclusive); ok {
			t.Errorf("it can be had alone while %d hold it", len(held)-i)
		}
		unlock()
	}
	alone, ok := try(Exclusive)
	if !ok {
		t.Fatal("it cannot be had alone when nobody holds it")
	}
	if _, ok := try(Shared); ok {
		t.Error("it can be shared while one holds it alone")
	}
	alone()
}
