package backend

import (
	"fmt"
	"iter"
)

// A Layout says where in a buffer each element of a tensor is: at Offset plus the sum over the axes of
// index times stride, all counted in elements. A stride of 0 repeats one element along the axis; a
// negative one runs backwards. Layouts are values: no method changes one, and none may be changed once
// shared, so that views can share their slices.
type Layout struct {
	Shape   Shape
	Strides []int
	Offset  int
}

// Dense returns the row-major layout of shape s at offset 0.
func Dense(s Shape) Layout { return Layout{Shape: s, Strides: s.Strides()} }

// Len returns the number of elements.
func (l Layout) Len() int { return l.Shape.Len() }

// Touched returns how many elements of memory the layout reaches: those of an axis of stride 0 are one.
func (l Layout) Touched() int {
	n := 1
	for a, d := range l.Shape {
		if l.Strides[a] != 0 || d == 0 {
			n *= d
		}
	}
	return n
}

// At returns the position of the element at index.
func (l Layout) At(index ...int) int {
	at := l.Offset
	for i, x := range index {
		at += x * l.Strides[i]
	}
	return at
}

// IsDense reports whether the elements follow each other in row-major order. Strides of axes of extent 1
// do not matter, and an empty layout is dense. The offset may be anything.
func (l Layout) IsDense() bool {
	n := 1
	dense := true
	for i := len(l.Shape) - 1; i >= 0; i-- {
		if l.Shape[i] == 0 {
			return true
		}
		if l.Shape[i] != 1 && l.Strides[i] != n {
			dense = false
		}
		n *= l.Shape[i]
	}
	return dense
}

// Bounds returns the least and greatest position of an element. They are 0 and -1 for an empty layout.
func (l Layout) Bounds() (lo, hi int) {
	lo, hi = l.Offset, l.Offset
	for i, d := range l.Shape {
		if d == 0 {
			return 0, -1
		}
		if s := (d - 1) * l.Strides[i]; s < 0 {
			lo += s
		} else {
			hi += s
		}
	}
	return lo, hi
}

// Equal reports whether l and m place the same elements at the same positions in the same order, by the
// same strides.
func (l Layout) Equal(m Layout) bool {
	if l.Offset != m.Offset || !l.Shape.Equal(m.Shape) {
		return false
	}
	for i := range l.Strides {
		if l.Shape[i] != 1 && l.Strides[i] != m.Strides[i] {
			return false
		}
	}
	return true
}

// All yields the position of each element, in row-major order, with its number. It is for references and
// for small tensors: kernels step through runs instead.
func (l Layout) All() iter.Seq2[int, int] {
	return func(yield func(i, at int) bool) {
		var few [8]int
		index := append(few[:0], make([]int, len(l.Shape))...)
		at := l.Offset
		for i, n := 0, l.Len(); i < n; i++ {
			if !yield(i, at) {
				return
			}
			for a := len(index) - 1; a >= 0; a-- {
				index[a]++
				at += l.Strides[a]
				if index[a] < l.Shape[a] {
					break
				}
				at -= index[a] * l.Strides[a]
				index[a] = 0
			}
		}
	}
}

// Permute returns l with its axes in the order axes, a permutation of 0…rank-1 in which a negative axis
// counts from the end.
func (l Layout) Permute(axes ...int) (Layout, error) {
	if len(axes) != len(l.Shape) {
		return Layout{}, fmt.Errorf("%d axes for a tensor of %d: %w", len(axes), len(l.Shape), ErrAxis)
	}
	p := Layout{Shape: make(Shape, len(axes)), Strides: make([]int, len(axes)), Offset: l.Offset}
	seen := make([]bool, len(axes))
	for i, a := range axes {
		a, err := l.Shape.Axis(a)
		if err != nil {
			return Layout{}, err
		}
		if seen[a] {
			return Layout{}, fmt.Errorf("axis %d named twice: %w", a, ErrAxis)
		}
		seen[a] = true
		p.Shape[i], p.Strides[i] = l.Shape[a], l.Strides[a]
	}
	return p, nil
}

