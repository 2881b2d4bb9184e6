//go:build !linux

package backend

import "errors"

const driverLibrary = ""

var errNoPool = errors.New("memory pools of a card are used on Linux only")

func hasPool(string) error { return errNoPool }

func keepPool(string) error { return errNoPool }
