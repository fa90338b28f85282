package tensor

import (
	"fmt"

	"github.com/weft-go/weft/internal/graph"
)

// A SortOrder says which elements come first.
type SortOrder uint8

// The orders of [Tensor.Sort], [Tensor.ArgSort] and [Tensor.TopK].
const (
	Ascending  SortOrder = iota + 1 // the least first
	Descending                      // the greatest first
)

// Sort returns t with the elements along axis in order, from the least to the greatest unless told otherwise. Equal
// elements keep their order (the sort is stable, as NumPy's of kind "stable"), zeros of both signs being equal. NaN
// comes last in both orders, false before true. The error is of kind [ErrAxis], also for a tensor without axes.
func (t *Tensor) Sort(axis int, order ...SortOrder) *Tensor {
	return t.sort("sort", axis, -1, false, order)
}

// ArgSort returns the positions along axis, of type Int32, from which [Tensor.Sort] takes its elements: of equal ones
// the lowest comes first. [Tensor.TakeAlongAxis] applies them to other tensors.
func (t *Tensor) ArgSort(axis int, order ...SortOrder) *Tensor {
	return t.sort("argsort", axis, -1, true, order)
}

// TopK returns the k greatest elements along axis in descending order, or with [Ascending] the k least in ascending
// order, and their positions, of type Int32. They are the first k of [Tensor.Sort] and [Tensor.ArgSort] in that order: NaN
// is chosen only where there is nothing else (PyTorch takes it for the greatest), and of equal elements the one of the
// lowest position. The error is of kind [ErrAxis], or [ErrShape] if k is negative or more than the extent of the axis.
func (t *Tensor) TopK(k, axis int, order ...SortOrder) (values, indices *Tensor) {
	if len(order) == 0 {
		order = []SortOrder{Descending}
	}
	t, ok := t.ready("topk")
	if !ok {
		return t, t
	}
	if k < 0 {
		bad := fail("topk", ErrShape, fmt.Sprintf("%d elements wanted: want 0 or more", k), t)
		return bad, bad
	}
	indices = t.sort("topk", axis, k, true, order)
	return named("topk", t.TakeAlongAxis(axis, indices), t, indices), indices
}

// sort returns the first k elements along axis in order, all if k is negative, or their positions.
func (t *Tensor) sort(op string, axis, k int, index bool, order []SortOrder) *Tensor {
	t, ok := t.ready(op)
	if !ok {
		return t
	}
	a, err := t.layout.Shape.Axis(axis)
	if err != nil {
		return failWith(op, err, t)
	}
	n := t.layout.Shape[a]
	if k < 0 {
		k = n
	}
	if k > n {
		return fail(op, ErrShape, fmt.Sprintf("%d elements wanted of an axis of extent %d", k, n), t)
	}
	if n > maxSorted {
		return fail(op, ErrShape, fmt.Sprintf("axis of extent %d, at most %d can be sorted", n, maxSorted), t)
	}
	if len(order) > 1 {
		return fail(op, ErrUnsupported, fmt.Sprintf("%d orders, want one at most", len(order)), t)
	}
	attr := graph.SortAttr{Index: index}
	for _, o := range order {
		switch o {
		case Ascending, Descending:
			attr.Descending = o == Descending
		default:
			return fail(op, ErrUnsupported, fmt.Sprintf("order %d is neither Ascending nor Descending", o), t)
		}
	}
	r := whole(t.dev, graph.Sort(t.moveLast(a).edge(), k, attr))
	return r.moveFromLast(a)
}

// maxSorted is how many positions an Int32 tells apart.
const maxSorted = 1<<31 - 1