// Slice returns the n elements start, start+step, … of axis. They must be inside the axis; step may be
// negative but not 0.
func (l Layout) Slice(axis, start, step, n int) (Layout, error) {
	axis, err := l.Shape.Axis(axis)
	if err != nil {
		return Layout{}, err
	}
	d := l.Shape[axis]
	if step == 0 || n < 0 {
		return Layout{}, fmt.Errorf("slice of %d elements with step %d: %w", n, step, ErrIndex)
	}
	if n > 0 && (start < 0 || start >= d || n-1 > steps(start, step, d)) {
		return Layout{}, fmt.Errorf("slice of %d elements from %d, step %d, of axis %d of extent %d: %w", n, start, step, axis, d, ErrIndex)
	}
	s := l.clone()
	s.Shape[axis] = n
	s.Strides[axis] = l.Strides[axis] * step
	if n > 0 {
		s.Offset += start * l.Strides[axis]
	}
	return s, nil
}

// steps returns how many steps lead from start, inside an axis of extent d, to the last element before an end
// of the axis. It multiplies nothing, so that no step is too large.
func steps(start, step, d int) int {
	if step > 0 {
		return (d - 1 - start) / step
	}
	return -start / step
}

// Drop returns l without axis, at position i of it.
func (l Layout) Drop(axis, i int) (Layout, error) {
	s, err := l.Slice(axis, i, 1, 1)
	if err != nil {
		return Layout{}, err
	}
	axis, _ = l.Shape.Axis(axis) // Slice has checked it
	s.Shape = append(s.Shape[:axis], s.Shape[axis+1:]...)
	s.Strides = append(s.Strides[:axis], s.Strides[axis+1:]...)
	return s, nil
}

// Insert returns l with a new axis of extent 1 before axis, which may be the rank.
func (l Layout) Insert(axis int) (Layout, error) {
	if axis < 0 {
		axis += len(l.Shape) + 1
	}
	if axis < 0 || axis > len(l.Shape) {
		return Layout{}, fmt.Errorf("new axis at %d of a tensor of %d axes: %w", axis, len(l.Shape), ErrAxis)
	}
	s := Layout{Shape: make(Shape, 0, len(l.Shape)+1), Strides: make([]int, 0, len(l.Shape)+1), Offset: l.Offset}
	s.Shape = append(append(append(s.Shape, l.Shape[:axis]...), 1), l.Shape[axis:]...)
	s.Strides = append(append(append(s.Strides, l.Strides[:axis]...), 0), l.Strides[axis:]...)
	return s, nil
}

// BroadcastTo returns l stretched to shape by NumPy's rule, with strides of 0.
func (l Layout) BroadcastTo(shape Shape) (Layout, error) {
	off := len(shape) - len(l.Shape)
	if off < 0 {
		return Layout{}, fmt.Errorf("shape %v does not broadcast to %v: %w", l.Shape, shape, ErrShape)
	}
	if off == 0 && l.Shape.Equal(shape) {
		return l, nil
	}
	b := Layout{Shape: shape, Strides: make([]int, len(shape)), Offset: l.Offset}
	for i, d := range l.Shape {
		switch {
		case shape[off+i] == d && d != 1:
			b.Strides[off+i] = l.Strides[i]
		case d != 1:
			return Layout{}, fmt.Errorf("shape %v does not broadcast to %v: %w", l.Shape, shape, ErrShape)
		}
	}
	return b, nil
}

