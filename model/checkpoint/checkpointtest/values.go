// Package checkpointtest reads, for tests, the tensors that other implementations wrote. It shares no code with package checkpoint,
// which is among what is tested, and reads I64 and F64, which no checkpoint has.
package checkpointtest

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"testing"
)

// Values are the tensors of a safetensors file, flat, in float64, which holds token ids exactly.
type Values struct {
	t       testing.TB
	path    string
	tensors map[string][]float64
}

// Read reads a safetensors file of F32, F64 and I64. What it cannot read ends the test, and so does a tensor that is asked for and
// not there.
func Read(t testing.TB, path string) *Values {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := int(binary.LittleEndian.Uint64(raw))
	data := raw[8+n:]
	var header map[string]struct {
		DType   string `json:"dtype"`
		Offsets [2]int `json:"data_offsets"`
	}
	if err := json.Unmarshal(raw[8:8+n], &header); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	delete(header, "__metadata__")
	v := &Values{t, path, map[string][]float64{}}
	for name, e := range header {
		var out []float64
		for b := data[e.Offsets[0]:e.Offsets[1]]; len(b) > 0; {
			switch e.DType {
			case "I64":
				out = append(out, float64(int64(binary.LittleEndian.Uint64(b))))
				b = b[8:]
			case "F64":
				out = append(out, math.Float64frombits(binary.LittleEndian.Uint64(b)))
				b = b[8:]
			case "F32":
				out = append(out, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
				b = b[4:]
			default:
				t.Fatalf("%s: %s is %s, want F32, F64 or I64", path, name, e.DType)
			}
		}
		v.tensors[name] = out
	}
	return v
}

// Float64 is a tensor's values.
func (v *Values) Float64(name string) []float64 {
	v.t.Helper()
	out, ok := v.tensors[name]
	if !ok {
		v.t.Fatalf("%s has no tensor %s", v.path, name)
	}
	return out
}

// Float32 is a tensor's values, rounded.
func (v *Values) Float32(name string) []float32 {
	v.t.Helper()
	return converted[float32](v.Float64(name))
}

// IDs is a tensor of token ids, or of a mask.
func (v *Values) IDs(name string) []int32 {
	v.t.Helper()
	return converted[int32](v.Float64(name))
}

// All is every tensor by name, rounded, as adapters are kept.
func (v *Values) All() map[string][]float32 {
	out := map[string][]float32{}
	for name, x := range v.tensors {
		out[name] = converted[float32](x)
	}
	return out
}

// Sequences are the token ids of NAME/ids [rows, columns] without padding: those where NAME/mask is 1.
func (v *Values) Sequences(name string, columns int) [][]int32 {
	v.t.Helper()
	ids, mask := v.IDs(name+"/ids"), v.IDs(name+"/mask")
	var out [][]int32
	for i := 0; i < len(ids); i += columns {
		var s []int32
		for j := i; j < i+columns; j++ {
			if mask[j] == 1 {
				s = append(s, ids[j])
			}
		}
		out = append(out, s)
	}
	return out
}

func converted[T float32 | int32](x []float64) []T {
	out := make([]T, len(x))
	for i, f := range x {
		out[i] = T(f)
	}
	return out
}
