package tensor

import (
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/internal/graph"
)

// seen returns t through layout l, or the error that made it.
func (t *Tensor) seen(op string, l backend.Layout, err error) *Tensor {
	if err != nil {
		return failWith(op, err, t)
	}
	v := &struct { // one piece of memory instead of two
		t Tensor
		l backend.Layout
	}{l: l}
	v.t = Tensor{dev: t.dev, node: t.node, layout: &v.l}
	return &v.t
}

// fewAxes is how many axes a layout may have to be in one piece of memory with what it is for.
const fewAxes = 4

// A view is a tensor in one piece of memory with its layout.
type view struct {
	t              Tensor
	l              backend.Layout
	shape, strides [fewAxes]int
}

// newView returns a view of t with room for the extents and strides, all 0, of n axes.
func newView(t *Tensor, n int) *view {
	v := new(view)
	if v.l = (backend.Layout{Shape: v.shape[:], Strides: v.strides[:], Offset: t.layout.Offset}); n > fewAxes {
		v.l.Shape, v.l.Strides = make(backend.Shape, n), make([]int, n)
	}
	v.l.Shape, v.l.Strides = v.l.Shape[:n:n], v.l.Strides[:n:n]
	v.t = Tensor{dev: t.dev, node: t.node, layout: &v.l}
	return v
}

// Reshape returns t's elements, in row-major order, under another shape of as many elements. One extent
// may be -1: it is then what the others leave. The elements are copied only if no strides express the
// result, as of a transposed matrix made flat. The error is of kind [ErrShape].
func (t *Tensor) Reshape(shape ...int) *Tensor {
	t, ok := t.ready("reshape")
	if !ok {
		return t
	}
	s, err := inferShape(*t.layout, shape)
	if err != nil {
		return failWith("reshape", err, t)
	}
	l, ok := t.layout.Reshape(s)
	if !ok {
		t = whole(t.dev, graph.Copy(t.edge()))
		l, _ = t.layout.Reshape(s) // a dense layout takes any shape
	}
	return t.seen("reshape", l, nil)
}

// inferShape returns a copy of shape with -1 replaced, if it has as many elements as l.
func inferShape(l backend.Layout, shape []int) (backend.Shape, error) {
	s := shapeOf(shape).Clone()
	open, known := -1, backend.Shape(nil)
	for i, d := range s {
		switch {
		case d != -1:
			known = append(known, d)
		case open >= 0:
			return nil, fmt.Errorf("shape %v has -1 twice: %w", s, ErrShape)
		default:
			open = i
		}
	}
	if err := known.Check(); err != nil {
		return nil, err
	}
	n, rest := l.Len(), known.Len()
	switch {
	case open < 0 && n == rest:
		return s, nil
	case open >= 0 && rest != 0 && n%rest == 0:
		s[open] = n / rest
		return s, nil
	case open >= 0 && rest == 0:
		return nil, fmt.Errorf("-1 could be any extent in shape %v: %w", s, ErrShape)
	}
	return nil, fmt.Errorf("%d elements do not fill shape %v: %w", n, s, ErrShape)
}

// Flatten returns t with a single axis.
func (t *Tensor) Flatten() *Tensor {
	if t, ok := t.ready("flatten"); !ok {
		return t
	}
	return t.Reshape(max(t.Len(), 0))
}

// Permute returns t with its axes in the given order, each named once: NumPy's transpose.
func (t *Tensor) Permute(axes ...int) *Tensor {
	t, ok := t.ready("permute")
	if !ok {
		return t
	}
	l, err := t.layout.Permute(axes...)
	return t.seen("permute", l, err)
}

// T returns t with its axes reversed: the transpose of a matrix, and a vector as it is.
func (t *Tensor) T() *Tensor {
	t, ok := t.ready("t")
	if !ok || t.Rank() < 2 {
		return t
	}
	axes := make([]int, t.Rank())
	for i := range axes {
		axes[i] = -1 - i
	}
	return t.Permute(axes...)
}

// Transpose returns t with axes a and b exchanged.
func (t *Tensor) Transpose(a, b int) *Tensor {
	t, ok := t.ready("transpose")
	if !ok {
		return t
	}
	i, err := t.layout.Shape.Axis(a)
	if err != nil {
		return failWith("transpose", err, t)
	}
	j, err := t.layout.Shape.Axis(b)
	if err != nil {
		return failWith("transpose", err, t)
	}
	axes := make([]int, t.Rank())
	for k := range axes {
		axes[k] = k
	}
	axes[i], axes[j] = j, i
	l, err := t.layout.Permute(axes...)
	return t.seen("transpose", l, err)
}

