package backend

import "strings"

// Exhausted says whether an error is XLA's RESOURCE_EXHAUSTED: the device had not enough memory for a program or a buffer.
func Exhausted(err error) bool {
	return err != nil && strings.Contains(err.Error(), "RESOURCE_EXHAUSTED")
}
