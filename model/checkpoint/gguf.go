package checkpoint

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
)

// ggufTypes are the tensor types of ggml (ggml.h, enum ggml_type) by number; the ones without an encoding are refused by name.
var ggufTypes = map[uint32]struct {
	name string
	enc  *encoding
}{
	0: {"F32", encF32}, 1: {"F16", encF16}, 30: {"BF16", encBF16},
	6: {"Q5_0", encQ5_0}, 8: {"Q8_0", encQ8_0}, 12: {"Q4_K", encQ4_K}, 14: {"Q6_K", encQ6_K},
	2: {name: "Q4_0"}, 3: {name: "Q4_1"}, 7: {name: "Q5_1"}, 9: {name: "Q8_1"}, 10: {name: "Q2_K"}, 11: {name: "Q3_K"},
	13: {name: "Q5_K"}, 15: {name: "Q8_K"}, 16: {name: "IQ2_XXS"}, 17: {name: "IQ2_XS"}, 18: {name: "IQ3_XXS"},
	19: {name: "IQ1_S"}, 20: {name: "IQ4_NL"}, 21: {name: "IQ3_S"}, 22: {name: "IQ2_S"}, 23: {name: "IQ4_XS"},
	24: {name: "I8"}, 25: {name: "I16"}, 26: {name: "I32"}, 27: {name: "I64"}, 28: {name: "F64"}, 29: {name: "IQ1_M"},
	34: {name: "TQ1_0"}, 35: {name: "TQ2_0"}, 39: {name: "MXFP4"},
}

// ggufFile is the parsed header of a GGUF v3 file.
type ggufFile struct {
	meta    map[string]any // bool, uint64, int64, float64, string, and slices of them
	tensors []entry        // in the order of the file; shapes row-major, offsets absolute
}

// parseGGUF reads the header of a GGUF file of size bytes (ggml docs/gguf.md): "GGUF", version 3, the counts of tensors and
// of metadata, the metadata, the table of tensors; then, aligned, the data. Lengths are held against the bytes that are
// left in the file before memory is taken for them.
func parseGGUF(r io.ReaderAt, size int64) (*ggufFile, error) {
	if size == 0 {
		return nil, errors.New("the file is empty (0 bytes), want one that begins with \"GGUF\": get it again, its copy or download was cut off")
	}
	g := &ggufReader{r: bufio.NewReaderSize(io.NewSectionReader(r, 0, size), 1<<16), left: size}
	if size < 4 {
		return nil, fmt.Errorf("the file has %d bytes, want one that begins with \"GGUF\": get it again, its copy or download was cut off", size)
	}
	if magic := string(g.bytes(4)); magic != "GGUF" {
		return nil, fmt.Errorf("begins with %q, want \"GGUF\": not a GGUF file", magic)
	}
	if v := g.u32(); v != 3 {
		return nil, fmt.Errorf("GGUF version %d, want 3 (little-endian)", v)
	}
	nTensors, nMeta := g.count(24), g.count(13) // the least bytes that a tensor and a metadata pair can take
	f := &ggufFile{meta: map[string]any{}}
	for range nMeta {
		key := g.str()
		if _, twice := f.meta[key]; twice {
			g.fail("metadata %s: given twice", key)
		}
		v := g.value(g.u32(), key)
		if g.err != nil {
			return nil, g.err
		}
		f.meta[key] = v
	}
	align := int64(32)
	if v, ok := f.meta["general.alignment"]; ok {
		a, isUint := v.(uint64)
		if !isUint || a == 0 || a > 1<<20 || a%8 != 0 {
			return nil, fmt.Errorf("general.alignment is %v, want a multiple of 8", v)
		}
		align = int64(a)
	}
	seen := map[string]bool{}
	for range nTensors {
		e, err := g.tensor()
		if err != nil {
			return nil, err
		}
		if seen[e.name] {
			return nil, fmt.Errorf("tensor %s: given twice", e.name)
		}
		seen[e.name] = true
		f.tensors = append(f.tensors, e)
	}
	if g.err != nil {
		return nil, g.err
	}
	return f, place(f.tensors, size-g.left, size, align)
}

