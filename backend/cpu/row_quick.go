package cpu

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/weft-go/weft/backend/cpu/internal/asm"
	"github.com/weft-go/weft/ops"
)

// A quickPhase does what a phase does with the elements of a row in one call of assembly.
type quickPhase struct {
	quickForm
	vecs  []quickVec
	lones []int // numbers of the row values
	kept  int   // number of the elements to keep, or -1
}

// A quickVec is an operand of elements: the number of one that a phase kept, or -1 and an operand of elems.
type quickVec struct{ kept, arg int }

// A quickForm is the way of a phase: one of the functions is there.
type quickForm struct {
	sum    func(r *asm.Rows, o *quickOperands, z unsafe.Pointer, n int) float64 // one sum; writes to z if there is a result
	sums   func(r *asm.Rows, o *quickOperands, n int)                           // two, to o.two
	result func(r *asm.RowBlocks) asm.RowBlock
}

// quickOperands are what a goroutine gives a quickForm, and gets.
type quickOperands struct {
	at    [3]stretch        // elements, of several rows
	z     stretch           // and results
	vecs  [3]unsafe.Pointer // elements
	lones [3]float32        // row values
	ahead int               // how many bytes on the elements of the next group are, where rows follow each other
	two   [2]float64
}

// quickForms are what assembly does at once, by the text of the phase.
var quickForms = map[string]quickForm{
	// softmax
	"sum exp(sub(x0,r0)) keep exp(sub(x0,r0))": {sum: func(r *asm.Rows, o *quickOperands, z unsafe.Pointer, n int) float64 {
		return r.ExpSum(z, o.vecs[0], unsafe.Pointer(&o.lones[0]), n, o.ahead)
	}},
	"put div(x0,r0)": {result: func(r *asm.RowBlocks) asm.RowBlock { return r.Div }},
	// log-softmax, logsumexp
	"sum exp(sub(x0,r0))": {sum: func(r *asm.Rows, o *quickOperands, _ unsafe.Pointer, n int) float64 {
		return r.ExpSumOnly(o.vecs[0], unsafe.Pointer(&o.lones[0]), n, o.ahead)
	}},
	"put sub(sub(x0,r0),r1)": {result: func(r *asm.RowBlocks) asm.RowBlock { return r.SubSub }},
	// variance, layer norm
	"sum sub(x0,r0) sum square(sub(x0,r0))": {sums: func(r *asm.Rows, o *quickOperands, n int) {
		r.Moments(unsafe.Pointer(&o.two[0]), o.vecs[0], unsafe.Pointer(&o.lones[0]), n, o.ahead)
	}},
	"sum square(sub(x0,r0)) sum sub(x0,r0)": {sums: func(r *asm.Rows, o *quickOperands, n int) {
		r.Moments(unsafe.Pointer(&o.two[0]), o.vecs[0], unsafe.Pointer(&o.lones[0]), n, o.ahead)
		o.two[0], o.two[1] = o.two[1], o.two[0]
	}},
	"put mul(sub(sub(x0,r0),r1),r2)":                 {result: func(r *asm.RowBlocks) asm.RowBlock { return r.Norm }},
	"put mul(mul(sub(sub(x0,r0),r1),r2),x1)":         {result: func(r *asm.RowBlocks) asm.RowBlock { return r.NormMul }},
	"put add(mul(mul(sub(sub(x0,r0),r1),r2),x1),x2)": {result: func(r *asm.RowBlocks) asm.RowBlock { return r.NormMulAdd }},
	// RMS norm
	"sum square(x0)": {sum: func(r *asm.Rows, o *quickOperands, _ unsafe.Pointer, n int) float64 {
		return r.SumSquares(o.vecs[0], n, o.ahead)
	}},
	"put mul(x0,r0)":         {result: func(r *asm.RowBlocks) asm.RowBlock { return r.Mul }},
	"put mul(mul(x0,r0),x1)": {result: func(r *asm.RowBlocks) asm.RowBlock { return r.MulMul }},
}

// quick returns the way of assembly for phase p of the body e, or nil.
func (k *rowKernel) quick(p *phase, e *ops.Expr) *quickPhase {
	if loops == nil {
		return nil
	}
	for _, d := range p.elems.expr.In {
		if d != ops.Float32 {
			return nil
		}
	}
	w := phaseWriter{part: &p.elems, kernel: k, names: map[int]string{}, quickPhase: quickPhase{kept: -1}}
	for i, v := range p.elems.expr.Out {
		switch {
		case i < len(p.reduces):
			w.words = append(w.words, e.Code[p.reduces[i]].Red.String())
		case i < len(p.reduces)+len(p.kept):
			w.words = append(w.words, "keep")
			w.kept = k.kept[p.kept[i-len(p.reduces)]]
		default:
			w.words = append(w.words, "put")
		}
		w.words = append(w.words, w.value(v))
	}
	f, ok := quickForms[strings.Join(w.words, " ")]
	if !ok {
		return nil
	}
	w.quickForm = f
	return &w.quickPhase
}

