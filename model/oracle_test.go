package model

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"testing"
)

// oracle reads a safetensors file of values that other people's implementations gave.
type oracle struct {
	t       *testing.T
	data    []byte
	entries map[string]struct {
		DType   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
}

func openOracle(t *testing.T, path string) *oracle {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := int(binary.LittleEndian.Uint64(raw))
	o := &oracle{t: t, data: raw[8+n:]}
	var header map[string]json.RawMessage
	if err := json.Unmarshal(raw[8:8+n], &header); err != nil {
		t.Fatal(err)
	}
	delete(header, "__metadata__")
	clean, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(clean, &o.entries); err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *oracle) bytes(name string) (string, []byte) {
	o.t.Helper()
	e, ok := o.entries[name]
	if !ok {
		o.t.Fatalf("the oracle has no %s", name)
	}
	return e.DType, o.data[e.Offsets[0]:e.Offsets[1]]
}

func (o *oracle) ints(name string) []int64 {
	o.t.Helper()
	dtype, b := o.bytes(name)
	if dtype != "I64" {
		o.t.Fatalf("%s is %s, want I64", name, dtype)
	}
	out := make([]int64, len(b)/8)
	for i := range out {
		out[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return out
}

func (o *oracle) floats(name string) []float32 {
	o.t.Helper()
	dtype, b := o.bytes(name)
	switch dtype {
	case "F32":
		out := make([]float32, len(b)/4)
		for i := range out {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
		return out
	case "F64":
		out := make([]float32, len(b)/8)
		for i := range out {
			out[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:])))
		}
		return out
	}
	o.t.Fatalf("%s is %s, want F32 or F64", name, dtype)
	return nil
}
