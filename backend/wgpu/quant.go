package wgpu

import (
	"fmt"

	"github.com/weft-go/weft/ops"
)

// declareQuantized prints the function that returns the element at a position of a slot of type d. Blocks begin at even bytes.
func declareQuantized(t *text, slot int, d ops.DType) {
	half := func(at string) string { return word16(slot, at) }
	t.line("fn dequantize%d(at: u32) -> f32 {", slot)
	t.line("let first = (at >> 5u) * %du;", d.Bytes(1))
	t.line("let scale = %s;", half("first"))
	switch d {
	case ops.Q8_0:
		t.line("let place = first + 2u + (at & 31u);")
		t.line("return scale * f32(bitcast<i32>((b%d[place >> 2u] >> ((place & 3u) << 3u)) << 24u) >> 24u);", slot)
	case ops.Q4_0:
		t.line("let place = first + 2u + (at & 15u);")
		t.line("return scale * f32(bitcast<i32>(%s) - 8);", nibble(slot))
	case ops.Q4_1:
		t.line("let place = first + 4u + (at & 15u);")
		t.line("return scale * f32(%s) + %s;", nibble(slot), half("(first + 2u)")) // the product is exact
	}
	t.line("}")
}

// word16 returns the expression of the Float16 at an even byte.
func word16(slot int, at string) string {
	return decode(ops.Float16, fmt.Sprintf("(b%d[%s >> 2u] >> ((%s & 2u) << 3u)) & 0xffffu", slot, at, at), "")
}

// nibble returns the expression of the half of the byte at place that element at is in.
func nibble(slot int) string {
	return fmt.Sprintf("((b%d[place >> 2u] >> (((place & 3u) << 3u) + ((at & 16u) >> 2u))) & 15u)", slot)
}
