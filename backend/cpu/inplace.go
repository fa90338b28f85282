package cpu

import (
	"unsafe"

	"github.com/weft-go/weft/ops"
)

// loaded returns the operands that the phase reduces as they are, or nil if it does anything else.
func (p *phase) loaded() []int {
	if len(p.kept)+len(p.outs) > 0 {
		return nil
	}
	var loads []int
	for _, v := range p.elems.expr.Out {
		in := &p.elems.expr.Code[v]
		if in.Kind != ops.Load || in.DType.IsHalf() || p.elems.expr.In[in.Args[0]].Quantized() || p.elems.args[in.Args[0]].input < 0 {
			return nil
		}
		loads = append(loads, int(in.Args[0]))
	}
	return loads
}

// inPlace reports whether all phases reduce operands as they are.
func (k *rowKernel) inPlace() bool {
	for i := range k.phases {
		if p := &k.phases[i]; len(p.elems.vals) > 0 && len(p.loads) == 0 {
			return false
		}
	}
	return true
}

// A stretch is elements of an operand in memory: all of them follow each other, or with lines those of a line.
type stretch struct {
	p             unsafe.Pointer
	lines, stride int
}

// A liner is an accumulator that may take lines with others between them, as [accumulator.cols] does.
type liner interface {
	takesLines() bool
	linesAt(x unsafe.Pointer, lines, stride int)
}

// fromMemory reduces elements lo to hi of the group, of segment s, where they are, if phase ph does no more and
// they lie well. It reports whether it did.
func (g *rowGroup) fromMemory(ph, s, lo, hi int) bool {
	var at [4]stretch
	loads, sums := g.kernel.phases[ph].loads, g.sums[ph]
	if len(loads) == 0 || len(loads) > len(at) {
		return false
	}
	for i, k := range loads {
		src := &g.elems[ph].in[k]
		ok := false
		if !g.cols {
			at[i], ok = src.all(g.base+lo, hi-lo)
		} else if l, lines := sums[i][s].(liner); lines && l.takesLines() {
			at[i], ok = src.lines(g.base+lo, hi-lo, g.n)
		}
		if !ok {
			return false
		}
	}
	for i := range loads {
		if g.cols {
			sums[i][s].(liner).linesAt(at[i].p, at[i].lines, at[i].stride)
		} else {
			sums[i][s].rows(at[i].p, hi-lo, lo, g.c)
		}
	}
	return true
}

// all returns the n elements from pos on if they follow each other.
func (s *source) all(pos, n int) (stretch, bool) {
	at, ok := s.view.run(pos, n)
	if !ok {
		return stretch{}, false
	}
	return stretch{p: unsafe.Pointer(&s.mem[at*s.dtype.Size()])}, true
}

// lines returns the n elements from pos on as lines of r, if they are evenly spaced.
func (s *source) lines(pos, n, r int) (stretch, bool) {
	var w walk
	w.start(&s.view, pos, n)
	if !w.next() || w.left > 0 || w.cs != 1 {
		return stretch{}, false
	}
	p := stretch{p: unsafe.Pointer(&s.mem[w.at*s.dtype.Size()])}
	switch {
	case w.rows == 1:
		p.lines, p.stride = w.cols/r, r
	case w.cols == r:
		p.lines, p.stride = w.rows, w.rs
	default:
		return p, false
	}
	return p, true
}
