package main

import (
	"go/types"
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// unroll is the number of accumulators of a reduction, so that additions do not wait for each other.
const unroll = 4

// reduceKernels emits reductions of n elements at x, and of lines.
func reduceKernels(s *set, _ *kernels) {
	s.greatestBits()
	for _, t := range []struct {
		name string
		size int
	}{{"Float32", 4}, {"Float64", 8}} {
		s.sum("Sum"+t.name, t.size, 1)
		s.sum("Sums"+t.name, t.size, 4)
		if !s.wide { // in vectors of 64 bytes they are no faster in cache, and a quarter slower from memory (Zen 4)
			s.extreme("Max"+t.name, t.size, 1, true)
			s.extreme("Min"+t.name, t.size, 1, false)
			s.extreme("Maxes"+t.name, t.size, 4, true)
			s.extreme("Mins"+t.name, t.size, 4, false)
		}
		s.first("First"+t.name, t.size)
		s.sumLines("SumLines"+t.name, t.size)
		s.extremeLines("MaxLines"+t.name, t.size, true)
		s.extremeLines("MinLines"+t.name, t.size, false)
	}
}

// reduction returns a loop over x, whose lanes are of lane bytes.
func (s *set) reduction(g *gen, lane int) *loop {
	l := &loop{gen: g, k: &kernel{lane: lane}, lanes: s.bytes() / lane}
	l.base[1] = l.param("x")
	l.parts = []reg.Register{l.base[1]}
	l.begin()
	return l
}

// sideBySide is a reduction of as many parts of n elements of size bytes, stride elements apart: a processor, which fetches ahead
// within a page, has more of memory under way.
func (s *set) sideBySide(g *gen, lane, parts, size int) *loop {
	l := s.reduction(g, lane)
	if parts > 1 {
		stride := g.param("stride")
		g.SHLQ(operand.U8(map[int]int{4: 2, 8: 3}[size]), stride)
		l.parts = l.starts(parts, stride)
	}
	return l
}

// vectors emits next for each vector of each part of x: the number of its accumulator, how many elements on it is, whether it
// is the last, which is not full, and whether it is one of several in a step.
func (l *loop) vectors(next func(acc, offset int, part, four bool)) {
	four, one, tail, end := l.label("four"), l.label("one"), l.label("tail"), l.label("end")
	each := func(vectors func()) {
		for l.of, l.base[1] = range l.parts {
			vectors()
		}
	}
	l.SUBQ(operand.U8((unroll-1)*l.lanes), l.rest)
	l.JLT(operand.LabelRef(one))
	l.Label(four)
	each(func() {
		for i := range unroll {
			next(i, i*l.lanes, false, true)
		}
	})
	l.ADDQ(operand.U32(unroll*l.lanes), l.at)
	l.SUBQ(operand.U32(unroll*l.lanes), l.rest)
	l.JGE(operand.LabelRef(four))
	l.Label(one)
	l.ADDQ(operand.U8((unroll-1)*l.lanes), l.rest)
	l.JLT(operand.LabelRef(tail))
	top := l.label("loop")
	l.Label(top)
	each(func() { next(0, 0, false, false) })
	l.step(top)
	l.Label(tail)
	l.ADDQ(operand.U8(l.lanes), l.rest)
	l.JLE(operand.LabelRef(end))
	l.setMask()
	each(func() { next(1, 0, true, false) })
	l.Label(end)
}

// vectorAt loads a vector of elements of size bytes, offset elements on from this one.
func (l *loop) vectorAt(size, offset int, part bool) val {
	x := l.sized(size * l.lanes)
	m := l.address(1, size)
	m.Disp = offset * size
	l.move(m, x, size, part, true)
	return x
}

// widened returns the float32 or float64 of x as float64.
func (l *loop) widened(x val, size int) val {
	if size == 8 {
		return x
	}
	z := l.vec()
	l.VCVTPS2PD(x, z)
	return z
}

func (g *gen) zero() reg.VecVirtual {
	z := g.vec()
	g.VXORPS(z, z, z)
	return z
}

// sum adds in float64, in twice as many lanes as there are, which are added in pairs: of a part as of one alone.
func (s *set) sum(name string, size, parts int) {
	name += s.suffix()
	s.reduce(name, " returns the sum of n elements.", " writes the sums of four parts of n elements, stride elements apart.", 8, parts, func(g *gen) {
		l := s.sideBySide(g, 8, parts, size)
		acc := make([][2]val, parts)
		for p := range acc {
			acc[p] = [2]val{g.zero(), g.zero()}
		}
		l.vectors(func(i, offset int, part, _ bool) {
			sum := acc[l.of][i%2]
			g.VADDPD(l.widened(l.vectorAt(size, offset, part), size), sum, sum)
		})
		for p, sum := range acc {
			g.reduced(p, parts, g.acrossD(g.op2(g.VADDPD, sum[0], sum[1]), g.VADDPD), 8)
		}
	})
}

// reduce emits a function that returns a float of size bytes for a row, or writes those of several parts.
func (s *set) reduce(name, one, several string, size, parts int, body func(g *gen)) {
	if parts > 1 {
		s.function(name, name+several, signature([]string{"z", "x"}, []string{"n", "stride"}, nil), body)
		return
	}
	s.function(name, name+one, signature([]string{"x"}, []string{"n"}, types.Typ[map[int]types.BasicKind{4: types.Float32, 8: types.Float64}[size]]), body)
}

// reduced gives the first float of x, of size bytes, as the result of a part.
func (g *gen) reduced(part, parts int, x val, size int) {
	to := operand.Op(nil)
	if parts > 1 {
		to = operand.Mem{Base: g.param("z"), Disp: part * size}
	} else {
		c, err := g.ReturnIndex(0).Resolve()
		if err != nil {
			panic(err)
		}
		to = c.Addr
	}
	if size == 4 {
		g.VMOVSS(x, to)
	} else {
		g.VMOVSD(x, to)
	}
}

// acrossD combines 64-bit lanes in halves.
func (g *gen) acrossD(v val, f instr) val {
	lo := g.halves(v, f)
	other, z := g.XMM(), g.XMM()
	g.VPSHUFD(operand.U8(0x4e), lo, other)
	f(other, lo, z)
	return z
}

// resultF returns the first float of x, of size bytes.
func (g *gen) resultF(x val, size int) { g.reduced(0, 1, x, size) }

// extreme is the greatest or least element, or NaN if there is one.
func (s *set) extreme(name string, size, parts int, greater bool) {
	name += s.suffix()
	s.reduce(name, " returns that of n elements, NaN if one is.", " writes those of four parts of n elements, stride elements apart.", size, parts, func(g *gen) {
		l := s.sideBySide(g, size, parts, size)
		f := lanes{g, size}
		take, pick, one := f.pick(f.VMAXPS, f.VMAXPD), f.pickGreater, f.con(math.Inf(-1))
		if !greater {
			take, pick, one = f.pick(f.VMINPS, f.VMINPD), f.pickLesser, f.con(math.Inf(1))
		}
		acc, nan := make([][]val, parts), make([]val, parts)
		for p := range acc {
			for range unroll / parts {
				acc[p] = append(acc[p], g.copied(one))
			}
			nan[p] = g.noMask()
		}
		var odd val
		l.vectors(func(i, offset int, part, four bool) {
			x, best := l.vectorAt(size, offset, part), acc[l.of][i%len(acc[l.of])]
			if part {
				x = g.selLanes(size, l.mask(size), x, one)
			}
			take(x, best, best)
			switch { // a comparison sees two vectors
			case !four:
				g.gather(f.compare(unordered, x, x), nan[l.of])
			case i%2 == 1:
				g.gather(f.compare(unordered, odd, x), nan[l.of])
			default:
				odd = x
			}
		})
		for p, best := range acc {
			for n := len(best); n > 1; n /= 2 {
				for i := range n / 2 {
					best[i] = pick(best[i], best[i+n/2])
				}
			}
			z := best[0]
			end := g.label("number")
			g.jumpNone(nan[p], end)
			g.VMOVUPS(f.con(math.NaN()), z)
			g.Label(end)
			if size == 4 {
				z = g.across(z, pick2(g.VMAXPS, g.VMINPS, greater))
			} else {
				z = g.acrossD(z, pick2(g.VMAXPD, g.VMINPD, greater))
			}
			g.reduced(p, parts, z, size)
		}
	})
}

func pick2(a, b instr, first bool) instr {
	if first {
		return a
	}
	return b
}

// noMask returns an empty mask.
func (g *gen) noMask() val {
	if !g.wide {
		return g.zero()
	}
	k := g.K()
	g.KXORW(k, k, k)
	return k
}

// gather adds the lanes of m to those of to.
func (g *gen) gather(m, to val) {
	if g.wide {
		g.KORW(m, to, to)
	} else {
		g.VORPS(m, to, to)
	}
}

// jumpNone goes to label if m is empty.
func (g *gen) jumpNone(m val, label string) {
	if g.wide {
		g.KORTESTW(m, m)
	} else {
		r := g.GP32()
		g.VMOVMSKPS(m, r)
		g.TESTL(r, r)
	}
	g.JZ(operand.LabelRef(label))
}

// first is the index of the first element that is the one at y, or NaN, and n if there is none.
func (s *set) first(name string, size int) {
	name += s.suffix()
	sig := signature([]string{"x", "y"}, []string{"n"}, types.Typ[types.Int])
	s.function(name, name+" returns the index of the first of n elements that is the one at y, or NaN.", sig, func(g *gen) {
		l := s.reduction(g, size)
		f := lanes{g, size}
		y := l.spread(slot{size: size}, g.param("y"))
		found, end := g.label("found"), g.label("over")
		hits := g.GP32()
		look := func(part bool) {
			x := l.vectorAt(size, 0, part)
			m := f.compare(equal, x, y)
			g.gather(f.compare(unordered, x, x), m)
			if g.wide {
				g.KMOVW(m, hits)
			} else if size == 4 {
				g.VMOVMSKPS(m, hits)
			} else {
				g.VMOVMSKPD(m, hits)
			}
			g.TESTL(hits, hits)
			g.JNZ(operand.LabelRef(found))
		}
		top, tail := g.label("loop"), g.label("tail")
		l.CMPQ(l.rest, operand.U8(0))
		l.JLT(operand.LabelRef(tail))
		g.Label(top)
		look(false)
		l.step(top)
		g.Label(tail)
		l.ADDQ(operand.U8(l.lanes), l.rest)
		l.JLE(operand.LabelRef(end))
		l.setMask()
		look(true)
		g.ADDQ(l.rest, l.at)
		g.JMP(operand.LabelRef(end))
		g.Label(found)
		g.TZCNTL(hits, hits)
		g.ADDQ(hits.As64(), l.at)
		g.Label(end)
		g.result(l.at)
	})
}

// greatestBits is the greatest magnitude, as bits, so that a NaN is greater than any number.
func (s *set) greatestBits() {
	name := "GreatestBits" + s.suffix()
	sig := signature([]string{"x"}, []string{"n"}, types.Typ[types.Uint64])
	s.function(name, name+" returns the bits of the greatest magnitude of n float32.", sig, func(g *gen) {
		l := s.reduction(g, 4)
		var acc [unroll]val
		for i := range acc {
			acc[i] = g.zero()
		}
		l.vectors(func(i, offset int, part, _ bool) {
			g.VPMAXUD(g.abs(l.vectorAt(4, offset, part)), acc[i], acc[i])
		})
		a, b := g.op2(g.VPMAXUD, acc[0], acc[1]), g.op2(g.VPMAXUD, acc[2], acc[3])
		r := g.GP32()
		g.VMOVD(g.across(g.op2(g.VPMAXUD, a, b), g.VPMAXUD), r)
		g.result(r.As64())
	})
}

// lines emits a function that combines lines of n elements, stride elements apart, with n states.
func (s *set) lines(name, doc string, lane, stateSize, size int, combine func(l *loop, state, x val)) {
	name += s.suffix()
	sig := signature([]string{"state", "x"}, []string{"n", "lines", "stride"}, nil)
	s.function(name, name+doc, sig, func(g *gen) {
		l := &loop{gen: g, k: &kernel{lane: lane}, lanes: s.bytes() / lane}
		l.base[0], l.base[1] = g.param("state"), g.param("x")
		count, stride := g.param("lines"), g.param("stride")
		g.SHLQ(operand.U8(map[int]int{4: 2, 8: 3}[size]), stride)
		for _, together := range []int{8, 1} { // states are loaded and stored once for several lines
			top, end := g.label("lines"), g.label("done")
			g.Label(top)
			g.SUBQ(operand.U8(together), count)
			g.JLT(operand.LabelRef(end))
			l.columns(l.starts(together, stride), stateSize, size, combine)
			for range together {
				g.ADDQ(stride, l.base[1])
			}
			g.JMP(operand.LabelRef(top))
			g.Label(end)
			g.ADDQ(operand.U8(together), count)
		}
	})
}

// starts returns where n lines begin.
func (l *loop) starts(n int, stride reg.Register) []reg.Register {
	starts := []reg.Register{l.base[1]}
	for i := 1; i < n; i++ {
		p := l.GP64()
		l.MOVQ(starts[i-1], p)
		l.ADDQ(stride, p)
		starts = append(starts, p)
	}
	return starts
}

// columns goes along lines that begin at starts.
func (l *loop) columns(starts []reg.Register, stateSize, size int, combine func(l *loop, state, x val)) {
	l.begin()
	columns := func(vectors int, part bool) {
		states := make([]val, vectors)
		at := func(v int, m operand.Mem, size int) operand.Mem {
			m.Disp = v * l.lanes * size
			return m
		}
		for v := range states {
			states[v] = l.vec()
			l.move(at(v, l.address(0, stateSize), stateSize), states[v], stateSize, part, true)
		}
		for _, p := range starts {
			for v, state := range states {
				x := l.sized(size * l.lanes)
				l.move(at(v, operand.Mem{Base: p, Index: l.at, Scale: uint8(size)}, size), x, size, part, true)
				combine(l, state, x)
			}
		}
		for v, state := range states {
			l.move(at(v, l.address(0, stateSize), stateSize), state, stateSize, part, false)
		}
	}
	if full := 64 / size / l.lanes; full > 1 { // a cache line of each: lines whose distance is a power of two put others out of the first level
		top, end := l.label("full"), l.label("single")
		l.SUBQ(operand.U8((full-1)*l.lanes), l.rest)
		l.JLT(operand.LabelRef(end))
		l.Label(top)
		columns(full, false)
		l.ADDQ(operand.U8(full*l.lanes), l.at)
		l.SUBQ(operand.U8(full*l.lanes), l.rest)
		l.JGE(operand.LabelRef(top))
		l.Label(end)
		l.ADDQ(operand.U8((full-1)*l.lanes), l.rest)
	}
	top, tail, end := l.label("loop"), l.label("tail"), l.label("end")
	l.CMPQ(l.rest, operand.U8(0))
	l.JLT(operand.LabelRef(tail))
	l.Label(top)
	columns(1, false)
	l.step(top)
	l.Label(tail)
	l.ADDQ(operand.U8(l.lanes), l.rest)
	l.JLE(operand.LabelRef(end))
	l.setMask()
	columns(1, true)
	l.Label(end)
}

func (s *set) sumLines(name string, size int) {
	s.lines(name, " adds lines of n elements to n float64.", 8, 8, size, func(l *loop, state, x val) {
		l.VADDPD(l.widened(x, size), state, state)
	})
}

func (s *set) extremeLines(name string, size int, greater bool) {
	s.lines(name, " makes of n elements the greatest or least of them and lines of others.", size, size, size, func(l *loop, state, x val) {
		l.VMOVUPS(lanes{l.gen, size}.extreme(greater, state, x), state)
	})
}
