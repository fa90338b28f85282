package tensor_test

import (
	"math"
	"testing"

	"github.com/weft-go/weft/ops"
	"github.com/weft-go/weft/tensor"
)

func TestCasesElementwise(t *testing.T) {
	t.Run("E01", func(t *testing.T) { // pytorch#190042: the least integer divided by -1
		for _, n := range []int{1, 17} {
			for d, least := range map[tensor.DType]int64{
				tensor.Int8: math.MinInt8, tensor.Int32: math.MinInt32, tensor.Int64: math.MinInt64,
			} {
				x := tensor.Full(d, least, n)
				wantInts(t, x.FloorDivScalar(-1), []int{n}, repeated(n, least)...)
				wantInts(t, x.ModScalar(-1), []int{n}, repeated[int64](n, 0)...)
			}
		}
	})
	t.Run("E03", func(t *testing.T) { // onnxruntime#28721: signs of a remainder
		a, b := i32(7, -7, -7, 5, 0), i32(-2, 2, -2, 0, 0)
		wantInts(t, a.FloorDiv(b), []int{5}, -4, -4, 3, 0, 0)
		wantInts(t, a.Mod(b), []int{5}, -1, 1, -1, 0, 0)
		x := f32(-7, 7, 5, negZero, 5, -5, 6)
		y := f32(2, -2, 0, 3, inf32, inf32, -3)
		want(t, x.Mod(y), []int{7}, 1, -1, nan32, 0, 5, inf32, negZero)
		want(t, f32(1, negZero).FloorDiv(f32(0, 3)), []int{2}, inf32, negZero)
		want[float32](t, f32(-7).Fmod(f32(2)), []int{1}, -1)
	})
	t.Run("E05", func(t *testing.T) { // pytorch#180159: floats that no integer holds
		x := f32(nan32, inf32, -inf32, 3e9, -3e9, 1e20)
		const lo, hi = math.MinInt32, math.MaxInt32
		want[int32](t, x.Cast(tensor.Int32), []int{6}, 0, hi, lo, hi, lo, hi)
		want[uint8](t, f32(-1, 256, 300, nan32).Cast(tensor.Uint8), []int{4}, 0, 255, 255, 0)
		want[int8](t, f32(510, -200, inf32).Cast(tensor.Float16).Cast(tensor.Int8), []int{3}, 127, -128, 127)
		long := x.Reshape(6, 1).BroadcastTo(6, 7).Flatten().Cast(tensor.Int32) // past one vector, with a tail
		want[int32](t, long.Slice(tensor.From(6).Step(7)), []int{6}, 0, hi, lo, hi, lo, hi)
	})
	t.Run("E07", func(t *testing.T) { // gpuweb#1381: half to even
		want(t, f32(0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, 8388609.5).Round(), []int{8}, 0, 2, 2, negZero, -2, -2, 0, 8388610)
		want[float64](t, f64(4503599627370497.5).Round(), []int{1}, 4503599627370498)
	})
	t.Run("E09", func(t *testing.T) { // pytorch#76795: NaN among bounds
		want(t, f32(nan32, 1, nan32).Maximum(f32(1, nan32, nan32)), []int{3}, nan32, nan32, nan32)
		want(t, f32(nan32, 5, 1).ClipScalar(0, 3), []int{3}, nan32, 3, 1)
		want(t, f32(1, 2).Clip(f32(nan32), tensor.Scalar(3)), []int{2}, nan32, nan32)
		want(t, f32(nan32).MinimumScalar(math.Inf(-1)), []int{1}, nan32)
		want[float32](t, f32(nan32).Fmax(f32(1)), []int{1}, 1)
		want[float32](t, f32(5).ClipScalar(3, 1), []int{1}, 1)
	})
	t.Run("E11", func(t *testing.T) { // executorch#22323: GELU far out
		x := f32(-13.24, -100, 20.625, 40, 100, 1e20, -1e20)
		for name, y := range map[string]*tensor.Tensor{"tanh": x.GELUTanh(), "exact": x.GELU()} {
			got := read[float32](t, y)
			for i, w := range []float32{0, 0, 20.625, 40, 100, 1e20, 0} {
				if math.Abs(float64(got[i]-w)) > 1e-37 {
					t.Errorf("%s: element %d is %v, want %v", name, i, got[i], w)
				}
			}
		}
	})
	t.Run("E13", func(t *testing.T) { // tinygrad#1268: constants that a shader cannot spell
		want(t, tensor.Full(tensor.Float32, nan, 4).AddScalar(1), []int{4}, repeated(4, nan32)...)
		want(t, tensor.Full(tensor.Float32, inf, 4).MulScalar(-1), []int{4}, repeated(4, -inf32)...)
		cond := tensor.New([]bool{true, false})
		want(t, tensor.Where(cond, tensor.Scalar(inf), tensor.Scalar(nan)), []int{2}, inf32, nan32)
		for _, d := range []tensor.DType{tensor.Float32, tensor.Float16} {
			near(t, tensor.Full(d, -inf, 5).Max(), 0, -inf)
		}
	})
	t.Run("E15", caseE15)
	t.Run("E17", func(t *testing.T) { // ggml#1515: near zero
		x := f32(1e-8, -1e-8, negZero, -inf32, 89, 1.2e-5)
		near(t, x.Expm1(), 1e-6, 1e-8, -1e-8, math.Copysign(0, -1), -1, inf, 1.2000072e-5)
		near(t, f32(1e-8, -1e-8, -1, -2).Log1p(), 1e-6, 1e-8, -1e-8, -inf, nan)
	})
	t.Run("E19", func(t *testing.T) { // gpuweb#4458: the ends of the range
		x := f32(88.7, 88.73, -87.4, -104, inf32, -inf32, nan32)
		near(t, x.Exp(), 1e-5, 3.3259771e38, inf, 1.1032187e-38, 0, inf, 0, nan)
		if v := read[float32](t, f32(-103.9).Exp())[0]; v != 0 && v != 1e-45 {
			t.Errorf("exp(-103.9) is %v", v)
		}
		near(t, f32(0, negZero, -1, inf32).Log(), 0, -inf, -inf, nan, inf)
		near(t, f32(negZero, -1).Sqrt(), 0, math.Copysign(0, -1), nan)
		near(t, f32(0, negZero).Reciprocal(), 0, inf, -inf)
	})
	t.Run("E21", func(t *testing.T) { // onnxruntime#29392: integers beyond 2³¹ and 2²⁴
		x := i64(1<<31, 1<<32+5, -1<<40)
		want[int64](t, x.AddScalar(1), []int{3}, 2147483649, 4294967302, -1099511627775)
		want(t, x.Equal(i64(1<<31, 5, -1<<40)), []int{3}, true, false, true)
		want[int64](t, tensor.Where(x.GreaterScalar(0), x, tensor.Scalar(0)), []int{3}, 1<<31, 1<<32+5, 0)
		want[int64](t, x.Sum(), []int{}, -1093069176827)
		want[int64](t, i32(0).BitwiseOr(tensor.New([]uint32{0xFFFFFFFF})), []int{1}, 0xFFFFFFFF)
		want[int32](t, i32(0).BitwiseOr(i32(-1)), []int{1}, -1)
		u := tensor.New([]uint32{4294967295})
		want[uint32](t, u, []int{1}, 4294967295)
		want(t, u.GreaterScalar(1), []int{1}, true)
		want[int32](t, i32(16777217).AddScalar(0), []int{1}, 16777217)
		want[int32](t, i64(1<<32+5).Cast(tensor.Int32), []int{1}, 5)
	})
}

func repeated[T any](n int, v T) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = v
	}
	return s
}

// numpy#12721: rounding to 16 bits.
func caseE15(t *testing.T) {
	tiny := math.Nextafter32(0x1p-25, 1)
	x := f32(0x1p-25, tiny, 0x1p-24, 0x1p-26, 65519.996, 65520, 65504, 1+0x1p-11, 1+3*0x1p-11, 6.1e-5,
		math.Float32frombits(0x34200000), math.Float32frombits(0x34600000))
	want(t, x.Cast(tensor.Float16), nil, halves(0x0000, 0x0001, 0x0001, 0x0000, 0x7BFF, 0x7C00, 0x7BFF, 0x3C00, 0x3C02, 0x03FF, 0x0002, 0x0004)...)
	want(t, f64(1+0x1p-11+0x1p-40, 0.999999990234375).Cast(tensor.Float16), nil, halves(0x3C01, 0x3C00)...)
}

func halves(bits ...uint16) []ops.F16 {
	h := make([]ops.F16, len(bits))
	for i, b := range bits {
		h[i] = ops.F16(b)
	}
	return h
}
