package backendtest

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A step is a backend.Step with its memory at hand: that of the inputs, then that of the outputs.
type step struct {
	*backend.Step
	mem [][]byte
	ctx context.Context
}

// run computes the step. It stores nothing before all is computed, so that a step that fails changes
// nothing, and one that works in place is right.
func (s *step) run() error {
	if err := s.Check(); err != nil {
		return err
	}
	for _, e := range s.Kernel.Bodies() {
		if err := e.Check(); err != nil {
			return err
		}
	}
	switch k := s.Kernel.(type) {
	case *backend.Map:
		return s.finish(&k.Body, 0, nil)
	case *backend.Reduce:
		return s.runRows(&k.Body, k.Axes)
	case *backend.Row:
		return s.runRows(&k.Body, k.Axes)
	case *backend.Scan:
		return s.runRows(&k.Body, 1)
	case *backend.MatMul:
		return s.runMatMul(k)
	case *backend.Conv:
		return s.runConv(k)
	case *backend.Pool:
		return s.runPool(k)
	case *backend.Gather:
		return s.runGather(k)
	case *backend.Scatter:
		return s.runScatter(k)
	case *backend.Sort:
		return s.runSort(k)
	case *backend.Attention:
		return s.runAttention(k)
	}
	return fmt.Errorf("kernel of family %s: %w", s.Kernel.Family(), backend.ErrUnsupported)
}

// finish runs e for each element of the domain and stores its results.
func (s *step) finish(e *ops.Expr, first int, sum []ops.Value) error {
	res, err := s.elementwise(e, first, sum, s.Shape)
	if err != nil {
		return err
	}
	for i, vs := range res {
		for j, at := range s.Out[i].Layout.All() {
			store(s.mem[len(s.In)+i], at, vs[j])
		}
	}
	return nil
}

// elementwise returns the results of e, each for all elements of shape, and computes them a block at a time.
// Operands of e are the inputs from number first on, except that with a sum operand 0 is the values in it.
func (s *step) elementwise(e *ops.Expr, first int, sum []ops.Value, shape backend.Shape) ([][]ops.Value, error) {
	const block = 1024
	lead := 0
	if sum != nil {
		lead = 1
	}
	at := make([][]int, len(e.In))
	for k := lead; k < len(e.In); k++ {
		at[k] = positions(s.In[first+k-lead].Layout)
	}
	n := shape.Len()
	res := make([][]ops.Value, len(e.Out))
	for r := range res {
		res[r] = make([]ops.Value, 0, n)
	}
	for i := 0; i < n; i += block {
		if err := s.ctx.Err(); err != nil {
			return nil, err
		}
		end := min(i+block, n)
		f := frame{e: e, n: end - i, consts: s.Consts}
		f.load = func(k int, _ bool) []ops.Value {
			if k < lead {
				return sum[i:end]
			}
			return s.values(first+k-lead, at[k][i:end])
		}
		f.index = func(k int, d ops.DType, _ bool) []ops.Value { return indices(d, at[k][i:end]) }
		for r, v := range f.run() {
			for j := range end - i {
				res[r] = append(res[r], pick(v, j))
			}
		}
	}
	return res, nil
}

// runRows runs e for each row: the elements of the last axes of the domain.
func (s *step) runRows(e *ops.Expr, axes int) error {
	if err := s.rowValues(e, axes); err != nil {
		return err
	}
	outer := len(s.Shape) - axes
	var starts, inner [][]int // of each operand and output: where each row starts, where its elements are from there
	for _, o := range append(s.In[:len(s.In):len(s.In)], s.Out...) {
		l := o.Layout
		starts = append(starts, positions(backend.Layout{Shape: l.Shape[:outer], Strides: l.Strides[:outer], Offset: l.Offset}))
		inner = append(inner, positions(backend.Layout{Shape: l.Shape[outer:], Strides: l.Strides[outer:]}))
	}
	row := func(operand, r int, one bool) []int {
		if one {
			return starts[operand][r : r+1]
		}
		at := make([]int, len(inner[operand]))
		for j, d := range inner[operand] {
			at[j] = starts[operand][r] + d
		}
		return at
	}
	type result struct {
		out int
		at  []int
		v   []ops.Value
	}
	var results []result
	for r := range s.Shape[:outer].Len() {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		f := frame{e: e, n: s.Shape[outer:].Len(), consts: s.Consts}
		f.load = func(k int, one bool) []ops.Value { return s.values(k, row(k, r, one)) }
		f.index = func(k int, d ops.DType, one bool) []ops.Value { return indices(d, row(k, r, one)) }
		out := f.run()
		if f.err != nil {
			return f.err
		}
		for i, v := range out {
			results = append(results, result{i, row(len(s.In)+i, r, e.Code[e.Out[i]].Row), v})
		}
	}
	for _, res := range results {
		for j, at := range res.at {
			store(s.mem[len(s.In)+res.out], at, pick(res.v, j))
		}
	}
	return nil
}

// rowValues checks that operands and outputs with one value for a row lie inside their memory. They do even if
// rows are empty, and the layouts with them.
func (s *step) rowValues(e *ops.Expr, axes int) error {
	outer := len(s.Shape) - axes
	check := func(o backend.Operand, mem []byte) error {
		l := backend.Layout{Shape: o.Layout.Shape[:outer], Strides: o.Layout.Strides[:outer], Offset: o.Layout.Offset}
		if lo, hi := l.Bounds(); lo < 0 || o.DType.Bytes(hi+1) > len(mem) {
			return fmt.Errorf("row values at %d to %d of %d bytes of %s: %w", lo, hi, len(mem), o.DType, backend.ErrShape)
		}
		return nil
	}
	for _, in := range e.Code {
		if in.Kind == ops.Load && in.Row {
			if err := check(s.In[in.Args[0]], s.mem[in.Args[0]]); err != nil {
				return err
			}
		}
	}
	for i, r := range e.Out {
		if e.Code[r].Row {
			if err := check(s.Out[i], s.mem[len(s.In)+i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// values returns the elements of input k at the given positions.
func (s *step) values(k int, at []int) []ops.Value {
	vs := make([]ops.Value, len(at))
	for i, p := range at {
		vs[i] = load(s.In[k].DType, s.mem[k], p)
	}
	return vs
}

// indices returns positions as values of type d.
func indices(d ops.DType, at []int) []ops.Value {
	vs := make([]ops.Value, len(at))
	for i, p := range at {
		vs[i] = ops.IntValue(ops.Int64, int64(p)).Convert(d)
	}
	return vs
}

// positions returns the position of each element of l, in row-major order.
func positions(l backend.Layout) []int {
	at := make([]int, 0, l.Len())
	for _, p := range l.All() {
		at = append(at, p)
	}
	return at
}
