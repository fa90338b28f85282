package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// loadTruth loads the truth values of operand i to the mask k.
func (l *loop) loadTruth(i int, k val, part bool) {
	m := l.address(i+1, 1)
	b := l.sized(l.lanes)
	l.move(m, b, 1, part, true)
	if l.wide {
		l.VPTESTMB(b, b, k)
		return
	}
	zero := l.YMM()
	l.VPXOR(zero, zero, zero)
	switch l.lanes {
	case 4:
		l.VPMOVZXBQ(b, k)
		l.VPCMPGTQ(zero, k, k)
	case 8:
		l.VPMOVZXBD(b, k)
		l.VPCMPGTD(zero, k, k)
	default:
		l.VPCMPEQB(zero, b, k) // where 0
		l.VPCMPEQB(zero, k, k)
	}
}

// storeTruth stores the mask k as truth values.
func (l *loop) storeTruth(k val, part bool) {
	var b reg.VecVirtual
	if l.wide {
		b = l.sized(l.lanes)
		l.VMOVDQU8_Z(l.sizedAs(l.in(l.u(0x01010101)), l.lanes), k, b)
	} else {
		b = l.packed(k)
		l.VPAND(l.constant(0x01010101, 4, 8), b, b)
	}
	l.move(l.address(0, 1), b, 1, part, false)
}

// packed returns the lanes of the mask k as bytes.
func (l *loop) packed(k val) reg.VecVirtual {
	if l.lanes == 32 {
		b := l.YMM()
		l.VMOVUPS(k, b)
		return b
	}
	lo, hi := l.XMM(), l.XMM()
	l.VEXTRACTF128(operand.U8(1), k, hi)
	l.VPACKSSDW(hi, k.(reg.VecVirtual).AsX(), lo)
	if l.lanes == 4 {
		l.VPACKSSDW(lo, lo, lo)
	}
	l.VPACKSSWB(lo, lo, lo)
	return lo
}

// sizedAs returns the low n bytes of the register v.
func (g *gen) sizedAs(v val, n int) val {
	r := v.(reg.VecVirtual)
	switch {
	case n > 32:
		return r.AsZ()
	case n > 16:
		return r.AsY()
	}
	return r.AsX()
}
