package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// quantKernels emits what is done with quantised blocks of 32 elements: their dequantisation, and dot products of them. It is the
// same for both sets, as the bytes that vectors of AVX2 are made of are few.
func quantKernels(s *set, _ *kernels) {
	if s.wide {
		return
	}
	for _, k := range []quantKind{
		{"Q80", 34, func(q *quant) {
			for at := 0; at < 32; at += 8 {
				v := q.YMM()
				q.VPMOVSXBD(operand.Mem{Base: q.x, Disp: 2 + at}, v)
				q.element(v, at)
			}
		}},
		{"Q40", 18, func(q *quant) { q.nibbles(2, true) }},
		{"Q41", 20, func(q *quant) {
			q.base = q.half(2)
			q.nibbles(4, false)
		}},
	} {
		s.dequantize(k)
		s.quantDot(k)
	}
}

// A quantKind is a quantised type: its blocks of some bytes, and the calls of element for one.
type quantKind struct {
	name  string
	size  int
	block func(q *quant)
}

// A quant emits what is done with a block.
type quant struct {
	*gen
	x           reg.GPVirtual
	scale, base reg.VecVirtual                 // base is nil if blocks have none
	use         func(v reg.VecVirtual, at int) // takes 8 elements of a block, from one on
}

// blocks emits the loop over n blocks at x, with next after each of them. Memory gives a lone stream too late what is not asked for.
func (q *quant) blocks(k quantKind, next func()) {
	n, loop := q.param("n"), q.label("loop")
	q.Label(loop)
	q.scale = q.half(0)
	k.block(q)
	q.PREFETCHT0(operand.Mem{Base: q.x, Disp: 1024})
	q.ADDQ(operand.U8(k.size), q.x)
	next()
	q.DECQ(n)
	q.JNE(operand.LabelRef(loop))
}

func (s *set) dequantize(k quantKind) {
	name := "Dequantize" + k.name + s.suffix()
	s.function(name, name+" writes the elements of n blocks.", signature([]string{"z", "x"}, []string{"n"}, nil), func(g *gen) {
		z := g.param("z")
		q := &quant{gen: g, x: g.param("x"), use: func(v reg.VecVirtual, at int) { g.VMOVUPS(v, operand.Mem{Base: z, Disp: 4 * at}) }}
		q.blocks(k, func() { g.ADDQ(operand.U32(32*4), z) })
	})
}

func (s *set) quantDot(k quantKind) {
	name := fmt.Sprintf("Dot%s%s", k.name, s.suffix())
	doc := name + " multiplies the elements of n blocks with numbers, and adds the products."
	s.function(name, doc, signature([]string{"c", "a", "b"}, []string{"n", "add"}, nil), func(g *gen) {
		a := g.param("a")
		sums := make([]reg.VecVirtual, 4)
		for i := range sums {
			sums[i] = g.YMM()
			g.VXORPS(sums[i], sums[i], sums[i])
		}
		q := &quant{gen: g, x: g.param("b"), use: func(v reg.VecVirtual, at int) {
			g.VFMADD231PS(operand.Mem{Base: a, Disp: 4 * at}, v, sums[at/8])
		}}
		q.blocks(k, func() { g.ADDQ(operand.U32(32*4), a) })
		g.VADDPS(sums[1], sums[0], sums[0])
		g.VADDPS(sums[3], sums[2], sums[2])
		g.VADDPS(sums[2], sums[0], sums[0])
		p := product{gen: g, size: 4}
		sum, c, add, skip := p.lanesAdded([]val{sums[0]}), g.param("c"), g.param("add"), g.label("skip")
		g.TESTQ(add, add)
		g.JEQ(operand.LabelRef(skip))
		g.VADDSS(operand.Mem{Base: c}, sum, sum)
		g.Label(skip)
		g.VMOVSS(sum, operand.Mem{Base: c})
	})
}

// half returns the half-precision number at a byte of the block, in all lanes.
func (q *quant) half(at int) reg.VecVirtual {
	h, v := q.XMM(), q.YMM()
	q.VPBROADCASTW(operand.Mem{Base: q.x, Disp: at}, h)
	q.VCVTPH2PS(h, v)
	return v
}

// nibbles calls element for 16 bytes from one on, of which the lower halves are the first 16 elements. Those with a middle have 8
// for 0.
func (q *quant) nibbles(first int, middle bool) {
	for at := 0; at < 16; at += 8 {
		low, high := q.YMM(), q.YMM()
		q.VPMOVZXBD(operand.Mem{Base: q.x, Disp: first + at}, low)
		q.VPSRLD(operand.U8(4), low, high)
		q.VPAND(q.constant(15, 4, 8), low, low)
		for i, v := range []reg.VecVirtual{low, high} {
			if middle {
				q.VPSUBD(q.constant(8, 4, 8), v, v)
			}
			q.element(v, 16*i+at)
		}
	}
}

// element makes the elements from one on, of which v has the integers, and uses them.
func (q *quant) element(v reg.VecVirtual, at int) {
	q.VCVTDQ2PS(v, v)
	q.VMULPS(q.scale, v, v)
	if q.base != nil {
		q.VADDPS(q.base, v, v)
	}
	q.use(v, at)
}
