package wgpu

import (
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// TestMemo tests that a step that comes again computes what it should with other memory, other constants, operands that now
// share a buffer, and buffers of other sizes, and that it is not lowered again where nothing but memory and constants changed.
func TestMemo(t *testing.T) {
	e := openTest(t)
	e.checked = false
	var b ops.Builder
	x, y := b.Load(b.Operand(ops.Float32), false), b.Load(b.Operand(ops.Float32), false)
	b.Result(b.Apply(ops.Add, b.Apply(ops.Mul, x, b.Const(0, ops.Float32)), y))
	kernel := &backend.Map{Body: b.Expr()}
	const n = 7
	layout := backend.Dense(backend.Shape{n})
	kept := new(backend.Memo)
	filled := func(elements int, first int) *buffer {
		values := make([]int, elements)
		for i := range values {
			values[i] = first + i
		}
		return upload(t, e, ops.Float32, values)
	}
	p, q, wide := filled(n, 10), filled(n, 100), filled(16, 1000)
	for i, c := range []struct {
		x, y, out *buffer
		k         int
		same      bool // as the step before, but for memory and constants
	}{
		{p, q, filled(n, 0), 2, false},
		{p, q, filled(n, 0), 2, true},
		{q, p, filled(n, 0), 3, true},
		{p, p, filled(n, 0), 3, false}, // one buffer for both
		{q, q, filled(n, 0), 4, true},
		{p, wide, filled(n, 0), 4, false},
		{p, q, filled(16, 0), 5, false}, // which goes on after the elements
		{q, p, filled(16, 0), 6, true},
	} {
		var want []int
		first, second := download(t, e, ops.Float32, c.x), download(t, e, ops.Float32, c.y)
		whole := download(t, e, ops.Float32, c.out)
		for j := range n {
			want = append(want, first[j]*c.k+second[j])
		}
		want = append(want, whole[n:]...)
		before, _ := kept.Value.(*memo)
		err := e.Run(t.Context(), []backend.Step{{
			Kernel: kernel, Shape: layout.Shape, Memo: kept, Consts: []uint64{ops.FloatValue(ops.Float32, float64(c.k)).Bits()},
			In:  []backend.Operand{{Buf: c.x, DType: ops.Float32, Layout: layout}, {Buf: c.y, DType: ops.Float32, Layout: layout}},
			Out: []backend.Operand{{Buf: c.out, DType: ops.Float32, Layout: layout}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if after := kept.Value.(*memo); (after == before) != c.same {
			t.Errorf("step %d: lowered again: %t, want %t", i, after != before, !c.same)
		}
		for j, got := range download(t, e, ops.Float32, c.out) {
			if got != want[j] {
				t.Fatalf("step %d: element %d is %d, want %d", i, j, got, want[j])
			}
		}
	}
}
