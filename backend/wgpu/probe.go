package wgpu

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// probe finds out what no API tells: whether the device takes subnormal float32 numbers for 0, as NVIDIA's do under Vulkan.
// It doubles the smallest normal number's half.
func (e *engine) probe() error {
	const subnormal, normal = 0x00400000, 0x00800000
	var b ops.Builder
	x := b.Load(b.Operand(ops.Float32), false)
	b.Result(b.Apply(ops.Add, x, x))
	one := backend.Dense(backend.Shape{1})
	in, err := e.Alloc(4)
	if err != nil {
		return err
	}
	defer in.Release()
	out, err := e.Alloc(4)
	if err != nil {
		return err
	}
	defer out.Release()
	word := binary.LittleEndian.AppendUint32(nil, subnormal)
	if err := e.Write(in, 0, word); err != nil {
		return err
	}
	err = e.Run(context.Background(), []backend.Step{{
		Kernel: &backend.Map{Body: b.Expr()}, Shape: one.Shape,
		In:  []backend.Operand{{Buf: in, DType: ops.Float32, Layout: one}},
		Out: []backend.Operand{{Buf: out, DType: ops.Float32, Layout: one}},
	}})
	if err != nil {
		return err
	}
	if err := e.Read(context.Background(), word, out, 0); err != nil {
		return err
	}
	switch got := binary.LittleEndian.Uint32(word); got {
	case normal:
	case 0:
		e.flushes = true
	default:
		return fmt.Errorf("wgpu: probe: the sum of two numbers %#08x is %#08x: %w", subnormal, got, backend.ErrDevice)
	}
	return nil
}
