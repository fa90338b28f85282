package tensor_test

import (
	"slices"
	"testing"

	"github.com/weft-go/weft/tensor"
)

// TestReduceNothing combines reductions of rows without elements with a value that is a result too: kernels whose rows are empty
// compute what there is one of for each row all the same.
func TestReduceNothing(t *testing.T) {
	empty := func() *tensor.Tensor { return tensor.Zeros(tensor.Float32, 4, 0) }
	reductions := map[string]func() *tensor.Tensor{
		"sum":        func() *tensor.Tensor { return empty().Sum(-1) },
		"prod":       func() *tensor.Tensor { return empty().Prod(-1) },
		"any":        func() *tensor.Tensor { return empty().Any(-1).Cast(tensor.Float32) },
		"mean":       func() *tensor.Tensor { return empty().Mean(-1).IsNaN().Cast(tensor.Float32) },
		"logsumexp":  func() *tensor.Tensor { return empty().LogSumExp(-1).Exp() },
		"norm":       func() *tensor.Tensor { return empty().Norm(2, -1) },
		"columns":    func() *tensor.Tensor { return empty().T().Sum(0) },
		"cumsum":     func() *tensor.Tensor { return empty().CumSum(-1).Sum(-1) },
		"of columns": func() *tensor.Tensor { return tensor.Zeros(tensor.Float32, 2, 0, 2).Sum(1).Reshape(4) },
		"two axes":   func() *tensor.Tensor { return tensor.Zeros(tensor.Float32, 4, 3, 0).Sum(1, 2) },
	}
	first := map[string]func() *tensor.Tensor{
		"scaled":   func() *tensor.Tensor { return tensor.New([]float32{1, 2, 3, 4}).MulScalar(10) },
		"reversed": func() *tensor.Tensor { return tensor.New([]float32{4, 3, 2, 1}).Flip(0).MulScalar(10) },
		"sum":      func() *tensor.Tensor { return tensor.New([]float32{10, 20, 30, 40}, 4, 1).Sum(-1) },
	}
	want := []float32{10, 20, 30, 40}
	for name, reduce := range reductions {
		one := read[float32](t, reduce())
		for kind, build := range first {
			sum := slices.Clone(want)
			for i := range sum {
				sum[i] += one[i]
			}
			check := func(how string, got, want []float32) {
				t.Helper()
				if !slices.Equal(got, want) {
					t.Errorf("%s, %s, %s: %v, want %v", name, kind, how, got, want)
				}
			}
			m := build()
			check("joined", read[float32](t, tensor.Concat(0, m, reduce().Add(m))), slices.Concat(want, sum))
			m = build()
			f := reduce().Add(m)
			if err := tensor.Eval(ctx, m, f); err != nil {
				t.Fatal(err)
			}
			check("evaluated first", read[float32](t, m), want)
			check("evaluated last", read[float32](t, f), sum)
			m = build()
			f = reduce().Add(m)
			square := f.Mul(m)
			if err := tensor.Eval(ctx, square, f, m); err != nil {
				t.Fatal(err)
			}
			check("three, last", read[float32](t, m), want)
			check("three, second", read[float32](t, f), sum)
		}
	}
}
