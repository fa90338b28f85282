package safetensors

import "github.com/weft-go/weft/ops"

// An elem is an element type of the format.
type elem struct {
	name   string
	bits   int       // its size
	dtype  ops.DType // what it is read as, Invalid if it cannot be
	signed bool      // if it is widened: with its sign
}

// elems are the types of the format in the order of the reference, which sorts by it, last first, so that wide
// elements come before narrow ones and each is aligned.
var elems = []elem{
	{name: "BOOL", bits: 8, dtype: ops.Bool},
	{name: "F4", bits: 4},
	{name: "F6_E2M3", bits: 6},
	{name: "F6_E3M2", bits: 6},
	{name: "U8", bits: 8, dtype: ops.Uint8},
	{name: "I8", bits: 8, dtype: ops.Int8},
	{name: "F8_E5M2", bits: 8},
	{name: "F8_E4M3", bits: 8},
	{name: "F8_E8M0", bits: 8},
	{name: "F8_E4M3FNUZ", bits: 8},
	{name: "F8_E5M2FNUZ", bits: 8},
	{name: "I16", bits: 16, dtype: ops.Int32, signed: true},
	{name: "U16", bits: 16, dtype: ops.Uint32},
	{name: "F16", bits: 16, dtype: ops.Float16},
	{name: "BF16", bits: 16, dtype: ops.BFloat16},
	{name: "I32", bits: 32, dtype: ops.Int32},
	{name: "U32", bits: 32, dtype: ops.Uint32},
	{name: "F32", bits: 32, dtype: ops.Float32},
	{name: "C64", bits: 64},
	{name: "F64", bits: 64, dtype: ops.Float64},
	{name: "I64", bits: 64, dtype: ops.Int64},
	{name: "U64", bits: 64, dtype: ops.Int64},
}

// byName returns the place in elems of the type of that name.
func byName(name string) (int, bool) {
	for i, e := range elems {
		if e.name == name {
			return i, true
		}
	}
	return 0, false
}

// byDType returns the place in elems of the type that d is written as.
func byDType(d ops.DType) (int, bool) {
	for i, e := range elems {
		if e.dtype == d && e.bits == d.Bits() && e.name != "U64" {
			return i, d.Valid()
		}
	}
	return 0, false
}
