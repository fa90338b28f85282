package backendtest_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/backendtest"
	"github.com/weft-go/weft/ops"
)

// A kernel that squares what it sums, run by the definitions. The memory is the device's: data is written to
// it, and the result read from it.
func ExampleReference() {
	ctx := context.Background()
	dev := backendtest.Reference()
	defer dev.Close()

	var b ops.Builder
	x := b.Load(b.Operand(ops.Float32), false)
	b.Result(b.Reduce(ops.ReduceSum, b.Apply(ops.Mul, x, x)))

	in, _ := dev.Alloc(4 * 6)
	out, _ := dev.Alloc(4 * 2)
	var data []byte
	for i := range 6 {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(i)))
	}
	if err := dev.Write(in, 0, data); err != nil {
		fmt.Println(err)
	}
	rows := backend.Shape{2, 3}
	err := dev.Run(ctx, []backend.Step{{
		Kernel: &backend.Reduce{Body: b.Expr(), Axes: 1},
		Shape:  rows,
		In:     []backend.Operand{{Buf: in, DType: ops.Float32, Layout: backend.Dense(rows)}},
		Out:    []backend.Operand{{Buf: out, DType: ops.Float32, Layout: backend.Layout{Shape: rows, Strides: []int{1, 0}}}},
	}})
	if err != nil {
		fmt.Println(err)
	}
	sums := make([]byte, 8)
	if err := dev.Read(ctx, sums, out, 0); err != nil {
		fmt.Println(err)
	}
	for i := range 2 {
		fmt.Println(math.Float32frombits(binary.LittleEndian.Uint32(sums[4*i:])))
	}
	// Output:
	// 5
	// 50
}
