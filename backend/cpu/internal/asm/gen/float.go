package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
)

// A lanes emits operations on floats of a size: float32 or float64.
type lanes struct {
	*gen
	size int
}

// pick returns s for float32 and d for float64.
func (l lanes) pick(s, d instr) instr {
	if l.size == 4 {
		return s
	}
	return d
}

func (l lanes) con(x float64) val {
	if l.size == 4 {
		return l.f(x)
	}
	return l.d(x)
}

func (l lanes) plus(a, b val) val  { return l.sym(l.pick(l.VADDPS, l.VADDPD), a, b) }
func (l lanes) minus(a, b val) val { return l.op2(l.pick(l.VSUBPS, l.VSUBPD), a, b) }
func (l lanes) times(a, b val) val { return l.sym(l.pick(l.VMULPS, l.VMULPD), a, b) }
func (l lanes) over(a, b val) val  { return l.op2(l.pick(l.VDIVPS, l.VDIVPD), a, b) }
func (l lanes) root(a val) val     { return l.op1(l.pick(l.VSQRTPS, l.VSQRTPD), a) }

// signBit is that of a lane.
func (l lanes) signBit() val {
	if l.size == 4 {
		return l.u(1 << 31)
	}
	return l.q(1 << 63)
}

// compare returns a mask.
func (l lanes) compare(pred int, a, b val) val {
	f := l.pick(l.VCMPPS, l.VCMPPD)
	if l.wide {
		k := l.K()
		f(operand.U8(pred), b, l.in(a), k)
		return k
	}
	z := l.vec()
	f(operand.U8(pred), b, l.in(a), z)
	return z
}

// extreme is the greater of a and b, or the lesser, NaN if either is, and of zeros +0, or -0.
func (l lanes) extreme(greater bool, a, b val) val {
	a, b = l.in(a), l.in(b)
	nan := l.compare(unordered, a, b)
	var z val
	switch {
	case l.wide:
		mode := operand.U8(4) // by sign too: the lesser
		if greater {
			mode = 5
		}
		z = l.vec()
		l.pick(l.VRANGEPS, l.VRANGEPD)(mode, b, a, z)
	case greater: // either way round, the results differ for zeros and NaN alone
		f := l.pick(plain(func(a, b, c operand.Op) { l.VMAXPS(a, b, c) }), plain(func(a, b, c operand.Op) { l.VMAXPD(a, b, c) }))
		z = l.and(l.op2(f, a, b), l.op2(f, b, a))
	default:
		f := l.pick(plain(func(a, b, c operand.Op) { l.VMINPS(a, b, c) }), plain(func(a, b, c operand.Op) { l.VMINPD(a, b, c) }))
		z = l.or(l.op2(f, a, b), l.op2(f, b, a))
	}
	return l.selLanes(l.size, nan, l.plus(a, b), z)
}

// whole rounds to whole numbers.
func (l lanes) whole(a val, mode int) val {
	z := l.vec()
	if l.wide {
		l.pick(l.VRNDSCALEPS, l.VRNDSCALEPD)(operand.U8(mode), a, z)
	} else {
		l.pick(plain(l.VROUNDPS), plain(l.VROUNDPD))(operand.U8(mode), a, z)
	}
	return z
}

// floatKernels emits arithmetic, comparisons and choices.
func floatKernels(s *set, ks *kernels) {
	for _, t := range []struct {
		dtype string
		size  int
	}{{"float32", 4}, {"float64", 8}} {
		f := floats{set: s, ks: ks, dtype: t.dtype, size: t.size}
		f.unary()
		f.binary()
		f.comparisons()
		f.ternary()
	}
}

type floats struct {
	*set
	ks    *kernels
	dtype string
	size  int
}

// emit emits op on operands of which those in each of lones are single elements.
func (f *floats) emit(op string, arity int, lones []int, toBool bool, body func(l lanes, x []val) val) {
	for _, lone := range lones {
		k := kernel{op: op, dtype: f.dtype, lane: f.size, out: slot{size: f.size}}
		if toBool {
			k.out = slot{size: 1, mask: true}
		}
		for i := range arity {
			k.in = append(k.in, slot{size: f.size, lone: lone>>i&1 != 0})
		}
		k.body = func(g *gen, x []val) val { return body(lanes{g, f.size}, x) }
		f.elementwise(f.ks, k)
	}
}

// A named is the body of an operation on one float, a named2 on two.
type named struct {
	op   string
	body func(l lanes, x val) val
}

type named2 struct {
	op   string
	body func(l lanes, x, y val) val
}

