package wgpu

import (
	"bytes"
	"slices"
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

// TestMemoFamilies tests steps that use memory of their own: replayed on other operands and constants they give what they give
// lowered anew, bit for bit, in as many dispatches.
func TestMemoFamilies(t *testing.T) {
	e := openTest(t)
	e.checked = false
	scaled := func(d ops.DType) ops.Expr { // times a constant
		var b ops.Builder
		x := b.Load(b.Operand(d), false)
		b.Result(b.Apply(ops.Mul, x, b.Const(0, d)))
		return b.Expr()
	}
	folded := func(reduce, scan bool) ops.Expr {
		var b ops.Builder
		x := b.Apply(ops.Mul, b.Load(b.Operand(ops.Float32), false), b.Const(0, ops.Float32))
		if reduce {
			x = b.Reduce(ops.ReduceSum, x)
		}
		if scan {
			x = b.Scan(ops.ReduceSum, x, false, false)
		}
		b.Result(x)
		return b.Expr()
	}
	const long = 70_001
	row := func(n int) backend.Layout { return backend.Dense(backend.Shape{1, n}) }
	sum := backend.Layout{Shape: backend.Shape{1, long}, Strides: []int{0, 0}}
	attended := backend.Shape{1, 2, 64}
	for _, c := range []struct {
		kernel backend.Kernel
		shape  backend.Shape
		in     []backend.Layout
		out    backend.Layout
		index  int // of the input that holds indices, or -1
	}{
		{&backend.Reduce{Body: folded(true, false), Axes: 1}, backend.Shape{1, long}, []backend.Layout{row(long)}, sum, -1},
		{&backend.Scan{Body: folded(false, true)}, backend.Shape{1, long}, []backend.Layout{row(long)}, row(long), -1},
		{&backend.Sort{DType: ops.Float32, Post: scaled(ops.Float32)}, backend.Shape{1, 5000}, []backend.Layout{row(5000)}, row(5000), -1},
		{&backend.Sort{DType: ops.Float32, Post: scaled(ops.Float32)}, backend.Shape{1, 20}, []backend.Layout{row(5000)}, row(20), -1},
		{&backend.Sort{DType: ops.Float32, Post: scaled(ops.Float32)}, backend.Shape{1, 300}, []backend.Layout{row(300)}, row(300), -1},
		{&backend.Scatter{DType: ops.Float32, Post: scaled(ops.Float32)}, backend.Shape{1, 50}, []backend.Layout{row(50), row(70), row(70)}, row(50), 1},
		{&backend.Scatter{DType: ops.Float32, Add: true, Post: scaled(ops.Float32)}, backend.Shape{1, 50}, []backend.Layout{row(50), row(70), row(70)}, row(50), 1},
		{
			&backend.Attention{DType: ops.Float32, Scale: 0.1, Post: scaled(ops.Float32)}, attended,
			[]backend.Layout{backend.Dense(backend.Shape{1, 2, 32}), backend.Dense(backend.Shape{1, 999, 32}), backend.Dense(backend.Shape{1, 999, 64})},
			backend.Dense(attended), -1,
		},
		{
			&backend.MatMul{A: *loads[ops.Float32], B: *loads[ops.Float32], Post: scaled(ops.Float32), Acc: ops.Float32},
			backend.Shape{3, 4},
			[]backend.Layout{backend.Dense(backend.Shape{3, long}), backend.Dense(backend.Shape{long, 4})},
			backend.Dense(backend.Shape{3, 4}), -1,
		},
	} {
		t.Run(c.kernel.Family(), func(t *testing.T) {
			kept := new(backend.Memo)
			for round := range 4 {
				s := backend.Step{Kernel: c.kernel, Shape: c.shape, Consts: []uint64{ops.FloatValue(ops.Float32, float64(2+round)).Bits()}}
				for i, l := range c.in {
					d, values := ops.Float32, numbers(l.Len(), 7*round+i, true)
					if i == c.index {
						d = ops.Int32
						for j := range values {
							values[j] = (j*j + round) % 50
						}
					}
					s.In = append(s.In, backend.Operand{Buf: upload(t, e, d, values), DType: d, Layout: l})
				}
				var results [2][]byte
				var counts [2]int64
				for i, memo := range []*backend.Memo{nil, kept} {
					out := upload(t, e, ops.Float32, slices.Repeat([]int{-99}, c.out.Touched()))
					s.Memo, s.Out = memo, []backend.Operand{{Buf: out, DType: ops.Float32, Layout: c.out}}
					before := e.dispatches
					run(t, e, s)
					counts[i] = e.dispatches - before
					results[i] = make([]byte, out.Size())
					if err := e.Read(t.Context(), results[i], out, 0); err != nil {
						t.Fatal(err)
					}
				}
				if !bytes.Equal(results[0], results[1]) || counts[0] != counts[1] || kept.Value == nil {
					t.Fatalf("round %d: %d dispatches gave %v, lowered anew %d gave %v", round, counts[1], results[1][:16], counts[0], results[0][:16])
				}
				if round > 0 && e.recall(&s) == nil {
					t.Fatalf("round %d: not recalled", round)
				}
			}
		})
	}
}
