package tensor

import (
	"fmt"
	"math"
	"strconv"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/internal/graph"
	"github.com/weft-go/weft/ops"
)

// A scalar is a Go number or bool used as an operand. It takes its element type from the array beside
// it.
type scalar struct {
	kind ops.Weak
	i    int64   // WeakBool (0 or 1), WeakInt
	f    float64 // WeakFloat
}

// Scalar returns v, a Go bool, integer or float, as an operand without axes. Its type is one of Go's own, or F16 or
// BF16: a number of another named type, such as a time.Duration, whose unit an array does not know, is an error of
// kind [ErrDType]. The operand is weakly typed, as a
// Python number is in NumPy 2: beside an array it takes the array's element type, so that it never
// widens one, except that an integer makes Int64 of Bool and a float makes Float32 of Bool and integers.
// An integer that the type cannot hold is an error of kind [ErrDType] (a comparison with it is fine); a
// float is rounded. Alone, or among its like, it is Bool, Int64 or Float32.
//
// Methods such as [Tensor.AddScalar] do the same: x.AddScalar(2) is x.Add(Scalar(2)). Scalar is for the
// other side, as in Scalar(1).Div(x), and for operations of three operands.
func Scalar(v any) *Tensor {
	s, err := weak(v)
	if err != nil {
		return failWith("scalar", err)
	}
	return &Tensor{other: &other{scalar: s}}
}

// weak returns v as a scalar.
func weak(v any) (scalar, error) {
	switch v := v.(type) {
	case int:
		return scalar{kind: ops.WeakInt, i: int64(v)}, nil
	case float64:
		return scalar{kind: ops.WeakFloat, f: v}, nil
	case float32:
		return scalar{kind: ops.WeakFloat, f: float64(v)}, nil
	case bool:
		if v {
			return scalar{i: 1}, nil
		}
		return scalar{}, nil
	case int8:
		return scalar{kind: ops.WeakInt, i: int64(v)}, nil
	case int16:
		return scalar{kind: ops.WeakInt, i: int64(v)}, nil
	case int32:
		return scalar{kind: ops.WeakInt, i: int64(v)}, nil
	case int64:
		return scalar{kind: ops.WeakInt, i: v}, nil
	case uint8:
		return scalar{kind: ops.WeakInt, i: int64(v)}, nil
	case uint16:
		return scalar{kind: ops.WeakInt, i: int64(v)}, nil
	case uint32:
		return scalar{kind: ops.WeakInt, i: int64(v)}, nil
	case uint:
		return weakUint(uint64(v))
	case uint64:
		return weakUint(v)
	case F16:
		return scalar{kind: ops.WeakFloat, f: float64(v.Float32())}, nil
	case BF16:
		return scalar{kind: ops.WeakFloat, f: float64(v.Float32())}, nil
	}
	return scalar{}, fmt.Errorf("scalar is a %T, want one of Go's own bool, integer and float types, or F16 or BF16: %w", v, ErrDType)
}

func weakUint(v uint64) (scalar, error) {
	if v > math.MaxInt64 {
		return scalar{}, fmt.Errorf("scalar %d does not fit int64: %w", v, ErrDType)
	}
	return scalar{kind: ops.WeakInt, i: int64(v)}, nil
}

// fits reports whether d can hold s: every float type holds, rounded, every number.
func (s *scalar) fits(d DType) bool {
	if s.kind != ops.WeakInt || !d.IsInt() {
		return true
	}
	lo, hi := ops.IntRange(d)
	return lo <= s.i && s.i <= hi
}

// bits returns the bit pattern of s as an element of type d.
func (s *scalar) bits(d DType) uint64 {
	if s.kind == ops.WeakFloat {
		return ops.Value{DType: Float64, F: s.f}.Convert(d).Bits()
	}
	return ops.Value{DType: Int64, I: s.i}.Convert(d).Bits()
}

// String returns s as Go writes it.
func (s *scalar) String() string {
	switch s.kind {
	case ops.WeakBool:
		return strconv.FormatBool(s.i != 0)
	case ops.WeakInt:
		return strconv.FormatInt(s.i, 10)
	default:
		return strconv.FormatFloat(s.f, 'g', -1, 64)
	}
}

// standAlone returns s as a tensor of its default type on the default device, for operation op.
func (s *scalar) standAlone(op string) (t *Tensor, ok bool) {
	d, err := Default()
	if err != nil {
		return failWith(op, err), false
	}
	t = s.on(d, s.kind.Default(), nil)
	return t, true
}

// on returns an array of shape, every element of which is s converted to type t.
func (s *scalar) on(d *Device, t DType, shape backend.Shape) *Tensor {
	n := graph.Const(d.g, t, s.bits(t))
	return &Tensor{dev: d, node: n, layout: repeat(shape)}
}

// repeat returns the layout that shows one element all over shape.
func repeat(shape backend.Shape) *backend.Layout {
	return &backend.Layout{Shape: shape, Strides: noStrides(len(shape))}
}

// noStrides returns n strides of 0, which others share.
func noStrides(n int) []int {
	if n > len(zeroStrides) {
		return make([]int, n)
	}
	return zeroStrides[:n:n]
}

var zeroStrides [8]int // nobody writes to the strides of a layout
