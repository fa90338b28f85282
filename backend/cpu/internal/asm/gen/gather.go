package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gatherKernels emits copies of pieces of memory.
func gatherKernels(s *set, _ *kernels) {
	s.gather("Gather", false)
	s.gather("GatherStream", true)
}

// gather emits a copy of n pieces of size bytes, at least line, from where at says to z. With stream the stores go past the caches, in
// no order with others, and z and size must be multiples of line.
func (s *set) gather(name string, stream bool) {
	const line = 64 // bytes of a cache line
	name += s.suffix()
	doc := " copies n pieces of size bytes, each at[i] bytes from x on, one behind the other to z, and fetches the piece that is ahead ones on."
	s.function(name, name+doc, signature([]string{"z", "x", "at"}, []string{"n", "size", "ahead"}, nil), func(g *gen) {
		z, x, at, n, size, ahead := g.param("z"), g.param("x"), g.param("at"), g.param("n"), g.param("size"), g.param("ahead")
		from, next, k := g.GP64(), g.GP64(), g.GP64()
		copied := func(k reg.Register, disp int) {
			for d := 0; d < line; d += s.bytes() {
				v := g.vec()
				g.VMOVUPS(operand.Mem{Base: from, Index: k, Scale: 1, Disp: disp + d}, v)
				to := operand.Mem{Base: z, Index: k, Scale: 1, Disp: disp + d}
				if stream {
					g.VMOVNTPS(v, to)
				} else {
					g.VMOVUPS(v, to)
				}
			}
		}
		piece, lines, end := g.label("piece"), g.label("lines"), g.label("end")
		g.Label(piece)
		g.SUBQ(operand.U8(1), n)
		g.JLT(operand.LabelRef(end))
		g.MOVQ(operand.Mem{Base: at}, from)
		g.ADDQ(x, from)
		g.MOVQ(operand.Mem{Base: at, Index: ahead, Scale: 8}, next)
		g.ADDQ(x, next)
		g.ADDQ(operand.U8(8), at)
		g.MOVQ(operand.I32(line), k) // the end of a line
		g.Label(lines)
		g.PREFETCHT0(operand.Mem{Base: next, Index: k, Scale: 1, Disp: -line})
		copied(k, -line)
		g.ADDQ(operand.U8(line), k)
		g.CMPQ(k, size)
		g.JLE(operand.LabelRef(lines))
		if !stream { // what is left, with some of what is there
			g.PREFETCHT0(operand.Mem{Base: next, Index: size, Scale: 1, Disp: -1})
			copied(size, -line)
		}
		g.ADDQ(size, z)
		g.JMP(operand.LabelRef(piece))
		g.Label(end)
	})
}
