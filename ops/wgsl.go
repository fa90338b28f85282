package ops

import "strings"

// A WGSL holds an operation's expressions in WGSL, one for each way a shader holds elements:
//
//	Float  Float16, BFloat16 and Float32 as f32 (rounded to their type after each operation)
//	Int    Int8 and Int32 as i32, Uint8 and Uint32 as u32 (wrapped to their type after each operation)
//	Bool   as bool
//	Int64  as vec2<u32>, the low word first
//
// $x, $y and $z stand for the names of the operands and $T for the WGSL type that holds them. Functions
// whose names end in _ are in shaders/prelude. Where Int is empty and the operation takes integers,
// Float serves for both. An empty expression says that there is none, and the backend lacks the operation
// on that type.
type WGSL struct {
	Float, Int, Bool, Int64 string
}

// Shader returns the expression of o on operands of type d (as [Op.Infer] names it) in terms of $x, $y
// and $z, or "" if there is none. On Float64, held as f64 by the devices that have it, name_f64_ takes the place of a
// function name_ of the prelude, which need not have it.
func (o *Op) Shader(d DType) string {
	t := o.WGSL
	if t.Int == "" && o.Rule.Accept.Has(Ints) {
		t.Int = t.Float
	}
	switch d {
	case Bool:
		return t.Bool
	case Int8, Int32:
		return strings.ReplaceAll(t.Int, "$T", "i32")
	case Uint8, Uint32:
		return strings.ReplaceAll(t.Int, "$T", "u32")
	case Int64:
		return t.Int64
	case Float16, BFloat16, Float32:
		return strings.ReplaceAll(t.Float, "$T", "f32")
	case Float64:
		return strings.NewReplacer("_(", "_f64_(", "$T", "f64").Replace(t.Float)
	default:
		return ""
	}
}
