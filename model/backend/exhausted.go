package backend

import (
	"errors"
	"strings"
)

// ErrExhausted says that the device had not enough memory for a program or a buffer.
var ErrExhausted = errors.New("the device's memory is exhausted")

// exhausted makes errors.Is(err, ErrExhausted) true for XLA's RESOURCE_EXHAUSTED; the text stays XLA's.
func exhausted(err error) error {
	if err == nil || !strings.Contains(err.Error(), "RESOURCE_EXHAUSTED") {
		return err
	}
	return exhaustedError{err}
}

type exhaustedError struct{ error }

func (e exhaustedError) Unwrap() []error { return []error{e.error, ErrExhausted} }
