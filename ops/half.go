package ops

import (
	"math"

	"github.com/x448/float16"
)

// F16 is a half-precision number as Go programs hold it, the element type of Float16 tensors.
type F16 = float16.Float16

// BF16 is a bfloat16 number as Go programs hold it: the upper 16 bits of a float32.
type BF16 uint16

// ToBF16 rounds f to the nearest bfloat16, ties to even. Overflow gives an infinity; a NaN stays one,
// quiet, with its sign and the upper bits of its payload.
func ToBF16(f float32) BF16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		return BF16(b>>16 | 0x40)
	}
	return BF16((b + 0x7fff + b>>16&1) >> 16)
}

// Float32 returns the value of b, exactly.
func (b BF16) Float32() float32 { return math.Float32frombits(uint32(b) << 16) }

// ToF16 rounds f to the nearest half-precision number, ties to even. Overflow gives an infinity; a NaN
// stays a quiet NaN.
func ToF16(f float32) F16 { return float16.Fromfloat32(f) }

// ToF16From64 rounds f to the nearest half-precision number, ties to even, in one rounding: going
// through float32 would round twice.
func ToF16From64(f float64) F16 { return float16.Fromfloat32(roundToOdd(f)) }

// ToBF16From64 rounds f to the nearest bfloat16, ties to even, in one rounding.
func ToBF16From64(f float64) BF16 { return ToBF16(roundToOdd(f)) }

// roundToOdd converts f to float32 by truncation, with the last bit set if anything was cut off. A
// second rounding to 16 bits is then right (Boldo and Melquiond, "When double rounding is odd", 2005).
func roundToOdd(f float64) float32 {
	r := float32(f)
	back := float64(r)
	if back == f || math.IsNaN(f) {
		return r
	}
	b := math.Float32bits(r)
	if math.Abs(back) > math.Abs(f) { // rounded away from zero: step back
		b--
	}
	return math.Float32frombits(b | 1)
}
