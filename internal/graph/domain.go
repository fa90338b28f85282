package graph

import (
	"slices"

	"github.com/weft-go/weft/backend"
)

// A domain is what a kernel loops over, and where each value of the kernel is in it. While a kernel is put
// together its domain may be rearranged, until an operation that is particular about it comes in. Value 0
// always has its place in the domain.
type domain struct {
	shape  backend.Shape
	axes   int  // the last axes are reduced: they make up a row
	fixed  bool // not rearranged any more
	places []place
}

// A place is where in the dense result of its node a value is, for each element of the domain.
type place struct {
	backend.Layout
	in space
}

// A space is what a place has the shape of.
type space uint8

const (
	nowhere   space = iota // not placed yet
	inDomain               // of the domain
	inA                    // of the left matrices of a product
	inB                    // of the right ones
	inOperand              // of an operand that its kernel reads as it is
)

// An action is how an operation comes into a kernel. A plan records the actions of each kernel, and does
// them again for other sizes.
type action uint8

const (
	actExpand  action = iota + 1 // an elementwise operation where it is
	actAlign                     // the same, after rearranging the domain to its shape
	actExtend                    // a reduction of which the domain has the kept axes: its rows are added
	actRows                      // a reduction whose rows are axes of the domain
	actNextRow                   // another reduction of the same rows
	actScan                      // a scan: its axis becomes the last
	actAnchor                    // an operation that has the domain to itself
	actBeside                    // a result of the shape of the kept axes, beside those that are there
)

// enter lets node n, which is value i, come into the domain by action a, and returns the places of its
// inputs. If that cannot be done it reports false and leaves the domain as it was.
func (d *domain) enter(n *Node, i int, a action) (ins [maxIn]backend.Layout, ok bool) {
	if d.fixed && (a == actAlign || a >= actExtend && a <= actAnchor && a != actNextRow) {
		return ins, false
	}
	switch a {
	case actExpand:
		return d.expand(n, i)
	case actAlign:
		before := *d
		if d.align(i, n.Layout.Shape) {
			if ins, ok = d.expand(n, i); ok {
				return ins, true
			}
		}
		*d = before
		return ins, false
	case actExtend:
		ins[0], ok = d.extend(n, i)
	case actRows:
		ins[0], ok = d.rows(n, i)
	case actNextRow:
		ins[0], ok = d.reduced(n, d.places[i].Layout)
	case actScan:
		if ok = d.align(i, n.Layout.Shape); ok {
			order := lastAxis(len(n.Layout.Shape), int(n.axes))
			d.reorder(order)
			ins[0] = permute(*n.in()[0].Layout, order)
		}
	case actAnchor:
		if ok = d.align(i, n.Layout.Shape); ok {
			for k, e := range n.in() {
				ins[k] = *e.Layout
			}
		}
	case actBeside:
		return ins, d.beside(n, i)
	}
	d.fixed = d.fixed || ok
	return ins, ok
}

// expand returns the places of the inputs of an elementwise node.
func (d *domain) expand(n *Node, i int) (ins [maxIn]backend.Layout, ok bool) {
	for k, e := range n.in() {
		if ins[k], ok = compose(d.places[i].Layout, n.Layout.Shape, *e.Layout); !ok {
			return ins, false
		}
	}
	return ins, true
}

// align rearranges the domain to the given shape, in which value i is dense.
func (d *domain) align(i int, shape backend.Shape) bool {
	at := d.places[i].Layout
	if at.Offset == 0 && at.Shape.Equal(shape) && at.IsDense() {
		return true
	}
	order, ok := onto(at, shape.Len())
	if !ok {
		return false
	}
	return d.change(func(l backend.Layout) (backend.Layout, bool) {
		return permute(l, order).Reshape(shape)
	})
}

// reorder puts the axes of the domain in the given order.
func (d *domain) reorder(order []int) {
	if slices.IsSorted(order) {
		return // as they are
	}
	d.change(func(l backend.Layout) (backend.Layout, bool) { return permute(l, order), true })
}

