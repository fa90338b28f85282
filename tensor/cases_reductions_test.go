package tensor_test

import (
	"math"
	"testing"

	"github.com/weft-go/weft/tensor"
)

var (
	inf     = math.Inf(1)
	nan     = math.NaN()
	inf32   = float32(math.Inf(1))
	nan32   = float32(math.NaN())
	negZero = float32(math.Copysign(0, -1))
)

func f32(v ...float32) *tensor.Tensor { return tensor.New(v) }
func f64(v ...float64) *tensor.Tensor { return tensor.New(v) }
func i32(v ...int32) *tensor.Tensor   { return tensor.New(v) }
func i64(v ...int64) *tensor.Tensor   { return tensor.New(v) }

func TestCasesReductions(t *testing.T) {
	t.Run("R01", func(t *testing.T) { // numpy#22956: sums that stall
		n := 20_000_000
		if testing.Short() {
			n = 2_000_000
		}
		x := tensor.Ones(tensor.Float32, n, 2)
		near(t, x.Sum(0), 0, float64(n), float64(n))
		near(t, x.Mean(0), 0, 1, 1)
		near(t, x.Sum(), 0, float64(2*n))
	})
	t.Run("R03", func(t *testing.T) { // numpy#14691: deviation of constant columns
		n := 1_000_000
		if testing.Short() {
			n = 100_000
		}
		x := f32(100, -100).BroadcastTo(n, 2)
		want[float32](t, x.Std(0), []int{2}, 0, 0)
		want[float32](t, x.Select(1, 0).Std(), []int{}, 0)
		want[float32](t, x.Select(1, 1).Std(), []int{}, 0)
	})
	t.Run("R05", func(t *testing.T) { // numpy#7930: 16-bit accumulators
		near(t, tensor.Full(tensor.Float16, 500, 300).Mean(), 0, 500)
		near(t, tensor.Full(tensor.Float16, 60000, 2).Mean(), 0, 60000)
		near(t, tensor.Full(tensor.Float16, 500, 300).Sum(), 0, inf)
		near(t, tensor.Ones(tensor.Float16, 65520).Sum(), 0, inf)
		near(t, tensor.Ones(tensor.Float16, 65504).Sum(), 0, 65504)
	})
	t.Run("R07", caseR07)
	t.Run("R09", func(t *testing.T) { // pytorch#17738: the first of several
		wantInts(t, i32(2, 3, 0, 3, 3).ArgMax(), []int{}, 1)
		wantInts(t, tensor.Full(tensor.Float32, 7, 16).ArgMax(), []int{}, 0)
		wantInts(t, i32(1, 5, 2, 10, 3, 3).Reshape(3, 2).ArgMax(1), []int{3}, 1, 1, 0)
		wantInts(t, tensor.Zeros(tensor.Float32, 100000).ArgMax(), []int{}, 0)
		i := tensor.Iota(tensor.Int32, 70000)
		wantInts(t, i.EqualScalar(33333).LogicalOr(i.EqualScalar(66666)).Cast(tensor.Float32).ArgMax(), []int{}, 33333)
	})
	t.Run("R11", func(t *testing.T) { // pytorch#92311
		i, j := tensor.Iota(tensor.Int32, 10, 1), tensor.Iota(tensor.Int32, 2)
		x := tensor.Where(i.Add(j).ModScalar(2).EqualScalar(0), tensor.Scalar(1.0), tensor.Scalar(-1.0))
		wantInts(t, x.ArgMax(1), []int{10}, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1)
	})
	t.Run("R13", func(t *testing.T) { // matrixStats#84: infinities in logsumexp
		near(t, f64(-inf, -inf).LogSumExp(), 0, -inf)
		near(t, f64(-inf).LogSumExp(), 0, -inf)
		near(t, f64(inf, 0).LogSumExp(), 0, inf)
		near(t, f64(1000, 1000).LogSumExp(), 1e-15, 1000.6931471805599)
		near(t, f64(-1000, -1001).LogSumExp(), 1e-15, -999.6867383124818)
		x := f64(-15, -10, -inf, -inf, -inf, -inf, -inf, -inf, -inf).Reshape(3, 3)
		near(t, x.LogSumExp(0), 1e-15, -15, -10, -inf)
		near(t, tensor.Zeros(tensor.Float64, 0).LogSumExp(), 0, -inf)
	})
	t.Run("R15", func(t *testing.T) { // NumPy's rules for axes
		x := tensor.Ones(tensor.Float32, 2, 3)
		refuses(t, x.Sum(0, 0), tensor.ErrAxis, "sum(float32 [2 3])", "axis 0 named twice")
		refuses(t, x.Sum(0, -2), tensor.ErrAxis, "axis 0 named twice")
		refuses(t, x.Sum(2), tensor.ErrAxis, "axis 2 of a tensor of 2 axes")
		y := tensor.Ones(tensor.Float32, 2, 3, 4).Sum(-1, 0)
		want[float32](t, y.Unsqueeze(-1, 0), []int{1, 3, 1}, 8, 8, 8)
		want[float32](t, x.Sum([]int{}...), []int{}, 6)
	})
	t.Run("R17", func(t *testing.T) { // flashinfer#4401: extreme logits
		near(t, f32(1e4, 1e4-1, 0).Softmax(0), 1e-6, 0.73105858, 0.26894142, 0)
		near(t, f32(-6e4, -6e4-8).Softmax(0), 2e-6, 0.99966465, 0.00033535)
		near(t, f32(88.8, 89, 1000).Softmax(0), 0, 0, 0, 1)
		near(t, f32(3e38, -3e38).Softmax(0), 0, 1, 0)
		near(t, f32(0, 1000).LogSoftmax(0), 0, -1000, 0)
	})
	t.Run("R19", func(t *testing.T) { // numpy#13734: the order of summation
		n := 1 << 26
		if testing.Short() {
			n = 1 << 22
		}
		x := tensor.Full(tensor.Float32, 1/float64(n), n).Reshape(n/2, 2)
		want[float32](t, x.Sum(), []int{}, 1)
		want[float32](t, x.Sum(0).Sum(), []int{}, 1)
		want[float32](t, x.Sum(1).Sum(), []int{}, 1)
	})
	t.Run("R21", func(t *testing.T) { // pytorch#178123: squares that overflow
		near(t, f32(3e20, 4e20).Norm(2), 1e-6, 5e20)
		near(t, f32(3e-30, 4e-30).Norm(2), 1e-6, 5e-30)
		near(t, f32(inf32, nan32).Norm(2), 0, nan)
		near(t, f32().Norm(2), 0, 0)
		near(t, f32(3e38, 4e37).Norm(2), 1e-6, 3.0265492e38)
	})
}

