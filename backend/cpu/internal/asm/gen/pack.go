package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// packKernels emits the copying of a factor to where a tile reads it: n rows of two vectors, each after the other.
func packKernels(s *set, _ *kernels) {
	s.packLines()
	s.packColumns("Float32", 4)
	s.packColumns("Float64", 8)
}

// packLines emits the function for rows that lie stride bytes apart.
func (s *set) packLines() {
	name := "PackLines" + s.suffix()
	doc := name + " copies n lines of two vectors, stride bytes apart, to z, where they follow each other."
	s.function(name, doc, signature([]string{"z", "x"}, []string{"stride", "n"}, nil), func(g *gen) {
		z, x, stride, n := g.param("z"), g.param("x"), g.param("stride"), g.param("n")
		ahead := g.GP64() // processors do not look for lines on other pages
		g.LEAQ(operand.Mem{Base: x, Index: stride, Scale: 8}, ahead)
		loop := g.label("loop")
		g.Label(loop)
		v := [tileVectors]reg.VecVirtual{g.vec(), g.vec()}
		for j := range v {
			g.VMOVUPS(operand.Mem{Base: x, Disp: j * g.bytes()}, v[j])
		}
		for at := 0; at < tileVectors*g.bytes(); at += 64 {
			g.PREFETCHT0(operand.Mem{Base: ahead, Disp: at})
		}
		for j := range v {
			g.VMOVUPS(v[j], operand.Mem{Base: z, Disp: j * g.bytes()})
		}
		g.ADDQ(stride, x)
		g.ADDQ(stride, ahead)
		g.ADDQ(operand.U8(tileVectors*g.bytes()), z)
		g.DECQ(n)
		g.JNE(operand.LabelRef(loop))
	})
}

// packColumns emits the function for rows that are columns in memory. It transposes blocks of 16 bytes square in the quarters
// or halves of vectors, which are of lines that far apart.
func (s *set) packColumns(t string, size int) {
	name := "PackColumns" + t + s.suffix()
	lines, step := tileVectors*s.bytes()/size, 16/size
	doc := fmt.Sprintf("%s copies element i of line j, of %d lines stride bytes apart, to element j of\nline i of z, for i < n, a multiple of %d. The lines of z follow each other.",
		name, lines, step)
	s.function(name, doc, signature([]string{"z", "x"}, []string{"stride", "n"}, nil), func(g *gen) {
		z, x, stride, n := g.param("z"), g.param("x"), g.param("stride"), g.param("n")
		parts := g.bytes() / 16
		half := g.GP64() // of the lines of a vector
		loop := g.label("loop")
		g.Label(loop)
		for j := range tileVectors {
			line := g.GP64()
			if j == 0 {
				g.MOVQ(x, line)
			} else {
				g.MOVQ(half, line)
			}
			v := make([]reg.VecVirtual, step)
			for r := range v {
				v[r] = g.vec()
			}
			for p := range parts {
				for r := range v {
					m := operand.Mem{Base: line}
					switch {
					case p == 0:
						g.VMOVUPS(m, v[r].AsX())
					case g.wide:
						g.VINSERTF32X4(operand.U8(p), m, v[r], v[r])
					default:
						g.VINSERTF128(operand.U8(p), m, v[r], v[r])
					}
					g.ADDQ(stride, line)
				}
			}
			if j == 0 {
				g.MOVQ(line, half)
			}
			for i, y := range g.turned(v) {
				g.VMOVUPS(y, operand.Mem{Base: z, Disp: (i*tileVectors + j) * g.bytes()})
			}
		}
		g.ADDQ(operand.U8(16), x)
		g.ADDQ(operand.U32(step*tileVectors*g.bytes()), z)
		g.SUBQ(operand.U8(step), n)
		g.JNE(operand.LabelRef(loop))
	})
}

// turned returns the transposes of the blocks of 16 bytes that v holds the rows of.
func (g *gen) turned(v []reg.VecVirtual) []val {
	if len(v) == 2 {
		return []val{g.op2(g.VUNPCKLPD, v[0], v[1]), g.op2(g.VUNPCKHPD, v[0], v[1])}
	}
	lo, hi := g.op2(g.VUNPCKLPS, v[0], v[1]), g.op2(g.VUNPCKHPS, v[0], v[1])
	lo2, hi2 := g.op2(g.VUNPCKLPS, v[2], v[3]), g.op2(g.VUNPCKHPS, v[2], v[3])
	return []val{g.op2(g.VUNPCKLPD, lo, lo2), g.op2(g.VUNPCKHPD, lo, lo2), g.op2(g.VUNPCKLPD, hi, hi2), g.op2(g.VUNPCKHPD, hi, hi2)}
}