// place makes the offsets absolute and refuses data that lies outside the file, overlaps, is not aligned or leaves a hole.
func place(tensors []entry, headerEnd, size, align int64) error {
	up := func(n int64) int64 { return (n + align - 1) / align * align }
	base := up(headerEnd)
	order := make([]*entry, len(tensors))
	for i := range tensors {
		order[i] = &tensors[i]
	}
	slices.SortStableFunc(order, func(a, b *entry) int {
		if a.off != b.off {
			return int(max(-1, min(1, a.off-b.off)))
		}
		return int(max(-1, min(1, a.size-b.size)))
	})
	at, before := int64(0), ""
	for _, e := range order {
		switch {
		case e.off%align != 0:
			return fmt.Errorf("tensor %s: offset %d is not a multiple of the alignment %d", e.name, e.off, align)
		case e.off > size || e.size > size-base-e.off:
			return fmt.Errorf("tensor %s: %d bytes at offset %d of the data, but the file has %d bytes of data: truncated", e.name, e.size, e.off, max(0, size-base))
		case e.off < at:
			return fmt.Errorf("tensor %s: begins at %d, inside tensor %s", e.name, e.off, before)
		case e.off > at:
			return fmt.Errorf("tensor %s: begins at %d where %d was expected: %d bytes belong to no tensor", e.name, e.off, at, e.off-at)
		}
		at, before = up(e.off+e.size), e.name
		e.off += base
	}
	if end := base + at; size >= end+align {
		return fmt.Errorf("the tensors end at byte %d of %d: %d bytes belong to no tensor", end, size, size-end)
	}
	return nil
}

// ggufReader reads little-endian values and keeps the first error; after one, every read gives zeros.
type ggufReader struct {
	r    *bufio.Reader
	left int64 // bytes of the file not yet read
	err  error
}

func (g *ggufReader) fail(format string, args ...any) {
	if g.err == nil {
		g.err = fmt.Errorf("header: "+format, args...)
	}
}

