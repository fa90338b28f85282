package graph

import (
	"slices"
	"sort"

	"github.com/weft-go/weft/backend"
)

// compose returns the place of the input of an elementwise node: place leads from the domain of a kernel
// into the dense result of the node, of the given shape, and in, of the same shape, from there into the
// dense result of the input. It reports false if no layout can express it; then the node needs memory.
func compose(place backend.Layout, shape backend.Shape, in backend.Layout) (backend.Layout, bool) {
	switch {
	case shape.Len() == 0:
		return backend.Layout{Shape: place.Shape, Strides: make([]int, len(place.Shape))}, true
	case place.Len() == 0: // the rows of a kernel may be empty, but what there is one of for each row is not
		one := place
		one.Shape = slices.Clone(place.Shape)
		for a, d := range one.Shape {
			one.Shape[a] = max(d, 1)
		}
		l, ok := compose(one, shape, in)
		l.Shape = place.Shape
		return l, ok
	case in.IsDense():
		place.Offset += in.Offset
		return place, true
	case place.Shape.Equal(shape) && place.Offset == 0 && place.IsDense():
		return in, true
	case place.Offset == 0 && place.IsDense() && place.Len() == shape.Len():
		if l, ok := in.Reshape(place.Shape); ok {
			return l, true
		}
	}
	return composeAxes(place, in)
}

// composeAxes expresses each axis of place as a step in the index space of in, digit by digit: place
// counts in positions of the dense node, which are mixed radix numbers of its extents. It works as long as
// no step carries from one digit to another.
func composeAxes(place, in backend.Layout) (backend.Layout, bool) {
	c, _ := backend.Collapse([]backend.Layout{in}, len(in.Shape))
	in = c[0]
	radix := in.Shape.Strides()
	lo := make([]int, len(radix)) // least and greatest index along each axis of in
	out := backend.Layout{Shape: place.Shape, Strides: make([]int, len(place.Shape)), Offset: in.Offset}
	rest := place.Offset
	for j, r := range radix {
		lo[j] = rest / r
		out.Offset += lo[j] * in.Strides[j]
		rest %= r
	}
	hi := append([]int(nil), lo...)
	for a, d := range place.Shape {
		stride, sign := place.Strides[a], 1
		if stride < 0 {
			stride, sign = -stride, -1
		}
		if d == 1 || stride == 0 {
			continue
		}
		for j, r := range radix {
			step := sign * (stride / r)
			stride %= r
			out.Strides[a] += step * in.Strides[j]
			if step > 0 {
				hi[j] += step * (d - 1)
			} else {
				lo[j] += step * (d - 1)
			}
		}
	}
	for j, d := range in.Shape {
		if lo[j] < 0 || hi[j] >= d {
			return backend.Layout{}, false
		}
	}
	return out, true
}

// onto returns the order of the axes of place in which it visits the dense result of a node of n elements
// in order, each element once. It reports false if there is none.
func onto(place backend.Layout, n int) (order []int, ok bool) {
	if place.Len() != n || n > 0 && place.Offset != 0 {
		return nil, false
	}
	order = make([]int, len(place.Shape))
	for i := range order {
		order[i] = i
	}
	if n == 0 || place.IsDense() {
		return order, true
	}
	sort.SliceStable(order, func(i, j int) bool {
		a, b := order[i], order[j]
		if place.Shape[a] == 1 || place.Shape[b] == 1 {
			return place.Shape[a] == 1 && place.Shape[b] != 1
		}
		return place.Strides[a] > place.Strides[b]
	})
	return order, permute(place, order).IsDense()
}

// permute returns l with its axes in the given order.
func permute(l backend.Layout, order []int) backend.Layout {
	p := backend.Layout{Shape: make(backend.Shape, len(order)), Strides: make([]int, len(order)), Offset: l.Offset}
	for i, a := range order {
		p.Shape[i], p.Strides[i] = l.Shape[a], l.Strides[a]
	}
	return p
}

// head returns the first k axes of l.
func head(l backend.Layout, k int) backend.Layout {
	return backend.Layout{Shape: l.Shape[:k:k], Strides: l.Strides[:k:k], Offset: l.Offset}
}

// tail returns the axes of l from the k-th on, at offset 0.
func tail(l backend.Layout, k int) backend.Layout {
	return backend.Layout{Shape: l.Shape[k:], Strides: l.Strides[k:]}
}

// join returns the axes of l followed by those of m.
func join(l, m backend.Layout) backend.Layout {
	return backend.Layout{
		Shape:   append(append(make(backend.Shape, 0, len(l.Shape)+len(m.Shape)), l.Shape...), m.Shape...),
		Strides: append(append(make([]int, 0, len(l.Shape)+len(m.Shape)), l.Strides...), m.Strides...),
		Offset:  l.Offset + m.Offset,
	}
}

// repeat returns l with axes of the given extents after its own, along which nothing changes.
func repeat(l backend.Layout, extents backend.Shape) backend.Layout {
	return join(l, backend.Layout{Shape: extents, Strides: make([]int, len(extents))})
}

// constant reports whether l does not change along its axes from the k-th on.
func constant(l backend.Layout, k int) bool {
	for a := k; a < len(l.Shape); a++ {
		if l.Strides[a] != 0 && l.Shape[a] != 1 {
			return false
		}
	}
	return true
}
