package cpu_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/weft-go/weft/backend"
	_ "github.com/weft-go/weft/backend/cpu" // registers "cpu"
	"github.com/weft-go/weft/ops"
)

// The backend by hand: memory, one kernel, the result. Package tensor does all this.
func Example() {
	if err := example(); err != nil {
		fmt.Println(err)
	}
	// Output: [1 4 9]
}

func example() error {
	ctx := context.Background()
	dev, err := backend.Open("cpu", 0)
	if err != nil {
		return err
	}
	var b ops.Builder
	b.Result(b.Apply(ops.Square, b.Load(b.Operand(ops.Float32), false)))
	square := &backend.Map{Body: b.Expr()}

	var src []byte
	for _, v := range []float32{1, 2, 3} {
		src = binary.LittleEndian.AppendUint32(src, math.Float32bits(v))
	}
	x, err := dev.Alloc(len(src))
	if err != nil {
		return err
	}
	defer x.Release()
	y, err := dev.Alloc(len(src))
	if err != nil {
		return err
	}
	defer y.Release()
	if err := dev.Write(x, 0, src); err != nil {
		return err
	}
	row := backend.Dense(backend.Shape{3})
	err = dev.Run(ctx, []backend.Step{{
		Kernel: square, Shape: row.Shape,
		In:  []backend.Operand{{Buf: x, DType: ops.Float32, Layout: row}},
		Out: []backend.Operand{{Buf: y, DType: ops.Float32, Layout: row}},
	}})
	if err != nil {
		return err
	}
	dst := make([]byte, len(src))
	if err := dev.Read(ctx, dst, y, 0); err != nil {
		return err
	}
	var out []float32
	for ; len(dst) > 0; dst = dst[4:] {
		out = append(out, math.Float32frombits(binary.LittleEndian.Uint32(dst)))
	}
	fmt.Println(out)
	return nil
}