// moveLast returns t with the given axis, which it has, as the last.
func (t *Tensor) moveLast(axis int) *Tensor {
	axes := make([]int, 0, t.Rank())
	for k := range t.Rank() {
		if k != axis {
			axes = append(axes, k)
		}
	}
	return t.Permute(append(axes, axis)...)
}

// moveFromLast undoes moveLast.
func (t *Tensor) moveFromLast(axis int) *Tensor {
	axes := make([]int, t.Rank())
	for k := range axes {
		switch {
		case k < axis:
			axes[k] = k
		case k == axis:
			axes[k] = len(axes) - 1
		default:
			axes[k] = k - 1
		}
	}
	return t.Permute(axes...)
}

// BroadcastTo returns t stretched to shape by NumPy's rule: aligned at the last axis, an extent of 1
// repeats. The error is of kind [ErrShape].
func (t *Tensor) BroadcastTo(shape ...int) *Tensor {
	t, ok := t.ready("broadcast_to")
	if !ok {
		return t
	}
	s := shapeOf(shape).Clone()
	if err := s.Check(); err != nil {
		return failWith("broadcast_to", err, t)
	}
	l, err := t.layout.BroadcastTo(s)
	return t.seen("broadcast_to", l, err)
}

// Squeeze returns t without the given axes, which must be of extent 1; without any axis named, without
// all that are.
func (t *Tensor) Squeeze(axes ...int) *Tensor {
	t, ok := t.ready("squeeze")
	if !ok {
		return t
	}
	drop, err := axisSet(t.layout.Shape, axes)
	if err != nil {
		return failWith("squeeze", err, t)
	}
	l := backend.Layout{Shape: backend.Shape{}, Offset: t.layout.Offset}
	for i, d := range t.layout.Shape {
		switch {
		case drop.has(i) && d == 1:
		case drop.has(i) && len(axes) > 0:
			return fail("squeeze", ErrShape, fmt.Sprintf("axis %d has extent %d, not 1", i, d), t)
		default:
			l.Shape, l.Strides = append(l.Shape, d), append(l.Strides, t.layout.Strides[i])
		}
	}
	return t.seen("squeeze", l, nil)
}

// Unsqueeze returns t with new axes of extent 1: the given ones of the result, NumPy's expand_dims. It
// undoes what a reduction over the same axes drops: x.Sub(x.Mean(-1).Unsqueeze(-1)).
func (t *Tensor) Unsqueeze(axes ...int) *Tensor {
	t, ok := t.ready("unsqueeze")
	if !ok {
		return t
	}
	v := newView(t, t.Rank()+len(axes))
	shape := v.l.Shape
	for i := range shape {
		shape[i] = -1
	}
	for _, a := range axes {
		i, err := shape.Axis(a)
		if err == nil && shape[i] == 1 {
			err = fmt.Errorf("axis %d named twice: %w", i, ErrAxis)
		}
		if err != nil {
			return failWith("unsqueeze", err, t)
		}
		shape[i] = 1
	}
	k := 0
	for i, d := range shape {
		if d < 0 {
			shape[i], v.l.Strides[i] = t.layout.Shape[k], t.layout.Strides[k]
			k++
		}
	}
	return &v.t
}

// Diagonal returns the diagonal of axes a and b as a new last axis: the elements whose index along b is
// that along a plus offset. It is empty where there are none.
func (t *Tensor) Diagonal(offset, a, b int) *Tensor {
	t, ok := t.ready("diagonal")
	if !ok {
		return t
	}
	l, err := t.layout.Diagonal(offset, a, b)
	return t.seen("diagonal", l, err)
}

// Unfold returns the windows of size elements, step apart, along axis: the axis counts the windows, and
// a new last axis the elements of one. Windows that overlap share their elements. The error is of kind
// [ErrShape] if not one window fits.
func (t *Tensor) Unfold(axis, size, step int) *Tensor {
	t, ok := t.ready("unfold")
	if !ok {
		return t
	}
	l, err := t.layout.Unfold(axis, size, step)
	if err == nil {
		err = l.Shape.Check()
	}
	return t.seen("unfold", l, err)
}