// A phaseWriter writes what a phase computes: x0, x1, … are elements, r0, r1, … row values, in the order in which they come.
type phaseWriter struct {
	*part
	quickPhase
	kernel *rowKernel
	names  map[int]string // of operands
	words  []string
}

func (w *phaseWriter) value(v ops.Ref) string {
	in := &w.expr.Code[v]
	switch in.Kind {
	case ops.Load:
		return w.operand(int(in.Args[0]))
	case ops.Apply:
		var args []string
		for _, a := range in.Operands() {
			args = append(args, w.value(a))
		}
		return in.Op.Name + "(" + strings.Join(args, ",") + ")"
	}
	return "?"
}

func (w *phaseWriter) operand(k int) string {
	if s, ok := w.names[k]; ok {
		return s
	}
	var s string
	a := w.args[k]
	if n, ok := w.kernel.rows[a.value]; ok && a.input < 0 {
		s = fmt.Sprint("r", len(w.lones))
		w.lones = append(w.lones, n)
	} else {
		s = fmt.Sprint("x", len(w.vecs))
		v := quickVec{-1, k}
		if a.input < 0 {
			v.kept = w.kernel.kept[a.value]
		}
		w.vecs = append(w.vecs, v)
	}
	w.names[k] = s
	return s
}

// quickly runs phase ph over elements lo to hi of the group, whole rows or a part of one, for segment s, if assembly does the phase at
// once and they lie well, with o to work with. It reports whether it did.
func (g *rowGroup) quickly(o *quickOperands, ph, s, lo, hi int) bool {
	p, b := &g.kernel.phases[ph], &g.elems[ph]
	q := p.quick
	if q == nil || !g.single || b.alias || len(q.vecs) > len(o.vecs) || len(q.lones) > len(o.lones) {
		return false
	}
	n, rows := hi-lo, 1
	if n > g.c-lo%g.c {
		if lo%g.c != 0 || n%g.c != 0 {
			return false
		}
		n, rows = g.c, n/g.c
	}
	o.ahead, o.z = 4*g.r*g.c, stretch{}
	for i, v := range q.vecs {
		if v.kept >= 0 {
			o.at[i] = g.keptLines(v.kept, lo, n)
		} else if l, ok := b.binding.in[v.arg].lines(g.base+lo, n*rows, n); ok {
			o.at[i] = l
		} else {
			return false
		}
	}
	switch {
	case q.kept >= 0:
		o.z = g.keptLines(q.kept, lo, n)
	case len(p.outs) > 0:
		l, ok := b.binding.out[len(p.reduces)].lines(g.base+lo, n*rows, n)
		if !ok {
			return false
		}
		o.z = l
	}
	for i := range rows {
		g.quickRow(o, ph, s, lo/g.c+i, i, n)
	}
	return true
}

// keptLines returns what a phase keeps of elements lo and after, as lines of n.
func (g *rowGroup) keptLines(kept, lo, n int) stretch {
	return stretch{p: unsafe.Pointer(&g.kept[kept][4*lo]), stride: n}
}

// quickRow runs phase ph over n elements of a row of the group, line i of what o has.
func (g *rowGroup) quickRow(o *quickOperands, ph, s, row, i, n int) {
	q := g.kernel.phases[ph].quick
	for k := range q.vecs {
		o.vecs[k] = unsafe.Add(o.at[k].p, 4*i*o.at[k].stride)
	}
	for k, v := range q.lones {
		o.lones[k] = typed[float32](g.values[v])[row]
	}
	z := unsafe.Add(o.z.p, 4*i*o.z.stride)
	r := &loops.Rows
	switch {
	case q.sum != nil:
		addToSum(g.sums[ph][0][s], row, q.sum(r, o, z, n))
	case q.sums != nil:
		q.sums(r, o, n)
		addToSum(g.sums[ph][0][s], row, o.two[0])
		addToSum(g.sums[ph][1][s], row, o.two[1])
	default:
		blocks := &r.Blocks
		if g.streams && uintptr(z)%alignment == 0 {
			blocks = &r.Stream
		}
		q.result(blocks)(z, o.vecs[0], o.vecs[1], o.vecs[2], unsafe.Pointer(&o.lones[0]), n)
	}
}

// addToSum adds v to row r of a sum of float32.
func addToSum(a accumulator, r int, v float64) { a.(*fold[float32, float64]).state[r] += v }
