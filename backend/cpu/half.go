package cpu

import "math"

// halfToFloat returns the value of the half-precision number with bits h, exactly, as float16.Float32 does
// in four times the time. After Fabian Giesen, "half_to_float_fast".
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
