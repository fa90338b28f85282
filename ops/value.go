package ops

import "math"

// A Value is one element, as the reference definitions see it: F holds the value of a floating-point
// type exactly, I that of an integer type or Bool (0 or 1).
type Value struct {
	DType DType
	F     float64
	I     int64
}

// FloatValue returns the element of floating-point type d nearest to f, ties to even.
func FloatValue(d DType, f float64) Value { return Value{DType: d, F: RoundFloat(d, f)} }

// IntValue returns the element of integer type or Bool d that i wraps to.
func IntValue(d DType, i int64) Value { return Value{DType: d, I: WrapInt(d, i)} }

// RoundFloat rounds f to the nearest value of the floating-point type d, ties to even.
func RoundFloat(d DType, f float64) float64 {
	switch d {
	case Float16:
		return float64(ToF16From64(f).Float32())
	case BFloat16:
		return float64(ToBF16From64(f).Float32())
	case Float32:
		return float64(float32(f))
	default:
		return f
	}
}

// WrapInt reduces i modulo 2 to the width of the integer type d, as two's complement arithmetic does.
// Bool takes 0 for 0 and 1 for all else.
func WrapInt(d DType, i int64) int64 {
	switch d {
	case Bool:
		if i != 0 {
			return 1
		}
		return 0
	case Uint8:
		return int64(uint8(i))
	case Int8:
		return int64(int8(i))
	case Int32:
		return int64(int32(i))
	case Uint32:
		return int64(uint32(i))
	default:
		return i
	}
}

// IntRange returns the least and greatest value of the integer type or Bool d.
func IntRange(d DType) (lo, hi int64) {
	switch d {
	case Bool:
		return 0, 1
	case Uint8:
		return 0, math.MaxUint8
	case Int8:
		return math.MinInt8, math.MaxInt8
	case Int32:
		return math.MinInt32, math.MaxInt32
	case Uint32:
		return 0, math.MaxUint32
	default:
		return math.MinInt64, math.MaxInt64
	}
}

// FromBits returns the element of type d whose bit pattern is b: an IEEE 754 pattern in the low bits,
// or a two's complement integer.
func FromBits(d DType, b uint64) Value {
	switch d {
	case Float16:
		return Value{DType: d, F: float64(F16(b).Float32())}
	case BFloat16:
		return Value{DType: d, F: float64(BF16(b).Float32())}
	case Float32:
		return Value{DType: d, F: float64(math.Float32frombits(uint32(b)))}
	case Float64:
		return Value{DType: d, F: math.Float64frombits(b)}
	default:
		return IntValue(d, int64(b))
	}
}

// Bits returns the bit pattern of v, zero above the width of its type.
func (v Value) Bits() uint64 {
	switch v.DType {
	case Float16:
		return uint64(ToF16From64(v.F))
	case BFloat16:
		return uint64(ToBF16From64(v.F))
	case Float32:
		return uint64(math.Float32bits(float32(v.F)))
	case Float64:
		return math.Float64bits(v.F)
	case Int64:
		return uint64(v.I)
	default:
		return uint64(v.I) & (1<<v.DType.Bits() - 1)
	}
}

// Float returns the value as a float64; an Int64 beyond 2⁵³ is rounded.
func (v Value) Float() float64 {
	if v.DType.IsFloat() {
		return v.F
	}
	return float64(v.I)
}

// Convert returns v converted to type d. Integers wrap; a float becomes the nearest float, ties to even,
// or the integer toward zero, saturated to the range of d with NaN giving 0; to Bool all but zero is 1,
// NaN included.
func (v Value) Convert(d DType) Value {
	switch {
	case d.IsFloat() && v.DType.IsFloat():
		return FloatValue(d, v.F)
	case d.IsFloat():
		return intToFloat(d, v.I)
	case !v.DType.IsFloat():
		return IntValue(d, v.I)
	case d == Bool:
		if v.F != 0 { // NaN too
			return Value{DType: d, I: 1}
		}
		return Value{DType: d}
	}
	return Value{DType: d, I: FloatToInt(d, v.F)}
}

// intToFloat rounds once: by way of float64 an Int64 beyond 2⁵³ would round twice.
func intToFloat(d DType, i int64) Value {
	switch d {
	case Float32:
		return Value{DType: d, F: float64(float32(i))}
	case Float16, BFloat16:
		if i&0x3ff != 0 && (i > 1<<53 || i < -1<<53) {
			i = i&^0x3ff | 0x400 // what a float64 would cut off stays as a sticky bit
		}
	default: // a float64 rounds once by itself
	}
	return FloatValue(d, float64(i))
}

// FloatToInt converts f to the integer type d toward zero, saturated to its range; NaN gives 0.
func FloatToInt(d DType, f float64) int64 {
	lo, hi := IntRange(d)
	switch {
	case f != f:
		return 0
	case f <= float64(lo):
		return lo
	case f >= float64(hi): // 2⁶³ for Int64: its maximum rounds up
		return hi
	}
	return int64(f)
}
