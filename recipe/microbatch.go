package main

import (
	"errors"
	"strconv"
)

// microBatch is the flag -micro-batch: a number of rows, or auto, which is 0.
type microBatch int

// String is how the flag would be written.
func (m *microBatch) String() string {
	if m == nil || *m == 0 {
		return "auto"
	}
	return strconv.Itoa(int(*m))
}

// Set reads auto or a number of rows.
func (m *microBatch) Set(text string) error {
	if text == "auto" {
		*m = 0
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return errors.New("expected auto, or 1 or more rows")
	}
	*m = microBatch(n)
	return nil
}
