package wgpu

import (
	"fmt"
	"strings"

	"github.com/weft-go/weft/ops"
)

// A reader prints how the threads of a kernel reach its operands. Operand k has the address i<k>, the position of the
// first lane's element; x<a> is the coordinate along axis a.
type reader struct {
	*domain
	places []place // of the inputs, then of the outputs
	tag    string  // ends the names of what belongs to an element, so that a function may hold several
	unpack bool    // of Float16 by the device's own conversion, which is right for all numbers; a NaN may change its bits
	given  bool    // the words of vectors are there already, under their names
}

// at returns the name of the address of input k.
func (r reader) at(k int) string { return fmt.Sprintf("i%d%s", k, r.tag) }

// address prints the position of an operand's first element: its offset and the coordinates times the strides.
func (r reader) address(t *text, operand int, name string, a *access) {
	terms := []string{r.places[operand].offset()}
	last := len(r.shape) - 1
	for axis := range r.shape {
		if a.mode == modeOne || a.mode == modeSplat && axis == last {
			continue
		}
		x := fmt.Sprintf("x%d%s", axis, r.tag)
		if a.mode != modeVector || axis != last { // whose stride is 1
			x += " * " + r.places[operand].stride(axis)
		}
		terms = append(terms, x)
	}
	t.line("let %s = %s;", name, strings.Join(terms, " + "))
}

// same reports whether the lanes of a thread share an input's element.
func (r reader) same(k int) bool { return r.in[k].mode == modeOne || r.in[k].mode == modeSplat }

// index returns the position of input k, as u32.
func (r reader) index(k, lane int) string {
	if r.same(k) || lane == 0 {
		return r.at(k)
	}
	return fmt.Sprintf("(%s + %du * %s)", r.at(k), r.lane(lane), r.places[k].stride(len(r.shape)-1))
}

// load returns the element of input k in a lane. Before the first of four lanes it prints the loads of the words
// they share.
func (r reader) load(t *text, k int, d ops.DType, lane int) string {
	a := &r.in[k]
	if !a.mode.whole() {
		return r.element(a.slot, d, r.index(k, lane))
	}
	i, w := r.at(k), fmt.Sprintf("w%d%s", k, r.tag)
	if r.slots[a.slot].quant != 0 {
		if lane == 0 {
			t.line("let %s = dequantize_quad%d(%s);", w, a.slot, i)
		}
		return fmt.Sprintf("%s.%c", w, "xyzw"[lane])
	}
	perWord := 4 / d.Size() // of elements; 0 for 8 bytes
	switch {
	case d.Size() == 8:
		if lane == 0 {
			t.line("let %s_0 = b%d[%s >> 1u];\nlet %s_1 = b%d[(%s >> 1u) + 1u];", w, a.slot, i, w, a.slot, i)
		}
		w = fmt.Sprintf("%s_%d", w, lane/2)
		return decode(d, w+"."+"xz"[lane%2:lane%2+1], w+"."+"yw"[lane%2:lane%2+1])
	case perWord == 1:
		if lane == 0 {
			t.line("let %s = b%d[%s >> 2u];", w, a.slot, i)
		}
		return decode(d, fmt.Sprintf("%s.%c", w, "xyzw"[lane]), "")
	case perWord == 2:
		return r.loadHalf(t, a, w, i, lane)
	}
	if lane == 0 {
		t.line("let %s = b%d[%s >> 2u];", w, a.slot, i)
	}
	return decode(d, fmt.Sprintf("%s >> %du", w, 8*lane), "")
}

// loadHalf is load for four 16-bit elements at position i, whose words get the name w.
func (r reader) loadHalf(t *text, a *access, w, i string, lane int) string {
	unpack := r.unpack && a.dtype == ops.Float16
	word := fmt.Sprintf("%s.%c", w, "xy"[lane/2])
	switch {
	case !r.slots[a.slot].pair:
		word = fmt.Sprintf("b%d[(%s >> 1u) + %du]", a.slot, i, lane/2)
	case lane == 0 && !r.given:
		t.line("let %s = b%d[%s >> 2u];", w, a.slot, i)
	}
	w = fmt.Sprintf("%s_%d", w, lane/2)
	if lane%2 == 0 {
		if unpack {
			word = fmt.Sprintf("unpack2x16float(%s)", word)
		}
		t.line("let %s = %s;", w, word)
	}
	if unpack {
		return fmt.Sprintf("%s.%c", w, "xy"[lane%2])
	}
	return decode(a.dtype, half(w, lane%2), "")
}

// half returns the expression of one of the two 16-bit halves of a word, zeros above.
func half(w string, n int) string {
	if n == 0 {
		return w + " & 0xffffu"
	}
	return w + " >> 16u"
}

