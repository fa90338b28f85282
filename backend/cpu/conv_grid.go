package cpu

import "github.com/weft-go/weft/backend"

// A gridAxis is one axis over which windows move: position j reads through tap t element j·step+shift[t]
// of the image, if there is one.
type gridAxis struct {
	n, in, step int // positions, extent of the image, elements from one position to the next
	stride      int // of the image
	shift       []int
}

// inside returns the positions lo to hi that read an element of the image through a tap of this shift.
func (a *gridAxis) inside(shift int) (lo, hi int) {
	if shift < 0 {
		lo = min((-shift+a.step-1)/a.step, a.n)
	}
	if last := a.in - 1 - shift; last >= 0 {
		hi = min(last/a.step+1, a.n)
	}
	return lo, max(lo, hi)
}

// windowAxis returns the axis of n windows of size taps over in elements with pad before the first.
func windowAxis(n, in, stride, size, step, dilation, pad int) gridAxis {
	a := gridAxis{n: n, in: in, step: step, stride: stride, shift: make([]int, size)}
	for t := range a.shift {
		a.shift[t] = t*dilation - pad
	}
	return a
}

// A grid is windows over the spatial axes of an image. Positions and taps count in row-major order.
type grid struct {
	axes   []gridAxis
	taps   int
	shifts []int // of tap t along axis d: shifts[t·len(axes)+d]
	lo, hi []int // of tap t: the positions along the last axis that read an element
	offs   []int // of tap t: where it reads relative to where position 0 would without a shift
}

func newGrid(axes []gridAxis) *grid {
	g := &grid{axes: axes, taps: 1}
	for i := range axes {
		g.taps *= len(axes[i].shift)
	}
	rank := len(axes)
	g.shifts = make([]int, g.taps*rank)
	g.lo, g.hi, g.offs = make([]int, g.taps), make([]int, g.taps), make([]int, g.taps)
	for t := range g.taps {
		rest := t
		for d := rank - 1; d >= 0; d-- {
			s := axes[d].shift
			shift := s[rest%len(s)]
			rest /= len(s)
			g.shifts[t*rank+d] = shift
			g.offs[t] += shift * axes[d].stride
		}
		g.lo[t], g.hi[t] = axes[rank-1].inside(g.shifts[t*rank+rank-1])
	}
	return g
}

// positions returns the number of windows.
func (g *grid) positions() int {
	n := 1
	for i := range g.axes {
		n *= g.axes[i].n
	}
	return n
}

// A window is one position of a grid.
type window struct {
	pos [maxAxes]int // element of the image that a tap without a shift reads, along each axis
	at  int          // its place in memory
	j   int          // position along the last axis
}

// window returns position p of the grid in an image that begins at base.
func (g *grid) window(base, p int) window {
	w := window{at: base}
	last := len(g.axes) - 1
	for d := last; d >= 0; d-- {
		a := &g.axes[d]
		q := p / a.n
		i := p - q*a.n
		if d == last {
			w.j = i
		}
		w.pos[d] = i * a.step
		w.at += w.pos[d] * a.stride
		p = q
	}
	return w
}

// reads reports whether tap t of the window reads an element of the image, by its first axes.
func (g *grid) reads(w *window, t, axes int) bool {
	shifts := g.shifts[t*len(g.axes):][:axes]
	for d, s := range shifts {
		if i := w.pos[d] + s; uint(i) >= uint(g.axes[d].in) {
			return false
		}
	}
	return true
}

// A convPhase is a part of the outputs of a convolution that the same taps reach: all of them, or for a
// transposed one those a stride apart. They are windows of step 1 then.
type convPhase struct {
	axes         []gridAxis
	taps         [][]int // of each axis: which elements of the weights' window
	first, every []int   // position j along an axis is output first+j·every
}

// convPhases returns the phases of k, for an image with extents in at strides, windows of extents size and
// outputs of extents out.
func convPhases(k *backend.Conv, in, strides, size, out []int) []convPhase {
	rank := len(in)
	if !k.Transposed {
		p := convPhase{axes: make([]gridAxis, rank), taps: make([][]int, rank)}
		for d := range rank {
			p.axes[d] = windowAxis(out[d], in[d], strides[d], size[d], k.Stride[d], k.Dilation[d], k.Pad[d])
			p.taps[d] = make([]int, size[d])
			for t := range p.taps[d] {
				p.taps[d][t] = t
			}
		}
		return []convPhase{p}
	}
	all := []convPhase{{}}
	for d := range rank {
		var next []convPhase
		for _, p := range all {
			for first := range min(k.Stride[d], out[d]) {
				a := gridAxis{n: (out[d]-1-first)/k.Stride[d] + 1, in: in[d], stride: strides[d], step: 1}
				var taps []int
				for t := range size[d] {
					// Output first+j·stride takes tap t of element j+shift.
					if from := first + k.Pad[d] - t*k.Dilation[d]; from%k.Stride[d] == 0 {
						a.shift, taps = append(a.shift, from/k.Stride[d]), append(taps, t)
					}
				}
				next = append(next, convPhase{
					axes: append(p.axes[:d:d], a), taps: append(p.taps[:d:d], taps),
					first: append(p.first[:d:d], first), every: append(p.every[:d:d], k.Stride[d]),
				})
			}
		}
		all = next
	}
	return all
}
