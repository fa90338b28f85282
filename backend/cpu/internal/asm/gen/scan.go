package main

import "github.com/mmcloughlin/avo/operand"

// scanKernels emits the running sum of float32.
func scanKernels(s *set, _ *kernels) {
	name := "ScanFloat32" + s.suffix()
	doc := name + " writes the sums of the first, the first two, … of n elements, added to those of c, two float64: the\n" +
		"sum of what comes before, which stays, and one that goes on."
	s.function(name, doc, signature([]string{"z", "x", "c"}, []string{"n"}, nil), func(g *gen) {
		l := &loop{gen: g, k: &kernel{lane: 8}, lanes: s.bytes() / 8}
		l.base[0], l.base[1] = g.param("z"), g.param("x")
		c := g.param("c")
		carry, local := g.vec(), g.vec()
		g.VBROADCASTSD(operand.Mem{Base: c}, carry)
		g.VBROADCASTSD(operand.Mem{Base: c, Disp: 8}, local)
		l.begin()
		next := func(part bool) {
			sums := l.prefix(l.widened(l.vectorAt(4, 0, part), 4))
			base := g.op2(g.VADDPD, carry, local)
			y := l.sized(4 * l.lanes)
			if g.wide {
				g.VCVTPD2PS(g.op2(g.VADDPD, base, sums), y)
			} else {
				g.VCVTPD2PSY(g.op2(g.VADDPD, base, sums), y)
			}
			l.move(l.address(0, 4), y, 4, part, false)
			if g.wide {
				g.VADDPD(g.op2(g.VPERMPD, g.q7(), sums), local, local)
			} else {
				last := g.vec()
				g.VPERMPD(operand.U8(0xff), sums, last)
				g.VADDPD(last, local, local)
			}
		}
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
		g.VMOVQ(g.sizedAs(local, 16), operand.Mem{Base: c, Disp: 8})
	})
}

// prefix returns the prefix sums of the lanes of x.
func (l *loop) prefix(x val) val {
	zero := l.zero()
	if !l.wide {
		t := l.vec() // 0 x0 x1 x2
		l.VPERMPD(operand.U8(0x90), x, t)
		l.VBLENDPD(operand.U8(1), zero, t, t)
		x = l.op2(l.addD, x, t)
		l.VPERM2F128(operand.U8(0x08), x, x, t) // 0 0 x0 x1
		return l.op2(l.addD, x, t)
	}
	for _, n := range []int{7, 6, 4} {
		t := l.vec()
		l.VALIGNQ(operand.U8(n), zero, x, t)
		x = l.op2(l.addD, x, t)
	}
	return x
}

func (g *gen) addD(ops ...operand.Op) { g.VADDPD(ops...) }

// q7 is the index of the last of 8 lanes in each.
func (g *gen) q7() val { return g.q(7) }
