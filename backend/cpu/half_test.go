package cpu

import (
	"math"
	"testing"

	"github.com/weft-go/weft/ops"
)

// TestHalfToFloat compares every half-precision number, bit for bit.
func TestHalfToFloat(t *testing.T) {
	for h := range 1 << 16 {
		got, want := math.Float32bits(halfToFloat(uint16(h))), math.Float32bits(ops.F16(h).Float32())
		if got != want {
			t.Errorf("%#04x gives %#08x, want %#08x", h, got, want)
		}
	}
}

func BenchmarkWiden(b *testing.B) {
	src, dst := make([]uint16, 1024), make([]float32, 1024)
	for i := range src {
		src[i] = uint16(ops.ToF16(float32(i%37-18) / 10))
	}
	b.SetBytes(1024)
	for b.Loop() {
		widen(ops.Float16, dst, src)
	}
}