// burn#5607, pytorch#55044: rows with a mean that is large beside their variance.
func caseR07(t *testing.T) {
	for _, c := range []struct{ base, first, last float64 }{
		{0, -1.3416408, 1.3416408},
		{100, -1.3415277, 1.3413571},
		{1000, -1.3415078, 1.3442372},
		{10000, -1.3313334, 1.3313334},
	} {
		row := make([]float32, 16)
		for i := range row {
			row[i] = float32(c.base) + float32(i)*0.001
		}
		y := read[float32](t, tensor.New(row).LayerNorm(nil, nil, 1e-5))
		if math.Abs(float64(y[0])-c.first) > 1e-3 || math.Abs(float64(y[15])-c.last) > 1e-3 {
			t.Errorf("base %v: %v … %v, want %v … %v", c.base, y[0], y[15], c.first, c.last)
		}
	}
}

func TestCasesScans(t *testing.T) {
	last := func(x *tensor.Tensor) *tensor.Tensor { return x.Select(0, -1) }
	t.Run("S01", func(t *testing.T) { // pytorch#3304: small integers
		want[int64](t, last(tensor.Ones(tensor.Uint8, 300).CumSum(0)), []int{}, 300)
		want[int64](t, last(tensor.Ones(tensor.Bool, 128).CumSum(0)), []int{}, 128)
		want[int64](t, last(tensor.Ones(tensor.Int8, 200).CumSum(0)), []int{}, 200)
		want[uint8](t, last(tensor.Ones(tensor.Uint8, 300).CumSum(0).Cast(tensor.Uint8)), []int{}, 44)
	})
	t.Run("S03", func(t *testing.T) { // tensorflow#97042: wrapping
		x := i32(1<<30, 1<<30, 1<<30).CumSum(0)
		want[int64](t, x, []int{3}, 1<<30, 1<<31, 3<<30)
		want[int32](t, x.Cast(tensor.Int32), []int{3}, 1073741824, -2147483648, -1073741824)
	})
	t.Run("S05", func(t *testing.T) { // coremltools#2760
		x := i32(1, 2, 3, 4)
		wantInts(t, x.CumSum(0, tensor.Exclusive), []int{4}, 0, 1, 3, 6)
		wantInts(t, x.CumSum(0, tensor.Reverse), []int{4}, 10, 9, 7, 4)
		wantInts(t, x.CumSum(0, tensor.Reverse|tensor.Exclusive), []int{4}, 9, 7, 4, 0)
		wantInts(t, x.CumSum(0, tensor.Reverse, tensor.Exclusive), []int{4}, 9, 7, 4, 0)
		wantInts(t, i32(1, 2).Reshape(1, 2).CumSum(0, tensor.Exclusive), []int{1, 2}, 0, 0)
	})
	t.Run("S07", func(t *testing.T) { // Paddle#43777: more columns than a grid has rows
		n := 1280
		if testing.Short() {
			n = 300
		}
		x := tensor.Arange(tensor.Float32, 1, 3, 1).Reshape(2, 1, 1).BroadcastTo(2, n, n).CumSum(0)
		for i, v := range []float32{1, 3} {
			plane := x.Select(0, i)
			want(t, plane.Min(), []int{}, v)
			want(t, plane.Max(), []int{}, v)
		}
	})
	t.Run("S09", func(t *testing.T) { // tinygrad#17853
		near(t, f64(-inf, -inf, 0, 0).LogCumSumExp(0), 1e-15, -inf, -inf, 0, 0.6931471805599453)
	})
	t.Run("S11", func(t *testing.T) { // numpy#10664
		got := read[float64](t, tensor.Arange(tensor.Float64, 1, 2049, 1).CumSum(0))
		for i, v := range got {
			if v != float64(i+1)*float64(i+2)/2 {
				t.Fatalf("element %d is %v", i, v)
			}
		}
		want(t, f32(2, 0, 3, inf32).CumProd(0), []int{4}, 2, 0, 0, nan32)
		for i, v := range read[float32](t, tensor.Full(tensor.Float32, 2, 200).CumProd(0)) {
			if w := float32(math.Ldexp(1, i+1)); v != w {
				t.Fatalf("element %d is %v, want %v", i, v, w)
			}
		}
	})
}
