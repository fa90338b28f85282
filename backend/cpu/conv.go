package cpu

import (
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// maxTerms bounds the terms of a sum of a convolution, whose places in memory are listed.
const maxTerms = 1 << 26

// convShape is what a convolution works on, checked.
type convShape struct {
	x, w             *operand
	rank             int // spatial axes
	batch, groups    int
	channels, out    int // of one group
	wGroup, wOut, wC int // strides of the weights: from one group, output and channel to the next
}

func (j *job) runConv(k *backend.Conv) error {
	post, err := cached(&j.programs, k, func() (*program, error) { return compile(&k.Post) })
	if err != nil {
		return err
	}
	c, err := j.convShape(k)
	if err != nil {
		return err
	}
	switch d := c.x.dtype; d {
	case ops.Float32:
		return convolve[float32, float64, float32](j, k, c, post, nil)
	case ops.Float16, ops.BFloat16:
		return convolve[float32, float64](j, k, c, post, func(dst []float32, src []uint16) { widen(d, dst, src) })
	case ops.Float64:
		return convolve[float64, float64, float64](j, k, c, post, nil)
	case ops.Int64:
		return convolve[int64, int64, int64](j, k, c, post, nil)
	case ops.Int32, ops.Uint32:
		return convolve[int32, int32, int32](j, k, c, post, nil)
	case ops.Int8:
		return convolve[int32, int32](j, k, c, post, convert[int32, int8])
	case ops.Uint8:
		return convolve[int32, int32](j, k, c, post, convert[int32, uint8])
	case ops.Bool:
		return convolve[int32, int64](j, k, c, post, convert[int32, uint8])
	default:
		return fmt.Errorf("image of type %s: %w", d, backend.ErrDType)
	}
}

func (j *job) convShape(k *backend.Conv) (*convShape, error) {
	if len(j.in) < 2 {
		return nil, fmt.Errorf("%d inputs: %w", len(j.in), backend.ErrShape)
	}
	c := &convShape{x: &j.in[0], w: &j.in[1], rank: len(k.Stride), groups: k.Groups}
	x, w, domain := c.x.layout, c.w.layout, j.step.Shape
	bad := fmt.Errorf("image %v, weights %v, groups %d, stride %v, dilation %v, pad %v: %w",
		x.Shape, w.Shape, k.Groups, k.Stride, k.Dilation, k.Pad, backend.ErrShape)
	n := 2 + c.rank
	if c.rank == 0 || len(x.Shape) != n || len(w.Shape) != n || len(domain) != n ||
		len(k.Dilation) != c.rank || len(k.Pad) != c.rank || k.Groups < 1 || n > maxAxes {
		return nil, bad
	}
	if c.w.dtype != c.x.dtype {
		return nil, fmt.Errorf("weights of %s for an image of %s: %w", c.w.dtype, c.x.dtype, backend.ErrDType)
	}
	for d := range c.rank {
		if k.Stride[d] < 1 || k.Dilation[d] < 1 {
			return nil, bad
		}
	}
	c.batch, c.channels, c.out = domain[0], x.Shape[1]/k.Groups, domain[1]/k.Groups
	want := []int{domain[1], c.channels}
	c.wGroup, c.wOut, c.wC = c.out*w.Strides[0], w.Strides[0], w.Strides[1]
	if k.Transposed {
		want = []int{x.Shape[1], c.out}
		c.wGroup, c.wOut, c.wC = c.channels*w.Strides[0], w.Strides[1], w.Strides[0]
	}
	if x.Shape[0] != domain[0] || x.Shape[1]%k.Groups != 0 || domain[1]%k.Groups != 0 ||
		w.Shape[0] != want[0] || w.Shape[1] != want[1] {
		return nil, bad
	}
	if terms := c.channels * w.Shape[2:].Len(); terms > maxTerms {
		return nil, fmt.Errorf("sums of %d terms: %w", terms, backend.ErrMemory)
	}
	return c, nil
}

// convolve runs k as products of the weights, [outputs terms], with the patches of each image, a group at a
// time. Elements are of type E in memory; wide converts them, or is nil where E is T.
func convolve[T, S term, E any](j *job, k *backend.Conv, c *convShape, post *program, wide func([]T, []E)) error {
	x, w := c.x.layout, c.w.layout
	for _, ph := range convPhases(k, x.Shape[2:], x.Strides[2:], w.Shape[2:], j.step.Shape[2:]) {
		g := newGrid(ph.axes)
		p := gemm[T, S]{
			batch: c.batch * c.groups, m: c.out, n: g.positions(), k: c.channels * g.taps, acc: c.x.dtype,
		}
		p.kern = productKernel[T](p.k)
		domain := append(backend.Shape{c.batch, c.groups * c.out}, extents(ph.axes)...)
		rest, err := ph.slice(j.in[2:])
		if err != nil {
			return err
		}
		out, err := ph.slice(j.out)
		if err != nil {
			return err
		}
		d := newDirect(&p, c, g, typed[E](c.x.mem), wide)
		var lone []int
		if d != nil {
			lone = perChannel(rest)
		}
		if p.post, err = bindPost(post, p.acc, domain, rest, out, j.step.Consts, lone...); err != nil {
			return err
		}
		left := weightFactor(c, &ph, typed[E](c.w.mem), wide)
		if d != nil {
			d.weights, d.rest, d.lone = left, rest, lone
			if err := d.run(j); err != nil {
				return err
			}
			continue
		}
		right := patchFactor(c, g, typed[E](c.x.mem), wide)
		p.factors = func(batch int) (factor[T], factor[T]) {
			image, group := batch/c.groups, batch%c.groups
			return left(group), right(x.Offset + image*x.Strides[0] + group*c.channels*x.Strides[1])
		}
		if err := p.run(j); err != nil {
			return err
		}
	}
	return nil
}

// weightFactor returns the rows of weights of a group.
func weightFactor[T term, E any](c *convShape, ph *convPhase, data []E, wide func([]T, []E)) func(group int) factor[T] {
	base := func(group int) int { return c.w.layout.Offset + group*c.wGroup }
	axes := make([]gridAxis, c.rank) // the taps, read as one window that is inside
	for d := range axes {
		axes[d] = gridAxis{n: 1, step: 1, stride: c.w.layout.Strides[2+d], shift: ph.taps[d]}
	}
	s := newPatches(newGrid(axes), data, c.channels, c.wC)
	if m, ok := any(data).([]T); ok {
		if col, even := evenly(s.offs); even {
			row := c.wOut
			if c.out == 1 {
				row = len(s.offs)
			}
			first := 0
			if len(s.offs) > 0 {
				first = s.offs[0]
			}
			return func(group int) factor[T] {
				return factor[T]{matrix: matrix[T]{data: m, off: base(group) + first, row: row, col: col}}
			}
		}
	}
	return func(group int) factor[T] {
		first := base(group)
		return factor[T]{fill: func(w *worker, dst []T, r, k0 int) {
			into(w, dst, wide, func(dst []E) {
				at := first + r*c.wOut
				for i, o := range s.offs[k0 : k0+len(dst)] {
					dst[i] = data[at+o]
				}
			})
		}}
	}
}

// patchFactor returns the patches of the channels that begin at a place in memory.
func patchFactor[T term, E any](c *convShape, g *grid, data []E, wide func([]T, []E)) func(base int) factor[T] {
	s := newPatches(g, data, c.channels, c.x.layout.Strides[1])
	if m, ok := any(data).([]T); ok {
		if row, ok := pointwise(g); ok {
			return func(base int) factor[T] {
				return factor[T]{matrix: matrix[T]{data: m, off: base, row: row, col: c.x.layout.Strides[1]}}
			}
		}
	}
	return func(base int) factor[T] {
		return factor[T]{
			fill: func(w *worker, dst []T, r, k0 int) {
				mark := w.mark()
				mask := take[bool](w.scratch, g.taps)
				into(w, dst, wide, func(dst []E) { s.row(dst, mask, base, r, k0) })
				w.release(mark)
			},
			columns: func(w *worker, dst []T, r0, r1, k0, k1 int) {
				into(w, dst, wide, func(dst []E) { s.columns(dst, base, r0, r1, k0, k1) })
			},
		}
	}
}

// into calls read for dst, or for as many elements as they are stored, which wide then converts.
func into[T term, E any](w *worker, dst []T, wide func([]T, []E), read func([]E)) {
	if same, ok := any(dst).([]E); ok {
		read(same)
		return
	}
	mark := w.mark()
	stored := take[E](w.scratch, len(dst))
	read(stored)
	wide(dst, stored)
	w.release(mark)
}

// evenly returns the distance from one of offs to the next, if it is always the same.
func evenly(offs []int) (step int, ok bool) {
	step = 1
	if len(offs) > 1 {
		step = offs[1] - offs[0]
	}
	for i := 1; i < len(offs); i++ {
		if offs[i]-offs[i-1] != step {
			return 0, false
		}
	}
	return step, true
}

// pointwise returns the distance between the elements that successive windows read, if each reads one and
// it is always the same.
func pointwise(g *grid) (step int, ok bool) {
	n := 1
	for d := len(g.axes) - 1; d >= 0; d-- {
		a := &g.axes[d]
		if len(a.shift) != 1 || a.shift[0] != 0 || (a.n-1)*a.step >= a.in {
			return 0, false
		}
		if a.n == 1 {
			continue
		}
		if s := a.step * a.stride; n == 1 {
			step = s
		} else if s != n*step {
			return 0, false
		}
		n *= a.n
	}
	return step, true
}

// slice returns the part of the operands, which are over the domain, that the phase is about.
func (p *convPhase) slice(in []operand) ([]operand, error) {
	if p.first == nil {
		return in, nil
	}
	out := make([]operand, len(in))
	for i, o := range in {
		out[i] = o
		for d := range p.axes {
			l, err := out[i].layout.Slice(2+d, p.first[d], p.every[d], p.axes[d].n)
			if err != nil {
				return nil, err
			}
			out[i].layout = l
		}
	}
	return out, nil
}

func extents(axes []gridAxis) []int {
	n := make([]int, len(axes))
	for d := range axes {
		n[d] = axes[d].n
	}
	return n
}
