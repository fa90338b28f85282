package wgpu

import (
	"errors"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// pooling returns a step that pools one axis of n elements with windows of two, side by side.
func pooling(x, out *buffer, op ops.ReduceOp, d ops.DType, n int) backend.Step {
	return backend.Step{
		Kernel: &backend.Pool{Op: op, Window: []int{2}, Stride: []int{2}, Dilation: []int{1}, Pad: []int{0}, PadEnd: []int{0}, Post: *loads[d]},
		Shape:  backend.Shape{n / 2},
		In:     []backend.Operand{{Buf: x, DType: d, Layout: backend.Dense(backend.Shape{n})}},
		Out:    []backend.Operand{{Buf: out, DType: d, Layout: backend.Dense(backend.Shape{n / 2})}},
	}
}

// TestPoolWithoutLeadingAxes tests a domain of spatial axes alone.
func TestPoolWithoutLeadingAxes(t *testing.T) {
	e := openTest(t)
	const n, d = 26, ops.Float32
	values := numbers(n, 1, true)
	for i := range values {
		values[i] *= 2
	}
	x, out := upload(t, e, d, values), upload(t, e, d, make([]int, n/2))
	for _, op := range []ops.ReduceOp{ops.ReduceMax, ops.ReduceSum} {
		run(t, e, pooling(x, out, op, d, n))
		for i, got := range download(t, e, d, out) {
			want := max(values[2*i], values[2*i+1])
			if op == ops.ReduceSum {
				want = (values[2*i] + values[2*i+1]) / 2
			}
			if got != want {
				t.Errorf("%s: element %d is %d, want %d", op, i, got, want)
			}
		}
	}
}

// TestPoolRefusals tests what is not supported, and shapes that do not fit each other.
func TestPoolRefusals(t *testing.T) {
	e := openTest(t)
	const n, d = 8, ops.Float32
	x, out := upload(t, e, d, make([]int, n)), upload(t, e, d, make([]int, n))
	k := pooling(x, out, ops.ReduceMax, d, n).Kernel.(*backend.Pool)
	if !e.Supports(k) {
		t.Error("a plain maximum is not supported")
	}
	for name, spoil := range map[string]func(k *backend.Pool){
		"product":          func(k *backend.Pool) { k.Op = ops.ReduceProd },
		"mean of integers": func(k *backend.Pool) { k.Op, k.Post = ops.ReduceSum, *loads[ops.Int32] },
		"endless windows":  func(k *backend.Pool) { k.Window = []int{1 << 20} },
	} {
		bad := *k
		spoil(&bad)
		if e.Supports(&bad) {
			t.Errorf("%s: supported", name)
		}
	}
	s := pooling(x, out, ops.ReduceMax, d, n)
	bad := *k
	bad.Stride = nil
	s.Kernel = &bad
	if err := e.Run(t.Context(), []backend.Step{s}); !errors.Is(err, backend.ErrShape) {
		t.Errorf("no strides: error %v, want ErrShape", err)
	}
}
