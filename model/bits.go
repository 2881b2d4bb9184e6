package model

import (
	"unsafe"

	"github.com/gomlx/gomlx/pkg/core/dtypes/bfloat16"
)

// bits16 views bf16 values as their bits; the two types have one layout.
func bits16(x []bfloat16.BFloat16) []uint16 {
	return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}
