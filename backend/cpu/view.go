package cpu

import (
	"fmt"

	"github.com/weft-go/weft/backend"
)

// maxAxes is the most axes a collapsed layout may have. Each has an extent of at least 2, so that more
// would be more elements than any memory holds.
const maxAxes = 32

// A view is a layout collapsed for stepping through its elements in row-major order. It may be copied.
type view struct {
	shape, strides []int
	offset         int
	length         [1]int // the shape of a dense layout, which then needs no memory of its own
}

// set makes v the view of l.
func (v *view) set(l backend.Layout) error {
	if l.IsDense() {
		v.length[0] = l.Len()
		v.shape, v.strides, v.offset = v.length[:], unit, l.Offset
		return nil
	}
	c, _ := backend.Collapse([]backend.Layout{l}, 0)
	if len(c[0].Shape) > maxAxes {
		return fmt.Errorf("layout of %d axes: %w", len(c[0].Shape), backend.ErrUnsupported)
	}
	v.shape, v.strides, v.offset = c[0].Shape, c[0].Strides, c[0].Offset
	return nil
}

var unit = []int{1}

// uniform reports whether all elements are one.
func (v *view) uniform() bool { return len(v.strides) == 1 && v.strides[0] == 0 }

// run returns the position of element pos if the n elements from there on follow each other in memory.
func (v *view) run(pos, n int) (at int, ok bool) {
	last := len(v.shape) - 1
	if v.strides[last] != 1 && n > 1 {
		return 0, false
	}
	at = v.offset
	for a := last; a > 0; a-- {
		q := pos / v.shape[a]
		i := pos - q*v.shape[a]
		if a == last && i+n > v.shape[a] {
			return 0, false
		}
		at += i * v.strides[a]
		pos = q
	}
	return at + pos*v.strides[0], true
}

// A walk goes through n elements of a view in pieces of rows × cols elements, rs apart from row to row and
// cs along a row.
type walk struct {
	v          *view
	index      [maxAxes]int
	left       int
	pos        int // position of the next piece
	at         int // position of the first element of this piece
	rows, cols int
	rs, cs     int
}

// start puts w before the n elements from pos on.
func (w *walk) start(v *view, pos, n int) {
	w.v, w.left, w.pos = v, n, v.offset
	for a := len(v.shape) - 1; a > 0; a-- {
		q := pos / v.shape[a]
		w.index[a] = pos - q*v.shape[a]
		w.pos += w.index[a] * v.strides[a]
		pos = q
	}
	w.index[0] = pos
	w.pos += pos * v.strides[0]
}

// next moves to the next piece, if there is one.
func (w *walk) next() bool {
	if w.left == 0 {
		return false
	}
	v := w.v
	a := len(v.shape) - 1
	w.at, w.rows, w.cs = w.pos, 1, v.strides[a]
	w.cols = min(v.shape[a]-w.index[a], w.left)
	if a > 0 && w.cols == v.shape[a] { // whole rows: as many as there are
		w.rs = v.strides[a-1]
		w.rows = min(w.left/w.cols, v.shape[a-1]-w.index[a-1])
		w.left -= w.rows * w.cols
		w.step(a-1, w.rows)
		return true
	}
	w.left -= w.cols
	w.step(a, w.cols)
	return true
}

// step moves pos by n along axis a, which may bring it to the end of the axis.
func (w *walk) step(a, n int) {
	w.index[a] += n
	w.pos += n * w.v.strides[a]
	for ; a > 0 && w.index[a] == w.v.shape[a]; a-- {
		w.pos += w.v.strides[a-1] - w.index[a]*w.v.strides[a]
		w.index[a] = 0
		w.index[a-1]++
	}
}

// gather copies the len(dst) elements of v from pos on.
func gather[T any](dst, src []T, v *view, pos int) {
	var w walk
	w.start(v, pos, len(dst))
	for w.next() {
		gatherPiece(dst[:w.rows*w.cols], src, &w)
		dst = dst[w.rows*w.cols:]
	}
}

func gatherPiece[T any](dst, src []T, w *walk) {
	if abs(w.rs) < abs(w.cs) && w.rows > 1 && w.rs != 0 {
		for c := range w.cols { // along the columns, where the elements are close
			at := w.at + c*w.cs
			for i := c; i < len(dst); i += w.cols {
				dst[i] = src[at]
				at += w.rs
			}
		}
		return
	}
	at := w.at
	for range w.rows {
		row := dst[:w.cols]
		dst = dst[w.cols:]
		switch w.cs {
		case 1:
			copy(row, src[at:])
		case 0:
			fill(row, src[at])
		default:
			p := at
			for i := range row {
				row[i] = src[p]
				p += w.cs
			}
		}
		at += w.rs
	}
}

// scatter copies src to the elements of v from pos on.
func scatter[T any](dst, src []T, v *view, pos int) {
	var w walk
	w.start(v, pos, len(src))
	for w.next() {
		scatterPiece(dst, src[:w.rows*w.cols], &w)
		src = src[w.rows*w.cols:]
	}
}

func scatterPiece[T any](dst, src []T, w *walk) {
	if abs(w.rs) < abs(w.cs) && w.rows > 1 {
		for c := range w.cols {
			at := w.at + c*w.cs
			for i := c; i < len(src); i += w.cols {
				dst[at] = src[i]
				at += w.rs
			}
		}
		return
	}
	at := w.at
	for range w.rows {
		row := src[:w.cols]
		src = src[w.cols:]
		if w.cs == 1 {
			copy(dst[at:], row)
		} else {
			p := at
			for _, x := range row {
				dst[p] = x
				p += w.cs
			}
		}
		at += w.rs
	}
}

// positions writes the positions of the elements of v from pos on.
func positions[T int32 | int64 | uint32 | uint8 | int8](dst []T, v *view, pos int) {
	var w walk
	w.start(v, pos, len(dst))
	for w.next() {
		for r := range w.rows {
			at := w.at + r*w.rs
			for i := range w.cols {
				dst[i] = T(at)
				at += w.cs
			}
			dst = dst[w.cols:]
		}
	}
}

func fill[T any](dst []T, x T) {
	for i := range dst {
		dst[i] = x
	}
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
