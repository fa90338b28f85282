package tensor

import (
	"fmt"
	"math"

	"github.com/weft-go/weft/backend"
)

// A Range selects elements along an axis, as start:stop:step does in NumPy. The zero Range is [All].
//
//	NumPy      weft
//	a[2:5]     a.Slice(R(2, 5))
//	a[3:]      a.Slice(From(3))
//	a[:-1]     a.Slice(To(-1))
//	a[::2]     a.Slice(All.Step(2))
//	a[8:1:-3]  a.Slice(R(8, 1).Step(-3))
//	a[3::-1]   a.Slice(From(3).Step(-1))
//	a[::-1]    a.Slice(All.Step(-1))
//	a[:, 2]    a.Slice(All, At(2))
//
// Negative positions count from the end, and positions beyond an end stop at it. With a negative step
// the selection runs backwards, from start down to but without stop; an open start is then the last
// element and an open stop goes down to the first.
type Range struct {
	start, stop       int
	hasStart, hasStop bool
	at                bool // select start, and drop the axis
	step              int  // less 1, so that the zero Range has step 1
}

// All selects every element of an axis.
var All Range

// R selects positions start up to but without stop.
func R(start, stop int) Range { return Range{start: start, stop: stop, hasStart: true, hasStop: true} }

// From selects the positions from start on.
func From(start int) Range { return Range{start: start, hasStart: true} }

// To selects the positions up to but without stop.
func To(stop int) Range { return Range{stop: stop, hasStop: true} }

// At selects the one position i and drops the axis. A position outside the axis is an error of kind
// [ErrIndex].
func At(i int) Range { return Range{start: i, at: true} }

// Step returns r with only every n-th position, backwards if n is negative. It is an error of kind
// [ErrIndex] to step by 0.
func (r Range) Step(n int) Range {
	r.step = n - 1
	return r
}

// String returns r as NumPy writes it: "1:5", "8:1:-3", ":", or "2".
func (r Range) String() string {
	if r.at {
		return fmt.Sprint(r.start)
	}
	s := ""
	if r.hasStart {
		s = fmt.Sprint(r.start)
	}
	s += ":"
	if r.hasStop {
		s += fmt.Sprint(r.stop)
	}
	if r.step != 0 {
		s += fmt.Sprintf(":%d", r.step+1)
	}
	return s
}

// of returns what r selects of an axis of d elements: n positions from start on, step apart. (The rules
// are those of PySlice_AdjustIndices in CPython.)
func (r Range) of(d int) (start, step, n int, err error) {
	if r.at {
		i := r.start
		if i < 0 {
			i += d
		}
		if i < 0 || i >= d {
			return 0, 0, 0, fmt.Errorf("index %d of an axis of extent %d: %w", r.start, d, ErrIndex)
		}
		return i, 1, 1, nil
	}
	step = r.step + 1
	if step == 0 {
		return 0, 0, 0, fmt.Errorf("range %v: the step must not be 0: %w", r, ErrIndex)
	}
	if r.step == math.MaxInt { // it wraps to MinInt, as MinInt − 1 did
		return 0, 0, 0, fmt.Errorf("range %v: the step must be above %d: %w", r, math.MinInt, ErrIndex)
	}
	first, end := 0, d // open ends
	if step < 0 {
		first, end = d-1, -1
	}
	start, stop := first, end
	if r.hasStart {
		start = limit(r.start, d, step)
	}
	if r.hasStop {
		stop = limit(r.stop, d, step)
	}
	switch {
	case step > 0 && start < stop:
		n = (stop-start-1)/step + 1
	case step < 0 && stop < start:
		n = (start-stop-1)/-step + 1
	}
	return start, step, n, nil
}

// limit returns position i of an axis of d elements counted from its beginning, moved to where a slice
// with the step can begin or end.
func limit(i, d, step int) int {
	if i < 0 {
		i += d // of a hugely negative i, still negative
	}
	if step < 0 {
		return min(max(i, -1), d-1)
	}
	return min(max(i, 0), d)
}

// Slice returns the elements that ranges select, one range for each axis from the first on; axes beyond
// the ranges are whole. It copies nothing. The error is of kind [ErrAxis] if there are more ranges than
// axes and [ErrIndex] if an [At] is outside its axis or a step is 0.
func (t *Tensor) Slice(ranges ...Range) *Tensor {
	t, ok := t.ready("slice")
	if !ok {
		return t
	}
	l, err := sliced(*t.layout, ranges)
	return t.seen("slice", l, err)
}

