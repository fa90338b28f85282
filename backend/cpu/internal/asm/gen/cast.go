package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
)

// castKernels emits conversions. Half-precision numbers are in registers as float32: widen and narrow convert them from
// and to memory, round is both.
func castKernels(s *set, ks *kernels) {
	half := slot{size: 2}
	for _, k := range []struct {
		name, dtype string
		in, out     slot
		body        func(g *gen, x val) val
	}{
		{"widen", "float16", half, one32, widenHalf},
		{"narrow", "float16", one32, half, narrowHalf},
		{"round", "float16", one32, one32, func(g *gen, x val) val { return widenHalf(g, narrowHalf(g, x)) }},
		{"widen", "bfloat16", half, one32, widenBrain},
		{"narrow", "bfloat16", one32, half, narrowBrain},
		{"round", "bfloat16", one32, one32, roundBrain},
	} {
		s.elementwise(nil, kernel{
			op: k.name, dtype: k.dtype, in: []slot{k.in}, out: k.out, lane: 4,
			body: func(g *gen, x []val) val { return k.body(g, x[0]) },
		})
	}
	for _, k := range []struct {
		to, from string
		in, out  slot
		lane     int
		body     func(g *gen, x val) val
	}{
		{"float64", "float32", one32, slot{size: 8}, 8, func(g *gen, x val) val { return g.op1(g.VCVTPS2PD, x) }},
		{"float32", "float64", slot{size: 8}, one32, 8, narrowFloat},
		{"float32", "int32", one32, one32, 4, func(g *gen, x val) val { return g.toFloat(x) }},
		{"float64", "int32", one32, slot{size: 8}, 8, func(g *gen, x val) val { return g.op1(g.VCVTDQ2PD, x) }},
		{"int32", "float32", one32, one32, 4, saturated},
		{"float32", "uint8", slot{size: 1}, one32, 4, func(g *gen, x val) val { return g.toFloat(g.op1(g.VPMOVZXBD, x)) }},
		{"float32", "int8", slot{size: 1}, one32, 4, func(g *gen, x val) val { return g.toFloat(g.op1(g.VPMOVSXBD, x)) }},
		{"int32", "uint8", slot{size: 1}, one32, 4, func(g *gen, x val) val { return g.op1(g.VPMOVZXBD, x) }},
		{"int64", "int32", one32, slot{size: 8}, 8, func(g *gen, x val) val { return g.op1(g.VPMOVSXDQ, x) }},
	} {
		s.cast(ks, k.to, kernel{
			op: "to_" + k.to, dtype: k.from, in: []slot{k.in}, out: k.out, lane: k.lane,
			body: func(g *gen, x []val) val { return k.body(g, x[0]) },
		})
	}
}

// cast emits k, and enters it in ks as a conversion.
func (s *set) cast(ks *kernels, to string, k kernel) {
	ks.casts = append(ks.casts, entry{set: s.name(), op: to, dtype: k.dtype, fn: s.elementwise(nil, k)})
}

func widenHalf(g *gen, x val) val { return g.op1(g.VCVTPH2PS, x) }

func narrowHalf(g *gen, x val) val {
	z := g.sized(g.bytes() / 2)
	g.VCVTPS2PH(operand.U8(0), x, z) // to nearest, ties to even
	return z
}

func widenBrain(g *gen, x val) val { return g.shl(g.op1(g.VPMOVZXWD, x), 16) }

// narrowBrain takes the upper halves.
func narrowBrain(g *gen, x val) val {
	x = g.shr(x, 16)
	z := g.sized(g.bytes() / 2)
	if g.wide {
		g.VPMOVDW(x, z)
		return z
	}
	packed := g.vec()
	g.VPACKUSDW(x, x, packed)
	g.VPERMQ(operand.U8(0x08), packed, packed) // quarters 0 and 2
	g.VMOVUPS(g.sizedAs(packed, 16), z)
	return z
}

// roundBrain rounds to the upper half, ties to even.
func roundBrain(g *gen, x val) val {
	up := g.addI(g.and(g.shr(x, 16), g.u(1)), g.u(0x7fff))
	y := g.and(g.addI(x, up), g.u(0xffff0000))
	quiet := g.or(g.and(x, g.u(0xffff0000)), g.u(0x400000))
	return g.sel(g.cmp(unordered, x, x), quiet, y)
}

func narrowFloat(g *gen, x val) val {
	z := g.sized(g.bytes() / 2)
	if g.wide {
		g.VCVTPD2PS(x, z)
	} else {
		g.VCVTPD2PSY(x, z)
	}
	return z
}

// saturated truncates to the nearest int32, NaN to 0.
func saturated(g *gen, x val) val {
	y := g.op1(g.VCVTTPS2DQ, x) // the least where x is out of range
	y = g.sel(g.cmp(less, x, g.f(math.MaxInt32)), y, g.u(math.MaxInt32))
	return g.sel(g.cmp(unordered, x, x), g.u(0), y)
}
