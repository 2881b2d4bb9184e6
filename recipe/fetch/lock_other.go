//go:build !unix

package fetch

import "context"

// Lock does nothing on systems without flock: two processes must not get the same file at once.
func Lock(context.Context, string) (unlock func(), err error) { return func() {}, nil }

// LockTogether does nothing either.
func LockTogether(context.Context, string) (unlock func(), err error) { return func() {}, nil }

// LockToShare does nothing either.
func LockToShare(context.Context, string) (unlock func(), err error) { return func() {}, nil }