// change rearranges the domain by f, unless f fails for the place of a value.
func (d *domain) change(f func(backend.Layout) (backend.Layout, bool)) bool {
	places := slices.Clone(d.places)
	var ok bool
	for i := range places {
		if p := &places[i]; p.in == inDomain {
			if p.Layout, ok = f(p.Layout); !ok {
				return false
			}
		}
	}
	d.places = places
	d.shape = places[0].Shape
	return true
}

// extend adds the rows of reduction n, which is value i, to the domain, and returns the place of its input.
func (d *domain) extend(n *Node, i int) (in backend.Layout, ok bool) {
	e := n.in()[0].Layout
	kept := len(n.Layout.Shape)
	if _, ok := onto(d.places[i].Layout, n.Layout.Len()); !ok {
		return in, false
	}
	in, ok = compose(d.places[i].Layout, n.Layout.Shape, head(*e, kept))
	if !ok {
		if !d.align(i, n.Layout.Shape) {
			return in, false
		}
		in = head(*e, kept)
	}
	extents := e.Shape[kept:]
	d.change(func(l backend.Layout) (backend.Layout, bool) { return repeat(l, extents), true })
	d.axes = len(extents)
	return join(in, tail(*e, kept)), true
}

// rows makes those axes of the domain the row along which reduction n, which is value i, is broadcast, and
// returns the place of its input.
func (d *domain) rows(n *Node, i int) (in backend.Layout, ok bool) {
	order, ok := rowOrder(d.places[i].Layout, n.in()[0].Layout.Shape[len(n.Layout.Shape):])
	if !ok {
		return in, false
	}
	before := *d
	d.reorder(order)
	d.axes = int(n.axes)
	if in, ok = d.reduced(n, d.places[i].Layout); !ok {
		*d = before
	}
	return in, ok
}

// reduced returns the place of the input of reduction n at a place of its result in a domain of rows.
func (d *domain) reduced(n *Node, place backend.Layout) (in backend.Layout, ok bool) {
	kept := len(place.Shape) - d.axes
	e := n.in()[0].Layout
	k := len(n.Layout.Shape)
	if d.axes == 0 || !constant(place, kept) {
		return in, false
	}
	if _, ok := onto(head(place, kept), n.Layout.Len()); !ok {
		return in, false
	}
	row := tail(*e, k)
	if row.Len() != place.Shape[kept:].Len() {
		return in, false
	}
	if row, ok = row.Reshape(place.Shape[kept:]); !ok {
		return in, false
	}
	in, ok = compose(head(place, kept), n.Layout.Shape, head(*e, k))
	return join(in, row), ok
}

// beside gives value i, a result of n for each row, its place.
func (d *domain) beside(n *Node, i int) bool {
	kept := len(d.shape) - d.axes
	rows := d.shape[:kept:kept]
	if rows.Len() != n.Layout.Len() {
		return false
	}
	d.places[i] = place{repeat(backend.Dense(rows), d.shape[kept:]), inDomain}
	return true
}

// rowOrder returns the order of the axes of place in which the last ones have the given extents and place
// does not change along them.
func rowOrder(place backend.Layout, extents backend.Shape) (order []int, ok bool) {
	isRow := make([]bool, len(place.Shape))
	r := len(extents) - 1
	for a := len(place.Shape) - 1; a >= 0 && r >= 0; a-- {
		if place.Shape[a] == extents[r] && (place.Strides[a] == 0 || place.Shape[a] == 1) {
			isRow[a] = true
			r--
		}
	}
	if r >= 0 {
		return nil, false
	}
	for _, last := range [...]bool{false, true} {
		for a := range isRow {
			if isRow[a] == last {
				order = append(order, a)
			}
		}
	}
	return order, true
}

// lastAxis returns the order of axes in which axis is the last and the others stay as they are.
func lastAxis(rank, axis int) []int {
	order := make([]int, 0, rank)
	for a := range rank {
		if a != axis {
			order = append(order, a)
		}
	}
	return append(order, axis)
}
