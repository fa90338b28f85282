package tensor

import (
	"fmt"
	"math"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/internal/graph"
	"github.com/weft-go/weft/ops"
)

// Concat returns the tensors joined along axis. They have the same extents along every other axis, and
// are promoted to one type as arrays are. The error is of kind [ErrShape], [ErrAxis] or [ErrDevice].
func Concat(axis int, ts ...*Tensor) *Tensor { return concat("concat", axis, ts) }

// Stack returns the tensors, which have one shape, side by side along a new axis.
func Stack(axis int, ts ...*Tensor) *Tensor {
	in := append([]*Tensor(nil), ts...)
	if bad := readyAll("stack", in); bad != nil {
		return bad
	}
	for i, t := range in {
		if in[i] = t.Unsqueeze(axis); in[i].Err() != nil {
			return named("stack", in[i], ts...)
		}
		if first, s := ts[0].shape(), t.shape(); !s.Equal(first) {
			return fail("stack", ErrShape, fmt.Sprintf("operand %d has shape %v, the first %v", i, s, first), ts...)
		}
	}
	return named("stack", concat("stack", axis, in), ts...)
}

func concat(op string, axis int, ts []*Tensor) *Tensor {
	if len(ts) == 0 {
		return fail(op, ErrShape, "no operands")
	}
	in := append([]*Tensor(nil), ts...)
	if bad := readyAll(op, in); bad != nil {
		return bad
	}
	first := in[0].layout.Shape
	a, err := first.Axis(axis)
	if err != nil {
		return failWith(op, err, in...)
	}
	shape := first.Clone()
	shape[a] = 0
	for i, t := range in {
		s := t.layout.Shape
		if len(s) != len(first) {
			return fail(op, ErrShape, fmt.Sprintf("operand %d has %d axes, the first %d", i, len(s), len(first)), in...)
		}
		for k, d := range s {
			if k != a && d != first[k] {
				return fail(op, ErrShape, fmt.Sprintf("operand %d has extent %d along axis %d, the first %d", i, d, k, first[k]), in...)
			}
		}
		if s[a] > math.MaxInt-shape[a] {
			return fail(op, ErrShape, "more elements than an int counts", in...)
		}
		shape[a] += s[a]
	}
	return assemble(op, shape, a, in)
}

// assemble joins tensors along axis a to one of the given shape.
func assemble(op string, shape backend.Shape, a int, in []*Tensor) *Tensor {
	if err := shape.Check(); err != nil {
		return failWith(op, err, in...)
	}
	if len(in) == 1 {
		return in[0]
	}
	d := promotedAll(in)
	dense := backend.Dense(shape)
	parts := make([]graph.Part, 0, len(in))
	at := 0
	for _, t := range in {
		n := t.layout.Shape[a]
		place, err := dense.Slice(a, at, 1, n)
		if err != nil {
			return failWith(op, err, in...)
		}
		at += n
		if t.layout.Len() > 0 {
			parts = append(parts, graph.Part{In: t.Cast(d).edge(), At: place})
		}
	}
	if len(parts) == 0 {
		return in[0].Cast(d).zeros(shape)
	}
	return whole(in[0].dev, graph.Assemble(d, shape, parts...))
}

// promotedAll returns the type that arrays have together.
func promotedAll(in []*Tensor) DType {
	d := in[0].node.DType
	for _, t := range in[1:] {
		d = ops.Promote(d, t.node.DType)
	}
	return d
}

// zeros returns zeros of t's type and device.
func (t *Tensor) zeros(shape backend.Shape) *Tensor {
	s := scalar{}
	return s.on(t.dev, t.node.DType, shape)
}

// Pad returns t with value, a Go number, around it: widths gives for each axis, from the first on, how
// many elements come before and after; axes beyond them get none. The number is weakly typed as [Scalar]
// says, but never changes the type. The error is of kind [ErrShape] for a negative width, [ErrAxis] for
// too many, or [ErrDType].
func (t *Tensor) Pad(value any, widths ...[2]int) *Tensor {
	t, ok := t.ready("pad")
	if !ok {
		return t
	}
	v, err := weak(value)
	if err == nil && !v.fits(t.node.DType) {
		err = fmt.Errorf("%d does not fit %s: %w", v.i, t.node.DType, ErrDType)
	}
	if err != nil {
		return failWith("pad", err, t)
	}
	shape, err := padded(t.layout.Shape, widths)
	if err != nil {
		return failWith("pad", err, t)
	}
	box := backend.Dense(shape) // what is left to fill: t and the padding along the axes not yet done
	var parts []graph.Part
	border := func(axis, at, n int) {
		if l, err := box.Slice(axis, at, 1, n); err == nil && l.Len() > 0 {
			parts = append(parts, graph.Part{In: v.on(t.dev, t.node.DType, l.Shape).edge(), At: l})
		}
	}
	for a, w := range widths {
		d := t.layout.Shape[a]
		border(a, 0, w[0])
		border(a, w[0]+d, w[1])
		box, _ = box.Slice(a, w[0], 1, d) // inside: padded has added it up
	}
	switch {
	case len(parts) == 0:
		return t
	case t.layout.Len() > 0:
		parts = append(parts, graph.Part{In: t.edge(), At: box})
	}
	return whole(t.dev, graph.Assemble(t.node.DType, shape, parts...))
}

