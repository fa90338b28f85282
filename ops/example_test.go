package ops_test

import (
	"fmt"

	"github.com/weft-go/weft/ops"
)

// A row of the table defines an operation for each element type it takes.
func ExampleOp() {
	seven, two := ops.IntValue(ops.Int8, -7), ops.IntValue(ops.Int8, 2)
	fmt.Println(ops.FloorDiv.Eval(seven, two).I, ops.Mod.Eval(seven, two).I)

	x, y := ops.FloatValue(ops.Float32, -7.5), ops.FloatValue(ops.Float32, 2)
	fmt.Println(ops.FloorDiv.Eval(x, y).F, ops.Mod.Eval(x, y).F)
	// Output:
	// -4 1
	// -4 0.5
}

func ExampleOp_Infer() {
	arg, out, err := ops.Less.Infer(ops.Int32, ops.Float16)
	fmt.Println(arg, out, err)

	arg, out, err = ops.Exp.Infer(ops.Int64)
	fmt.Println(arg, out, err)

	_, _, err = ops.BitwiseAnd.Infer(ops.Int32, ops.Float32)
	fmt.Println(err)
	// Output:
	// float64 bool <nil>
	// float32 float32 <nil>
	// takes bools and integers, not float64: unsupported data type
}

// Within holds a result to the definition: here a float32 exponential that is two units in the last place
// off, and then a thousand.
func ExampleOp_Within() {
	one := ops.FloatValue(ops.Float32, 1)
	e := ops.Exp.Eval(one)
	near := ops.FromBits(ops.Float32, e.Bits()+2)
	far := ops.FromBits(ops.Float32, e.Bits()+1000)
	fmt.Println(ops.Exp.Within(near, one), ops.Exp.Within(far, one))
	fmt.Println(ops.Exp.Tol.ULP, ops.Exp.Tol.Reason)
	// Output:
	// true false
	// 2 range reduction and a polynomial in float32
}

func ExampleOp_Shader() {
	fmt.Println(ops.Add.Shader(ops.Float32))
	fmt.Println(ops.Mod.Shader(ops.Uint8))
	fmt.Println(ops.Add.Shader(ops.Int64))
	// Output:
	// $x + $y
	// mod_u32_($x, $y)
	// add64_($x, $y)
}

func ExampleByName() {
	fmt.Println(ops.ByName("logaddexp").Arity, ops.ByName("no such operation"))
	// Output: 2 <nil>
}

func ExamplePromote() {
	fmt.Println(ops.Promote(ops.Int8, ops.Uint32))
	fmt.Println(ops.Promote(ops.Int32, ops.Float32))
	fmt.Println(ops.Promote(ops.Float16, ops.BFloat16))
	// Output:
	// int64
	// float64
	// float32
}

// A Go scalar does not widen the array beside it, except to another kind of number.
func ExamplePromoteWeak() {
	fmt.Println(ops.PromoteWeak(ops.Float16, ops.WeakFloat))
	fmt.Println(ops.PromoteWeak(ops.Uint8, ops.WeakInt))
	fmt.Println(ops.PromoteWeak(ops.Uint8, ops.WeakFloat))
	// Output:
	// float16
	// uint8
	// float32
}

func ExampleValue_Convert() {
	x := ops.FloatValue(ops.Float32, 300.7)
	fmt.Println(x.Convert(ops.Uint8).I, x.Convert(ops.Int32).I, x.Convert(ops.BFloat16).F)
	fmt.Println(ops.IntValue(ops.Int32, 300).Convert(ops.Uint8).I)
	// Output:
	// 255 300 300
	// 44
}

// A program that computes the sigmoid of an operand, scaled by a constant.
func ExampleBuilder() {
	var b ops.Builder
	x := b.Load(b.Operand(ops.Float16), false)
	scale := b.Const(0, ops.Float16)
	b.Result(b.Apply(ops.Mul, b.Apply(ops.Sigmoid, x), scale))
	e := b.Expr()
	fmt.Println(e.String())

	load := func(int) ops.Value { return ops.FloatValue(ops.Float16, 0) }
	ten := ops.FloatValue(ops.Float16, 10).Bits()
	fmt.Println(e.Eval(load, nil, []uint64{ten})[0].F)
	// Output:
	// v0 = float16 load 0
	// v1 = float16 const 0
	// v2 = float16 sigmoid v0
	// v3 = float16 mul v2 v1
	// out v3
	// 5
}

func ExamplePhilox() {
	seed := [2]uint32{2026, 0}
	fmt.Printf("%08x\n", ops.Philox([4]uint32{0}, seed))
	fmt.Printf("%08x\n", ops.Philox([4]uint32{1}, seed))
	// Output:
	// [6e5b28e3 85b7be5b b3ceb6b8 4be9bf2c]
	// [fcfff50e 594f0d6a 7012bd01 d17e9724]
}
