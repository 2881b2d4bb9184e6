package checkpoint

import (
	"encoding/binary"
	"math"
)

// encoding is how a file stores values: blocks of n values in size bytes.
type encoding struct {
	name   string
	n      int // values of a block
	size   int // bytes of a block
	expand func(b []byte, y []float32)
}

// The encodings that can be read. The block layouts are ggml's (ggml-common.h; the arithmetic is that of its Python package
// gguf, quants.py): float32 products and differences, each rounded, so that results agree bit for bit.
var (
	encF32  = &encoding{"F32", 1, 4, expandF32}
	encF16  = &encoding{"F16", 1, 2, expandF16}
	encBF16 = &encoding{"BF16", 1, 2, expandBF16}
	encQ8_0 = &encoding{"Q8_0", 32, 34, expandQ8_0}
	encQ5_0 = &encoding{"Q5_0", 32, 22, expandQ5_0}
	encQ4_K = &encoding{"Q4_K", 256, 144, expandQ4_K}
	encQ6_K = &encoding{"Q6_K", 256, 210, expandQ6_K}
)

// bits is the storage of a value, to tell the finer of two encodings.
func (e *encoding) bits() float64 { return 8 * float64(e.size) / float64(e.n) }

// toF32 expands whole blocks.
func (e *encoding) toF32(src []byte, dst []float32) { e.expand(src, dst) }

// toBF16 expands whole blocks and rounds; scratch holds at least len(dst) values. BF16 is copied as it is.
func (e *encoding) toBF16(src []byte, dst []uint16, scratch []float32) {
	if e == encBF16 {
		for i := range dst {
			dst[i] = binary.LittleEndian.Uint16(src[2*i:])
		}
		return
	}
	y := scratch[:len(dst)]
	e.expand(src, y)
	for i, v := range y {
		dst[i] = BF16(v)
	}
}

func expandF32(b []byte, y []float32) {
	for i := range y {
		y[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
}

func expandF16(b []byte, y []float32) {
	for i := range y {
		y[i] = half(b[2*i:])
	}
}

func expandBF16(b []byte, y []float32) {
	for i := range y {
		y[i] = F32(binary.LittleEndian.Uint16(b[2*i:]))
	}
}

// expandQ8_0: per block f16 d, 32 x int8; y = d*q.
func expandQ8_0(b []byte, y []float32) {
	for ; len(y) >= 32; b, y = b[34:], y[32:] {
		d := half(b)
		for i, q := range b[2:34] {
			y[i] = d * float32(int8(q))
		}
	}
}

// expandQ5_0: per block f16 d, 32 fifth bits, 16 bytes of nibbles (low: value i, high: value i+16); y = d*(q-16).
func expandQ5_0(b []byte, y []float32) {
	for ; len(y) >= 32; b, y = b[22:], y[32:] {
		d, h := half(b), binary.LittleEndian.Uint32(b[2:])
		for i, q := range b[6:22] {
			y[i] = d * float32(int(q&15)|int(h>>i&1)<<4-16)
			y[i+16] = d * float32(int(q>>4)|int(h>>(i+16)&1)<<4-16)
		}
	}
}

// expandQ4_K: per block f16 d, f16 dmin, 8 six-bit scales s and minima m packed in 12 bytes, 128 bytes of nibbles (each 32
// bytes: low nibbles a group of 32 values, high nibbles the next); y = (d*s)*q - dmin*m.
func expandQ4_K(b []byte, y []float32) {
	for ; len(y) >= 256; b, y = b[144:], y[256:] {
		d, dmin, s := half(b), half(b[2:]), b[4:16]
		for j := range 8 {
			var sc, m byte
			if j < 4 {
				sc, m = s[j]&63, s[j+4]&63
			} else {
				sc, m = s[j+4]&15|s[j-4]>>6<<4, s[j+4]>>4|s[j]>>6<<4
			}
			// Only 16 values can occur: compute them once. The conversions keep the compiler from fusing product and difference.
			dl, ml := d*float32(sc), float32(dmin*float32(m))
			var t [16]float32
			for q := range t {
				t[q] = float32(dl*float32(q)) - ml
			}
			shift := j % 2 * 4
			out := y[j*32 : j*32+32]
			for i, v := range b[16+j/2*32:][:32] {
				out[i] = t[v>>shift&15]
			}
		}
	}
}

// expandQ6_K: per block 128 bytes of low nibbles, 64 bytes of high bit pairs, 16 x int8 scale, f16 d; y = (d*s)*(q-32).
// Value 128g + 32j + i takes its nibble from byte 64g + 32(j%2) + i and its pair from byte 32g + i.
func expandQ6_K(b []byte, y []float32) {
	for ; len(y) >= 256; b, y = b[210:], y[256:] {
		d := half(b[208:])
		for g := range 2 {
			lo, hi := b[g*64:g*64+64], b[128+g*32:128+g*32+32]
			for j := range 4 {
				out := y[g*128+j*32:][:32]
				nib, shift := lo[j%2*32:][:32], j/2*4
				for h := range 2 { // 16 values a scale
					ds := d * float32(int8(b[192+g*8+j*2+h]))
					for i := h * 16; i < h*16+16; i++ {
						out[i] = ds * float32(int(nib[i]>>shift&15|hi[i]>>(2*j)&3<<4)-32)
					}
				}
			}
		}
	}
}
