package tensor

import (
	"unsafe"

	"github.com/weft-go/weft/ops"
)

// A DType is the type of a tensor's elements.
type DType = ops.DType

// The element types. NumPy's names, in Go's case; [Float16] and [BFloat16] elements are [F16] and [BF16]
// in Go programs.
const (
	Bool     = ops.Bool
	Uint8    = ops.Uint8
	Int8     = ops.Int8
	Int32    = ops.Int32
	Uint32   = ops.Uint32
	Int64    = ops.Int64
	Float16  = ops.Float16
	BFloat16 = ops.BFloat16
	Float32  = ops.Float32
	Float64  = ops.Float64
)

// F16 is a half-precision number: the element type of Float16 tensors in Go programs. ops.ToF16 makes
// one.
type F16 = ops.F16

// BF16 is a bfloat16 number: the element type of BFloat16 tensors in Go programs. ops.ToBF16 makes one.
type BF16 = ops.BF16

// Elem is the set of Go types that hold the elements of a tensor, one for each [DType].
type Elem interface {
	bool | uint8 | int8 | int32 | uint32 | int64 | F16 | BF16 | float32 | float64
}

// DTypeOf returns the element type that T holds.
func DTypeOf[T Elem]() DType {
	var zero T
	switch any(zero).(type) {
	case float32:
		return Float32
	case bool:
		return Bool
	case uint8:
		return Uint8
	case int8:
		return Int8
	case int32:
		return Int32
	case uint32:
		return Uint32
	case int64:
		return Int64
	case F16:
		return Float16
	case BF16:
		return BFloat16
	}
	return Float64
}

// asBytes returns the memory of data, not a copy.
func asBytes[T Elem](data []T) []byte {
	if len(data) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&data[0])), len(data)*int(unsafe.Sizeof(data[0])))
}

// A Spec is what an operation knows of an operand before anything is computed.
type Spec struct {
	DType DType
	Shape []int
}

// String returns the type and shape, such as "float32 [2 3]".
func (s Spec) String() string { return s.DType.String() + " " + shapeOf(s.Shape).String() }
