package tensor_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/weft-go/weft/ops"
	"github.com/weft-go/weft/tensor"
)

// What goes wrong on GPUs: grids, words, nothing. The cases run on the default device, which WEFT_DEVICE names.

func TestCasesGPU(t *testing.T) {
	t.Run("G01", func(t *testing.T) { // tensorflow/tfjs#8373, #5432; sonos/tract#2820; ggml-org/llama.cpp#23750
		t.Run("map", caseG01)
		t.Run("rows", caseG01Rows)
	})
	t.Run("G03", func(t *testing.T) { // ggml-org/llama.cpp#19965: more matrices than a dimension of a grid holds
		const n = 70_000
		c := tensor.Ones(tensor.Float32, n, 2, 3).MatMul(tensor.Ones(tensor.Float32, n, 3, 2))
		if s := c.Shape(); !slices.Equal(s, []int{n, 2, 2}) {
			t.Errorf("shape %v", s)
		}
		each(t, read[float32](t, c), func(int) float32 { return 3 })
	})
	t.Run("G05", caseG05)
	t.Run("G07", caseG07)
	t.Run("G09", caseG09)
	t.Run("G11", caseG11)
	t.Run("G13", caseG13)
	t.Run("G15", caseG15)
}

// each compares all elements with what they should be.
func each[T tensor.Elem](t *testing.T, got []T, want func(i int) T) {
	t.Helper()
	var zero T
	for i, g := range got {
		if w := want(i); (g != w || g == zero) && !same(g, w) { // quick for most
			t.Fatalf("element %d of %d is %v, want %v", i, len(got), g, w)
		}
	}
}

// More than 65,535 workgroups of 64, of 256, and of any size.
func caseG01(t *testing.T) {
	for _, n := range []int{65535*64 + 1, 65535*256 + 1, 1<<25 + 3} {
		if testing.Short() && n > 1<<24 {
			continue
		}
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(i % 1000)
		}
		if most := tensor.Ones(tensor.Bool, 1).Device().Info().MaxBytes; 4*n > most { // software Vulkan's is 128 MB
			if err := tensor.Eval(ctx, tensor.Wrap(x).AddScalar(1)); !errors.Is(err, tensor.ErrMemory) {
				t.Errorf("%d elements: error %v", n, err)
			}
			continue
		}
		each(t, read[float32](t, tensor.Wrap(x).AddScalar(1)), func(i int) float32 { return float32(i%1000) + 1 })
		bytes := tensor.Wrap(x).ModScalar(100).Cast(tensor.Uint8) // four to a word, the last alone
		each(t, read[uint8](t, bytes.AddScalar(1)), func(i int) uint8 { return uint8(i%1000%100) + 1 })
	}
}

// The same for kernels that are not elementwise: more rows than that, each of three elements.
func caseG01Rows(t *testing.T) {
	n := 65535*64 + 1
	if testing.Short() || defaultName() == "cpu" {
		n = 65535*4 + 1
	}
	data := make([]float32, 3*n)
	for i := range data {
		data[i] = float32(i % 1000)
	}
	x := tensor.Wrap(data, n, 3)
	at := func(row, i int) float32 { return float32((3*row + i) % 1000) }
	each(t, read[float32](t, x.Sum(1)), func(i int) float32 { return at(i, 0) + at(i, 1) + at(i, 2) })
	each(t, read[float32](t, x.T().Sum(0)), func(i int) float32 { return at(i, 0) + at(i, 1) + at(i, 2) })
	each(t, read[int32](t, x.ArgMin(1)), func(i int) int32 {
		best := int32(0)
		for k := 1; k < 3; k++ {
			if at(i, k) < at(i, int(best)) {
				best = int32(k)
			}
		}
		return best
	})
	centred := x.Sub(x.Max(1).Unsqueeze(1)) // two passes over each row
	each(t, read[float32](t, centred), func(i int) float32 {
		r := i / 3
		return at(r, i%3) - max(at(r, 0), at(r, 1), at(r, 2))
	})
	each(t, read[float32](t, x.CumSum(1)), func(i int) (s float32) {
		for k := range i%3 + 1 {
			s += at(i/3, k)
		}
		return s
	})
	each(t, read[float32](t, x.Sort(1)), func(i int) float32 {
		r := i / 3
		row := []float32{at(r, 0), at(r, 1), at(r, 2)}
		slices.Sort(row)
		return row[i%3]
	})
	each(t, read[float32](t, x.T().Contiguous()), func(i int) float32 { return at(i%n, i/n) })
	back := tensor.Iota(tensor.Int32, n).Neg().SubScalar(1) // from the end: -1, -2, …
	each(t, read[float32](t, x.Take(0, back)), func(i int) float32 { return at(n-1-i/3, i%3) })
	each(t, read[float32](t, x.MatMul(tensor.Ones(tensor.Float32, 3, 1))), func(i int) float32 {
		return at(i, 0) + at(i, 1) + at(i, 2)
	})
	each(t, read[float32](t, x.Reshape(n, 1, 3).MaxPool1d(tensor.PoolOptions{Window: []int{2}, Stride: []int{1}})),
		func(i int) float32 { return max(at(i/2, i%2), at(i/2, i%2+1)) })
	weight := tensor.Ones(tensor.Float32, 1, 1, 2)
	each(t, read[float32](t, x.Reshape(n, 1, 3).Conv1d(weight, tensor.ConvOptions{})),
		func(i int) float32 { return at(i/2, i%2) + at(i/2, i%2+1) })
}