func sliced(l backend.Layout, ranges []Range) (backend.Layout, error) {
	if len(ranges) > len(l.Shape) {
		return l, fmt.Errorf("%d ranges for a tensor of %d axes: %w", len(ranges), len(l.Shape), ErrAxis)
	}
	r := backend.Layout{
		Shape:   make(backend.Shape, 0, len(l.Shape)),
		Strides: make([]int, 0, len(l.Shape)),
		Offset:  l.Offset,
	}
	for i, d := range l.Shape {
		start, step, n := 0, 1, d
		if i < len(ranges) {
			var err error
			if start, step, n, err = ranges[i].of(d); err != nil {
				return l, fmt.Errorf("axis %d: %w", i, err)
			}
		}
		if n > 0 {
			r.Offset += start * l.Strides[i]
		}
		if i < len(ranges) && ranges[i].at {
			continue
		}
		if n <= 1 {
			step = 1 // a huge one must not overflow the stride
		}
		r.Shape, r.Strides = append(r.Shape, n), append(r.Strides, l.Strides[i]*step)
	}
	return r, nil
}

// SliceAxis returns the elements that r selects along one axis.
func (t *Tensor) SliceAxis(axis int, r Range) *Tensor { return t.sliceAxis("slice", axis, r) }

// Select returns the elements at position i of axis, without the axis. Negative positions count from the
// end. The error is of kind [ErrAxis] or [ErrIndex].
func (t *Tensor) Select(axis, i int) *Tensor { return t.sliceAxis("select", axis, At(i)) }

// Flip returns t with the given axes reversed; all of them if none is named.
func (t *Tensor) Flip(axes ...int) *Tensor {
	t, ok := t.ready("flip")
	if !ok {
		return t
	}
	set, err := axisSet(t.layout.Shape, axes)
	if err != nil {
		return failWith("flip", err, t)
	}
	ranges := make([]Range, t.Rank())
	for i := range ranges {
		if set.has(i) {
			ranges[i] = All.Step(-1)
		}
	}
	return t.Slice(ranges...)
}

// Narrow returns the n elements from start on along axis, torch's narrow. Unlike [Tensor.Slice] it is an
// error of kind [ErrIndex] to reach beyond the axis.
func (t *Tensor) Narrow(axis, start, n int) *Tensor {
	t, ok := t.ready("narrow")
	if !ok {
		return t
	}
	a, err := t.layout.Shape.Axis(axis)
	if err != nil {
		return failWith("narrow", err, t)
	}
	d := t.layout.Shape[a]
	if start < 0 {
		start += d
	}
	if start < 0 || n < 0 || start > d || n > d-start {
		return fail("narrow", ErrIndex, fmt.Sprintf("%d elements from %d on, of axis %d of extent %d", n, start, a, d), t)
	}
	return t.sliceAxis("narrow", a, R(start, start+n))
}

func (t *Tensor) sliceAxis(op string, axis int, r Range) *Tensor {
	t, ok := t.ready(op)
	if !ok {
		return t
	}
	a, err := t.layout.Shape.Axis(axis)
	if err != nil {
		return failWith(op, err, t)
	}
	var short [8]Range
	ranges := short[:]
	if a >= len(short) {
		ranges = make([]Range, a+1)
	}
	ranges[a] = r
	l, err := sliced(*t.layout, ranges[:a+1])
	return t.seen(op, l, err)
}

// Split returns consecutive parts of t along axis, of the given sizes, which add up to its extent. On an
// error, of kind [ErrAxis] or [ErrShape], each part carries it.
func (t *Tensor) Split(axis int, sizes ...int) []*Tensor {
	parts := make([]*Tensor, len(sizes))
	t, ok := t.ready("split")
	if !ok {
		return fill(parts, t)
	}
	a, err := t.layout.Shape.Axis(axis)
	if err != nil {
		return fill(parts, failWith("split", err, t))
	}
	at, d := 0, t.layout.Shape[a]
	for i, n := range sizes {
		if n < 0 || n > d-at {
			return fill(parts, fail("split", ErrShape, fmt.Sprintf("sizes %v of axis %d of extent %d", sizes, a, d), t))
		}
		parts[i] = t.sliceAxis("split", a, R(at, at+n))
		at += n
	}
	if at != d {
		return fill(parts, fail("split", ErrShape, fmt.Sprintf("sizes %v of axis %d of extent %d", sizes, a, d), t))
	}
	return parts
}

func fill(parts []*Tensor, t *Tensor) []*Tensor {
	for i := range parts {
		parts[i] = t
	}
	return parts
}

// Chunk returns t cut into n equal parts along axis. On an error, of kind [ErrAxis], or [ErrShape] if
// the extent is no multiple of n, each part carries it; there is always at least one.
func (t *Tensor) Chunk(axis, n int) []*Tensor {
	const most = 1 << 20 // so that a wild n is an error too
	d := t.Dim(axis)
	if n < 1 || n > most || d%n != 0 {
		bad, ok := t.ready("chunk")
		if ok {
			bad = fail("chunk", ErrShape, fmt.Sprintf("%d parts of axis %d of extent %d", n, axis, d), t)
		}
		return fill(make([]*Tensor, min(max(1, n), most)), bad)
	}
	sizes := make([]int, n)
	for i := range sizes {
		sizes[i] = d / n
	}
	return t.Split(axis, sizes...)
}
