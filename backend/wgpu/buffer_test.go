package wgpu

import (
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// TestWriteToReusedMemory tests that a write to memory whose last owner a recorded kernel still reads comes after that
// kernel.
func TestWriteToReusedMemory(t *testing.T) {
	e := openTest(t)
	const n, d = 1000, ops.Int32
	ones, twos := make([]int, n), make([]int, n)
	for i := range n {
		ones[i], twos[i] = 1, 2
	}
	x, out := upload(t, e, d, ones), upload(t, e, d, make([]int, n))
	var b ops.Builder
	b.Result(b.Load(b.Operand(d), false))
	l := backend.Dense(backend.Shape{n})
	e.mu.Lock()
	err := e.step(&backend.Step{
		Kernel: &backend.Map{Body: b.Expr()}, Shape: l.Shape,
		In: []backend.Operand{{Buf: x, DType: d, Layout: l}}, Out: []backend.Operand{{Buf: out, DType: d, Layout: l}},
	})
	e.mu.Unlock() // and the batch is not submitted
	if err != nil {
		t.Fatal(err)
	}
	x.Release()
	y := upload(t, e, d, twos)
	if y.memory != x.memory {
		t.Fatalf("memory %v is not reused: %v", x.memory, y.memory)
	}
	for i, got := range download(t, e, d, out) {
		if got != 1 {
			t.Fatalf("element %d of the copy is %d, want 1", i, got)
		}
	}
}
