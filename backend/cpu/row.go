package cpu

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

func (j *job) runReduce(k *backend.Reduce) error { return j.reduceRows(k, &k.Body, k.Axes, true) }

func (j *job) runRow(k *backend.Row) error { return j.reduceRows(k, &k.Body, k.Axes, false) }

// reduceRows runs the body of a Reduce or Row kernel.
func (j *job) reduceRows(k backend.Kernel, e *ops.Expr, axes int, reduce bool) error {
	if err := j.elementwise(e); err != nil {
		return err
	}
	shape := j.step.Shape
	if axes < 0 || axes > len(shape) {
		return fmt.Errorf("%d axes of %d: %w", axes, len(shape), backend.ErrAxis)
	}
	rk, err := cached(&j.programs, k, func() (*rowKernel, error) { return splitRows(e, reduce) })
	if err != nil {
		return err
	}
	if err := checkEmpty(e, shape[len(shape)-axes:].Len()); err != nil {
		return err
	}
	if shape[:len(shape)-axes].Len() == 0 || len(j.out) == 0 {
		return nil
	}
	rp := rowsPlan{axes: axes, ordered: keepsOrder(e), wide: 512, room: 1 << 30}
	if rk.keeps() {
		rp.room = segment
	}
	passes := rp.plan(j.operandLayouts(), j.lead(axes))
	for i := range passes {
		w, err := j.rowWork(rk, e, &passes[i])
		if err != nil {
			return err
		}
		if err := w.run(); err != nil {
			return err
		}
	}
	return nil
}

// checkEmpty returns an error if rows of c elements have no result.
func checkEmpty(e *ops.Expr, c int) error {
	for i := range e.Code {
		if in := &e.Code[i]; in.Kind == ops.Reduce && c == 0 && !in.Red.HasIdentity() {
			return fmt.Errorf("%s of no elements: %w", in.Red, backend.ErrShape)
		}
	}
	return nil
}

// keepsOrder reports whether the results of e depend on the order of the elements in a row.
func keepsOrder(e *ops.Expr) bool {
	for i := range e.Code {
		if in := &e.Code[i]; in.Kind == ops.Reduce && (in.Red == ops.ReduceArgMax || in.Red == ops.ReduceArgMin) {
			return true
		}
	}
	return false
}

// keeps reports whether a phase keeps elements for a later one.
func (k *rowKernel) keeps() bool {
	for i := range k.phases {
		if len(k.phases[i].kept) > 0 {
			return true
		}
	}
	return false
}

// operandLayouts returns the layouts of the inputs and then of the outputs.
func (j *job) operandLayouts() []backend.Layout {
	j.all = resize(j.all, len(j.operands))
	for i := range j.operands {
		j.all[i] = j.operands[i].layout
	}
	return j.all
}

// lead returns the operand whose order in memory the work should follow: of those that vary along the
// last axes, the one with the most elements.
func (j *job) lead(axes int) int {
	best, most := 0, -1
	for i := range j.in {
		l := j.in[i].layout
		if len(j.in[i].mem) == 0 || !varies(l, len(l.Shape)-axes) {
			continue
		}
		n := 1
		for a, d := range l.Shape {
			if l.Strides[a] != 0 {
				n *= d
			}
		}
		if n > most {
			best, most = i, n
		}
	}
	if most < 0 && len(j.in) == 0 {
		return len(j.in) // the first output
	}
	return best
}

// varies reports whether l moves along an axis from first on.
func varies(l backend.Layout, first int) bool {
	for a := first; a < len(l.Shape); a++ {
		if l.Strides[a] != 0 && l.Shape[a] > 1 {
			return true
		}
	}
	return false
}

// A rowWork is a kernel over rows with the operands of one pass.
type rowWork struct {
	*job
	*pass
	kernel  *rowKernel
	body    *ops.Expr
	rowly   []*binding // of each phase, its rows program
	elems   []*binding // and its elements program
	results *binding
	block   int // elements that an elements program runs over at once
	segs    int // segments of a group
	segLen  int // elements of a segment, a multiple of block
}

// rowWork binds k to the operands of p.
func (j *job) rowWork(k *rowKernel, e *ops.Expr, p *pass) (*rowWork, error) {
	w := &rowWork{job: j, pass: p, kernel: k, body: e}
	w.block, w.segLen, w.segs = p.blocks()
	for i := range k.phases {
		ph := &k.phases[i]
		b, err := w.bind(&ph.rows, p.rowwise, false, w.made(ph.rows.vals))
		if err != nil {
			return nil, err
		}
		w.rowly = append(w.rowly, b)
		var out []source
		for _, r := range ph.reduces {
			out = append(out, source{dtype: e.Code[e.Code[r].Args[0]].DType, held: true})
		}
		out = append(out, w.made(ph.kept)...)
		outs, err := w.outputs(ph.outs, p.layouts)
		if err != nil {
			return nil, err
		}
		if b, err = w.bind(&ph.elems, p.layouts, p.r == 1, append(out, outs...)); err != nil {
			return nil, err
		}
		w.elems = append(w.elems, b)
	}
	outs, err := w.outputs(k.outs, p.rowwise)
	if err != nil {
		return nil, err
	}
	w.results, err = w.bind(&k.results, p.rowwise, false, outs)
	return w, err
}

// bind joins a part to its operands, whose layouts are in the order of the pass. Lone says that a row
// value is one element for all of a run.
func (w *rowWork) bind(p *part, layouts []backend.Layout, lone bool, out []source) (*binding, error) {
	in := make([]source, len(p.args))
	for i, a := range p.args {
		if a.input < 0 {
			_, kept := w.kernel.kept[a.value]
			in[i] = given(w.body.Code[a.value].DType, lone && !kept)
			continue
		}
		if err := in[i].set(&w.in[a.input], layouts[a.input]); err != nil {
			return nil, err
		}
	}
	return p.bind(in, out, w.step.Consts)
}

// made returns sources for results that the caller places.
func (w *rowWork) made(vals []ops.Ref) []source {
	var out []source
	for _, v := range vals {
		out = append(out, given(w.body.Code[v].DType, false))
	}
	return out
}

// outputs returns outputs of the kernel as sources.
func (w *rowWork) outputs(outs []int, layouts []backend.Layout) ([]source, error) {
	ss := make([]source, len(outs))
	for k, i := range outs {
		if err := ss[k].set(&w.out[i], layouts[len(w.in)+i]); err != nil {
			return nil, err
		}
	}
	return ss, nil
}

// run works on all groups: several at once, or if those are few and long, on several segments of one.
func (w *rowWork) run() error {
	elems := w.r * w.c
	if n := w.groups(); w.segs > 1 && n < 2*runtime.GOMAXPROCS(0) {
		g, err := w.newGroup()
		if err != nil {
			return err
		}
		defer g.free()
		for i := range n {
			if err := g.run(i, w.parallel); err != nil {
				return err
			}
		}
		return nil
	}
	var failed atomic.Pointer[error]
	err := w.parallel(w.groups(), max(grain/max(elems, 1), 1), func(lo, hi int) {
		g, err := w.newGroup()
		if err != nil {
			failed.Store(&err)
			return
		}
		defer g.free()
		for i := lo; i < hi && err == nil; i++ {
			err = g.run(i, inline)
		}
		if err != nil {
			failed.Store(&err)
		}
	})
	if e := failed.Load(); e != nil && err == nil {
		err = *e
	}
	return err
}

// inline runs f for the whole range.
func inline(n, _ int, f func(lo, hi int)) error {
	f(0, n)
	return nil
}
