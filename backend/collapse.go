package backend

// Collapse returns the layouts, all of one shape, with axes of extent 1 dropped and neighbouring axes
// merged where every layout steps through them as through one. The elements and their order stay the
// same; kernels then have fewer, longer axes to step through: one, where all layouts are dense. The first
// fixed axes and the rest are not merged with each other (a kernel that reduces keeps its rows apart), and
// kept says how many axes the first part has now. The result has at least one axis, of extent 1 if need be.
func Collapse(layouts []Layout, fixed int) (out []Layout, kept int) {
	out = make([]Layout, len(layouts))
	if len(layouts) == 0 {
		return out, 0
	}
	shape := layouts[0].Shape
	room := len(shape) + 1
	backing := make([]int, room*(len(layouts)+1))
	extents := backing[:0:room]
	for i := range out {
		out[i] = Layout{Strides: backing[(i+1)*room : (i+1)*room : (i+2)*room], Offset: layouts[i].Offset}
	}
	for a, d := range shape {
		if a == fixed {
			kept = len(extents)
		}
		if d == 1 {
			continue
		}
		if n := len(extents); n > 0 && (a < fixed || kept != n) && merges(out, layouts, a, d) {
			extents[n-1] *= d
			for i := range out {
				out[i].Strides[n-1] = layouts[i].Strides[a]
			}
			continue
		}
		extents = append(extents, d)
		for i := range out {
			out[i].Strides = append(out[i].Strides, layouts[i].Strides[a])
		}
	}
	if fixed >= len(shape) {
		kept = len(extents)
	}
	if len(extents) == 0 {
		extents = append(extents, 1)
		for i := range out {
			out[i].Strides = append(out[i].Strides, 0)
		}
		if fixed >= len(shape) {
			kept = 1
		}
	}
	for i := range out {
		out[i].Shape = Shape(extents)
	}
	return out, kept
}

// merges reports whether in every layout axis a, of extent d, continues the last axis of out.
func merges(out, layouts []Layout, a, d int) bool {
	for i := range out {
		st := out[i].Strides
		if st[len(st)-1] != layouts[i].Strides[a]*d {
			return false
		}
	}
	return true
}
