package checkpoint

import (
	"encoding/binary"
	"math"
)

// BF16 rounds x to bfloat16, to nearest, ties to even, as XLA and PyTorch do; a NaN stays a NaN. The result is the value's
// upper 16 bits.
func BF16(x float32) uint16 {
	b := math.Float32bits(x)
	if x != x {
		return uint16(b>>16) | 0x40 // a payload only in the lower bits would round to an infinity
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// F32 widens a bfloat16, exactly.
func F32(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

// half widens an IEEE 754 binary16, subnormals, infinities and NaNs included.
func half(b []byte) float32 {
	h := uint32(binary.LittleEndian.Uint16(b))
	sign, exp, man := h>>15<<31, h>>10&31, h&1023
	switch exp {
	case 0: // man is exact in float32, and so is the power of two
		return math.Float32frombits(math.Float32bits(float32(man)/(1<<24)) | sign)
	case 31:
		return math.Float32frombits(sign | 0xff<<23 | man<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | man<<13)
}
