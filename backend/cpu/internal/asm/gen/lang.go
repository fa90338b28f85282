package main

import (
	"fmt"
	"log"
	"math"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A set is an instruction set with the file that is being written for it.
type set struct {
	wide bool // AVX-512 F, DQ, BW and VL with vectors of 64 bytes; else AVX2, FMA and F16C with 32
	ctx  *build.Context
	data map[string]operand.Mem // constants of the file
}

func (s *set) name() string {
	if s.wide {
		return "avx512"
	}
	return "avx2"
}

// bytes is the length of a vector.
func (s *set) bytes() int {
	if s.wide {
		return 64
	}
	return 32
}

// constant returns the memory of n copies of the 32- or 64-bit pattern bits.
func (s *set) constant(bits uint64, size, n int) operand.Mem {
	name := fmt.Sprintf("c%0*xx%d", 2*size, bits, n)
	if m, ok := s.data[name]; ok {
		return m
	}
	m := s.ctx.StaticGlobal(name)
	s.ctx.DataAttributes(attr.RODATA | attr.NOPTR)
	for range n {
		if size == 4 {
			s.ctx.AppendDatum(operand.U32(uint32(bits)))
		} else {
			s.ctx.AppendDatum(operand.U64(bits))
		}
	}
	if s.data == nil {
		s.data = map[string]operand.Mem{}
	}
	s.data[name] = m
	return m
}

// A val is a vector or a mask: a register, or a constant in memory.
type val = operand.Op

// A gen emits one function. The methods that are named for operations emit one, on vectors of 32-bit lanes
// unless their name says otherwise, and return its result in a new register.
type gen struct {
	*build.Context
	*set
	consts  map[constKey]val // constants that are in registers
	order   []constKey       // of their first use
	counter int
}

type constKey struct {
	bits uint64
	size int
}

// most is the number of constants that are kept in registers: of 32 with AVX-512, and of 16 none, as
// instructions take them from memory as well.
func (g *gen) most() int {
	if g.wide {
		return 18
	}
	return 0
}

// function emits a function with the given signature. body runs twice: first to find the constants it needs,
// which the second time are in registers.
func (s *set) function(name, doc string, signature *gotypes.Signature, body func(g *gen)) {
	scratch := &set{wide: s.wide, ctx: build.NewContext()}
	scratch.ctx.Function(name)
	scratch.ctx.Signature(signature)
	probe := &gen{Context: scratch.ctx, set: scratch, consts: map[constKey]val{}}
	body(probe)

	s.ctx.Function(name)
	s.ctx.Doc(strings.Split(doc, "\n")...)
	s.ctx.Pragma("noescape")
	s.ctx.Attributes(attr.NOSPLIT)
	s.ctx.Signature(signature)
	g := &gen{Context: s.ctx, set: s, consts: map[constKey]val{}}
	for i, k := range probe.order {
		if i < g.most() {
			g.consts[k] = g.broadcast(k)
		}
	}
	body(g)
	g.VZEROUPPER()
	g.RET()
}

// param returns the parameter of the given name, a pointer or an int, in a register.
func (g *gen) param(name string) reg.GPVirtual {
	c, err := g.Param(name).Resolve()
	if err != nil {
		log.Fatal(err)
	}
	r := g.GP64()
	g.MOVQ(c.Addr, r)
	return r
}

// label returns a new label.
func (g *gen) label(what string) string {
	g.counter++
	return fmt.Sprintf("%s%d", what, g.counter)
}

// vec returns a new register.
func (g *gen) vec() reg.VecVirtual {
	if g.wide {
		return g.ZMM()
	}
	return g.YMM()
}

// sized returns a new register of n bytes, 16 at least.
func (g *gen) sized(n int) reg.VecVirtual {
	switch {
	case n > 32:
		return g.ZMM()
	case n > 16:
		return g.YMM()
	}
	return g.XMM()
}

func (g *gen) broadcast(k constKey) val {
	z := g.vec()
	m := g.constant(k.bits, k.size, 1)
	if k.size == 4 {
		g.VBROADCASTSS(m, z)
	} else {
		g.VBROADCASTSD(m, z)
	}
	return z
}

func (g *gen) pattern(k constKey) val {
	if v, ok := g.consts[k]; ok {
		return v
	}
	seen := false
	for _, o := range g.order {
		seen = seen || o == k
	}
	if !seen {
		g.order = append(g.order, k)
	}
	if g.wide {
		return g.broadcast(k)
	}
	return g.constant(k.bits, k.size, g.bytes()/k.size)
}

// f is the float32 constant x, u one of bits, d a float64.
func (g *gen) f(x float64) val { return g.u(math.Float32bits(float32(x))) }
func (g *gen) u(x uint32) val  { return g.pattern(constKey{uint64(x), 4}) }
func (g *gen) d(x float64) val { return g.q(math.Float64bits(x)) }
func (g *gen) q(x uint64) val  { return g.pattern(constKey{x, 8}) }

func isMem(v val) bool {
	_, ok := v.(operand.Mem)
	return ok
}

// in returns v in a register.
func (g *gen) in(v val) val {
	if !isMem(v) {
		return v
	}
	z := g.vec()
	g.VMOVUPS(v, z)
	return z
}

// copied returns a copy of v that may be changed.
func (g *gen) copied(v val) val {
	z := g.vec()
	g.VMOVUPS(v, z)
	return z
}

type instr func(ops ...operand.Op)

// plain adapts the methods of avo whose operands are always three.
func plain(f func(a, b, c operand.Op)) instr {
	return func(ops ...operand.Op) { f(ops[0], ops[1], ops[2]) }
}

// op2 emits f on a and b, in that order.
func (g *gen) op2(f instr, a, b val) val {
	z := g.vec()
	f(b, g.in(a), z)
	return z
}

// sym is op2 for an f that does not mind the order.
func (g *gen) sym(f instr, a, b val) val {
	if isMem(a) {
		a, b = b, a
	}
	return g.op2(f, a, b)
}

func (g *gen) op1(f instr, a val) val {
	z := g.vec()
	f(a, z)
	return z
}

func (g *gen) add(a, b val) val { return g.sym(g.VADDPS, a, b) }
func (g *gen) sub(a, b val) val { return g.op2(g.VSUBPS, a, b) }
func (g *gen) mul(a, b val) val { return g.sym(g.VMULPS, a, b) }
func (g *gen) div(a, b val) val { return g.op2(g.VDIVPS, a, b) }
func (g *gen) sqrt(a val) val   { return g.op1(g.VSQRTPS, a) }
func (g *gen) and(a, b val) val { return g.sym(g.VANDPS, a, b) }
func (g *gen) or(a, b val) val  { return g.sym(g.VORPS, a, b) }
func (g *gen) xor(a, b val) val { return g.sym(g.VXORPS, a, b) }

// andNot is b without the bits of a.
func (g *gen) andNot(a, b val) val { return g.op2(g.VANDNPS, a, b) }

// lesser and greater are those of a and b, and b where one is NaN or both are zeros.
func (g *gen) lesser(a, b val) val  { return g.op2(g.VMINPS, a, b) }
func (g *gen) greater(a, b val) val { return g.op2(g.VMAXPS, a, b) }

// fma is a·b + c, fnma c - a·b, fms a·b - c.
func (g *gen) fma(a, b, c val) val  { return g.fused(g.VFMADD213PS, g.VFMADD231PS, a, b, c) }
func (g *gen) fnma(a, b, c val) val { return g.fused(g.VFNMADD213PS, g.VFNMADD231PS, a, b, c) }
func (g *gen) fms(a, b, c val) val  { return g.fused(g.VFMSUB213PS, g.VFMSUB231PS, a, b, c) }

func (g *gen) fused(f213, f231 instr, a, b, c val) val {
	if isMem(a) {
		a, b = b, a
	}
	if isMem(c) || !isMem(b) {
		z := g.copied(a) // z = b·z + c
		f213(c, g.in(b), z)
		return z
	}
	z := g.copied(c) // z = a·b + z
	f231(b, a, z)
	return z
}

// poly is c[0] + c[1]·x + c[2]·x² + …
func (g *gen) poly(x val, c ...float64) val {
	z := g.copied(g.f(c[len(c)-1]))
	for i := len(c) - 2; i >= 0; i-- {
		g.VFMADD213PS(g.f(c[i]), x, z)
	}
	return z
}

// Integer lanes.
func (g *gen) addI(a, b val) val { return g.sym(g.VPADDD, a, b) }
func (g *gen) subI(a, b val) val { return g.op2(g.VPSUBD, a, b) }

func (g *gen) shl(a val, n int) val { return g.op2u(g.VPSLLD, a, n) }
func (g *gen) shr(a val, n int) val { return g.op2u(g.VPSRLD, a, n) }
func (g *gen) sar(a val, n int) val { return g.op2u(g.VPSRAD, a, n) }

func (g *gen) op2u(f instr, a val, n int) val {
	z := g.vec()
	f(operand.U8(n), g.in(a), z)
	return z
}

func (g *gen) leastI(a, b val) val { return g.op2(g.VPMINSD, a, b) }

// across combines the lanes of v by f in halves, and returns the first of an XMM register.
func (g *gen) across(v val, f instr) val {
	lo := g.halves(v, f)
	for _, order := range []int{0x4e, 0xb1} { // the other half, the neighbour
		other, next := g.XMM(), g.XMM()
		g.VPSHUFD(operand.U8(order), lo, other)
		f(other, lo, next)
		lo = next
	}
	return lo
}

// halves combines the halves of v by f until 16 bytes are left.
func (g *gen) halves(v val, f instr) val {
	r := v.(reg.VecVirtual)
	if g.wide {
		hi := g.YMM()
		g.VEXTRACTF64X4(operand.U8(1), r, hi)
		lo := g.YMM()
		f(hi, r.AsY(), lo)
		r = lo
	}
	hi, lo := g.XMM(), g.XMM()
	g.VEXTRACTF128(operand.U8(1), r.AsY(), hi)
	f(hi, r.AsX(), lo)
	return lo
}

// result returns r from the function.
func (g *gen) result(r reg.Register) {
	c, err := g.ReturnIndex(0).Resolve()
	if err != nil {
		log.Fatal(err)
	}
	g.MOVQ(r, c.Addr)
}

// toInt rounds to integers, toFloat is exact below 2²⁴.
func (g *gen) toInt(a val) val   { return g.op1(g.VCVTPS2DQ, a) }
func (g *gen) toFloat(a val) val { return g.op1(g.VCVTDQ2PS, a) }

// Modes of round.
const (
	toNearest = 8 + iota
	toFloor
	toCeil
	toZero
)

func (g *gen) round(a val, mode int) val {
	z := g.vec()
	if g.wide {
		g.VRNDSCALEPS(operand.U8(mode), a, z)
	} else {
		g.VROUNDPS(operand.U8(mode), a, z)
	}
	return z
}

// abs is without the sign, sign the sign alone.
func (g *gen) abs(a val) val  { return g.and(a, g.u(1<<31-1)) }
func (g *gen) sign(a val) val { return g.and(a, g.u(1<<31)) }

// Predicates of cmp.
const (
	equal          = 0
	less           = 17
	lessEqual      = 18
	unordered      = 3
	notEqual       = 4
	notLess        = 21
	greaterOrEqual = 29
	greaterThan    = 30
)

// cmp compares; the result is a mask.
func (g *gen) cmp(pred int, a, b val) val {
	if g.wide {
		k := g.K()
		g.VCMPPS(operand.U8(pred), b, g.in(a), k)
		return k
	}
	z := g.vec()
	g.VCMPPS(operand.U8(pred), b, g.in(a), z)
	return z
}

// sel is a where m holds, else b. It serves lanes of any size, as without AVX-512 a mask has all bits of a lane.
func (g *gen) sel(m, a, b val) val { return g.selLanes(4, m, a, b) }

func (g *gen) selLanes(size int, m, a, b val) val {
	z := g.vec()
	switch {
	case !g.wide:
		g.VBLENDVPS(m, a, g.in(b), z)
	case size == 8:
		g.VBLENDMPD(a, g.in(b), m, z)
	case size == 1:
		g.VPBLENDMB(a, g.in(b), m, z)
	default:
		g.VBLENDMPS(a, g.in(b), m, z)
	}
	return z
}

// bitMask is the mask of lanes whose bits of b are not 0, for a b of one bit.
func (g *gen) bitMask(a val, bit int) val {
	if g.wide {
		k := g.K()
		g.VPTESTMD(g.in(g.u(1<<bit)), a, k)
		return k
	}
	return g.shl(a, 31-bit) // VBLENDVPS looks at the sign
}
