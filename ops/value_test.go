package ops

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestValueBits(t *testing.T) {
	for _, d := range DTypes() {
		t.Run(d.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(d)))
			for range 1000 {
				b := r.Uint64() >> (64 - d.Bits())
				if d == Bool {
					b &= 1
				}
				v := FromBits(d, b)
				if got := v.Bits(); got != b && !math.IsNaN(v.F) {
					t.Fatalf("%#x is %v and back %#x", b, v, got)
				}
			}
		})
	}
	const signalling, quiet = 0x7f812345, 0x7fc12345
	if got := FromBits(Float32, signalling).Bits(); got != signalling && got != quiet {
		t.Errorf("NaN %#x is %#x", uint64(signalling), got)
	}
}

func TestWrapInt(t *testing.T) {
	for _, d := range []DType{Uint8, Int8, Int32, Uint32, Int64} {
		lo, hi := IntRange(d)
		for _, tc := range []struct{ i, want int64 }{{lo, lo}, {hi, hi}, {hi + 1, lo}, {lo - 1, hi}, {0, 0}, {1, 1}} {
			if got := WrapInt(d, tc.i); got != tc.want {
				t.Errorf("%d in %s is %d, want %d", tc.i, d, got, tc.want)
			}
		}
	}
	for i, want := range map[int64]int64{0: 0, 1: 1, 2: 1, -1: 1, math.MinInt64: 1} {
		if got := WrapInt(Bool, i); got != want {
			t.Errorf("%d in bool is %d, want %d", i, got, want)
		}
	}
}

func TestFloatToInt(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, d := range []DType{Bool, Uint8, Int8, Int32, Uint32, Int64} {
		lo, hi := IntRange(d)
		for _, tc := range []struct {
			f    float64
			want int64
		}{
			{nan, 0},
			{inf, hi},
			{-inf, lo},
			{1e30, hi},
			{-1e30, lo},
			{0.99, 0},
			{-0.99, 0},
			{float64(lo), lo},
			{float64(hi), hi},
			{float64(hi) * 2, hi},
		} {
			if got := FloatToInt(d, tc.f); got != tc.want {
				t.Errorf("%g to %s is %d, want %d", tc.f, d, got, tc.want)
			}
		}
	}
	if got := FloatToInt(Int64, 0x1p63-1024); got != math.MaxInt64-1023 {
		t.Errorf("the greatest float64 below 2⁶³ is %d", got)
	}
}

func TestConvertToBool(t *testing.T) {
	for f, want := range map[float64]int64{0: 0, 0.1: 1, -2: 1, math.Inf(1): 1, math.NaN(): 1, math.Copysign(0, -1): 0} {
		if got := (Value{DType: Float64, F: f}).Convert(Bool); got != (Value{DType: Bool, I: want}) {
			t.Errorf("%g to bool is %v", f, got)
		}
	}
	if got := IntValue(Int64, 256).Convert(Bool); got.I != 1 {
		t.Errorf("256 to bool is %v", got)
	}
}

// TestConvertRoundsOnce compares integers converted to floats with big.Float's single rounding.
func TestConvertRoundsOnce(t *testing.T) {
	ints := []int64{0, 1, -1, 1<<24 + 1, 1<<53 + 1, math.MaxInt64, math.MinInt64, 1<<60 + 1<<52 + 1, -(1<<60 + 1<<52 + 1), 65519, 65520}
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		i := r.Int64() >> r.IntN(63)
		ints = append(ints, i, -i, i&^0xffff|1)
	}
	for _, tc := range []struct {
		d    DType
		prec uint
		max  int64
	}{{Float16, 11, 65504}, {BFloat16, 8, math.MaxInt64}, {Float32, 24, math.MaxInt64}, {Float64, 53, math.MaxInt64}} {
		t.Run(tc.d.String(), func(t *testing.T) {
			for _, i := range ints {
				if tc.d == Float16 && (i > tc.max || i < -tc.max) {
					continue
				}
				want, _ := new(big.Float).SetPrec(tc.prec).SetInt64(i).Float64()
				if got := IntValue(Int64, i).Convert(tc.d); got.F != want {
					t.Fatalf("%d is %g, want %g", i, got.F, want)
				}
			}
		})
	}
	if got := IntValue(Int64, 65520).Convert(Float16); !math.IsInf(got.F, 1) {
		t.Errorf("65520 in float16 is %v", got)
	}
}

func TestValueFloat(t *testing.T) {
	if f := IntValue(Int8, -3).Float(); f != -3 {
		t.Errorf("-3 is %g", f)
	}
	if f := FloatValue(BFloat16, 0.1).Float(); f != 0.10009765625 {
		t.Errorf("0.1 in bfloat16 is %g", f)
	}
}
