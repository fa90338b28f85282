package ops

import (
	"encoding/binary"
	"fmt"
	"math"
)

// The quantised storage types, of weights that are kept small. They are no element types ([DType.Valid] is false): nothing is
// computed in them, and no result has them. A program that loads an element of one gets a Float32. Elements come in blocks of
// 32 that follow each other, whatever the shape of the tensor; with d and m of type Float16, all little-endian, a block is
//
//	Q8_0   d, 32 of Int8               34 bytes   element i is d·q[i]
//	Q4_0   d, 16 bytes                 18 bytes   d·(q[i]-8), where q[i] is the lower half of byte i for i < 16,
//	Q4_1   d, m, 16 bytes              20 bytes   d·q[i]+m    and q[i+16] the upper one
//
// as in GGML's files. The product is exact, the sum rounded to Float32.
const (
	Q8_0 DType = 64 + iota
	Q4_0
	Q4_1
)

// QuantBlock is the number of elements in a block of a quantised type.
const QuantBlock = 32

// Quantized reports whether d is a quantised storage type.
func (d DType) Quantized() bool { return d >= Q8_0 && d <= Q4_1 }

// Element returns the type of a value that is loaded from memory of type d: Float32 for quantised types, else d.
func (d DType) Element() DType {
	if d.Quantized() {
		return Float32
	}
	return d
}

// Bytes returns how many bytes n elements of type d take: for quantised types, those of all blocks that they begin.
func (d DType) Bytes(n int) int {
	if d.Quantized() {
		return (n + QuantBlock - 1) / QuantBlock * d.blockSize()
	}
	return n * d.Size()
}

var quantNames = [...]string{"q8_0", "q4_0", "q4_1"}

// blockSize returns the bytes of a block of a quantised type.
func (d DType) blockSize() int { return [...]int{34, 18, 20}[d-Q8_0] }

// Dequantize returns element i of blocks of type d.
func (d DType) Dequantize(blocks []byte, i int) float32 {
	b := blocks[i/QuantBlock*d.blockSize():][:d.blockSize()]
	i %= QuantBlock
	half := func(at int) float32 { return F16(binary.LittleEndian.Uint16(b[at:])).Float32() }
	if d == Q8_0 {
		return half(0) * float32(int8(b[2+i]))
	}
	quants := b[len(b)-QuantBlock/2:]
	q := int(quants[i%16]) >> (i / 16 * 4) & 15
	if d == Q4_0 {
		return half(0) * float32(q-8)
	}
	return float32(half(0)*float32(q)) + half(2) // a product that is exact anyway
}

// Quantize returns blocks of type d whose elements are near x: the scale of each block is the least that reaches its greatest
// element, and elements are rounded to the nearest there is. What x lacks of the last block is 0. A NaN, an infinity, and a
// number that no Float16 scales up to, are errors of kind [ErrDType].
func (d DType) Quantize(x []float32) ([]byte, error) {
	if !d.Quantized() {
		return nil, fmt.Errorf("ops: %s is no quantised type: %w", d, ErrDType)
	}
	blocks := make([]byte, 0, d.Bytes(len(x)))
	for at := 0; at < len(x); at += QuantBlock {
		var block [QuantBlock]float32
		copy(block[:], x[at:])
		for i, v := range block {
			if most := d.most(); !(v <= most && v >= -most) {
				return nil, fmt.Errorf("ops: element %d is %v, beyond %v, the most that %s takes: %w", at+i, v, most, d, ErrDType)
			}
		}
		blocks = d.quantize(blocks, &block)
	}
	return blocks, nil
}

// most is the greatest magnitude that every block can have.
func (d DType) most() float32 {
	const f16 = 65504
	return [...]float32{127 * f16, 7 * f16, f16}[d-Q8_0]
}

// quantize appends a block.
func (d DType) quantize(to []byte, x *[QuantBlock]float32) []byte {
	lo, hi, far := x[0], x[0], x[0] // least, greatest, of greatest magnitude
	for _, v := range x {
		lo, hi = min(lo, v), max(hi, v)
		if math.Abs(float64(v)) > math.Abs(float64(far)) {
			far = v
		}
	}
	base, least, most := float32(0), float32(0), float32(15)
	var scale float32
	switch d {
	case Q8_0:
		scale, least, most = float32(math.Abs(float64(far)))/127, -127, 127
	case Q4_0:
		scale, base = far/-8, -8 // the range is -8 to 7: the farthest is at -8
	case Q4_1:
		scale, base = (hi-lo)/15, lo
	}
	step := ToF16(scale)
	to = binary.LittleEndian.AppendUint16(to, uint16(step))
	if d == Q4_1 {
		low := ToF16(base)
		to, base = binary.LittleEndian.AppendUint16(to, uint16(low)), low.Float32()
	}
	inverse := float32(0)
	if s := step.Float32(); s != 0 {
		inverse = 1 / s
	}
	var q [QuantBlock]float32
	for i, v := range x {
		if d == Q4_0 {
			v = v*inverse + 8
		} else {
			v = (v - base) * inverse
		}
		q[i] = min(max(float32(math.RoundToEven(float64(v))), least), most)
	}
	if d == Q8_0 {
		for _, v := range q {
			to = append(to, byte(int8(v)))
		}
		return to
	}
	for i := range QuantBlock / 2 {
		to = append(to, byte(q[i])|byte(q[i+16])<<4)
	}
	return to
}
