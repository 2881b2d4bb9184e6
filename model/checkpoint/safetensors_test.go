package checkpoint

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
)

// safetensorsBytes is a file of this header and n bytes of data.
func safetensorsBytes(header string, n int) []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(out, header...), make([]byte, n)...)
}

func TestSafetensorsRefuses(t *testing.T) {
	const a = `"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`
	const b = `"b":{"dtype":"BF16","shape":[2,1],"data_offsets":[8,12]}`
	parse := func(raw []byte) error {
		_, _, err := parseSafetensors(bytes.NewReader(raw), int64(len(raw)))
		return err
	}
	for _, ok := range []string{`{` + b + `,` + a + `}`, `{"__metadata__":{"format":"pt"},` + a + `,` + b + `}   `,
		`{` + a + `,` + b + `,"empty":{"dtype":"F32","shape":[0,3],"data_offsets":[8,8]}}`} {
		if err := parse(safetensorsBytes(ok, 12)); err != nil {
			t.Errorf("%s: %v", ok, err)
		}
	}
	for _, c := range []struct {
		why, header string
		n           int
		want        string
	}{
		{"data cut off", `{` + a + `,` + b + `}`, 11, "tensor b: ends at byte 12 of 11"},
		{"data that belongs to nothing", `{` + a + `,` + b + `}`, 13, "1 bytes belong to no tensor"},
		{"a hole", `{` + a + `,"b":{"dtype":"F16","shape":[2],"data_offsets":[9,13]}}`, 13, "tensor b: begins at byte 9 where 8 was expected"},
		{"an overlap", `{` + a + `,"b":{"dtype":"F16","shape":[2],"data_offsets":[6,10]}}`, 10, "tensor b: begins at byte 6, inside tensor a"},
		{"the same place twice", `{` + a + `,"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8, "inside tensor"},
		{"a name twice", `{` + a + `,"a":{"dtype":"F16","shape":[2],"data_offsets":[8,12]}}`, 12, "tensor a: named twice"},
		{"fewer bytes than the shape takes", `{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}`, 8, "tensor a: 8 bytes of data, but F32 [3] takes 12"},
		{"a shape over 2^63", `{"a":{"dtype":"F32","shape":[2000000000,2000000000,2000000000],"data_offsets":[0,8]}}`, 8, "impossible shape"},
		{"a negative dimension", `{"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}`, 8, "impossible shape"},
		{"a negative offset", `{"a":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}}`, 8, "data_offsets [-8 0]"},
		{"an offset over 2^63", `{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551624]}}`, 8, "tensor a"},
		{"an end before the beginning", `{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}`, 8, "data_offsets [8 0]"},
		{"one offset", `{"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}}`, 8, "data_offsets [0]"},
		{"an unknown type", `{"a":{"dtype":"F4","shape":[2],"data_offsets":[0,8]}}`, 8, `unknown dtype "F4"`},
		{"metadata that is no text", `{"__metadata__":{"format":1},` + a + `}`, 8, "__metadata__"},
		{"no object", `[1]`, 0, "not a JSON object"},
		{"half an object", `{` + a, 8, "header"},
		{"more behind the object", `{` + a + `}{}`, 8, "after the JSON object"},
	} {
		if err := parse(safetensorsBytes(c.header, c.n)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", c.why, err, c.want)
		}
	}
	for _, c := range []struct {
		why string
		raw []byte
	}{
		{"an empty file", nil},
		{"half a length", make([]byte, 7)},
		{"a header of 2^63 bytes", binary.LittleEndian.AppendUint64(nil, 1<<63)},
		{"a header longer than the file", binary.LittleEndian.AppendUint64(nil, 1)},
	} {
		if err := parse(c.raw); err == nil {
			t.Errorf("%s was read", c.why)
		}
	}
}

// Any bytes give tensors inside the file or an error, and take memory in proportion to their number.
func FuzzSafetensors(f *testing.F) {
	f.Add(safetensorsBytes(`{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"BF16","shape":[2,1],"data_offsets":[8,12]}}`, 12))
	f.Add(safetensorsBytes(`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,9223372036854775807]}}`, 8))
	f.Add(safetensorsBytes(`{"a":null,"b":[],"a":{"shape":null}}`, 0))
	f.Fuzz(func(t *testing.T, raw []byte) {
		boundedMemory(t, len(raw), func() {
			entries, _, err := parseSafetensors(bytes.NewReader(raw), int64(len(raw)))
			if err != nil {
				return
			}
			at := int64(8 + binary.LittleEndian.Uint64(raw))
			for _, e := range entries {
				if e.off != at {
					t.Errorf("tensor %s begins at %d, want %d", e.name, e.off, at)
				}
				at += e.size
			}
			if at != int64(len(raw)) {
				t.Errorf("the tensors end at %d of %d", at, len(raw))
			}
		})
	})
}
