package tensor_test

import (
	"math"
	"testing"

	"github.com/weft-go/weft/tensor"
)

// attention is ScaledDotProductAttention by other operations.
func attention(q, k, v, mask *tensor.Tensor) *tensor.Tensor {
	s := q.MatMul(k.Transpose(-1, -2)).MulScalar(1 / math.Sqrt(float64(q.Dim(-1))))
	if mask != nil {
		s = s.Add(mask)
	}
	return s.Softmax(-1).MatMul(v)
}

func TestAttention(t *testing.T) {
	random := func(shape ...int) *tensor.Tensor {
		return tensor.Randn(tensor.Float32, uint64(len(shape)+shape[0]), shape...)
	}
	plain := tensor.AttentionOptions{}
	sdpa := tensor.ScaledDotProductAttention
	for _, c := range []struct{ q, k, v, mask []int }{
		{[]int{5, 8}, []int{7, 8}, []int{7, 3}, nil},
		{[]int{2, 3, 5, 8}, []int{2, 3, 7, 8}, []int{2, 3, 7, 4}, []int{5, 7}},
		{[]int{2, 3, 5, 8}, []int{7, 8}, []int{3, 7, 4}, []int{2, 1, 1, 7}},
		{[]int{40, 70}, []int{90, 70}, []int{90, 65}, []int{3, 40, 90}},
	} {
		q, k, v := random(c.q...), random(c.k...), random(c.v...)
		o := plain
		if c.mask != nil {
			o.Mask = random(c.mask...)
		}
		got, ref := sdpa(q, k, v, o), attention(q, k, v, o.Mask)
		wantShape(t, got, ref.Shape())
		nearly(t, got, ref)
	}
	// Heads of keys serve heads of queries that follow each other.
	q, k, v := random(2, 6, 4, 8), random(2, 3, 5, 8), random(2, 3, 5, 7)
	mask := random(6, 4, 5)
	repeat := func(x *tensor.Tensor) *tensor.Tensor {
		return x.Unsqueeze(2).BroadcastTo(2, 3, 2, x.Dim(-2), x.Dim(-1)).Reshape(2, 6, x.Dim(-2), x.Dim(-1))
	}
	nearly(t, sdpa(q, k, v, tensor.AttentionOptions{Mask: mask}), attention(q, repeat(k), repeat(v), mask))
	// Axes may be permuted, as those of a projection are.
	p := random(2, 4, 6, 8)
	nearly(t, sdpa(p.Transpose(1, 2), k, v, plain), attention(p.Transpose(1, 2), repeat(k), repeat(v), nil))

	allowed := tensor.New([]bool{true, false, true, false, false, false}, 2, 3)
	got := sdpa(tensor.Zeros(tensor.Float32, 2, 4), random(3, 4), tensor.New([]float32{2, nan32, 4}, 3, 1), tensor.AttentionOptions{Mask: allowed})
	near(t, got, 1e-6, 3, 0) // NaN of what is excluded does not show, and nothing gives 0
	near(t, sdpa(i32(0, 0).Reshape(2, 1), i32(1, 2).Reshape(2, 1), i32(3, 4).Reshape(2, 1), plain), 1e-6, 3.5, 3.5)
	near(t, sdpa(f32(1).Reshape(1, 1), f32(0, 1).Reshape(2, 1), f32(0, 1).Reshape(2, 1), tensor.AttentionOptions{Scale: math.Log(3)}), 1e-6, 0.75)
	want(t, sdpa(random(3, 4), tensor.Zeros(tensor.Float32, 0, 4), tensor.Zeros(tensor.Float32, 0, 2), plain), []int{3, 2}, make([]float32, 6)...)
	want[float32](t, sdpa(tensor.Zeros(tensor.Float32, 0, 4), random(2, 4), random(2, 3), plain), []int{0, 3})
	for _, d := range []tensor.DType{tensor.Float16, tensor.BFloat16, tensor.Float64} {
		if r := sdpa(random(3, 4).Cast(d), random(5, 4).Cast(d), random(5, 2).Cast(d), tensor.AttentionOptions{Causal: true}); r.DType() != d {
			t.Errorf("attention of %s is of %s", d, r.DType())
		}
	}

	refuses(t, sdpa(random(3, 4), random(5, 3), random(5, 2), plain), tensor.ErrShape, "scaled_dot_product_attention", "4 and keys of 3")
	refuses(t, sdpa(random(3, 4), random(5, 4), random(6, 2), plain), tensor.ErrShape, "5 keys and 6 values")
	refuses(t, sdpa(random(3, 4), random(5, 4), random(5, 2), tensor.AttentionOptions{Scale: inf}), tensor.ErrUnsupported, "scale is +Inf")
	refuses(t, sdpa(random(4), random(5, 4), random(5, 2), plain), tensor.ErrShape, "two axes")
	refuses(t, sdpa(random(5, 3, 4), random(2, 5, 4), random(2, 5, 2), plain), tensor.ErrShape, "5 heads of queries for 2")
	refuses(t, sdpa(random(3, 4), random(5, 4), random(5, 2), tensor.AttentionOptions{Mask: i32(1)}), tensor.ErrDType, "mask is int32")
	refuses(t, sdpa(random(3, 4), random(5, 4), random(5, 2), tensor.AttentionOptions{Mask: random(3, 4)}), tensor.ErrShape)
}

