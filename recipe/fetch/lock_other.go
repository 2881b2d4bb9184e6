//go:build !unix

package fetch

import "context"

// Lock does nothing on systems without flock: two processes must not get the same file at once.
func Lock(context.Context, string) (unlock func(), err error) { return func() {}, nil }