func (f *floats) unary() {
	for _, n := range []named{
		{"square", func(l lanes, x val) val { return l.times(x, x) }},
		{"neg", func(l lanes, x val) val { return l.xor(x, l.signBit()) }},
		{"abs", func(l lanes, x val) val { return l.andNot(l.in(l.signBit()), x) }},
		{"relu", func(l lanes, x val) val { return l.plus(l.pickGreater(l.con(0), x), l.con(0)) }}, // +0 for -0
		{"relu6", func(l lanes, x val) val {
			return l.pickLesser(l.con(6), l.plus(l.pickGreater(l.con(0), x), l.con(0)))
		}},
		{"sqrt", func(l lanes, x val) val { return l.root(x) }},
		{"rsqrt", func(l lanes, x val) val { return l.over(l.con(1), l.root(x)) }},
		{"reciprocal", func(l lanes, x val) val { return l.over(l.con(1), x) }},
		{"floor", func(l lanes, x val) val { return l.whole(x, toFloor) }},
		{"ceil", func(l lanes, x val) val { return l.whole(x, toCeil) }},
		{"trunc", func(l lanes, x val) val { return l.whole(x, toZero) }},
		{"round", func(l lanes, x val) val { return l.whole(x, toNearest) }},
	} {
		f.emit(n.op, 1, []int{0}, false, func(l lanes, x []val) val { return n.body(l, x[0]) })
	}
	f.emit("isnan", 1, []int{0}, true, func(l lanes, x []val) val { return l.compare(unordered, x[0], x[0]) })
	f.emit("isfinite", 1, []int{0}, true, func(l lanes, x []val) val {
		return l.compare(less, l.andNot(l.in(l.signBit()), x[0]), l.con(math.Inf(1)))
	})
}

// pickGreater and pickLesser are the greater and lesser of a and b, and b where one is NaN or both are zeros.
func (l lanes) pickGreater(a, b val) val { return l.op2(l.pick(l.VMAXPS, l.VMAXPD), a, b) }
func (l lanes) pickLesser(a, b val) val  { return l.op2(l.pick(l.VMINPS, l.VMINPD), a, b) }

// Which operands may be single elements: none, the second, the first.
var anyLone = []int{0, 2, 1}

func (f *floats) binary() {
	for _, n := range []named2{
		{"add", func(l lanes, x, y val) val { return l.plus(x, y) }},
		{"sub", func(l lanes, x, y val) val { return l.minus(x, y) }},
		{"mul", func(l lanes, x, y val) val { return l.times(x, y) }},
		{"div", func(l lanes, x, y val) val { return l.over(x, y) }},
		{"maximum", func(l lanes, x, y val) val { return l.extreme(true, x, y) }},
		{"minimum", func(l lanes, x, y val) val { return l.extreme(false, x, y) }},
	} {
		f.emit(n.op, 2, anyLone, false, func(l lanes, x []val) val { return n.body(l, x[0], x[1]) })
	}
}

func (f *floats) comparisons() {
	for _, c := range []struct {
		op   string
		pred int
	}{
		{"equal", equal},
		{"not_equal", notEqual},
		{"less", less},
		{"less_equal", lessEqual},
		{"greater", greaterThan},
		{"greater_equal", greaterOrEqual},
	} {
		f.emit(c.op, 2, anyLone, true, func(l lanes, x []val) val { return l.compare(c.pred, x[0], x[1]) })
	}
}

func (f *floats) ternary() {
	f.emit("fma", 3, []int{0, 2, 4, 6}, false, func(l lanes, x []val) val {
		return l.fused(l.pick(l.VFMADD213PS, l.VFMADD213PD), l.pick(l.VFMADD231PS, l.VFMADD231PD), x[0], x[1], x[2])
	})
	f.emit("clip", 3, []int{0, 6}, false, func(l lanes, x []val) val {
		return l.extreme(false, l.extreme(true, x[0], x[1]), x[2])
	})
	also := []string{"int32", "uint32"}
	if f.size == 8 {
		also = []string{"int64"}
	}
	for _, lone := range []int{0, 2, 4, 6} {
		f.elementwise(f.ks, kernel{
			op: "where", dtype: f.dtype, also: also, lane: f.size, out: slot{size: f.size},
			in:   []slot{{size: 1, mask: true}, {size: f.size, lone: lone&2 != 0}, {size: f.size, lone: lone&4 != 0}},
			body: func(g *gen, x []val) val { return g.selLanes(f.size, x[0], x[1], x[2]) },
		})
	}
}
