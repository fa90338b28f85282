package cpu

import (
	"math"
	"unsafe"

	"github.com/weft-go/weft/backend/cpu/internal/asm"
	"github.com/weft-go/weft/ops"
)

// widen converts half-precision numbers of type d to float32, exactly. The last half of z may be x.
func widen(d ops.DType, z []float32, x []uint16) {
	x = x[:len(z)]
	if loops != nil && len(x) > 0 {
		halves(d).Widen(unsafe.Pointer(&z[0]), unsafe.Pointer(&x[0]), nil, nil, len(x))
		return
	}
	if d == ops.BFloat16 {
		for i, h := range x {
			z[i] = math.Float32frombits(uint32(h) << 16)
		}
		return
	}
	for i, h := range x {
		z[i] = halfToFloat(h)
	}
}

// halves returns the assembly for type d.
func halves(d ops.DType) *asm.Halves {
	if d == ops.BFloat16 {
		return &loops.BFloat16
	}
	return &loops.Float16
}

// halfToFloat returns the value of the half-precision number with bits h, exactly, as float16.Float32 does
// in more than twice the time. After Fabian Giesen, "half_to_float_fast".
func halfToFloat(h uint16) float32 {
	bits := uint32(h&0x7fff)<<13 + 112<<23 // exponents are 112 greater in a float32
	switch h & 0x7c00 {
	case 0x7c00:
		if bits += 112 << 23; h&0x3ff != 0 {
			bits |= 1 << 22 // a quiet NaN
		}
	case 0: // subnormal: 2⁻¹⁴·(1+m) less 2⁻¹⁴
		bits = math.Float32bits(math.Float32frombits(bits+1<<23) - 0x1p-14)
	}
	return math.Float32frombits(bits | uint32(h&0x8000)<<16)
}

// narrow converts float32 numbers that are exactly of type d to it.
func narrow(d ops.DType, z []uint16, x []float32) {
	z = z[:len(x)]
	if loops != nil && len(x) > 0 {
		halves(d).Narrow(unsafe.Pointer(&z[0]), unsafe.Pointer(&x[0]), nil, nil, len(x))
		return
	}
	if d == ops.BFloat16 {
		for i, f := range x {
			z[i] = uint16(math.Float32bits(f) >> 16)
		}
		return
	}
	for i, f := range x {
		z[i] = toF16(f)
	}
}

// toF16 undoes halfToFloat.
func toF16(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b >> 16 & 0x8000)
	b &= 0x7fffffff
	if b >= 0x7f800000 {
		return sign | 0x7c00 | uint16(b>>13&0x3ff)
	}
	return sign | uint16(math.Float32bits(math.Float32frombits(b)*0x1p-112)>>13)
}

// roundHalf rounds n elements of a register to type d, if that is a half-precision one.
func roundHalf(d ops.DType, z unsafe.Pointer, n int) {
	if !d.IsHalf() {
		return
	}
	if loops != nil {
		halves(d).Round(z, z, nil, nil, n)
		return
	}
	zs := vec[float32](z, n)
	switch d {
	case ops.Float16:
		for i, x := range zs {
			zs[i] = roundF16(x)
		}
	case ops.BFloat16:
		for i, x := range zs {
			zs[i] = roundBF16(x)
		}
	}
}

// roundF16 rounds x to the nearest half-precision number, ties to even. Adding and subtracting a number
// whose last place is that of the result does so.
func roundF16(x float32) float32 {
	b := math.Float32bits(x)
	a := math.Float32frombits(b & 0x7fffffff)
	switch {
	case a >= 65520:
		a = float32(math.Inf(1))
	case a >= 0x1p-14: // carry from below the tenth bit of the fraction
		b := math.Float32bits(a)
		a = math.Float32frombits((b + 0xfff + b>>13&1) &^ 0x1fff)
	case a == a: // subnormal: the last place is that of 0.5
		a = a + 0.5 - 0.5
	default:
		return ops.ToF16(x).Float32()
	}
	return math.Float32frombits(math.Float32bits(a) | b&0x80000000)
}

func roundBF16(x float32) float32 {
	b := math.Float32bits(x)
	if x != x {
		return math.Float32frombits(b&0xffff0000 | 0x400000)
	}
	return math.Float32frombits((b + 0x7fff + b>>16&1) &^ 0xffff)
}