// gpuweb/gpuweb#4966, #5062, #5203; pygfx/wgpu-py#512; gfx-rs/wgpu#3219: a length that is no multiple of a word.
func caseG05(t *testing.T) {
	want(t, tensor.New([]uint8{1, 2, 3}), []int{3}, 1, 2, uint8(3))
	want(t, tensor.New([]bool{true, false, true, true, true}), []int{5}, true, false, true, true, true)
	half := func(v ...float32) []tensor.F16 {
		h := make([]tensor.F16, len(v))
		for i := range v {
			h[i] = ops.ToF16(v[i])
		}
		return h
	}
	want(t, tensor.New(half(0, 1, 2)), []int{3}, half(0, 1, 2)...)
	want(t, tensor.New(half(1.5), []int{}...).Reshape(), []int{}, half(1.5)...)
	want(t, tensor.New([]int8{-7}), []int{1}, int8(-7))
	t.Run("bool", func(t *testing.T) { words[bool](t) })
	t.Run("uint8", func(t *testing.T) { words[uint8](t) })
	t.Run("int8", func(t *testing.T) { words[int8](t) })
	t.Run("float16", func(t *testing.T) { words[tensor.F16](t) })
	t.Run("bfloat16", func(t *testing.T) { words[tensor.BF16](t) })
}

// words computes, cuts and joins tensors of a type smaller than a word, at every length and offset within a few words.
func words[T tensor.Elem](t *testing.T) {
	d := tensor.DTypeOf[T]()
	data := func(x *tensor.Tensor) []T { return read[T](t, x) }
	for n := 1; n <= 9; n++ {
		numbers := tensor.Iota(tensor.Int32, n).ModScalar(2).AddScalar(n % 2).ModScalar(2).Cast(d)
		if d != tensor.Bool {
			numbers = tensor.Iota(tensor.Int32, n).AddScalar(1).Cast(d)
		}
		all := data(numbers)
		uploaded := tensor.New(all)
		if got := data(uploaded.Flip().Flip()); !slices.Equal(got, all) {
			t.Errorf("%d elements: got %v, want %v", n, got, all)
		}
		for lo := range n {
			for hi := lo + 1; hi <= n; hi++ {
				part := uploaded.Slice(tensor.R(lo, hi))
				where := fmt.Sprintf("elements %d to %d of %d", lo, hi, n)
				if got := data(part.Contiguous()); !slices.Equal(got, all[lo:hi]) {
					t.Errorf("%s: copied %v, want %v", where, got, all[lo:hi])
				}
				if got := data(part); !slices.Equal(got, all[lo:hi]) {
					t.Errorf("%s: read %v, want %v", where, got, all[lo:hi])
				}
				joined := tensor.Concat(0, uploaded.Slice(tensor.To(lo)), part, uploaded.Slice(tensor.From(hi)))
				if got := data(joined); !slices.Equal(got, all) {
					t.Errorf("%s: joined %v, want %v", where, got, all)
				}
				v := tensor.NewVar(uploaded)
				set(t, v, part.Flip(), tensor.R(lo, hi))
				changed := slices.Clone(all)
				slices.Reverse(changed[lo:hi])
				if got := data(v.Tensor()); !slices.Equal(got, changed) {
					t.Errorf("%s: reversed %v, want %v", where, got, changed)
				}
			}
		}
	}
}

