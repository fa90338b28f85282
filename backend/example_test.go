package backend_test

import (
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A view of a dense matrix changes a Layout and moves nothing.
func ExampleLayout() {
	l := backend.Dense(backend.Shape{2, 3}) // elements 0 to 5
	t, err := l.Permute(1, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := t.Slice(0, 2, -1, 3) // its rows from the last to the first
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Shape, r.Strides, r.Offset)
	for _, at := range r.All() {
		fmt.Print(at, " ")
	}
	// Output:
	// [3 2] [-1 3] 2
	// 2 5 1 4 0 3
}

func ExampleBroadcast() {
	fmt.Println(backend.Broadcast(backend.Shape{4, 1}, backend.Shape{3}))
	fmt.Println(backend.Broadcast(backend.Shape{4, 2}, backend.Shape{3}))
	// Output:
	// [4 3] <nil>
	// [] shapes [[4 2] [3]] do not broadcast: extents 2 and 3: shape mismatch
}

// The kernel of x·2 + y: a program that names operands and a constant's number, and no size.
func ExampleMap() {
	var b ops.Builder
	x, y := b.Load(b.Operand(ops.Float32), false), b.Load(b.Operand(ops.Float32), false)
	b.Result(b.Apply(ops.Add, b.Apply(ops.Mul, x, b.Const(0, ops.Float32)), y))
	k := &backend.Map{Body: b.Expr()}
	fmt.Println(k.Family())
	fmt.Println(k.Body.String())
	// Output:
	// map
	// v0 = float32 load 0
	// v1 = float32 load 1
	// v2 = float32 const 0
	// v3 = float32 mul v0 v2
	// v4 = float32 add v3 v1
	// out v4
}
