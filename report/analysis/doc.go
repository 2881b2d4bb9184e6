// Package analysis turns a run's artifacts into every number that the write-up uses. It holds no sentence: the page package binds text to
// these numbers, and report.json is this package's Report as JSON.
//
// Numbers are at full precision; a number that the design cannot give is NaN in Go and null in JSON. Everything is a function of the
// artifacts: no clock, no network, no map order.
package analysis

import (
	"encoding/json"
	"math"
	"strconv"
)

// Num is a float64 whose NaN and infinities are null in JSON, and whose negative zero is zero.
type Num float64

// MarshalJSON writes the shortest decimal that reads back the same.
func (n Num) MarshalJSON() ([]byte, error) {
	f := float64(n)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return []byte("null"), nil
	}
	if f == 0 {
		return []byte("0"), nil
	}
	return json.Marshal(f)
}

// UnmarshalJSON reads null as NaN.
func (n *Num) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = Num(math.NaN())
		return nil
	}
	f, err := strconv.ParseFloat(string(b), 64)
	*n = Num(f)
	return err
}

// OK says whether there is a number.
func (n Num) OK() bool { return !math.IsNaN(float64(n)) }

func nums(xs []float64) []Num {
	out := make([]Num, len(xs))
	for i, x := range xs {
		out[i] = Num(x)
	}
	return out
}
