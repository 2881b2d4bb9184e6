package main

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"testing"
)

// The right answers of model/testdata/tiny-qwen2 are those of transformers and PEFT, in float64 (oracle.json there).
const (
	tinyQwen    = "../model/testdata/tiny-qwen2"
	tinyAdapter = tinyQwen + "/adapter"
)

// readOracle reads the oracle's tensors as float64, which holds ids exactly.
func readOracle(t *testing.T) map[string][]float64 {
	t.Helper()
	raw, err := os.ReadFile(tinyQwen + "/oracle.safetensors")
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
		t.Fatal(err)
	}
	out := map[string][]float64{}
	for name, e := range header {
		for b := data[e.Offsets[0]:e.Offsets[1]]; len(b) > 0; {
			switch e.DType {
			case "I64":
				out[name] = append(out[name], float64(int64(binary.LittleEndian.Uint64(b))))
				b = b[8:]
			case "F64":
				out[name] = append(out[name], math.Float64frombits(binary.LittleEndian.Uint64(b)))
				b = b[8:]
			case "F32":
				out[name] = append(out[name], float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
				b = b[4:]
			default:
				t.Fatalf("%s is %s", name, e.DType)
			}
		}
	}
	return out
}

// sequences are the rows of ids [rows, columns] where mask is 1.
func sequences(ids, mask []float64, columns int) [][]int32 {
	var out [][]int32
	for i := 0; i < len(ids); i += columns {
		var s []int32
		for j := i; j < i+columns; j++ {
			if mask[j] == 1 {
				s = append(s, int32(ids[j]))
			}
		}
		out = append(out, s)
	}
	return out
}