func wantShape(t *testing.T, x *tensor.Tensor, shape []int) {
	t.Helper()
	if err := x.Err(); err != nil {
		t.Error(err)
	}
	got := x.Shape()
	for i := range max(len(got), len(shape)) {
		if len(got) != len(shape) || got[i] != shape[i] {
			t.Fatalf("shape %v, want %v", got, shape)
		}
	}
}

// nearly checks that two tensors of float32 are alike but for roundings of sums of numbers of magnitude 1.
func nearly(t *testing.T, x, y *tensor.Tensor) {
	t.Helper()
	far := read[float64](t, x.Sub(y).Abs().Max().Cast(tensor.Float64))
	if !(far[0] < 1e-5) {
		t.Errorf("%g apart", far[0])
	}
}

// TestCasesAttention holds attention to public bug reports.
func TestCasesAttention(t *testing.T) {
	causal := tensor.AttentionOptions{Causal: true}
	zeros := func(n int) *tensor.Tensor { return tensor.Zeros(tensor.Float32, n, 1) }
	t.Run("N05", func(t *testing.T) { // pytorch#108108: causal with other numbers of keys than of queries
		v := f32(1, 2, 4, 8, 16).Reshape(5, 1)
		near(t, tensor.ScaledDotProductAttention(zeros(2), zeros(5), v, causal), 1e-6, 3.75, 6.2)
		near(t, tensor.ScaledDotProductAttention(zeros(5), zeros(2), f32(1, 2).Reshape(2, 1), causal), 1e-6, 0, 0, 0, 1, 1.5)
		near(t, tensor.ScaledDotProductAttention(zeros(1), zeros(5), v, causal), 1e-6, 6.2)
	})
	t.Run("N13", func(t *testing.T) { // default scale, and which heads share keys
		q, k, v := f32(1, 0, 0, 2).Reshape(2, 2), f32(1, 1, 0, 1).Reshape(2, 2), f32(1, 2, 3, 4).Reshape(2, 2)
		near(t, tensor.ScaledDotProductAttention(q, k, v, tensor.AttentionOptions{}), 1e-6, 1.6604769, 2.6604769, 2, 3)
		heads := tensor.Iota(tensor.Float32, 2, 1, 1).AddScalar(1)
		near(t, tensor.ScaledDotProductAttention(tensor.Ones(tensor.Float32, 4, 1, 1), heads, heads, tensor.AttentionOptions{}), 1e-6, 1, 1, 2, 2)
	})
}
