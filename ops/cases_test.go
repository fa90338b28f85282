package ops

import (
	"math"
	"testing"
)

// TestCases holds the definitions to bugs that other libraries had, by the number that the collection of
// cases gives them. Where libraries differ weft's choice is documented at the row.
func TestCases(t *testing.T) {
	for _, tc := range []struct {
		id string
		f  func(t *testing.T)
	}{
		{"E01 least integer over -1", caseLeastOverMinusOne},
		{"E03 signs of quotient and remainder", caseQuotientSigns},
		{"E05 float to integer", caseFloatToInt},
		{"E07 round half to even", caseRound},
		{"E09 NaN in min, max and clip", caseMinMaxNaN},
		{"E11 GELU far out", caseGELU},
		{"E15 rounding to float16", caseFloat16},
		{"E17 expm1 and log1p near 0", caseExpm1},
		{"E19 extremes of exp, log, sqrt", caseExtremes},
		{"E21 integers beyond 2³¹ and 2²⁴", caseWideIntegers},
	} {
		t.Run(tc.id, tc.f)
	}
}

var inf, nan = math.Inf(1), math.NaN()

// floats is o of each tuple of args in type d, and want the results: a zero has its sign.
func floats(t *testing.T, d DType, o *Op, want float64, args ...float64) {
	t.Helper()
	vals := make([]Value, len(args))
	for i, a := range args {
		vals[i] = FloatValue(d, a)
	}
	if got := o.Eval(vals...); difference(got, FloatValue(d, want)) != 0 {
		t.Errorf("%s %s%v is %v, want %v", d, o, args, got.F, want)
	}
}

func integers(t *testing.T, d DType, o *Op, want int64, args ...int64) {
	t.Helper()
	vals := make([]Value, len(args))
	for i, a := range args {
		vals[i] = IntValue(d, a)
	}
	if got := o.Eval(vals...); got.I != want {
		t.Errorf("%s %s%v is %v, want %v", d, o, args, got.I, want)
	}
}

func caseLeastOverMinusOne(t *testing.T) {
	for _, d := range []DType{Int8, Int32, Int64} {
		least, _ := IntRange(d)
		integers(t, d, FloorDiv, least, least, -1)
		integers(t, d, Mod, 0, least, -1)
		integers(t, d, Fmod, 0, least, -1)
		integers(t, d, Abs, least, least)
		integers(t, d, Neg, least, least)
	}
}

func caseQuotientSigns(t *testing.T) {
	for _, d := range []DType{Int8, Int32, Int64} {
		for _, tc := range [][4]int64{ // x, y, x // y, x % y
			{7, -2, -4, -1},
			{-7, 2, -4, 1},
			{-7, -2, 3, -1},
			{7, 2, 3, 1},
			{6, -3, -2, 0},
			{5, 0, 0, 0},
			{0, 0, 0, 0},
			{-5, 0, 0, 0},
		} {
			integers(t, d, FloorDiv, tc[2], tc[0], tc[1])
			integers(t, d, Mod, tc[3], tc[0], tc[1])
		}
	}
	for _, d := range []DType{Float16, Float32, Float64} {
		floats(t, d, Mod, 1, -7, 2)
		floats(t, d, Mod, -1, 7, -2)
		floats(t, d, Mod, nan, 5, 0)
		floats(t, d, Mod, 0, negZero, 3)
		floats(t, d, Mod, 5, 5, inf)
		floats(t, d, Mod, inf, -5, inf)
		floats(t, d, Mod, negZero, 6, -3)
		floats(t, d, FloorDiv, inf, 1, 0)
		floats(t, d, FloorDiv, negZero, negZero, 3)
		floats(t, d, FloorDiv, -1, -5, inf)
		floats(t, d, Fmod, -1, -7, 2)
		for _, x := range []float64{-1.4843, 1.1350, -2.1563, 1.0862, 0.5034, 3.6587} {
			floats(t, d, Mod, math.Copysign(0, x), x, x)
			floats(t, d, FloorDiv, 1, x, x)
		}
	}
}

func caseFloatToInt(t *testing.T) {
	for _, tc := range []struct {
		from DType
		f    float64
		to   DType
		want int64
	}{
		{Float32, nan, Int32, 0},
		{Float32, inf, Int32, math.MaxInt32},
		{Float32, -inf, Int32, math.MinInt32},
		{Float32, 3e9, Int32, math.MaxInt32},
		{Float32, -3e9, Int32, math.MinInt32},
		{Float32, 1e20, Int32, math.MaxInt32},
		{Float32, -1, Uint8, 0},
		{Float32, 256, Uint8, 255},
		{Float32, 300, Uint8, 255},
		{Float32, nan, Uint8, 0},
		{Float16, 510, Int8, 127},
		{Float16, -200, Int8, -128},
		{Float16, inf, Int8, 127},
	} {
		if got := FloatValue(tc.from, tc.f).Convert(tc.to); got != IntValue(tc.to, tc.want) {
			t.Errorf("%s %g to %s is %d, want %d", tc.from, tc.f, tc.to, got.I, tc.want)
		}
	}
}

func caseRound(t *testing.T) {
	for x, want := range map[float64]float64{
		0.5: 0, 1.5: 2, 2.5: 2, -0.5: negZero, -1.5: -2, -2.5: -2, 0.49999997: 0, 8388609.5: 8388610,
	} {
		floats(t, Float32, Round, want, x)
	}
	floats(t, Float64, Round, 4503599627370498, 4503599627370497.5)
}