// Reshape returns the same elements, in row-major order, under another shape of as many elements. ok is
// false if no strides can express it, and the elements must be copied first, or if there are not as many.
func (l Layout) Reshape(shape Shape) (r Layout, ok bool) {
	if l.Shape.Equal(shape) {
		return l, true
	}
	if l.Len() != shape.Len() {
		return Layout{}, false
	}
	if l.IsDense() {
		return Layout{Shape: shape, Strides: shape.Strides(), Offset: l.Offset}, true
	}
	r = Layout{Shape: shape, Strides: make([]int, len(shape)), Offset: l.Offset}
	old := l.squeeze()
	i := 0 // next axis of shape to place
	for a := 0; a < len(old.Shape); {
		// Take the smallest group of old axes and of new axes with the same product.
		b, have, want, first := a+1, old.Shape[a], 1, i
		for want != have {
			if want < have {
				want *= shape[i]
				i++
			} else {
				have *= old.Shape[b]
				b++
			}
		}
		for k := a; k+1 < b; k++ {
			if old.Strides[k] != old.Strides[k+1]*old.Shape[k+1] {
				return Layout{}, false
			}
		}
		stride := old.Strides[b-1]
		for k := i - 1; k >= first; k-- {
			r.Strides[k] = stride
			stride *= shape[k]
		}
		a = b
	}
	return r, true
}

// Diagonal returns the diagonal of axes a and b as a new last axis: the elements whose index along b is
// that along a plus offset.
func (l Layout) Diagonal(offset, a, b int) (Layout, error) {
	a, err := l.Shape.Axis(a)
	if err != nil {
		return Layout{}, err
	}
	if b, err = l.Shape.Axis(b); err != nil {
		return Layout{}, err
	}
	if a == b {
		return Layout{}, fmt.Errorf("diagonal of axis %d with itself: %w", a, ErrAxis)
	}
	offset = max(offset, -l.Shape[a]) // all that lies beyond is empty too, and the least int has no negative
	i, j := max(0, -offset), max(0, offset)
	n := max(0, min(l.Shape[a]-i, l.Shape[b]-j))
	d := Layout{Offset: l.Offset}
	if n > 0 {
		d.Offset += i*l.Strides[a] + j*l.Strides[b]
	}
	for k := range l.Shape {
		if k != a && k != b {
			d.Shape, d.Strides = append(d.Shape, l.Shape[k]), append(d.Strides, l.Strides[k])
		}
	}
	d.Shape, d.Strides = append(d.Shape, n), append(d.Strides, l.Strides[a]+l.Strides[b])
	return d, nil
}

// Unfold returns windows of size elements, step apart, along axis: the axis counts the windows, and a new
// last axis the elements of one.
func (l Layout) Unfold(axis, size, step int) (Layout, error) {
	axis, err := l.Shape.Axis(axis)
	if err != nil {
		return Layout{}, err
	}
	d := l.Shape[axis]
	switch {
	case size < 1 || size > d:
		return Layout{}, fmt.Errorf("windows of %d elements of axis %d of extent %d: want 1 to the extent: %w", size, axis, d, ErrShape)
	case step < 1:
		return Layout{}, fmt.Errorf("step %d between windows: want 1 or more: %w", step, ErrShape)
	}
	u := l.clone()
	u.Shape[axis] = (d-size)/step + 1
	u.Strides[axis] *= step
	u.Shape, u.Strides = append(u.Shape, size), append(u.Strides, l.Strides[axis])
	return u, nil
}

// clone returns l with slices of its own, with room for one more axis.
func (l Layout) clone() Layout {
	c := Layout{Shape: make(Shape, len(l.Shape), len(l.Shape)+1), Strides: make([]int, len(l.Shape), len(l.Shape)+1), Offset: l.Offset}
	copy(c.Shape, l.Shape)
	copy(c.Strides, l.Strides)
	return c
}

// squeeze returns l without its axes of extent 1.
func (l Layout) squeeze() Layout {
	s := Layout{Offset: l.Offset}
	for i, d := range l.Shape {
		if d != 1 {
			s.Shape, s.Strides = append(s.Shape, d), append(s.Strides, l.Strides[i])
		}
	}
	return s
}
