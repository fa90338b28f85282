package main

import (
	"go/types"
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rowKernels emits what softmax and the normalisations do with a row at once, with the roundings of the operations one by one.
func rowKernels(s *set, _ *kernels) {
	s.expSum("ExpSum", true)
	s.expSum("ExpSumOnly", false)
	s.moments()
	s.sumSquares()
	if !s.wide { // there is one
		s.function("StoreFence", "StoreFence puts stores past the caches before those that follow.", signature(nil, nil, nil), func(g *gen) { g.SFENCE() })
		s.function("Pause", "Pause lets another thread of the core go ahead of a loop that waits.", signature(nil, nil, nil), func(g *gen) { g.PAUSE() })
	}
	for _, k := range []struct {
		name, doc   string
		vecs, lones int
		body        func(g *gen, v, p []val) val
	}{
		{"Div", "x/p₀", 1, 1, func(g *gen, v, p []val) val { return g.div(v[0], p[0]) }},
		{"Mul", "x·p₀", 1, 1, func(g *gen, v, p []val) val { return g.mul(v[0], p[0]) }},
		{"SubSub", "(x-p₀)-p₁", 1, 2, func(g *gen, v, p []val) val { return g.sub(g.sub(v[0], p[0]), p[1]) }},
		{"MulMul", "(x·p₀)·w", 2, 1, func(g *gen, v, p []val) val { return g.mul(g.mul(v[0], p[0]), v[1]) }},
		{"Norm", "((x-p₀)-p₁)·p₂", 1, 3, norm},
		{"NormMul", "(((x-p₀)-p₁)·p₂)·w", 2, 3, func(g *gen, v, p []val) val { return g.mul(norm(g, v, p), v[1]) }},
		{"NormMulAdd", "(((x-p₀)-p₁)·p₂)·w+b", 3, 3, func(g *gen, v, p []val) val { return g.add(g.mul(norm(g, v, p), v[1]), v[2]) }},
	} {
		s.rowwise("Row"+k.name, k.doc, k.vecs, k.lones, false, k.body)
		s.rowwise("RowStream"+k.name, k.doc, k.vecs, k.lones, true, k.body)
	}
}

func norm(g *gen, v, p []val) val { return g.mul(g.sub(g.sub(v[0], p[0]), p[1]), p[2]) }

// A wideSum is a sum of float32 in float64, in as many lanes.
type wideSum struct{ lo, hi reg.VecVirtual }

func (g *gen) newSum() wideSum { return wideSum{g.zero(), g.zero()} }

// add adds the lanes of v to w.
func (w wideSum) add(g *gen, v val) {
	r := v.(reg.VecVirtual)
	lo, hi := g.vec(), g.vec()
	if g.wide {
		half := g.YMM()
		g.VEXTRACTF64X4(operand.U8(1), r, half)
		g.VCVTPS2PD(r.AsY(), lo)
		g.VCVTPS2PD(half, hi)
	} else {
		half := g.XMM()
		g.VEXTRACTF128(operand.U8(1), r, half)
		g.VCVTPS2PD(r.AsX(), lo)
		g.VCVTPS2PD(half, hi)
	}
	g.VADDPD(lo, w.lo, w.lo)
	g.VADDPD(hi, w.hi, w.hi)
}

// total returns the sum of all lanes.
func (g *gen) total(w wideSum) val { return g.acrossD(g.op2(g.VADDPD, w.lo, w.hi), g.VADDPD) }

// pairs adds four vectors of squares as they are, in pairs, before they become float64: conversions cost more than additions, and
// what is lost is the last place of a sum of four. No sum of squares overflows that would not as a whole.
type pairs struct{ one, two val }

// add adds vector i, v, to to. With four the next three are added with it.
func (p *pairs) add(g *gen, to wideSum, i int, v val, four bool) {
	switch {
	case !four:
		to.add(g, v)
	case i%2 == 0:
		p.one = v
	case i == 1:
		p.two = g.add(p.one, v)
	default:
		to.add(g, g.add(p.two, g.add(p.one, v)))
	}
}

// quarters adds a quarter of each vector, which four of any numbers do not overflow, as pairs does.
type quarters struct{ sum val }

func (q *quarters) add(g *gen, to wideSum, i int, v val, four bool) {
	switch quarter := g.f(0.25); {
	case !four:
		to.add(g, g.mul(v, quarter))
	case i == 0:
		q.sum = g.mul(v, quarter)
	case i < 3:
		q.sum = g.fma(v, quarter, q.sum)
	default:
		to.add(g, g.fma(v, quarter, q.sum))
	}
}

// there is v, with 0 in lanes beyond the end.
func (l *loop) there(v val, part bool) val {
	if !part {
		return v
	}
	if !l.wide {
		return l.and(v, l.mask(4))
	}
	return l.selLanes(4, l.mask(4), v, l.zero())
}

// fetch fetches the cache line of float32 at p, as far on as the vector offset elements on from this one, if that is full.
func (l *loop) fetch(p reg.Register, offset int, part bool) {
	if !part && 4*offset%64 == 0 {
		l.PREFETCHT0(operand.Mem{Base: p, Index: l.at, Scale: 4, Disp: 4 * offset})
	}
}

// expSum sums the exponentials of the distances of elements from one.
func (s *set) expSum(name string, store bool) {
	name += s.suffix()
	doc, pointers := " returns the sum of exp(x - m) over n elements, and fetches what is ahead bytes on.", []string{"x", "m"}
	if store {
		doc, pointers = " writes exp(x - m) of n elements, returns the sum, and fetches what is ahead bytes on.", []string{"z", "x", "m"}
	}
	s.function(name, name+doc, signature(pointers, []string{"n", "ahead"}, types.Typ[types.Float64]), func(g *gen) {
		l := &loop{gen: g, k: &kernel{lane: 4}, lanes: s.bytes() / 4}
		l.base[1] = g.param("x")
		if store {
			l.base[0] = g.param("z")
		}
		m := l.spread(slot{size: 4}, g.param("m"))
		ahead := g.param("ahead")
		g.ADDQ(l.base[1], ahead)
		sum := g.newSum()
		l.begin()
		l.each(func(part bool) {
			l.fetch(ahead, 0, part)
			e := exp(g, g.sub(l.vectorAt(4, 0, part), m))
			if store {
				l.move(l.address(0, 4), e, 4, part, false)
			}
			sum.add(g, l.there(e, part))
		})
		g.resultF(g.total(sum), 8)
	})
}

// moments sums distances from an element and their squares.
func (s *set) moments() {
	name := "Moments" + s.suffix()
	sig := signature([]string{"z", "x", "m"}, []string{"n", "ahead"}, nil)
	doc := " writes the sums of x - m and of its squares over n elements, two float64, and fetches what is ahead bytes on."
	s.function(name, name+doc, sig, func(g *gen) {
		z := g.param("z")
		m := g.param("m")
		l := s.reduction(g, 4)
		ahead := g.param("ahead")
		g.ADDQ(l.base[1], ahead)
		mean := l.spread(slot{size: 4}, m)
		sum, squares := g.newSum(), g.newSum()
		var distances quarters
		var products pairs
		l.vectors(func(i, offset int, part, four bool) {
			l.fetch(ahead, offset, part)
			d := l.there(g.sub(l.vectorAt(4, offset, part), mean), part)
			distances.add(g, sum, i, d, four)
			products.add(g, squares, i, g.mul(d, d), four)
		})
		total := g.XMM()
		g.VMULSD(g.constant(math.Float64bits(4), 8, 1), g.total(sum), total)
		g.VMOVSD(total, operand.Mem{Base: z})
		g.VMOVSD(g.total(squares), operand.Mem{Base: z, Disp: 8})
	})
}

func (s *set) sumSquares() {
	name := "SumSquares" + s.suffix()
	sig := signature([]string{"x"}, []string{"n", "ahead"}, types.Typ[types.Float64])
	s.function(name, name+" returns the sum of the squares of n elements, and fetches what is ahead bytes on.", sig, func(g *gen) {
		l := s.reduction(g, 4)
		ahead := g.param("ahead")
		g.ADDQ(l.base[1], ahead)
		sum := g.newSum()
		var squares pairs
		l.vectors(func(i, offset int, part, four bool) {
			l.fetch(ahead, offset, part)
			x := l.vectorAt(4, offset, part)
			squares.add(g, sum, i, g.mul(x, x), four)
		})
		g.resultF(g.total(sum), 8)
	})
}

// rowwise emits a function of the elements of rows, and of numbers at p. With stream the stores go past the caches, in no order
// with others, and the places of full vectors must be aligned.
func (s *set) rowwise(name, doc string, vecs, lones int, stream bool, body func(g *gen, v, p []val) val) {
	name += s.suffix()
	sig := signature([]string{"z", "x", "w", "b", "p"}, []string{"n"}, nil)
	s.function(name, name+" computes "+doc+".", sig, func(g *gen) {
		l := &loop{gen: g, k: &kernel{lane: 4}, lanes: s.bytes() / 4}
		for i, p := range []string{"z", "x", "w", "b"}[:vecs+1] {
			l.base[i] = g.param(p)
		}
		from := g.param("p")
		p := make([]val, lones)
		for i := range p {
			z := g.vec()
			g.VBROADCASTSS(operand.Mem{Base: from, Disp: 4 * i}, z)
			p[i] = z
		}
		l.begin()
		l.each(func(part bool) {
			v := make([]val, vecs)
			for i := range v {
				x := g.vec()
				l.move(l.address(i+1, 4), x, 4, part, true)
				v[i] = x
			}
			y := body(g, v, p)
			if stream && !part {
				g.VMOVNTPS(y, l.address(0, 4))
			} else {
				l.move(l.address(0, 4), y, 4, part, false)
			}
		})
	})
}