// element returns the element at position at of a slot.
func (r reader) element(slot int, d ops.DType, at string) string {
	if r.slots[slot].quant != 0 {
		return fmt.Sprintf("dequantize%d(%s)", slot, at)
	}
	switch d.Size() {
	case 1:
		return decode(d, fmt.Sprintf("%s >> ((%s & 3u) << 3u)", r.wordAt(slot, at+" >> 2u"), at), "")
	case 2:
		return decode(d, fmt.Sprintf("(%s >> ((%s & 1u) << 4u)) & 0xffffu", r.wordAt(slot, at+" >> 1u"), at), "")
	case 8:
		return decode(d, r.wordAt(slot, at+" << 1u"), r.wordAt(slot, "("+at+" << 1u) + 1u"))
	}
	return decode(d, r.wordAt(slot, at), "")
}

// wordAt returns the expression of 32 bits of a slot.
func (r reader) wordAt(slot int, at string) string {
	switch s := &r.slots[slot]; {
	case s.wide:
		return fmt.Sprintf("b%d[(%s) >> 2u][(%s) & 3u]", slot, at, at)
	case s.atomic:
		return fmt.Sprintf("atomicLoad(&b%d[%s])", slot, at)
	}
	return fmt.Sprintf("b%d[%s]", slot, at)
}

// store prints the stores of the lanes of output i, whose first element is at position at, one lane stride apart, and
// of which those before bound, the extent of the last axis, exist.
func (m *mapKernel) store(t *text, b *body, i int, at, stride string) {
	a := &m.out[i]
	last := len(m.shape) - 1
	reader{domain: &m.domain, places: m.places}.storeLanes(t, a, at, stride, word(m.extents+last), b.bits(m.body.Out[i], a.dtype))
}

// storeLanes prints the stores of four elements of an output, given by their bits.
func (r reader) storeLanes(t *text, a *access, at, stride, bound string, bits []string) {
	if a.mode == modeVector {
		r.storeVector(t, a, at, bits)
		return
	}
	for lane := range bits {
		t.line("if (x%d%s + %du < %s) {", len(r.shape)-1, r.tag, r.lane(lane), bound)
		position := at
		if lane > 0 {
			position = fmt.Sprintf("(%s + %du * %s)", at, r.lane(lane), stride)
		}
		r.storeElement(t, a, position, bits[lane])
		t.line("}")
	}
}

// storeVector prints the store of four elements, given by their bits, as whole words.
func (r reader) storeVector(t *text, a *access, at string, bits []string) {
	switch a.dtype.Size() {
	case 1:
		t.line("b%d[%s >> 2u] = %s | (%s << 8u) | (%s << 16u) | (%s << 24u);", a.slot, at, bits[0], bits[1], bits[2], bits[3])
	case 2:
		if r.slots[a.slot].pair {
			t.line("b%d[%s >> 2u] = vec2<u32>(%s | (%s << 16u), %s | (%s << 16u));", a.slot, at, bits[0], bits[1], bits[2], bits[3])
			return
		}
		for h := range 2 {
			t.line("b%d[(%s >> 1u) + %du] = %s | (%s << 16u);", a.slot, at, h, bits[2*h], bits[2*h+1])
		}
	case 4:
		t.line("b%d[%s >> 2u] = vec4<u32>(%s);", a.slot, at, strings.Join(bits, ", "))
	case 8:
		for h := range 2 {
			t.line("b%d[(%s >> 1u) + %du] = vec4<u32>(%s, %s);", a.slot, at, h, bits[2*h], bits[2*h+1])
		}
	}
}

// storeElement prints the store of one element, given by its bits. Of an atomic slot only its owner changes an
// element's bits, so clearing and setting them may be two operations.
func (r reader) storeElement(t *text, a *access, at, bits string) {
	switch size := a.dtype.Size(); size {
	case 8:
		t.line("{ let bits = %s;", bits)
		t.line("%s = bits.x; %s = bits.y; }", r.wordAt(a.slot, at+" << 1u"), r.wordAt(a.slot, "("+at+" << 1u) + 1u"))
	case 4:
		t.line("%s = %s;", r.wordAt(a.slot, at), bits)
	default:
		per := 4 / size // elements in a word
		t.line("{ let shift = (%s & %du) * %du;", at, per-1, 8*size)
		t.line("atomicAnd(&b%d[%s / %du], ~(%du << shift));", a.slot, at, per, 1<<(8*size)-1)
		t.line("atomicOr(&b%d[%s / %du], %s << shift); }", a.slot, at, per, bits)
	}
}