// padded returns shape with the widths added.
func padded(shape backend.Shape, widths [][2]int) (backend.Shape, error) {
	if len(widths) > len(shape) {
		return nil, fmt.Errorf("widths for %d axes, the tensor has %d: %w", len(widths), len(shape), ErrAxis)
	}
	s := shape.Clone()
	for a, w := range widths {
		switch {
		case w[0] < 0 || w[1] < 0:
			return nil, fmt.Errorf("widths %v of axis %d: want 0 or more: %w", w, a, ErrShape)
		case w[0] > math.MaxInt-s[a] || w[1] > math.MaxInt-s[a]-w[0]:
			return nil, fmt.Errorf("widths %v of axis %d of extent %d: the sum does not fit an int: %w", w, a, s[a], ErrShape)
		}
		s[a] += w[0] + w[1]
	}
	return s, s.Check()
}

// PadEdge returns t with its outermost elements repeated around it. Widths and errors are as in
// [Tensor.Pad]; to pad an empty axis is an error of kind [ErrShape].
func (t *Tensor) PadEdge(widths ...[2]int) *Tensor {
	return t.padWith("pad_edge", "no element to repeat", widths, func(t *Tensor, a, d int, w [2]int) (before, after *Tensor, ok bool) {
		repeat := func(i, n int) *Tensor {
			shape := t.Shape()
			shape[a] = n
			return t.Narrow(a, i, 1).BroadcastTo(shape...)
		}
		if d == 0 {
			return nil, nil, false
		}
		return repeat(0, w[0]), repeat(d-1, w[1]), true
	})
}

// PadReflect returns t mirrored at its outermost elements, which are not repeated: of 1 2 3, two before
// give 3 2 1 2 3. A width must be less than the extent. Widths and errors are as in [Tensor.Pad].
func (t *Tensor) PadReflect(widths ...[2]int) *Tensor {
	return t.padWith("pad_reflect", "want less than the extent", widths, func(t *Tensor, a, d int, w [2]int) (before, after *Tensor, ok bool) {
		if max(w[0], w[1]) >= d {
			return nil, nil, false
		}
		return t.Narrow(a, 1, w[0]).Flip(a), t.Narrow(a, d-1-w[1], w[1]).Flip(a), true
	})
}

// padWith pads axis by axis with what ends returns, for axis a of extent d; if that is not ok, reason says why.
func (t *Tensor) padWith(op, reason string, widths [][2]int, ends func(t *Tensor, a, d int, w [2]int) (before, after *Tensor, ok bool)) *Tensor {
	t, ok := t.ready(op)
	if !ok {
		return t
	}
	if _, err := padded(t.layout.Shape, widths); err != nil {
		return failWith(op, err, t)
	}
	for a, w := range widths {
		if w == [2]int{} {
			continue
		}
		d := t.layout.Shape[a]
		before, after, ok := ends(t, a, d, w)
		if !ok {
			return fail(op, ErrShape, fmt.Sprintf("widths %v of axis %d of extent %d: %s", w, a, d, reason), t)
		}
		t = concat(op, a, []*Tensor{before, t, after})
	}
	return t
}

// Repeat returns t with each element repeated n times in place along axis: of 1 2, twice gives 1 1 2 2.
func (t *Tensor) Repeat(n, axis int) *Tensor { return t.times("repeat", n, axis, 1) }

// Tile returns t repeated as a whole along each axis as often as reps says: of 1 2, twice gives 1 2 1 2.
// Missing axes of t, or missing numbers of reps, are added in front, as 1.
func (t *Tensor) Tile(reps ...int) *Tensor {
	t, ok := t.ready("tile")
	if !ok {
		return t
	}
	for t.Rank() < len(reps) {
		t = t.Unsqueeze(0)
	}
	first := t.Rank() - len(reps)
	for i, n := range reps {
		if n != 1 {
			t = t.times("tile", n, first+i, 0)
		}
	}
	return t
}

// times repeats along axis, as a whole (where 0) or each element (where 1).
func (t *Tensor) times(op string, n, axis, where int) *Tensor {
	t, ok := t.ready(op)
	if !ok {
		return t
	}
	a, err := t.layout.Shape.Axis(axis)
	if err != nil {
		return failWith(op, err, t)
	}
	d := t.layout.Shape[a]
	switch {
	case n < 0:
		return fail(op, ErrShape, fmt.Sprintf("%d times: want 0 or more", n), t)
	case d > 0 && n > math.MaxInt/d:
		return fail(op, ErrShape, fmt.Sprintf("%d times an extent of %d does not fit an int", n, d), t)
	}
	v := t.Unsqueeze(a + where)
	wide := v.Shape()
	wide[a+where] = n
	shape := t.Shape()
	shape[a] = d * n
	return named(op, v.BroadcastTo(wide...).Reshape(shape...), t)
}

// Roll returns t shifted by n positions along axis; what leaves at the end comes in at the beginning,
// and the reverse for a negative n.
func (t *Tensor) Roll(n, axis int) *Tensor {
	t, ok := t.ready("roll")
	if !ok {
		return t
	}
	a, err := t.layout.Shape.Axis(axis)
	if err != nil {
		return failWith("roll", err, t)
	}
	d := t.layout.Shape[a]
	if d == 0 || n%d == 0 {
		return t
	}
	cut := d - ((n%d)+d)%d
	return concat("roll", a, []*Tensor{t.Narrow(a, cut, d-cut), t.Narrow(a, 0, cut)})
}
