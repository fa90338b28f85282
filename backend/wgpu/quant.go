package wgpu

import (
	"fmt"

	"github.com/weft-go/weft/ops"
)

// declareQuantized prints the functions that return the element at a position of slot n, of a quantised type, and the four
// elements from a multiple of four on. Blocks begin at even bytes.
func declareQuantized(t *text, n int, s *slot) {
	d := s.quant
	head := d.Bytes(1) - quantBytes(d)
	half := func(at string) string { return s.half(fmt.Sprintf("b%d[%s >> 2u] >> ((%s & 2u) << 3u)", n, at, at)) }
	t.line("fn dequantize%d(at: u32) -> f32 {", n)
	t.line("let first = (at >> 5u) * %du;", d.Bytes(1))
	t.line("let scale = %s;", half("first"))
	t.line("let place = first + %du + (at & %du);", head, quantBytes(d)-1)
	byteAt := fmt.Sprintf("b%d[place >> 2u] >> ((place & 3u) << 3u)", n)
	nibble := fmt.Sprintf("((%s) >> ((at & 16u) >> 2u)) & 15u", byteAt)
	switch d {
	case ops.Q8_0:
		t.line("return scale * f32(bitcast<i32>((%s) << 24u) >> 24u);", byteAt)
	case ops.Q4_0:
		t.line("return scale * f32(bitcast<i32>(%s) - 8);", nibble)
	case ops.Q4_1:
		t.line("return scale * f32(%s) + %s;", nibble, half("(first + 2u)")) // the product is exact
	}
	t.line("}\nfn dequantize_quad%d(at: u32) -> vec4<f32> {", n)
	t.line("let first = (at >> 5u) * %du;", d.Bytes(1))
	t.line("let place = first + %du + (at & %du);", head, quantBytes(d)-1)
	upper := ""
	if d != ops.Q8_0 {
		upper = " + ((at & 16u) >> 2u)"
	}
	low := ""
	if d == ops.Q4_1 { // of whole words
		t.line("let head = b%d[first >> 2u];", n)
		t.line("let scale = %s;\nlet low = %s;", s.half("head"), s.half("(head >> 16u)"))
		t.line("let lo = b%d[place >> 2u] >> (0u%s);\nlet hi = lo >> 16u;", n, upper)
		low = "low"
	} else {
		t.line("let scale = %s;", half("first"))
		t.line("let lo = b%d[place >> 2u] >> (((place & 2u) << 3u)%s);", n, upper)
		t.line("let hi = b%d[(place + 2u) >> 2u] >> ((((place + 2u) & 2u) << 3u)%s);", n, upper)
	}
	t.line("return %s;\n}", quadOf(d, false).value(d, "lo", "hi", "scale", low))
}

// quantBytes returns how many bytes of a block are its elements.
func quantBytes(d ops.DType) int {
	if d == ops.Q8_0 {
		return ops.QuantBlock
	}
	return ops.QuantBlock / 2
}

// half returns the expression of the Float16 in the lower half of a word.
func (s *slot) half(w string) string {
	if s.unpack {
		return fmt.Sprintf("unpack2x16float(%s).x", w)
	}
	return decode(ops.Float16, fmt.Sprintf("(%s) & 0xffffu", w), "")
}

// A quantQuad is how four neighbouring elements of a block are made of two words, of which lo has the bytes of the first two in its
// lower half, and hi those of the others: their masked bits become the last of a float from 2²³ to 2²⁴, of which base is taken. That
// leaves an element's number divided by step.
type quantQuad struct {
	mask, bits [2]uint32 // of the first of two, and the second
	base, step [2]float64
}

// quadOf returns the form of quads of a quantised type, of Q4_0 and Q4_1 of the lower halves of bytes or the upper.
func quadOf(d ops.DType, upper bool) quantQuad {
	const bits, base = 0x4b000000, 1 << 23 // of the float
	if d == ops.Q8_0 {
		return quantQuad{[2]uint32{0xff, 0xff00}, [2]uint32{bits ^ 0x80, bits ^ 0x8000}, [2]float64{base + 128, base + 128<<8}, [2]float64{1, 1.0 / 256}}
	}
	q := quantQuad{[2]uint32{0xf, 0xf00}, [2]uint32{bits, bits}, [2]float64{base, base}, [2]float64{1, 1.0 / 256}}
	for i := range q.mask {
		if upper {
			q.mask[i] <<= 4
			q.step[i] /= 16
		}
		if d == ops.Q4_0 {
			q.base[i] += 8 / q.step[i]
		}
	}
	return q
}

// value returns the expression of the four elements.
func (q quantQuad) value(d ops.DType, lo, hi, scale, low string) string {
	number := fmt.Sprintf("(bitcast<vec4<f32>>((vec4<u32>(%[1]s, %[1]s, %[2]s, %[2]s) & vec4<u32>(%[3]du, %[4]du, %[3]du, %[4]du)) ^ "+
		"vec4<u32>(%[5]du, %[6]du, %[5]du, %[6]du)) - vec4<f32>(%.1[7]f, %.1[8]f, %.1[7]f, %.1[8]f))",
		lo, hi, q.mask[0], q.mask[1], q.bits[0], q.bits[1], q.base[0], q.base[1])
	step := fmt.Sprintf("(%[1]s * vec4<f32>(%[2]v, %[3]v, %[2]v, %[3]v))", scale, q.step[0], q.step[1])
	if d == ops.Q4_1 {
		return fmt.Sprintf("fma(%s, %s, vec4<f32>(%s))", number, step, low) // the product is exact
	}
	return number + " * " + step
}
