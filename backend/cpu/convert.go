package cpu

import (
	"unsafe"

	"github.com/weft-go/weft/ops"
)

// isNative reports whether elements of type d are in a register as T: the 16-bit floats as float32, and
// Uint32 as int32, whose sums and products wrap alike.
func isNative[T term](d ops.DType) bool {
	switch any(T(0)).(type) {
	case float32:
		return d == ops.Float32 || d.IsHalf()
	case float64:
		return d == ops.Float64
	case int32:
		return d == ops.Int32 || d == ops.Uint32
	}
	return d == ops.Int64
}

// round sets dst to src as elements of type d in a register: floats rounded to nearest even, integers
// wrapped, and for Bool whether they are not 0.
func round[T term](dst []byte, d ops.DType, src []T) {
	if narrow, ok := any(src).([]float32); ok && d.IsHalf() && len(src) > 0 {
		copy(typed[float32](dst), narrow)
		roundHalf(d, unsafe.Pointer(&dst[0]), len(src))
		return
	}
	switch d {
	case ops.Bool:
		for i, v := range src {
			dst[i] = 0
			if v != 0 {
				dst[i] = 1
			}
		}
	case ops.Uint8, ops.Int8:
		for i, v := range src {
			dst[i] = byte(int64(v))
		}
	case ops.Int32, ops.Uint32:
		convert(typed[int32](dst), src)
	case ops.Int64:
		convert(typed[int64](dst), src)
	case ops.Float16:
		out := typed[float32](dst)
		for i, v := range src {
			out[i] = ops.ToF16From64(float64(v)).Float32()
		}
	case ops.BFloat16:
		out := typed[float32](dst)
		for i, v := range src {
			out[i] = ops.ToBF16From64(float64(v)).Float32()
		}
	case ops.Float32:
		convert(typed[float32](dst), src)
	default: // Float64
		convert(typed[float64](dst), src)
	}
}

// bytesOf returns the memory of c.
func bytesOf[T any](c []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(c))), len(c)*int(unsafe.Sizeof(*new(T))))
}

func convert[D, S term | int8 | uint8](dst []D, src []S) {
	for i, v := range src {
		dst[i] = D(v)
	}
}
