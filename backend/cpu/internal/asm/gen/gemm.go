package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gemmKernels emits products of matrices. A tile of c stays in registers: as many rows as there are registers for, of two
// vectors each. A step takes two vectors of a row of b, and multiplies them by a number of each row of a.
func gemmKernels(s *set, _ *kernels) {
	for _, rows := range s.tileRows() {
		s.product("Float32", 4, rows)
		s.product("Float64", 8, rows)
	}
}

// tileRows returns the numbers of rows of a tile: with 32 registers, 24 of 27 are sums, with 16 they are 12 of 15. What is
// left of a matrix is made up of fewer.
func (s *set) tileRows() []int {
	if s.wide {
		return []int{12, 8, 4, 2, 1}
	}
	return []int{6, 4, 2, 1}
}

const tileVectors = 2 // of a row of a tile

func (s *set) product(t string, size, rows int) {
	name := fmt.Sprintf("Product%dx%s%s", rows, t, s.suffix())
	doc := fmt.Sprintf("%s sets c, %d rows of %d elements ldc apart, to the product of\n%d rows of k elements at a, lda apart, and k rows at b, ldb apart.",
		name, rows, tileVectors*s.bytes()/size, rows)
	sig := signature([]string{"c", "a", "b"}, []string{"k", "lda", "ldb", "ldc"}, nil)
	s.function(name, doc, sig, func(g *gen) {
		p := product{gen: g, size: size, acc: make([][tileVectors]val, rows)}
		p.emit()
	})
}

type product struct {
	*gen
	size  int
	acc   [][tileVectors]val
	rows  []reg.GPVirtual // of a, every third
	lda   reg.GPVirtual
	b, lb reg.GPVirtual
}

func (p *product) emit() {
	for i := range p.acc {
		for j := range p.acc[i] {
			p.acc[i][j] = p.zero()
		}
	}
	p.addresses()
	const unroll = 4
	k := p.param("k")
	four, rest, one, end := p.label("four"), p.label("rest"), p.label("one"), p.label("end")
	p.SUBQ(operand.U8(unroll), k)
	p.JLT(operand.LabelRef(rest))
	p.Label(four)
	for n := range unroll {
		p.step(n)
	}
	p.advance(unroll)
	p.SUBQ(operand.U8(unroll), k)
	p.JGE(operand.LabelRef(four))
	p.Label(rest)
	p.ADDQ(operand.U8(unroll), k)
	p.JEQ(operand.LabelRef(end))
	p.Label(one)
	p.step(0)
	p.advance(1)
	p.DECQ(k)
	p.JNE(operand.LabelRef(one))
	p.Label(end)
	p.store()
}

// stride returns a parameter that counts elements, in bytes.
func (p *product) stride(name string) reg.GPVirtual {
	r := p.param(name)
	p.SHLQ(operand.U8(map[int]int{4: 2, 8: 3}[p.size]), r)
	return r
}

func (p *product) addresses() {
	p.b, p.lb, p.lda = p.param("b"), p.stride("ldb"), p.stride("lda")
	row := p.param("a")
	p.rows = append(p.rows, row)
	for i := 3; i < len(p.acc); i += 3 {
		next := p.GP64()
		p.LEAQ(operand.Mem{Base: row, Index: p.lda, Scale: 2}, next)
		p.ADDQ(p.lda, next)
		p.rows = append(p.rows, next)
		row = next
	}
}

// step adds the products of element n of the rows of a.
func (p *product) step(n int) {
	var y [tileVectors]val
	for j := range y {
		y[j] = p.vec()
		p.VMOVUPS(operand.Mem{Base: p.b, Disp: j * p.bytes()}, y[j])
	}
	p.ADDQ(p.lb, p.b)
	for i := range p.acc {
		m := operand.Mem{Base: p.rows[i/3], Disp: n * p.size}
		if i%3 > 0 {
			m.Index, m.Scale = p.lda, uint8(i%3)
		}
		x := p.vec()
		if p.size == 4 {
			p.VBROADCASTSS(m, x)
		} else {
			p.VBROADCASTSD(m, x)
		}
		for j := range y {
			if p.size == 4 {
				p.VFMADD231PS(y[j], x, p.acc[i][j])
			} else {
				p.VFMADD231PD(y[j], x, p.acc[i][j])
			}
		}
	}
}

func (p *product) advance(n int) {
	for _, r := range p.rows {
		p.ADDQ(operand.U8(n*p.size), r)
	}
}

func (p *product) store() {
	c, ldc := p.param("c"), p.stride("ldc")
	for i := range p.acc {
		if i > 0 {
			p.ADDQ(ldc, c)
		}
		for j := range p.acc[i] {
			p.VMOVUPS(p.acc[i][j], operand.Mem{Base: c, Disp: j * p.bytes()})
		}
	}
}
