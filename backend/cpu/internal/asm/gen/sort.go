package main

import (
	"fmt"
	"go/types"
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// sortKernels emits what a quicksort of signed integers needs, and the integers that stand for floats.
func sortKernels(s *set, _ *kernels) {
	for _, size := range []int{4, 8} {
		s.sortFew(size)
		s.partition(size)
		s.floatKeys(size)
		s.keyFloats(size)
	}
}

// sortRows is the most vectors that are sorted in registers.
const sortRows = 8

// A sorter emits a sorting network on rows of vectors of signed integers.
type sorter struct {
	*gen
	size, lanes int
	n           reg.GPVirtual
	x           reg.GPVirtual
	high        map[int]val // masks of the lanes with a bit of their number set
	reversal    map[int]val // indices that reverse groups of lanes, where no instruction does without
}

// sortFew emits a function that sorts up to sortRows vectors of signed integers.
//
// First the columns of the vectors are sorted. Then neighbouring blocks of columns, whose rows one after the other are in order,
// are merged: the one followed by the other backwards is a bitonic sequence. Its halves are compared, which is row with row from
// both ends, one of them with the lanes of both blocks in reverse; and so on with each half down to the lanes of a row.
func (s *set) sortFew(size int) {
	name := fmt.Sprintf("SortFew%d", 8*size) + s.suffix()
	doc := fmt.Sprintf("%s sorts n signed integers, %d at most.", name, sortRows*s.bytes()/size)
	s.function(name, doc, signature([]string{"x"}, []string{"n"}, nil), func(g *gen) {
		w := &sorter{gen: g, size: size, lanes: s.bytes() / size, x: g.param("x"), n: g.param("n"), high: map[int]val{}, reversal: map[int]val{}}
		w.prepare()
		end := g.label("end")
		for rows := 1; rows <= sortRows; rows *= 2 {
			next := g.label("more")
			if rows < sortRows {
				g.CMPQ(w.n, operand.U32(uint32(rows*w.lanes)))
				g.JGT(operand.LabelRef(next))
			}
			w.sort(rows)
			if rows < sortRows {
				g.JMP(operand.LabelRef(end))
				g.Label(next)
			}
		}
		g.Label(end)
	})
}

// prepare puts constants in registers.
func (w *sorter) prepare() {
	if w.wide {
		for b := 1; b < w.lanes; b *= 2 {
			bits := uint32(0)
			for i := range w.lanes {
				if i&b != 0 {
					bits |= 1 << i
				}
			}
			r, k := w.GP32(), w.K()
			w.MOVL(operand.U32(bits), r)
			w.KMOVW(r, k)
			w.high[b] = k
		}
	}
	for c := 16 / w.size * 2; c <= w.lanes; c *= 2 {
		if w.size == 8 && c == 4 {
			continue // VPERMQ does
		}
		z := w.vec()
		w.VMOVUPS(w.reversing(c), z)
		w.reversal[c] = z
	}
}

// reversing returns the memory of the indices that reverse groups of c lanes.
func (w *sorter) reversing(c int) operand.Mem {
	name := fmt.Sprintf("reverse%dof%d", c, 8*w.size)
	if m, ok := w.data[name]; ok {
		return m
	}
	m := w.ctx.StaticGlobal(name)
	w.ctx.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range w.lanes {
		if w.size == 4 {
			w.ctx.AppendDatum(operand.U32(uint32(i ^ (c - 1))))
		} else {
			w.ctx.AppendDatum(operand.U64(uint64(i ^ (c - 1))))
		}
	}
	w.set.keep(name, m)
	return m
}

// keep remembers data of the file.
func (s *set) keep(name string, m operand.Mem) {
	if s.data == nil {
		s.data = map[string]operand.Mem{}
	}
	s.data[name] = m
}

// columns are networks that sort 2, 4 and 8.
var columns = map[int][][2]int{
	1: {},
	2: {{0, 1}},
	4: {{0, 1}, {2, 3}, {0, 2}, {1, 3}, {1, 2}},
	8: {
		{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3}, {4, 6}, {5, 7}, {1, 2}, {5, 6},
		{0, 4}, {1, 5}, {2, 6}, {3, 7}, {2, 4}, {3, 5}, {1, 2}, {3, 4}, {5, 6},
	},
}

// sort loads, sorts and stores a number of rows.
func (w *sorter) sort(rows int) {
	v := make([]val, rows)
	for i := range v {
		v[i] = w.row(i)
	}
	for _, c := range columns[rows] {
		v[c[0]], v[c[1]] = w.ordered(v[c[0]], v[c[1]])
	}
	for c := 2; c <= w.lanes; c *= 2 {
		for h := rows; h > 1; h /= 2 {
			for b := 0; b < rows; b += h {
				next := make([]val, h)
				for r := range h / 2 {
					next[r], next[h/2+r] = w.ordered(v[b+r], w.reversed(v[b+h-1-r], c))
				}
				copy(v[b:], next)
			}
		}
		for i := range v {
			v[i] = w.within(v[i], w.reversed(v[i], c), c/2)
			for d := c / 4; d > 0; d /= 2 {
				v[i] = w.within(v[i], w.crossed(v[i], d), d)
			}
		}
	}
	for i := range v {
		w.putRow(i, v[i])
	}
}

// rest returns how many lanes of row i there are.
func (w *sorter) rest(i int) reg.GPVirtual {
	r, bound := w.GP64(), w.GP64()
	w.MOVQ(w.n, r)
	w.SUBQ(operand.U32(uint32(i*w.lanes)), r)
	w.XORL(bound.As32(), bound.As32())
	w.CMPQ(r, bound)
	w.CMOVQLT(bound, r)
	if !w.wide {
		w.MOVL(operand.U32(uint32(w.lanes)), bound.As32())
		w.CMPQ(r, bound)
		w.CMOVQGT(bound, r)
	}
	return r
}

// laneMask returns the mask of the lanes of row i that there are.
func (w *sorter) laneMask(i int) val {
	r := w.rest(i)
	if w.wide {
		m, k := w.GP64(), w.K()
		w.MOVQ(operand.I32(-1), m)
		w.BZHIQ(r, m, m)
		w.KMOVQ(m, k)
		return k
	}
	at, m := w.GP64(), w.vec()
	w.LEAQ(w.ones(), at)
	w.NEGQ(r)
	w.VMOVUPS(operand.Mem{Base: at, Index: r, Scale: uint8(w.size), Disp: 32}, m)
	return m
}

// row loads row i, with the greatest integer where there is no element.
func (w *sorter) row(i int) val {
	m := w.laneMask(i)
	at := operand.Mem{Base: w.x, Disp: i * w.bytes()}
	most := w.u(math.MaxInt32)
	if w.size == 8 {
		most = w.q(math.MaxInt64)
	}
	z := w.vec()
	switch {
	case w.wide && w.size == 4:
		w.VMOVUPS(most, z)
		w.VMOVDQU32(at, m, z)
	case w.wide:
		w.VMOVUPS(most, z)
		w.VMOVDQU64(at, m, z)
	default:
		w.VMASKMOVPS(at, m, z)
		w.VBLENDVPS(m, z, w.in(most), z)
	}
	return z
}

func (w *sorter) putRow(i int, v val) {
	m := w.laneMask(i)
	at := operand.Mem{Base: w.x, Disp: i * w.bytes()}
	switch {
	case w.wide && w.size == 4:
		w.VMOVDQU32(v, m, at)
	case w.wide:
		w.VMOVDQU64(v, m, at)
	default:
		w.VMASKMOVPS(v, m, at)
	}
}

// ordered returns the lesser and the greater of each lane of a and b.
func (w *sorter) ordered(a, b val) (lo, hi val) {
	switch {
	case w.size == 4:
		return w.op2(w.VPMINSD, a, b), w.op2(w.VPMAXSD, a, b)
	case w.wide:
		return w.op2(w.VPMINSQ, a, b), w.op2(w.VPMAXSQ, a, b)
	}
	m, l, h := w.vec(), w.vec(), w.vec()
	w.VPCMPGTQ(b, a, m)
	w.VBLENDVPD(m, b, a, l)
	w.VBLENDVPD(m, a, b, h)
	return l, h
}

// within returns the lesser of each lane of a and b, and the greater in lanes whose number has the bit.
func (w *sorter) within(a, b val, bit int) val {
	if !w.wide {
		lo, hi := w.ordered(a, b)
		order := 0
		for i := range 8 {
			if i*4/w.size&bit != 0 {
				order |= 1 << i
			}
		}
		z := w.vec()
		w.VPBLENDD(operand.U8(order), hi, lo, z)
		return z
	}
	z := w.vec()
	if w.size == 4 {
		w.VPMINSD(b, a, z)
		w.VPMAXSD(b, a, w.high[bit], z)
	} else {
		w.VPMINSQ(b, a, z)
		w.VPMAXSQ(b, a, w.high[bit], z)
	}
	return z
}

// reversed returns v with groups of c lanes in reverse.
func (w *sorter) reversed(v val, c int) val {
	z := w.vec()
	switch {
	case w.size*c == 8 && w.size == 4:
		w.VPSHUFD(operand.U8(0xb1), v, z)
	case w.size*c == 16 && w.size == 4:
		w.VPSHUFD(operand.U8(0x1b), v, z)
	case w.size*c == 16:
		w.VPSHUFD(operand.U8(0x4e), v, z)
	case w.size == 8 && c == 4:
		w.VPERMQ(operand.U8(0x1b), v, z)
	case w.size == 4:
		w.VPERMD(v, w.reversal[c], z)
	default:
		w.VPERMQ(v, w.reversal[c], z)
	}
	return z
}

// crossed returns v with lanes that differ in a bit of their number exchanged.
func (w *sorter) crossed(v val, bit int) val {
	z := w.vec()
	switch bit * w.size {
	case 4:
		w.VPSHUFD(operand.U8(0xb1), v, z)
	case 8:
		w.VPSHUFD(operand.U8(0x4e), v, z)
	case 16:
		if w.wide {
			w.VSHUFI64X2(operand.U8(0xb1), v, v, z)
		} else {
			w.VPERMQ(operand.U8(0x4e), v, z)
		}
	default:
		panic("crossed")
	}
	return z
}

// partition emits a function that parts integers at a pivot.
func (s *set) partition(size int) {
	name := fmt.Sprintf("Partition%d", 8*size) + s.suffix()
	lanes := s.bytes() / size
	doc := name + " moves those of n signed integers that are not greater than pivot to the front of x, the others to y, which\nhas room for n, and returns how many are not greater."
	sig := signature([]string{"x", "y"}, []string{"n", "pivot"}, types.Typ[types.Int])
	s.function(name, doc, sig, func(g *gen) {
		x, y, rest, pivot := g.param("x"), g.param("y"), g.param("n"), g.param("pivot")
		from, to, others := g.GP64(), g.GP64(), g.GP64() // x[to] and y[others] are the next places
		g.XORL(to.As32(), to.As32())
		g.XORL(others.As32(), others.As32())
		g.MOVQ(x, from)
		p := g.vec()
		low := g.XMM()
		g.VMOVQ(pivot, low)
		if size == 4 {
			g.VPBROADCASTD(low, p)
		} else {
			g.VPBROADCASTQ(low, p)
		}
		table := g.GP64()
		if !g.wide {
			g.LEAQ(s.packing(lanes), table)
		}
		left := operand.Mem{Base: x, Index: to, Scale: uint8(size)}
		right := operand.Mem{Base: y, Index: others, Scale: uint8(size)}
		vector := func(v val) {
			count := g.GP64()
			if g.wide {
				g.partWide(size, v, p, left, right, count)
			} else {
				g.partNarrow(size, v, p, left, right, table, count)
			}
			g.ADDQ(count, to)
			g.ADDQ(operand.U8(lanes), others)
			g.SUBQ(count, others)
		}
		const several = 4
		tail, end := g.label("tail"), g.label("end")
		for _, n := range []int{several, 1} {
			// No vector is stored beyond the place up to which x has been read.
			again, done := g.label("vectors"), g.label("rest")
			g.SUBQ(operand.U32(uint32(n*lanes)), rest)
			g.JLT(operand.LabelRef(done))
			g.Label(again)
			v := make([]val, n)
			for i := range v {
				v[i] = g.vec()
				g.VMOVUPS(operand.Mem{Base: from, Disp: i * s.bytes()}, v[i])
			}
			for i := range v {
				vector(v[i])
			}
			g.ADDQ(operand.U32(uint32(n*s.bytes())), from)
			g.SUBQ(operand.U32(uint32(n*lanes)), rest)
			g.JGE(operand.LabelRef(again))
			g.Label(done)
			g.ADDQ(operand.U32(uint32(n*lanes)), rest)
		}
		g.Label(tail)
		g.SUBQ(operand.U8(1), rest)
		g.JLT(operand.LabelRef(end))
		e, count := g.GP64(), g.GP64()
		g.XORL(count.As32(), count.As32())
		if size == 4 {
			g.MOVL(operand.Mem{Base: from}, e.As32())
			g.MOVL(e.As32(), left)
			g.MOVL(e.As32(), right)
			g.CMPL(e.As32(), pivot.As32())
		} else {
			g.MOVQ(operand.Mem{Base: from}, e)
			g.MOVQ(e, left)
			g.MOVQ(e, right)
			g.CMPQ(e, pivot)
		}
		g.SETLE(count.As8())
		g.ADDQ(count, to)
		g.ADDQ(operand.U8(1), others)
		g.SUBQ(count, others)
		g.ADDQ(operand.U8(size), from)
		g.JMP(operand.LabelRef(tail))
		g.Label(end)
		g.result(to)
	})
}

// partWide stores the lanes of v that are not greater than p to left, the others to right, and counts the first. A compressed
// vector goes to memory by way of a register, as some processors are slow to compress to memory.
func (g *gen) partWide(size int, v, p val, left, right operand.Mem, count reg.GPVirtual) {
	up, down := g.K(), g.K()
	l, r := g.vec(), g.vec()
	if size == 4 {
		g.VPCMPGTD(p, v, up)
		g.VPCMPD(operand.U8(2), p, v, down) // not greater
		g.VPCOMPRESSD_Z(v, down, l)
		g.VPCOMPRESSD_Z(v, up, r)
	} else {
		g.VPCMPGTQ(p, v, up)
		g.VPCMPQ(operand.U8(2), p, v, down)
		g.VPCOMPRESSQ_Z(v, down, l)
		g.VPCOMPRESSQ_Z(v, up, r)
	}
	g.VMOVUPS(l, left)
	g.VMOVUPS(r, right)
	g.KMOVW(down, count.As32())
	g.POPCNTL(count.As32(), count.As32())
}

func (g *gen) partNarrow(size int, v, p val, left, right operand.Mem, table reg.Register, count reg.GPVirtual) {
	up := g.vec()
	bits, not := g.GP64(), g.GP64()
	all := uint32(0xff)
	if size == 4 {
		g.VPCMPGTD(p, v, up)
		g.VMOVMSKPS(up, bits.As32())
	} else {
		all = 0xf
		g.VPCMPGTQ(p, v, up)
		g.VMOVMSKPD(up, bits.As32())
	}
	g.MOVL(bits.As32(), not.As32())
	g.XORL(operand.U32(all), not.As32())
	for _, side := range []struct {
		bits reg.Register
		to   operand.Mem
	}{{not, left}, {bits, right}} {
		order, z := g.vec(), g.vec()
		g.VPMOVZXBD(operand.Mem{Base: table, Index: side.bits, Scale: 8}, order)
		g.VPERMD(v, order, z)
		g.VMOVUPS(z, side.to)
	}
	g.POPCNTL(not.As32(), count.As32())
}

// packing returns the memory of the orders of 8 pieces of a vector of 4 or 8 lanes, as bytes, that bring the lanes in a mask to
// the front, for all masks.
func (s *set) packing(lanes int) operand.Mem {
	name := fmt.Sprintf("packing%d", lanes)
	if m, ok := s.data[name]; ok {
		return m
	}
	m := s.ctx.StaticGlobal(name)
	s.ctx.DataAttributes(attr.RODATA | attr.NOPTR)
	pieces := 8 / lanes
	for mask := range 1 << lanes {
		word, at := uint64(0), 0
		for i := range lanes {
			for k := range pieces {
				if mask>>i&1 != 0 {
					word |= uint64(i*pieces+k) << (8 * at)
					at++
				}
			}
		}
		s.ctx.AppendDatum(operand.U64(word))
	}
	s.keep(name, m)
	return m
}

// floatKeys emits a function that writes integers in the order of floats.
func (s *set) floatKeys(size int) {
	name := fmt.Sprintf("FloatKeys%d", 8*size) + s.suffix()
	doc := name + " writes signed integers that are in the order of n floats, both zeros being 0, or with flip -1 in the reverse\n" +
		"order, and the greatest for NaN. It returns 0 if there is neither NaN nor a negative zero."
	sig := signature([]string{"z", "x"}, []string{"n", "flip"}, types.Typ[types.Int])
	s.function(name, doc, sig, func(g *gen) {
		l := &loop{gen: g, k: &kernel{lane: size}, lanes: s.bytes() / size}
		l.base[0], l.base[1] = g.param("z"), g.param("x")
		f := lanes{g, size}
		flip := g.spreadInt("flip")
		most, sign := g.extremes(size)
		odd := g.noMask()
		l.begin()
		l.each(func(part bool) {
			x := l.vectorAt(size, 0, part)
			g.gather(f.compare(unordered, x, x), odd)
			g.gather(f.equalBits(x, sign), odd)
			zero := f.compare(equal, x, g.zero())
			k := g.selLanes(size, zero, g.zero(), x)
			k = g.xor(g.xor(k, g.andNot(sign, f.signs(k))), flip)
			k = g.selLanes(size, f.compare(unordered, x, x), most, k)
			l.move(l.address(0, size), k, size, part, false)
		})
		end := g.label("over")
		r := g.GP64()
		g.XORL(r.As32(), r.As32())
		g.jumpNone(odd, end)
		g.MOVL(operand.U32(1), r.As32())
		g.Label(end)
		g.result(r)
	})
}

// keyFloats emits the function that undoes floatKeys.
func (s *set) keyFloats(size int) {
	name := fmt.Sprintf("KeyFloats%d", 8*size) + s.suffix()
	doc := name + " writes the floats whose keys n integers are: 0 for both zeros, a NaN for all."
	s.function(name, doc, signature([]string{"z", "x"}, []string{"n", "flip"}, nil), func(g *gen) {
		l := &loop{gen: g, k: &kernel{lane: size}, lanes: s.bytes() / size}
		l.base[0], l.base[1] = g.param("z"), g.param("x")
		f := lanes{g, size}
		flip := g.spreadInt("flip")
		most, sign := g.extremes(size)
		l.begin()
		l.each(func(part bool) {
			k := l.vectorAt(size, 0, part)
			x := g.xor(k, flip)
			x = g.xor(x, g.andNot(sign, f.signs(x)))
			x = g.selLanes(size, f.equalBits(k, most), most, x)
			l.move(l.address(0, size), x, size, part, false)
		})
	})
}

// extremes returns the greatest and the least signed integer in all lanes.
func (g *gen) extremes(size int) (most, least val) {
	if size == 4 {
		return g.in(g.u(math.MaxInt32)), g.in(g.u(1 << 31))
	}
	return g.in(g.q(math.MaxInt64)), g.in(g.q(1 << 63))
}

// spreadInt returns the parameter of the given name, 0 or -1, in all bits.
func (g *gen) spreadInt(name string) val {
	low, z := g.XMM(), g.vec()
	g.VMOVQ(g.param(name), low)
	g.VPBROADCASTQ(low, z)
	return z
}

// equalBits is the mask of the lanes of a and b that are the same.
func (f lanes) equalBits(a, b val) val {
	switch {
	case f.wide && f.size == 4:
		k := f.K()
		f.VPCMPEQD(b, a, k)
		return k
	case f.wide:
		k := f.K()
		f.VPCMPEQQ(b, a, k)
		return k
	case f.size == 4:
		return f.op2(f.VPCMPEQD, a, b)
	}
	return f.op2(f.VPCMPEQQ, a, b)
}

// signs returns the sign of each integer in all its bits.
func (f lanes) signs(a val) val {
	switch {
	case f.size == 4:
		return f.sar(a, 31)
	case f.wide:
		return f.op2u(f.VPSRAQ, a, 63)
	}
	return f.op2(f.VPCMPGTQ, f.zero(), a)
}

// each emits next for each vector: whether it is the last, which is not full.
func (l *loop) each(next func(part bool)) {
	top, tail, end := l.label("loop"), l.label("tail"), l.label("end")
	l.CMPQ(l.rest, operand.U8(0))
	l.JLT(operand.LabelRef(tail))
	l.Label(top)
	next(false)
	l.step(top)
	l.Label(tail)
	l.ADDQ(operand.U8(l.lanes), l.rest)
	l.JLE(operand.LabelRef(end))
	l.setMask()
	next(true)
	l.Label(end)
}
