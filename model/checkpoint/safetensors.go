package checkpoint

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
)

// entry is where one tensor lies in a file: size bytes from off on.
type entry struct {
	name  string // as in the file
	shape []int  // row-major, slowest first
	enc   *encoding
	dtype string
	off   int64
	size  int64
}

// maxHeader is the longest header that the safetensors reference implementation reads.
const maxHeader = 100_000_000

// safetensorsWidth is the bytes of a value of each dtype of the format.
var safetensorsWidth = map[string]int64{
	"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1,
	"F8_E4M3": 1, "F8_E5M2": 1,
}

// safetensorsEncoding holds the dtypes that can be read as weights.
var safetensorsEncoding = map[string]*encoding{"F32": encF32, "F16": encF16, "BF16": encBF16}

// parseSafetensors reads the header of a safetensors file of size bytes: an 8-byte little-endian length, a JSON object, then
// the data (github.com/huggingface/safetensors, README "Format"). Like the reference implementation it wants the tensors to
// cover the data from the first byte to the last with no overlap and no hole; unlike it, it also refuses a name that is
// written twice. Entries come back in the order of the data, with absolute offsets.
func parseSafetensors(r io.ReaderAt, size int64) (entries []entry, metadata map[string]string, err error) {
	var b8 [8]byte
	if size < 8 {
		return nil, nil, fmt.Errorf("%d bytes are no safetensors file: the header's length alone takes 8", size)
	}
	if _, err := r.ReadAt(b8[:], 0); err != nil && err != io.EOF {
		return nil, nil, err
	}
	n := binary.LittleEndian.Uint64(b8[:])
	if n > maxHeader || int64(n) > size-8 {
		return nil, nil, fmt.Errorf("header of %d bytes in a file of %d: truncated, or not a safetensors file", n, size)
	}
	header := make([]byte, n)
	if _, err := r.ReadAt(header, 8); err != nil && err != io.EOF {
		return nil, nil, err
	}
	entries, metadata, err = parseSafetensorsHeader(header)
	if err != nil {
		return nil, nil, err
	}
	slices.SortStableFunc(entries, func(a, b entry) int {
		if a.off != b.off {
			return int(max(-1, min(1, a.off-b.off)))
		}
		return int(max(-1, min(1, a.size-b.size)))
	})
	data, at := size-8-int64(n), int64(0)
	for i := range entries {
		e := &entries[i]
		switch end := e.off + e.size; {
		case end > data:
			return nil, nil, fmt.Errorf("tensor %s: ends at byte %d of %d bytes of data: the file is truncated or its header wrong", e.name, end, data)
		case e.off < at:
			return nil, nil, fmt.Errorf("tensor %s: begins at byte %d, inside tensor %s, which ends at %d", e.name, e.off, entries[i-1].name, at)
		case e.off > at:
			return nil, nil, fmt.Errorf("tensor %s: begins at byte %d where %d was expected: %d bytes belong to no tensor", e.name, e.off, at, e.off-at)
		}
		at = e.off + e.size
		e.off += 8 + int64(n)
	}
	if at != data {
		return nil, nil, fmt.Errorf("the tensors end at byte %d of %d bytes of data: %d bytes belong to no tensor", at, data, data-at)
	}
	return entries, metadata, nil
}

// parseSafetensorsHeader reads the JSON object token by token, because a decoded map would hide a name written twice.
// Offsets are relative to the data.
func parseSafetensorsHeader(header []byte) (entries []entry, metadata map[string]string, err error) {
	d := json.NewDecoder(bytes.NewReader(header))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, fmt.Errorf("header is not a JSON object (%v)", orEOF(err))
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, nil, fmt.Errorf("header: %w", err)
		}
		name := t.(string)
		if seen[name] {
			return nil, nil, fmt.Errorf("tensor %s: named twice in the header", name)
		}
		seen[name] = true
		if name == "__metadata__" {
			if err := d.Decode(&metadata); err != nil {
				return nil, nil, fmt.Errorf("header: __metadata__: want strings: %w", err)
			}
			continue
		}
		var info struct {
			DType   string  `json:"dtype"`
			Shape   []int64 `json:"shape"`
			Offsets []int64 `json:"data_offsets"`
		}
		if err := d.Decode(&info); err != nil {
			return nil, nil, fmt.Errorf("tensor %s: %w", name, err)
		}
		e := entry{name: name, dtype: info.DType, enc: safetensorsEncoding[info.DType]}
		width, ok := safetensorsWidth[info.DType]
		if !ok {
			return nil, nil, fmt.Errorf("tensor %s: unknown dtype %q", name, info.DType)
		}
		bytes := width
		for _, dim := range info.Shape {
			if dim < 0 || dim > math.MaxInt32 || dim > 0 && bytes > math.MaxInt64/dim {
				return nil, nil, fmt.Errorf("tensor %s: impossible shape %v", name, info.Shape)
			}
			bytes *= dim
			e.shape = append(e.shape, int(dim))
		}
		if len(info.Offsets) != 2 || info.Offsets[0] < 0 || info.Offsets[1] < info.Offsets[0] {
			return nil, nil, fmt.Errorf("tensor %s: data_offsets %v, want [begin, end]", name, info.Offsets)
		}
		e.off, e.size = info.Offsets[0], info.Offsets[1]-info.Offsets[0]
		if e.size != bytes {
			return nil, nil, fmt.Errorf("tensor %s: %d bytes of data, but %s %v takes %d", name, e.size, info.DType, info.Shape, bytes)
		}
		entries = append(entries, e)
	}
	if _, err := d.Token(); err != nil {
		return nil, nil, fmt.Errorf("header: %v", orEOF(err))
	}
	if rest := bytes.TrimLeft(header[d.InputOffset():], " "); len(rest) > 0 {
		return nil, nil, fmt.Errorf("header: %d bytes after the JSON object", len(rest))
	}
	return entries, metadata, nil
}

func orEOF(err error) error {
	if err == io.EOF || err == nil {
		return io.ErrUnexpectedEOF
	}
	return err
}
