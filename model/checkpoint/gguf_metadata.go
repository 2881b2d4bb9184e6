package checkpoint

import (
	"fmt"
	"math"
)

// metadata reads typed values and keeps the first error.
type metadata struct {
	meta map[string]any
	err  error
}

func (m *metadata) fail(key, want string) {
	if m.err != nil {
		return
	}
	if v, ok := m.meta[key]; ok {
		m.err = fmt.Errorf("metadata %s is %v, want %s", key, v, want)
	} else {
		m.err = fmt.Errorf("metadata %s: missing", key)
	}
}

func (m *metadata) str(key string) string {
	s, ok := m.meta[key].(string)
	if !ok {
		m.fail(key, "a string")
	}
	return s
}

func (m *metadata) int(key string) int {
	switch v := m.meta[key].(type) {
	case uint64:
		if v <= math.MaxInt32 {
			return int(v)
		}
	case int64:
		if v >= 0 && v <= math.MaxInt32 {
			return int(v)
		}
	}
	m.fail(key, "a whole number below 2^31")
	return 0
}

func (m *metadata) intOr(key string, def int) int {
	if _, ok := m.meta[key]; !ok {
		return def
	}
	return m.int(key)
}

// float reads a number; def is for an absent key, NaN meaning that it must be there.
func (m *metadata) float(key string, def float64) float64 {
	if _, ok := m.meta[key]; !ok && def == def {
		return def
	}
	v, ok := m.meta[key].(float64)
	if !ok {
		m.fail(key, "a number")
	}
	return v
}
