package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// transposeKernels emits transpositions of elements of 4 and 8 bytes.
func transposeKernels(s *set, _ *kernels) {
	for _, size := range []int{4, 8} {
		s.transpose(fmt.Sprintf("Transpose%d", 8*size), size, false)
		s.transpose(fmt.Sprintf("TransposeStream%d", 8*size), size, true)
	}
}

// transpose emits z[r·zs + c] = x[c·xs + r] for r < n·lanes and c < lanes: n squares, one below the other in z. With stream
// the stores go past the caches, in no order with others, and their places must be aligned.
func (s *set) transpose(name string, size int, stream bool) {
	name += s.suffix()
	lanes := s.bytes() / size
	doc := fmt.Sprintf("%s writes n squares of %d×%d elements, one below the other in z, with the lines of x as columns. The\nlines of x are xs elements apart, those of z zs.", name, lanes, lanes)
	s.function(name, doc, signature([]string{"z", "x"}, []string{"n", "zs", "xs"}, nil), func(g *gen) {
		z, x, n, zs, xs := g.param("z"), g.param("x"), g.param("n"), g.param("zs"), g.param("xs")
		shift := operand.U8(map[int]int{4: 2, 8: 3}[size])
		g.SHLQ(shift, zs)
		g.SHLQ(shift, xs)
		top, end := g.label("square"), g.label("end")
		p := g.GP64()
		g.Label(top)
		g.SUBQ(operand.U8(1), n)
		g.JLT(operand.LabelRef(end))
		g.MOVQ(x, p)
		rows := make([]reg.VecVirtual, lanes)
		for i := range rows {
			rows[i] = g.vec()
			g.VMOVUPS(operand.Mem{Base: p}, rows[i])
			if i < lanes-1 {
				g.ADDQ(xs, p)
			}
		}
		for _, column := range g.transposed(rows, size) {
			if stream {
				g.VMOVNTPS(column, operand.Mem{Base: z})
			} else {
				g.VMOVUPS(column, operand.Mem{Base: z})
			}
			g.ADDQ(zs, z)
		}
		g.ADDQ(operand.U32(uint32(s.bytes())), x)
		g.JMP(operand.LabelRef(top))
		g.Label(end)
	})
}

// transposed returns the columns of a square of rows.
func (g *gen) transposed(rows []reg.VecVirtual, size int) []reg.VecVirtual {
	two := func(f instr, a, b reg.VecVirtual) reg.VecVirtual {
		z := g.vec()
		f(b, a, z)
		return z
	}
	// Within lanes of 16 bytes: group i of inner rows becomes inner vectors, of which vector c has in lane l the elements of
	// column inner·l + c.
	inner := 16 / size
	parts := make([]reg.VecVirtual, 0, len(rows))
	for i := 0; i < len(rows); i += inner {
		if size == 8 {
			parts = append(parts, two(g.VUNPCKLPD, rows[i], rows[i+1]), two(g.VUNPCKHPD, rows[i], rows[i+1]))
			continue
		}
		lo0, hi0 := two(g.VUNPCKLPS, rows[i], rows[i+1]), two(g.VUNPCKHPS, rows[i], rows[i+1])
		lo1, hi1 := two(g.VUNPCKLPS, rows[i+2], rows[i+3]), two(g.VUNPCKHPS, rows[i+2], rows[i+3])
		parts = append(parts, two(g.VUNPCKLPD, lo0, lo1), two(g.VUNPCKHPD, lo0, lo1), two(g.VUNPCKLPD, hi0, hi1), two(g.VUNPCKHPD, hi0, hi1))
	}
	// Across lanes.
	columns := make([]reg.VecVirtual, len(rows))
	shuffle := func(order int, a, b reg.VecVirtual) reg.VecVirtual {
		z := g.vec()
		if g.wide {
			g.VSHUFF32X4(operand.U8(order), b, a, z)
		} else {
			g.VPERM2F128(operand.U8(order), b, a, z)
		}
		return z
	}
	for c := range inner {
		if !g.wide {
			columns[c] = shuffle(0x20, parts[c], parts[inner+c])
			columns[inner+c] = shuffle(0x31, parts[c], parts[inner+c])
			continue
		}
		p := [4]reg.VecVirtual{parts[c], parts[inner+c], parts[2*inner+c], parts[3*inner+c]}
		lo0, hi0 := shuffle(0x44, p[0], p[1]), shuffle(0xee, p[0], p[1])
		lo1, hi1 := shuffle(0x44, p[2], p[3]), shuffle(0xee, p[2], p[3])
		columns[c], columns[inner+c] = shuffle(0x88, lo0, lo1), shuffle(0xdd, lo0, lo1)
		columns[2*inner+c], columns[3*inner+c] = shuffle(0x88, hi0, hi1), shuffle(0xdd, hi0, hi1)
	}
	return columns
}