// JuliaGPU/oneAPI.jl#628; pytorch/pytorch#175905: there are no buffers of no bytes, nor bindings.
func caseG15(t *testing.T) {
	for _, d := range []tensor.DType{tensor.Float32, tensor.Float16, tensor.Uint8, tensor.Bool, tensor.Int64} {
		for _, shape := range [][]int{{0}, {0, 3}, {3, 0}} {
			t.Run(fmt.Sprint(d, shape), func(t *testing.T) { empty(t, tensor.Zeros(d, shape...), shape) })
		}
	}
	zeros := func(shape ...int) *tensor.Tensor { return tensor.Ones(tensor.Float32, shape...) }
	want[float32](t, zeros(3, 0).MatMul(zeros(0, 2)), []int{3, 2}, 0, 0, 0, 0, 0, 0)
	want[float32](t, zeros(0, 3).MatMul(zeros(3, 2)), []int{0, 2})
	want[float32](t, zeros(2, 0, 3).MatMul(zeros(2, 3, 0)), []int{2, 0, 0})
	want[float32](t, zeros(3, 0).Sum(1), []int{3}, 0, 0, 0)
	want[float32](t, zeros(3, 0).Prod(1), []int{3}, 1, 1, 1)
	want[float32](t, zeros(3, 0).Mean(1), []int{3}, nan32, nan32, nan32)
	want[float32](t, zeros(3, 0).Sum(0), []int{0})
	want[float32](t, zeros(0, 3).Softmax(-1), []int{0, 3})
	want[float32](t, zeros(3, 0).Softmax(-1), []int{3, 0})
	want[float32](t, zeros(3, 0).CumSum(1), []int{3, 0})
	want[float32](t, zeros(2, 3).Take(0, tensor.New([]int32{})), []int{0, 3})
	refuses(t, zeros(0).Max(), tensor.ErrShape)
	want[float32](t, zeros(0, 1, 4).Conv1d(zeros(2, 1, 2), tensor.ConvOptions{}), []int{0, 2, 3})
	want[float32](t, zeros(0, 1, 4).MaxPool1d(tensor.PoolOptions{Window: []int{2}}), []int{0, 1, 2})
}

// empty computes x, which has no elements, together with what has some.
func empty(t *testing.T, x *tensor.Tensor, shape []int) {
	some := tensor.Ones(x.DType(), shape...).Sum()
	wantInts(t, x, shape)
	wantInts(t, tensor.FromBytes(x.DType(), shape, nil), shape)
	wantInts(t, x.Add(x).Maximum(x), shape)
	wantInts(t, some, []int{}, 0)
	wantInts(t, x.Prod(), []int{}, 1)
	wantInts(t, tensor.Concat(0, x, x.Add(x)), append([]int{2 * shape[0]}, shape[1:]...))
	wantInts(t, x.Reshape(-1).Pad(1, [2]int{1, 2}), []int{3}, 1, 1, 1)
	wantInts(t, x.Sort(-1), shape)
	wantInts(t, x.ArgSort(0), shape)
	values, indices := x.TopK(0, 0)
	wantInts(t, values, append([]int{0}, shape[1:]...))
	wantInts(t, indices, append([]int{0}, shape[1:]...))
	wantInts(t, x.Take(0, tensor.New([]int32{})), append([]int{0}, shape[1:]...))
	v := tensor.NewVar(x)
	set(t, v, x.Maximum(x))
	wantInts(t, v.Tensor(), shape)
	if err := tensor.Eval(ctx, x.T(), x.Neg().Abs()); x.DType().IsFloat() && err != nil {
		t.Error(err)
	}
}