func (g *ggufReader) bytes(n uint64) []byte {
	if g.err == nil && n > uint64(max(0, g.left)) {
		g.fail("a value of %d bytes where the file has %d left: truncated", n, g.left)
	}
	if g.err != nil {
		return make([]byte, min(n, 8))
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(g.r, b); err != nil {
		g.fail("%w", orEOF(err))
	}
	g.left -= int64(n)
	return b
}

func (g *ggufReader) u32() uint32 { return binary.LittleEndian.Uint32(g.bytes(4)) }
func (g *ggufReader) u64() uint64 { return binary.LittleEndian.Uint64(g.bytes(8)) }
func (g *ggufReader) str() string { return string(g.bytes(g.u64())) }

// count reads a number of things that take at least least bytes each.
func (g *ggufReader) count(least int64) int {
	n := g.u64()
	if n > uint64(g.left/least) {
		g.fail("%d entries of at least %d bytes where the file has %d left: truncated", n, least, g.left)
		return 0
	}
	return int(n)
}

// Metadata value types (enum gguf_metadata_value_type) and the bytes that one takes.
const (
	ggufU8, ggufI8, ggufU16, ggufI16, ggufU32, ggufI32 = 0, 1, 2, 3, 4, 5
	ggufF32, ggufBool, ggufString, ggufArray           = 6, 7, 8, 9
	ggufU64, ggufI64, ggufF64                          = 10, 11, 12
)

var ggufWidth = [13]int64{1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8}

// value reads a metadata value: integers become uint64 or int64, floats float64, arrays a slice of those.
func (g *ggufReader) value(kind uint32, key string) any {
	if kind == ggufArray {
		elem := g.u32()
		if elem >= uint32(len(ggufWidth)) || elem == ggufArray {
			g.fail("metadata %s: an array of type %d is not supported", key, elem)
			return nil
		}
		n := g.count(ggufWidth[elem])
		switch elem {
		case ggufString:
			return array[string](g, n, elem, key)
		case ggufF32, ggufF64:
			return array[float64](g, n, elem, key)
		case ggufBool:
			return array[bool](g, n, elem, key)
		case ggufI8, ggufI16, ggufI32, ggufI64:
			return array[int64](g, n, elem, key)
		default:
			return array[uint64](g, n, elem, key)
		}
	}
	if kind >= uint32(len(ggufWidth)) {
		g.fail("metadata %s: unknown value type %d", key, kind)
		return nil
	}
	if kind == ggufString {
		return g.str()
	}
	var b [8]byte
	copy(b[:], g.bytes(uint64(ggufWidth[kind])))
	u := binary.LittleEndian.Uint64(b[:])
	switch kind {
	case ggufF32:
		return shortest(math.Float32frombits(uint32(u)))
	case ggufF64:
		return math.Float64frombits(u)
	case ggufBool:
		return u != 0
	case ggufI8:
		return int64(int8(u))
	case ggufI16:
		return int64(int16(u))
	case ggufI32:
		return int64(int32(u))
	case ggufI64:
		return int64(u)
	}
	return u
}

// shortest is the number whose shortest spelling x has: 1e-6 was written, and as a float32 is 9.999999974752427e-07.
func shortest(x float32) float64 {
	v, err := strconv.ParseFloat(strconv.FormatFloat(float64(x), 'g', -1, 32), 64)
	if err != nil {
		return float64(x)
	}
	return v
}

func array[T any](g *ggufReader, n int, elem uint32, key string) []T {
	var a []T
	for range n {
		v, ok := g.value(elem, key).(T)
		if g.err != nil || !ok {
			return nil
		}
		a = append(a, v)
	}
	return a
}

// tensor reads one line of the table; its offset is relative to the data.
func (g *ggufReader) tensor() (entry, error) {
	e := entry{name: g.str()}
	rank := g.u32()
	if g.err == nil && (rank < 1 || rank > 4) {
		g.fail("tensor %s: %d dimensions, want 1 to 4", e.name, rank)
	}
	if g.err != nil {
		return e, g.err
	}
	values := int64(1)
	for range rank { // ggml writes the fastest dimension first
		d := g.u64()
		if d < 1 || d > math.MaxInt32 || values > math.MaxInt64/64/int64(d) {
			g.fail("tensor %s: impossible dimension %d", e.name, d)
			return e, g.err
		}
		values *= int64(d)
		e.shape = append(e.shape, int(d))
	}
	slices.Reverse(e.shape)
	kind, off := g.u32(), g.u64()
	if g.err != nil {
		return e, g.err
	}
	t, known := ggufTypes[kind]
	switch {
	case !known:
		return e, fmt.Errorf("tensor %s: unknown type %d; want F32, F16, BF16, Q8_0, Q5_0, Q4_K or Q6_K", e.name, kind)
	case t.enc == nil:
		return e, fmt.Errorf("tensor %s: type %s is not supported; want F32, F16, BF16, Q8_0, Q5_0, Q4_K or Q6_K", e.name, t.name)
	case e.shape[rank-1]%t.enc.n != 0:
		return e, fmt.Errorf("tensor %s: rows of %d values are not whole blocks of %s, which hold %d", e.name, e.shape[rank-1], t.name, t.enc.n)
	case off > math.MaxInt64/2:
		return e, fmt.Errorf("tensor %s: impossible offset %d", e.name, off)
	}
	e.enc, e.dtype = t.enc, t.name
	e.off, e.size = int64(off), values/int64(t.enc.n)*int64(t.enc.size)
	return e, nil
}
