package wgpu

import (
	"fmt"

	"github.com/weft-go/weft/ops"
)

// held returns the WGSL type that holds an element of type d in a register. The 8-bit integers live in 32 bits
// and the 16-bit floats in an f32, wrapped or rounded to their type after every operation; Int64 is its low and its high
// word.
func held(d ops.DType) string {
	switch d {
	case ops.Bool:
		return "bool"
	case ops.Int8, ops.Int32:
		return "i32"
	case ops.Uint8, ops.Uint32:
		return "u32"
	case ops.Int64:
		return "vec2<u32>"
	case ops.Float64:
		return "f64"
	}
	return "f32"
}

// decode returns the expression of an element of type d from the 32 bits w, in whose low bits it stands, or for an 8-byte
// type from the low word w and the high word hi.
func decode(d ops.DType, w, hi string) string {
	switch d {
	case ops.Bool:
		return fmt.Sprintf("((%s) & 0xffu) != 0u", w)
	case ops.Uint8:
		return fmt.Sprintf("(%s) & 0xffu", w)
	case ops.Int8:
		return fmt.Sprintf("bitcast<i32>((%s) << 24u) >> 24u", w)
	case ops.Int32:
		return fmt.Sprintf("bitcast<i32>(%s)", w)
	case ops.Float16:
		return fmt.Sprintf("f16_value_(%s)", w)
	case ops.BFloat16:
		return fmt.Sprintf("bf16_value_(%s)", w)
	case ops.Float32:
		return fmt.Sprintf("bitcast<f32>(%s)", w)
	case ops.Int64:
		return fmt.Sprintf("vec2<u32>(%s, %s)", w, hi)
	case ops.Float64:
		return fmt.Sprintf("value_f64_(%s, %s)", w, hi)
	}
	return w
}

// encode returns the expression of the bits of v, a register of type d: for a type of less than 32 bits in the low
// bits, with zeros above; for an 8-byte type a vec2<u32>.
func encode(d ops.DType, v string) string {
	switch d {
	case ops.Bool:
		return fmt.Sprintf("u32(%s)", v)
	case ops.Uint8:
		return fmt.Sprintf("(%s & 0xffu)", v)
	case ops.Int8:
		return fmt.Sprintf("(bitcast<u32>(%s) & 0xffu)", v)
	case ops.Float16:
		return fmt.Sprintf("f16_bits_(%s)", v)
	case ops.BFloat16:
		return fmt.Sprintf("bf16_bits_(%s)", v)
	case ops.Int32, ops.Float32:
		return fmt.Sprintf("bitcast<u32>(%s)", v)
	case ops.Float64:
		return fmt.Sprintf("bits_f64_(%s)", v)
	}
	return v // Uint32, Int64
}

// rounded returns v, the result of an operation on type d, brought back to the values of d.
func rounded(d ops.DType, v string) string {
	switch d {
	case ops.Uint8:
		return fmt.Sprintf("wrap_uint8_(%s)", v)
	case ops.Int8:
		return fmt.Sprintf("wrap_int8_(%s)", v)
	case ops.Float16:
		return fmt.Sprintf("round_f16_(%s)", v)
	case ops.BFloat16:
		return fmt.Sprintf("round_bf16_(%s)", v)
	}
	return v
}

// cast returns the expression of v, a register of type from, converted to type to as [ops.Value.Convert] does, or
// "" if there is none.
func cast(from, to ops.DType, v string) string {
	switch {
	case from == to:
		return v
	case from == ops.Float64:
		return fromFloat64(to, v)
	case to == ops.Float64:
		return toFloat64(from, v)
	case to == ops.Bool:
		return truth(from, v)
	case from == ops.Bool:
		return fromBool(to, v)
	case from.IsFloat() && to.IsFloat():
		return rounded(to, v)
	case from.IsFloat():
		return floatToInt(to, v)
	case to.IsFloat():
		return intToFloat(from, to, v)
	}
	return rounded(to, intToInt(held(from), held(to), v))
}

// fromFloat64 rounds once, also to 16 bits.
func fromFloat64(to ops.DType, v string) string {
	switch to {
	case ops.Bool:
		return fmt.Sprintf("truth_f64_(%s)", v)
	case ops.Int8:
		return fmt.Sprintf("i32_of_f64_(%s, -128, 127)", v)
	case ops.Int32:
		return fmt.Sprintf("i32_of_f64_(%s, bitcast<i32>(0x80000000u), 0x7fffffff)", v)
	case ops.Uint8:
		return fmt.Sprintf("u32_of_f64_(%s, 0xffu)", v)
	case ops.Uint32:
		return fmt.Sprintf("u32_of_f64_(%s, 0xffffffffu)", v)
	case ops.Int64:
		return fmt.Sprintf("i64_of_f64_(%s)", v)
	}
	return rounded(to, fmt.Sprintf("f32_of_f64_(%s, %t)", v, to.IsHalf()))
}

func toFloat64(from ops.DType, v string) string {
	switch held(from) {
	case "bool":
		return fmt.Sprintf("f64(u32(%s))", v)
	case "vec2<u32>":
		return fmt.Sprintf("f64_of_i64_(%s)", v)
	case "f32":
		return fmt.Sprintf("f64_of_f32_(%s)", v)
	}
	return fmt.Sprintf("f64(%s)", v)
}

func truth(from ops.DType, v string) string {
	switch held(from) {
	case "vec2<u32>":
		return fmt.Sprintf("any(%s != vec2<u32>())", v)
	case "f32":
		return fmt.Sprintf("truth_(%s)", v)
	}
	return fmt.Sprintf("(%s != %s(0))", v, held(from))
}

func fromBool(to ops.DType, v string) string {
	if to == ops.Int64 {
		return fmt.Sprintf("i64_of_u32_(u32(%s))", v)
	}
	return fmt.Sprintf("%s(%s)", held(to), v)
}

func floatToInt(to ops.DType, v string) string {
	switch to {
	case ops.Int8:
		return fmt.Sprintf("i32_of_f32_(%s, -128, 127)", v)
	case ops.Int32:
		return fmt.Sprintf("i32_of_f32_(%s, bitcast<i32>(0x80000000u), 0x7fffffff)", v)
	case ops.Uint8:
		return fmt.Sprintf("u32_of_f32_(%s, 0xffu)", v)
	case ops.Uint32:
		return fmt.Sprintf("u32_of_f32_(%s, 0xffffffffu)", v)
	}
	return fmt.Sprintf("i64_of_f32_(%s)", v)
}

// intToFloat rounds once, to nearest: the conversion of WGSL may round as it likes beyond 2²⁴.
func intToFloat(from, to ops.DType, v string) string {
	if from.Size() == 1 {
		return rounded(to, fmt.Sprintf("f32(%s)", v))
	}
	wide := intToInt(held(from), "vec2<u32>", v)
	return rounded(to, fmt.Sprintf("f32_of_i64_(%s, %t)", wide, to.IsHalf()))
}

func intToInt(a, b, v string) string {
	switch {
	case a == b:
		return v
	case a == "vec2<u32>":
		return fmt.Sprintf("bitcast<%s>((%s).x)", b, v)
	case b == "vec2<u32>" && a == "i32":
		return fmt.Sprintf("i64_of_i32_(%s)", v)
	case b == "vec2<u32>":
		return fmt.Sprintf("i64_of_u32_(%s)", v)
	}
	return fmt.Sprintf("bitcast<%s>(%s)", b, v)
}
