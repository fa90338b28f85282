package tensor_test

import (
	"slices"
	"testing"

	"github.com/weft-go/weft/tensor"
)

// TestMatMulShapes has NumPy's rules (gomlx#104 among the cases): shapes and, by the definition, elements.
func TestMatMulShapes(t *testing.T) {
	for _, c := range []struct{ a, b, want []int }{
		{[]int{3}, []int{3}, []int{}},
		{[]int{3}, []int{3, 5}, []int{5}},
		{[]int{3, 5}, []int{5}, []int{3}},
		{[]int{2, 3}, []int{3, 4}, []int{2, 4}},
		{[]int{3, 5}, []int{7, 5, 4}, []int{7, 3, 4}},
		{[]int{7, 3, 5}, []int{4, 7, 5, 4}, []int{4, 7, 3, 4}},
		{[]int{1, 2, 6, 5}, []int{1, 3, 1, 5, 4}, []int{1, 3, 2, 6, 4}},
		{[]int{5}, []int{2, 5, 3}, []int{2, 3}},
		{[]int{2, 3, 5}, []int{5}, []int{2, 3}},
		{[]int{2, 0}, []int{0, 3}, []int{2, 3}},
		{[]int{0, 3}, []int{3, 2}, []int{0, 2}},
		{[]int{0, 2, 3}, []int{3, 2}, []int{0, 2, 2}},
		{[]int{1, 1}, []int{1, 1}, []int{1, 1}},
	} {
		for _, d := range []tensor.DType{tensor.Float32, tensor.Float64, tensor.Int32, tensor.Float16} {
			a, b := tensor.Iota(d, c.a...).ModScalar(7), tensor.Iota(d, c.b...).ModScalar(5)
			wantInts(t, a.MatMul(b), c.want, product64(t, a, b)...)
		}
	}
}

// product64 is the matrix product by sums over broadcast operands.
func product64(t *testing.T, a, b *tensor.Tensor) []int64 {
	t.Helper()
	if a.Rank() == 1 {
		a = a.Unsqueeze(0)
	}
	if b.Rank() == 1 {
		b = b.Unsqueeze(1)
	}
	return ints(t, a.Unsqueeze(-1).Mul(b.Unsqueeze(-3)).Sum(-2))
}

func TestMatMulStrides(t *testing.T) {
	m := tensor.Iota(tensor.Float64, 6, 8)
	views := map[string]*tensor.Tensor{
		"dense":      tensor.Iota(tensor.Float64, 3, 3),
		"transposed": tensor.Iota(tensor.Float64, 3, 3).T(),
		"sliced":     m.Slice(tensor.R(1, 4), tensor.R(2, 5)),
		"stepped":    m.Slice(tensor.All.Step(2), tensor.R(0, 6).Step(2)),
		"reversed":   m.Slice(tensor.R(2, 5).Step(1), tensor.R(6, 3).Step(-1)),
		"broadcast":  f64(1, 2, 3).BroadcastTo(3, 3),
		"column":     f64(1, 2, 3).Reshape(3, 1).BroadcastTo(3, 3),
		"diagonal":   tensor.Iota(tensor.Float64, 3, 3, 3).Diagonal(0, 0, 2),
	}
	for na, a := range views {
		for nb, b := range views {
			t.Run(na+" "+nb, func(t *testing.T) { wantInts(t, a.MatMul(b), []int{3, 3}, product64(t, a, b)...) })
		}
	}
}

func TestMatMulValues(t *testing.T) {
	x := tensor.Iota(tensor.Int32, 2, 2, 2)
	wantInts(t, x.MatMul(x), []int{2, 2, 2}, 2, 3, 6, 11, 46, 55, 66, 79)
	want(t, f32(1, nan32).MatMul(f32(0, 0)), []int{}, nan32)
	want(t, f32(0).MatMul(f32(inf32)), []int{}, nan32)
	b := tensor.New([]bool{true, false, true, false}, 2, 2)
	want(t, b.MatMul(b), []int{2, 2}, true, false, true, false)
	big := tensor.Full(tensor.Int32, 1<<20, 1, 4096)
	want[int32](t, big.MatMul(big.T()), []int{1, 1}, 0) // 2⁵² wraps
	wantInts(t, i32(1, 2).Outer(i32(3, 4, 5)), []int{2, 3}, 3, 4, 5, 6, 8, 10)
	near(t, tensor.Full(tensor.Float16, 100, 1, 4096).MatMul(tensor.Full(tensor.Float16, 0.125, 4096, 1)), 0, 51200)
	if y := f32(1, 2).MatMul(tensor.Zeros(tensor.Float32, 2, 0)); !slices.Equal(y.Shape(), []int{0}) || len(read[float32](t, y)) != 0 {
		t.Errorf("shape %v", y.Shape())
	}
}
