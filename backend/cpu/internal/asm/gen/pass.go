package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// passKernels emits products of one row with many columns: a pass goes along some rows of b, whose lines follow each other, as
// memory is read fastest.
func passKernels(s *set, _ *kernels) {
	for _, rows := range []int{8, 4, 2, 1} {
		s.pass("Float32", 4, rows)
		s.pass("Float64", 8, rows)
	}
}

func (s *set) pass(t string, size, count int) {
	name := fmt.Sprintf("Pass%d%s%s", count, t, s.suffix())
	doc := fmt.Sprintf("%s adds to n elements of c, a multiple of a vector, the products of %d numbers at a, col\napart, with rows of b. With add = 0 it writes them.", name, count)
	s.function(name, doc, signature([]string{"c", "a", "b", "at"}, []string{"col", "n", "add"}, nil), func(g *gen) {
		p := product{gen: g, size: size, masks: make([]val, 1)}
		c, a, b, at, col := p.param("c"), p.param("a"), p.param("b"), p.param("at"), p.stride("col")
		x, rows := make([]val, count), make([]reg.GPVirtual, count)
		for i := range x {
			x[i] = p.broadcast(operand.Mem{Base: a})
			p.ADDQ(col, a)
			rows[i] = p.GP64()
			p.MOVQ(operand.Mem{Base: at, Disp: 8 * i}, rows[i])
			p.ADDQ(b, rows[i])
		}
		add, n, j := p.param("add"), p.param("n"), p.GP64()
		p.XORQ(j, j)
		loop, set := p.label("loop"), p.label("set")
		p.Label(loop)
		y := p.zero()
		p.TESTQ(add, add)
		p.JEQ(operand.LabelRef(set))
		p.VMOVUPS(operand.Mem{Base: c, Index: j, Scale: uint8(size)}, y)
		p.Label(set)
		for i := range x {
			p.add231(operand.Mem{Base: rows[i], Index: j, Scale: uint8(size)}, x[i], y)
		}
		p.VMOVUPS(y, operand.Mem{Base: c, Index: j, Scale: uint8(size)})
		p.ADDQ(operand.U8(p.bytes()/size), j)
		p.CMPQ(j, n)
		p.JLT(operand.LabelRef(loop))
	})
}
