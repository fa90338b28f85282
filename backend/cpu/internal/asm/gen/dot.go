package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// dotKernels emits products of few rows with columns that are rows in memory: a lane of a sum takes the terms that are a vector apart,
// and the lanes are added at the end.
func dotKernels(s *set, ks *kernels) {
	for _, t := range []struct {
		name string
		size int
	}{{"Float32", 4}, {"Float64", 8}} {
		for _, shape := range s.dots() {
			ks.tiles = append(ks.tiles, tileEntry{
				set: s.name(), list: "Dots", dtype: t.name, rows: shape[0], columns: shape[1], fn: s.dot(t.name, t.size, shape[0], shape[1]),
			})
		}
	}
}

// dots returns the rows and columns of the kernels.
func (s *set) dots() [][2]int {
	few := [][2]int{{2, 4}, {2, 1}, {1, 8}, {1, 4}, {1, 1}}
	if s.wide {
		return append([][2]int{{4, 4}, {4, 1}}, few...)
	}
	return few
}

func (s *set) dot(t string, size, rows, columns int) string {
	name := fmt.Sprintf("Dot%dx%d%s%s", rows, columns, t, s.suffix())
	doc := fmt.Sprintf("%s multiplies %d rows and %d columns.", name, rows, columns)
	s.function(name, doc, signature([]string{"c", "a", "b"}, []string{"k", "row", "col", "ldc", "add"}, nil), func(g *gen) {
		p := product{gen: g, size: size, acc: make([][]val, rows)}
		p.dot(columns)
	})
	return name
}

// everyThird returns pointers to the first, fourth, … of n rows, stride apart.
func (p *product) everyThird(first, stride reg.GPVirtual, n int) []reg.GPVirtual {
	rows := []reg.GPVirtual{first}
	for i := 3; i < n; i += 3 {
		next := p.GP64()
		p.LEAQ(operand.Mem{Base: rows[i/3-1], Index: stride, Scale: 2}, next)
		p.ADDQ(stride, next)
		rows = append(rows, next)
	}
	return rows
}

// third returns the memory of row i.
func third(rows []reg.GPVirtual, stride reg.GPVirtual, i int) operand.Mem {
	m := operand.Mem{Base: rows[i/3]}
	if i%3 > 0 {
		m.Index, m.Scale = stride, uint8(i%3)
	}
	return m
}

func (p *product) dot(columns int) {
	lanes := p.bytes() / p.size
	row, col := p.stride("row"), p.stride("col")
	as, bs := p.everyThird(p.param("a"), row, len(p.acc)), p.everyThird(p.param("b"), col, columns)
	for i := range p.acc {
		p.acc[i] = make([]val, columns)
		for j := range p.acc[i] {
			p.acc[i][j] = p.zero()
		}
	}
	step := func() {
		x := make([]val, len(p.acc))
		for i := range x {
			x[i] = p.vec()
			p.load(third(as, row, i), x[i], 0)
		}
		for j := range columns {
			y := p.vec()
			p.load(third(bs, col, j), y, 0)
			for i := range x {
				p.add231(x[i], y, p.acc[i][j])
			}
		}
	}
	k := p.param("k")
	loop, tail, end := p.label("loop"), p.label("tail"), p.label("end")
	p.SUBQ(operand.U8(lanes), k)
	p.JLT(operand.LabelRef(tail))
	p.Label(loop)
	step()
	for _, r := range append(append([]reg.GPVirtual(nil), as...), bs...) {
		p.ADDQ(operand.U8(p.bytes()), r)
	}
	p.SUBQ(operand.U8(lanes), k)
	p.JGE(operand.LabelRef(loop))
	p.Label(tail)
	p.ADDQ(operand.U8(lanes), k)
	p.JEQ(operand.LabelRef(end))
	p.part, p.masks = true, make([]val, 1)
	p.maskFirst(k)
	step()
	p.Label(end)
	p.storeDots(columns)
}

// storeDots adds the lanes of the sums, and writes them to c or adds them to what it holds.
func (p *product) storeDots(columns int) {
	c, ldc, add := p.param("c"), p.stride("ldc"), p.param("add")
	for i := range p.acc {
		if i > 0 {
			p.ADDQ(ldc, c)
		}
		for j := 0; j < columns; j += 4 {
			m := operand.Mem{Base: c, Disp: j * p.size}
			sum := p.lanesAdded(p.acc[i][j:min(j+4, columns)])
			skip := p.label("skip")
			p.TESTQ(add, add)
			p.JEQ(operand.LabelRef(skip))
			switch {
			case columns == 1 && p.size == 4:
				p.VADDSS(m, sum, sum)
			case columns == 1:
				p.VADDSD(m, sum, sum)
			case p.size == 4:
				p.VADDPS(m, sum, sum)
			default:
				p.VADDPD(m, sum, sum)
			}
			p.Label(skip)
			switch {
			case columns == 1 && p.size == 4:
				p.VMOVSS(sum, m)
			case columns == 1:
				p.VMOVSD(sum, m)
			default:
				p.VMOVUPS(sum, m)
			}
		}
	}
}

// lanesAdded returns the sums of the lanes of four vectors, or of one, in the first lanes of a register.
func (p *product) lanesAdded(v []val) val {
	y := make([]val, len(v))
	for i := range v {
		y[i] = v[i]
		if p.wide {
			r := v[i].(reg.VecVirtual)
			hi, lo := p.YMM(), p.YMM()
			p.VEXTRACTF64X4(operand.U8(1), r, hi)
			if p.size == 4 {
				p.VADDPS(hi, r.AsY(), lo)
			} else {
				p.VADDPD(hi, r.AsY(), lo)
			}
			y[i] = lo
		}
	}
	y1, y2, y3 := y[0], y[0], y[0]
	if len(y) == 4 {
		y1, y2, y3 = y[1], y[2], y[3]
	}
	if p.size == 4 {
		pairs, more := p.YMM(), p.YMM()
		p.VHADDPS(y1, y[0], pairs)
		p.VHADDPS(y3, y2, more)
		p.VHADDPS(more, pairs, pairs)
		hi, sum := p.XMM(), p.XMM()
		p.VEXTRACTF128(operand.U8(1), pairs, hi)
		p.VADDPS(hi, pairs.AsX(), sum)
		return sum
	}
	pairs, more := p.YMM(), p.YMM()
	p.VHADDPD(y1, y[0], pairs)
	p.VHADDPD(y3, y2, more)
	lo, hi, sum := p.YMM(), p.YMM(), p.YMM()
	p.VPERM2F128(operand.U8(0x20), more, pairs, lo)
	p.VPERM2F128(operand.U8(0x31), more, pairs, hi)
	p.VADDPD(hi, lo, sum)
	if len(v) == 1 {
		return sum.AsX()
	}
	return sum
}
