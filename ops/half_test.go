package ops

import (
	"math"
	"testing"
)

// half describes a 16-bit type to the tests below, which try all of its patterns.
type half struct {
	d         DType
	inf, nan  uint16 // patterns; those of NaN are above inf
	overflow  float64
	from64    func(float64) uint16
	from32    func(float32) uint16
	toFloat32 func(uint16) float32
}

var halves = []half{
	{
		Float16, 0x7c00, 0x0200, 0x1p16,
		func(f float64) uint16 { return uint16(ToF16From64(f)) },
		func(f float32) uint16 { return uint16(ToF16(f)) },
		func(b uint16) float32 { return F16(b).Float32() },
	},
	{
		BFloat16, 0x7f80, 0x0040, 0x1p128,
		func(f float64) uint16 { return uint16(ToBF16From64(f)) },
		func(f float32) uint16 { return uint16(ToBF16(f)) },
		func(b uint16) float32 { return BF16(b).Float32() },
	},
}

func TestHalfRoundTrip(t *testing.T) {
	for _, h := range halves {
		t.Run(h.d.String(), func(t *testing.T) {
			for b := range 1 << 16 {
				want := uint16(b)
				if want&0x7fff > h.inf {
					want |= h.nan // a signalling NaN becomes quiet, and keeps its sign and payload
				}
				f := h.toFloat32(uint16(b))
				if got := h.from32(f); got != want {
					t.Fatalf("%04x through float32 is %04x, want %04x", b, got, want)
				}
				if got := h.from64(float64(f)); got != want {
					t.Fatalf("%04x through float64 is %04x, want %04x", b, got, want)
				}
				if got := FromBits(h.d, uint64(b)).Bits(); got != uint64(want) {
					t.Fatalf("%04x as a Value is %04x, want %04x", b, got, want)
				}
			}
		})
	}
}

// TestHalfRounding tries the middle between each two neighbours, and the float64 and float32 on both of
// its sides.
func TestHalfRounding(t *testing.T) {
	for _, h := range halves {
		t.Run(h.d.String(), func(t *testing.T) {
			for b := range h.inf {
				lo, hi := float64(h.toFloat32(b)), float64(h.toFloat32(b+1))
				if b+1 == h.inf {
					hi = h.overflow
				}
				mid := lo + (hi-lo)/2
				even := b + b&1
				for _, tc := range []struct {
					f    float64
					want uint16
				}{
					{lo, b},
					{math.Nextafter(mid, lo), b},
					{float64(math.Nextafter32(float32(mid), float32(lo))), b},
					{mid, even},
					{math.Nextafter(mid, hi), b + 1},
					{float64(math.Nextafter32(float32(mid), float32(h.overflow))), b + 1},
				} {
					if got := h.from64(tc.f); got != tc.want {
						t.Fatalf("float64 %x is %04x, want %04x", tc.f, got, tc.want)
					}
					if got := h.from64(-tc.f); got != tc.want|0x8000 {
						t.Fatalf("float64 %x is %04x, want %04x", -tc.f, got, tc.want|0x8000)
					}
					f := float32(tc.f)
					if got := h.from32(f); float64(f) == tc.f && got != tc.want {
						t.Fatalf("float32 %x is %04x, want %04x", f, got, tc.want)
					}
				}
			}
		})
	}
}

func TestHalfDoubleRounding(t *testing.T) {
	for _, tc := range []struct {
		name string
		f    float64
		f16  F16
		bf16 BF16
	}{
		{"above a tie", 1 + 0x1p-11 + 0x1p-40, 0x3c01, 0x3f80},
		{"below a tie", 1 + 0x3p-11 - 0x1p-40, 0x3c01, 0x3f80},
		{"above a tie of bfloat16", 1 + 0x1p-8 + 0x1p-40, 0x3c04, 0x3f81},
		{"overflow to infinity", 1e300, 0x7c00, 0x7f80},
		{"underflow to zero", -1e-300, 0x8000, 0x8000},
		{"least subnormal by a hair", 0x1p-25 + 0x1p-60, 0x0001, 0x3300},
		{"infinity", math.Inf(-1), 0xfc00, 0xff80},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := ToF16From64(tc.f); got != tc.f16 {
				t.Errorf("float16 %04x, want %04x", got, tc.f16)
			}
			if got := ToBF16From64(tc.f); got != tc.bf16 {
				t.Errorf("bfloat16 %04x, want %04x", got, tc.bf16)
			}
		})
	}
}
