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
	if s.Kernel == nil {
		return fmt.Errorf("no kernel: %w", backend.ErrUnsupported)
	}
	for _, e := range s.Kernel.Bodies() {
		if err := e.Check(); err != nil {
			return err
		}
	}
	if err := s.Shape.Check(); err != nil {
		return err
	}
	switch k := s.Kernel.(type) {
	case *backend.Map:
		return s.runMap(k)
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
	}
	return fmt.Errorf("kernel of family %s: %w", s.Kernel.Family(), backend.ErrUnsupported)
}

func (s *step) runMap(k *backend.Map) error {
	if err := s.operands(&k.Body, 0); err != nil {
		return err
	}
	return s.finish(&k.Body, 0, nil)
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
	if axes < 0 || axes > len(s.Shape) {
		return fmt.Errorf("%d axes of %d: %w", axes, len(s.Shape), backend.ErrAxis)
	}
	if err := s.operands(e, axes); err != nil {
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

// operands checks the operands of a program that reads the inputs over the domain. Rows may be empty, and
// what is one value for a row is there all the same.
func (s *step) operands(e *ops.Expr, axes int) error {
	if err := s.counts(len(e.In), e); err != nil {
		return err
	}
	rows := make([]bool, len(e.In)) // used as one value for a row
	for _, in := range e.Code {
		if (in.Kind == ops.Load || in.Kind == ops.Index) && in.Row {
			rows[in.Args[0]] = true
		}
	}
	for i := range e.In {
		shape, l := s.Shape, s.In[i].Layout
		if !l.Shape.Equal(shape) || len(l.Strides) != len(shape) {
			return fmt.Errorf("input %d has layout %v, want shape %v: %w", i, l, shape, backend.ErrShape)
		}
		if outer := len(shape) - axes; rows[i] {
			l = backend.Layout{Shape: l.Shape[:outer], Strides: l.Strides[:outer], Offset: l.Offset}
		}
		if err := s.input(i, e, i, l, l.Shape); err != nil {
			return err
		}
	}
	return s.outputs(e, axes)
}

// counts checks the number of inputs and of outputs, and that there are all constants.
func (s *step) counts(in int, last *ops.Expr) error {
	if len(s.In) != in || len(s.Out) != len(last.Out) {
		return fmt.Errorf("%d inputs and %d outputs, want %d and %d: %w", len(s.In), len(s.Out), in, len(last.Out), backend.ErrShape)
	}
	for _, e := range s.Kernel.Bodies() {
		for i := range e.Code {
			if c := &e.Code[i]; c.Kind == ops.Const && int(c.Args[0]) >= len(s.Consts) {
				return fmt.Errorf("constant %d of %d: %w", c.Args[0], len(s.Consts), backend.ErrShape)
			}
		}
	}
	return nil
}

// post checks the operands of a Post, which are the inputs from number first on, and the outputs.
func (s *step) post(e *ops.Expr, first int, sum ops.DType) error {
	if len(e.In) == 0 || e.In[0] != sum {
		return fmt.Errorf("post of operands %v, want %s first: %w", e.In, sum, backend.ErrDType)
	}
	for k := 1; k < len(e.In); k++ {
		i := first + k - 1
		if err := s.input(i, e, k, s.In[i].Layout, s.Shape); err != nil {
			return err
		}
	}
	return s.outputs(e, 0)
}

// input checks that input i, operand k of e, has elements of the right type over shape, inside its memory.
// It may have none if e only asks for positions.
func (s *step) input(i int, e *ops.Expr, k int, l backend.Layout, shape backend.Shape) error {
	if s.In[i].Buf != nil {
		return s.inside(fmt.Sprint("input ", i), s.In[i].DType, e.In[k], l, shape, s.mem[i])
	}
	for j := range e.Code {
		if c := &e.Code[j]; c.Kind == ops.Load && int(c.Args[0]) == k {
			return fmt.Errorf("input %d has no memory: %w", i, backend.ErrShape)
		}
	}
	return nil
}

func (s *step) outputs(e *ops.Expr, axes int) error {
	for i, r := range e.Out {
		o, shape := s.Out[i], s.Shape
		if !o.Layout.Shape.Equal(shape) || len(o.Layout.Strides) != len(shape) {
			return fmt.Errorf("output %d has layout %v, want shape %v: %w", i, o.Layout, shape, backend.ErrShape)
		}
		l := o.Layout
		if outer := len(shape) - axes; e.Code[r].Row {
			l = backend.Layout{Shape: l.Shape[:outer], Strides: l.Strides[:outer], Offset: l.Offset}
		}
		if err := s.inside(fmt.Sprint("output ", i), o.DType, e.Code[r].DType, l, l.Shape, s.mem[len(s.In)+i]); err != nil {
			return err
		}
	}
	return nil
}

// inside checks that an operand is of the type and shape it should be and lies inside its memory.
func (s *step) inside(what string, got, want ops.DType, l backend.Layout, shape backend.Shape, mem []byte) error {
	if got != want || !l.Shape.Equal(shape) || len(l.Strides) != len(l.Shape) {
		return fmt.Errorf("%s is %s%v, want %s%v: %w", what, got, l.Shape, want, shape, backend.ErrShape)
	}
	if lo, hi := l.Bounds(); lo < 0 || hi >= len(mem)/got.Size() {
		return fmt.Errorf("%s: positions %d to %d of %d bytes of %s: %w", what, lo, hi, len(mem), got, backend.ErrShape)
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
