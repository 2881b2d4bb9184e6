package checkpoint

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
)

// Tensor is a named array to write, row-major.
type Tensor struct {
	Name  string
	Shape []int
	Data  []float32
}

// writeSafetensors writes tensors in dtype "F32" or "BF16" (rounded to nearest even), sorted by name, with the metadata
// {"format":"pt"} that transformers and PEFT ask for. The same tensors give the same bytes, and those are the bytes that the
// reference implementation writes.
func writeSafetensors(w io.Writer, tensors []Tensor, dtype string) error {
	width := map[string]int{"F32": 4, "BF16": 2}[dtype]
	if width == 0 {
		return fmt.Errorf("cannot write dtype %q, want F32 or BF16", dtype)
	}
	tensors = slices.Clone(tensors)
	slices.SortFunc(tensors, func(a, b Tensor) int { return compareNames(a.Name, b.Name) })
	var h bytes.Buffer
	h.WriteString(`{"__metadata__":{"format":"pt"}`)
	off := 0
	for i, t := range tensors {
		if numel(t.Shape) != len(t.Data) {
			return fmt.Errorf("tensor %s: shape %v has %d values, the data %d", t.Name, t.Shape, numel(t.Shape), len(t.Data))
		}
		if i > 0 && t.Name == tensors[i-1].Name {
			return fmt.Errorf("tensor %s: given twice", t.Name)
		}
		name, _ := json.Marshal(t.Name)
		shape, _ := json.Marshal(append([]int{}, t.Shape...))
		fmt.Fprintf(&h, `,%s:{"dtype":"%s","shape":%s,"data_offsets":[%d,%d]}`, name, dtype, shape, off, off+width*len(t.Data))
		off += width * len(t.Data)
	}
	h.WriteByte('}')
	for h.Len()%8 != 0 { // so that the data is aligned
		h.WriteByte(' ')
	}
	out := bufio.NewWriterSize(w, 1<<18)
	binary.Write(out, binary.LittleEndian, uint64(h.Len()))
	out.Write(h.Bytes())
	for _, t := range tensors {
		for _, v := range t.Data {
			b := out.AvailableBuffer()
			if width == 4 {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
			} else {
				b = binary.LittleEndian.AppendUint16(b, BF16(v))
			}
			out.Write(b) // an error is kept until Flush
		}
	}
	return out.Flush()
}

func compareNames(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}
