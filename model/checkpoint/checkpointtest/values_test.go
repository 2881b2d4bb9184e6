package checkpointtest

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// file writes a safetensors file from its header and values, each put down by hand.
func file(t testing.TB, header string, values ...any) string {
	t.Helper()
	raw := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	raw = append(raw, header...)
	for _, v := range values {
		var err error
		if raw, err = binary.Append(raw, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRead(t *testing.T) {
	v := Read(t, file(t, `{"__metadata__":{"format":"pt"},
		"b":{"dtype":"F64","shape":[1],"data_offsets":[48,56]},"a":{"dtype":"F32","shape":[2],"data_offsets":[56,64]},
		"x/ids":{"dtype":"I64","shape":[1,3],"data_offsets":[0,24]},"x/mask":{"dtype":"I64","shape":[1,3],"data_offsets":[24,48]}}`,
		[]int64{7, 151645, 0}, []int64{1, 1, 0}, math.Pi, []float32{0.5, -3}))
	for _, c := range []struct {
		why       string
		got, want any
	}{
		{"f64 as it is", v.Float64("b"), []float64{math.Pi}},
		{"f64 rounded", v.Float32("b"), []float32{math.Pi}},
		{"f32", v.Float64("a"), []float64{0.5, -3}},
		{"ids", v.IDs("x/ids"), []int32{7, 151645, 0}},
		{"ids without the padding", v.Sequences("x", 3), [][]int32{{7, 151645}}},
		{"all of them, and not the metadata", v.All(), map[string][]float32{"a": {0.5, -3}, "b": {math.Pi}, "x/ids": {7, 151645, 0}, "x/mask": {1, 1, 0}}},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.why, c.got, c.want)
		}
	}
}

// recorder is a test that only notes how it ends.
type recorder struct {
	testing.TB
	fatal string
}

func (r *recorder) Helper()           {}
func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }
func (r *recorder) Fatalf(format string, args ...any) {
	r.fatal = fmt.Sprintf(format, args...)
	panic(r)
}

func TestWhatCannotBeReadEndsTheTest(t *testing.T) {
	good := file(t, `{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}`)
	for _, c := range []struct {
		why  string
		do   func(testing.TB)
		want string
	}{
		{"no file", func(t testing.TB) { Read(t, good+"s") }, "no such file"},
		{"no header", func(t testing.TB) { Read(t, file(t, "x")) }, "invalid character"},
		{"a type of checkpoints' own", func(t testing.TB) {
			Read(t, file(t, `{"a":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}}`, int16(1)))
		}, "a is BF16, want F32, F64 or I64"},
		{"a tensor that is not there", func(t testing.TB) { Read(t, good).Float32("b") }, "has no tensor b"},
	} {
		r := &recorder{TB: t}
		func() {
			defer func() {
				if x := recover(); x != nil && x != any(r) {
					panic(x)
				}
			}()
			c.do(r)
		}()
		if !strings.Contains(r.fatal, c.want) {
			t.Errorf("%s: %q, want %q in it", c.why, r.fatal, c.want)
		}
	}
}
