package cpu

import (
	"fmt"
	"runtime"
	"sync"
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
	rp := rowsPlan{axes: axes, ordered: keepsOrder(e), wide: 512, room: 1 << 30, together: groupRoom}
	if rk.keeps() {
		rp.room = segment
	} else if rk.inPlace() {
		rp.wide, rp.together = 4*blockLen, segment
	}
	layouts := j.operandLayouts()
	o, err := rk.order(layouts, func() []domain { return rp.plan(layouts, j.lead(axes)) })
	if err != nil {
		return err
	}
	for _, p := range o.passes {
		w, ok := p.works.Get().(*rowWork)
		if !ok {
			w = newRowWork(rk, e, p, len(j.in))
		}
		if err := w.do(j); err != nil {
			return err
		}
		p.works.Put(w)
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

// A rowWork is a kernel over rows with the operands of a pass.
type rowWork struct {
	*pass
	*job    // while it runs
	kernel  *rowKernel
	body    *ops.Expr
	rowly   []bound // of each phase, its rows program
	elems   []bound // and its elements program
	results bound
	streams bool      // results are so many that no cache would hold them
	idle    sync.Pool // of groups
}

func newRowWork(k *rowKernel, e *ops.Expr, p *pass, inputs int) *rowWork {
	w := &rowWork{pass: p, kernel: k, body: e}
	lone := func(a arg) bool {
		_, kept := k.kept[a.value]
		return p.single && !kept
	}
	spread := func(arg) bool { return false }
	for i := range k.phases {
		ph := &k.phases[i]
		w.rowly = append(w.rowly, newBound(&ph.rows, p.rowwise, inputs, spread, w.made(ph.rows.vals), nil))
		var made []source
		for _, r := range ph.reduces {
			made = append(made, source{dtype: e.Code[e.Code[r].Args[0]].DType, held: true})
		}
		made = append(made, w.made(ph.kept)...)
		w.elems = append(w.elems, newBound(&ph.elems, p.elems, inputs, lone, made, ph.outs))
	}
	w.results = newBound(&k.results, p.rowwise, inputs, spread, nil, k.outs)
	return w
}

// made returns sources for results that the caller places.
func (w *rowWork) made(vals []ops.Ref) []source {
	var out []source
	for _, v := range vals {
		out = append(out, given(w.body.Code[v].DType, false))
	}
	return out
}

// do works on the operands of j.
func (w *rowWork) do(j *job) error {
	w.job = j
	w.streams = j.step.Shape.Len()*4 >= streamBytes
	defer w.close()
	for i := range w.rowly {
		if err := w.rowly[i].open(j); err != nil {
			return err
		}
		if err := w.elems[i].open(j); err != nil {
			return err
		}
	}
	if err := w.results.open(j); err != nil {
		return err
	}
	if n := w.groups(); w.segs > 1 && n < 2*runtime.GOMAXPROCS(0) {
		return w.some(0, n, w.parallel)
	} else if n*w.r*w.c <= grain {
		return w.some(0, n, inline)
	}
	return w.many()
}

// close lets go of the operands.
func (w *rowWork) close() {
	for i := range w.rowly {
		w.rowly[i].close()
		w.elems[i].close()
	}
	w.results.close()
	w.job = nil
}

// some works on groups lo to hi, one after the other, and on the segments of one as parallel runs them.
func (w *rowWork) some(lo, hi int, parallel runner) error {
	g, err := w.group()
	if err != nil {
		return err
	}
	defer g.free()
	for i := lo; i < hi && err == nil; i++ {
		err = g.run(i, parallel)
	}
	if w.streams && loops != nil {
		loops.StoreFence()
	}
	return err
}

// many works on several groups at once.
func (w *rowWork) many() error {
	var failed atomic.Pointer[error]
	err := w.parallel(w.groups(), max(grain/max(w.r*w.c, 1), 1), func(lo, hi int) {
		if err := w.some(lo, hi, inline); err != nil {
			failed.Store(&err)
		}
	})
	if e := failed.Load(); e != nil && err == nil {
		err = *e
	}
	return err
}

// A runner runs f over parts of [0, n), as [Backend.parallel] does.
type runner func(n, grain int, f func(lo, hi int)) error

// inline runs f for the whole range.
func inline(n, _ int, f func(lo, hi int)) error {
	f(0, n)
	return nil
}
