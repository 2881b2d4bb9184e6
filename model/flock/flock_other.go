//go:build !unix

package flock

import "context"

// Exclusive does nothing on systems without flock: two processes must not get the same file at once.
func Exclusive(context.Context, string) (unlock func(), err error) { return func() {}, nil }

// Shared does nothing either.
func Shared(context.Context, string) (unlock func(), err error) { return func() {}, nil }

// ExclusiveThenShared does nothing either.
func ExclusiveThenShared(context.Context, string) (unlock func(), err error) { return func() {}, nil }