func caseMinMaxNaN(t *testing.T) {
	for _, d := range []DType{Float16, BFloat16, Float32, Float64} {
		floats(t, d, Maximum, nan, nan, 1)
		floats(t, d, Maximum, nan, 1, nan)
		floats(t, d, Maximum, nan, nan, nan)
		floats(t, d, Maximum, nan, nan, inf)
		floats(t, d, Minimum, nan, nan, -inf)
		floats(t, d, Fmax, 1, nan, 1)
		floats(t, d, Fmin, 1, 1, nan)
		floats(t, d, Fmax, nan, nan, nan)
		floats(t, d, Clip, nan, nan, 0, 3)
		floats(t, d, Clip, 3, 5, 0, 3)
		floats(t, d, Clip, 1, 1, 0, 3)
		floats(t, d, Clip, nan, 1, nan, 3)
		floats(t, d, Clip, nan, 1, 0, nan)
		floats(t, d, Clip, 1, 5, 3, 1)
		floats(t, d, ReLU, nan, nan)
		floats(t, d, ReLU6, nan, nan)
	}
}

func caseGELU(t *testing.T) {
	for _, o := range []*Op{GELU, GELUTanh} {
		for _, x := range []float64{20.625, 40, 100, 1e20, inf} {
			floats(t, Float32, o, x, x)
		}
		for _, x := range []float64{-100, -1e20, -inf} {
			floats(t, Float32, o, negZero, x)
		}
		if got := o.Eval(FloatValue(Float32, -13.24)); !(got.F <= 0 && got.F > -1e-38) {
			t.Errorf("%s(-13.24) is %g", o, got.F)
		}
	}
}

func caseFloat16(t *testing.T) {
	for _, tc := range []struct {
		f    float32
		want F16
	}{
		{0x1p-25, 0x0000},
		{math.Nextafter32(0x1p-25, 1), 0x0001},
		{0x1p-24, 0x0001},
		{0x1p-26, 0x0000},
		{65519.996, 0x7bff},
		{65520, 0x7c00},
		{65504, 0x7bff},
		{1 + 0x1p-11, 0x3c00},
		{1 + 0x3p-11, 0x3c02},
		{6.1e-5, 0x03ff},
		{math.Float32frombits(0x34200000), 0x0002},
		{math.Float32frombits(0x34600000), 0x0004},
	} {
		if got := FloatValue(Float32, float64(tc.f)).Convert(Float16).Bits(); got != uint64(tc.want) {
			t.Errorf("%x is %04x, want %04x", tc.f, got, uint16(tc.want))
		}
	}
	for f, want := range map[float64]uint64{1 + 0x1p-11 + 0x1p-40: 0x3c01, 0.999999990234375: 0x3c00} {
		if got := FloatValue(Float64, f).Convert(Float16).Bits(); got != want {
			t.Errorf("%x is %04x, want %04x", f, got, want)
		}
	}
}

func caseExpm1(t *testing.T) {
	for _, o := range []*Op{Expm1, Log1p} {
		floats(t, Float32, o, 1e-8, 1e-8)
		floats(t, Float32, o, -1e-8, -1e-8)
		floats(t, Float32, o, negZero, negZero)
	}
	floats(t, Float32, Expm1, -1, -inf)
	floats(t, Float32, Expm1, inf, 89)
	floats(t, Float32, Expm1, 1.2000072e-5, 1.2e-5)
	floats(t, Float32, Log1p, -inf, -1)
	floats(t, Float32, Log1p, nan, -2)
}

func caseExtremes(t *testing.T) {
	for _, tc := range []struct {
		op      *Op
		x, want float64
	}{
		{Exp, 88.7, 3.3259769e38}, // the case says …71e38, a unit too much
		{Exp, 88.73, inf},
		{Exp, -87.4, 1.1032187e-38},
		{Exp, -103.9, 1.4e-45},
		{Exp, -104, 0},
		{Exp, inf, inf},
		{Exp, -inf, 0},
		{Exp, nan, nan},
		{Log, 0, -inf},
		{Log, negZero, -inf},
		{Log, -1, nan},
		{Log, 1e-45, -103.27893},
		{Log, inf, inf},
		{Sqrt, negZero, negZero},
		{Sqrt, -1, nan},
		{Sqrt, 1e-45, 3.7433922e-23},
		{Reciprocal, 0, inf},
		{Reciprocal, negZero, -inf},
	} {
		floats(t, Float32, tc.op, tc.want, tc.x)
	}
}

func caseWideIntegers(t *testing.T) {
	wide := []int64{1 << 31, 1<<32 + 5, -1 << 40}
	sum := int64(0)
	for _, x := range wide {
		integers(t, Int64, Add, x+1, x, 1)
		integers(t, Int64, Equal, 1, x, x)
		integers(t, Int64, Equal, 0, x, x^1<<33)
		integers(t, Int64, Where, x, 1, x, 0)
		sum = Add.Eval(IntValue(Int64, sum), IntValue(Int64, x)).I
	}
	if sum != -1093069176827 {
		t.Errorf("sum %d", sum)
	}
	integers(t, Int32, BitwiseOr, -1, 0, 0xffffffff)
	integers(t, Uint32, Greater, 1, 4294967295, 1)
	integers(t, Int32, Add, 16777217, 16777217, 0)
	if got := IntValue(Int64, 1<<32+5).Convert(Int32); got.I != 5 {
		t.Errorf("2³²+5 to int32 is %d", got.I)
	}
	if got := IntValue(Uint32, 4294967295).Convert(Int64).Convert(Uint32); got.I != 4294967295 {
		t.Errorf("2³²-1 in uint32 through int64 is %d", got.I)
	}
}
