package tensor

import (
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/internal/graph"
	"github.com/weft-go/weft/ops"
)

// Scatter returns t with the elements at the positions along axis that index gives, and at their own places along the other
// axes, replaced by those of src: PyTorch's scatter, NumPy's put_along_axis. It undoes [Tensor.TakeAlongAxis]. Index
// and src have as many axes as t; src broadcasts to index, and both broadcast to t but for axis. Where several elements
// of src go to one place, the last along axis wins. Positions are as in [Tensor.Take], and one outside the axis is an
// error as there; a device that does not check leaves such an element out. T and src are promoted to one type, a
// [Scalar] taking t's.
func (t *Tensor) Scatter(axis int, index, src *Tensor) *Tensor {
	return t.scatter("scatter", axis, index, src, false)
}

// ScatterAdd is [Tensor.Scatter], but adds the elements of src to those of t; several that go to one place are all added, as
// with NumPy's add.at. Integers wrap, of Bool the sum is the logical or. 16-bit floats are added in Float32 or better. The
// result is the same each time.
func (t *Tensor) ScatterAdd(axis int, index, src *Tensor) *Tensor {
	return t.scatter("scatter_add", axis, index, src, true)
}

// IndexCopy returns t with the slices across axis whose positions index gives replaced by those of src, which has the axes
// of index in place of axis, or broadcasts to that. It undoes [Tensor.Take]: of a table [V E], IndexCopy(0, ids, rows)
// replaces rows. What Scatter says of several elements for one place, of positions and of types holds here too.
func (t *Tensor) IndexCopy(axis int, index, src *Tensor) *Tensor {
	return t.scatterSlices("index_copy", axis, index, src, false)
}

// IndexAdd is [Tensor.IndexCopy], but adds the slices of src, as [Tensor.ScatterAdd] does: the gradient of an embedding, or
// a histogram.
func (t *Tensor) IndexAdd(axis int, index, src *Tensor) *Tensor {
	return t.scatterSlices("index_add", axis, index, src, true)
}

// scatter checks the operands of Scatter and ScatterAdd.
func (t *Tensor) scatter(op string, axis int, index, src *Tensor, sum bool) *Tensor {
	in := []*Tensor{t, index, src} // as errors name them
	t, index, src, a, bad := scattered(op, t, axis, index, src)
	switch {
	case bad != nil:
		return bad
	case index.Rank() != t.Rank():
		return fail(op, ErrShape, "index has another number of axes", in...)
	}
	shape := t.layout.Shape.Clone()
	shape[a] = index.layout.Shape[a]
	if index, bad = over(op, index, shape, in); bad != nil {
		return bad
	}
	if src, bad = over(op, src, shape, in); bad != nil {
		return bad
	}
	return scatterAlong(op, in, t, a, index, src, sum)
}

// scatterSlices checks the operands of IndexCopy and IndexAdd, and spreads the index over the other axes.
func (t *Tensor) scatterSlices(op string, axis int, index, src *Tensor, sum bool) *Tensor {
	in := []*Tensor{t, index, src} // as errors name them
	t, index, src, a, bad := scattered(op, t, axis, index, src)
	if bad != nil {
		return bad
	}
	own := t.layout.Shape
	at := index.layout.Shape
	shape := append(append(own[:a:a], at...), own[a+1:]...)
	if src, bad = over(op, src, shape, in); bad != nil {
		return bad
	}
	flat := own.Clone()
	flat[a] = at.Len()
	if src = src.Reshape(flat...); src.Err() != nil { // the axes of index as one
		return named(op, src, in...)
	}
	axes := make([]int, len(own))
	for i := range axes {
		axes[i] = 1
	}
	axes[a] = flat[a]
	if index, bad = over(op, index.Reshape(axes...), flat, in); bad != nil {
		return bad
	}
	return scatterAlong(op, in, t, a, index, src, sum)
}

// scattered makes the operands of a scatter ready: of one type, on one device.
func scattered(op string, t *Tensor, axis int, index, src *Tensor) (to, at, from *Tensor, a int, bad *Tensor) {
	if src != nil && src.number() != nil && t != nil && t.node != nil {
		if d := t.node.DType; !src.number().fits(d) {
			return nil, nil, nil, 0, fail(op, ErrDType, fmt.Sprintf("%s does not fit %s", src.number(), d), t, index, src)
		}
		src = src.number().on(t.dev, t.node.DType, nil)
	}
	in := [3]*Tensor{t, index, src}
	if bad := readyAll(op, in[:]); bad != nil {
		return nil, nil, nil, 0, bad
	}
	a, err := in[0].layout.Shape.Axis(axis)
	if err != nil {
		return nil, nil, nil, 0, failWith(op, err, in[:]...)
	}
	if !in[1].node.DType.IsInt() {
		return nil, nil, nil, 0, fail(op, ErrDType, "index is "+in[1].node.DType.String()+", want an integer type", in[:]...)
	}
	d := ops.Promote(in[0].node.DType, in[2].node.DType)
	return in[0].Cast(d), in[1], in[2].Cast(d), a, nil
}

// over returns x broadcast to shape, for op of operands in.
func over(op string, x *Tensor, shape backend.Shape, in []*Tensor) (r, bad *Tensor) {
	if r = x.BroadcastTo(shape...); r.Err() != nil {
		return nil, named(op, r, in...)
	}
	return r, nil
}

// scatterAlong records a scatter along axis a, of operands alike along the other axes, which were made of in.
func scatterAlong(op string, in []*Tensor, t *Tensor, a int, index, src *Tensor, sum bool) *Tensor {
	if index.Len() == 0 {
		return t
	}
	extent := t.layout.Shape[a]
	if extent == 0 {
		return fail(op, ErrIndex, "index into an axis of extent 0", in...)
	}
	if i, bad := outOfRange(index, extent); bad {
		return fail(op, ErrIndex, fmt.Sprintf("index %d for an axis of extent %d", i, extent), in...)
	}
	attr := graph.ScatterAttr{Add: sum, Origin: newOrigin(op, in...)}
	n := graph.Scatter(t.moveLast(a).edge(), index.moveLast(a).edge(), src.moveLast(a).edge(), attr)
	return whole(t.dev, n).moveFromLast(a)
}
