package cpu

import (
	"context"
	"runtime"
	"unsafe"
)

// A direct is a convolution by the kernels in assembly, which take rows of the right factor from a table of places. The rows
// are the image itself: a copy of some lines of it, with zeros around them, in which what successive windows read through one
// tap lies together. Between the windows of one line of results and the next there are some that are not wanted.
type direct[T, S term, E any] struct {
	*blocked[T, S]
	shape       *convShape
	data        []E
	same        []T // data, if E is T
	wide        func([]T, []E)
	weights     func(group int) factor[T]
	outer       *grid // of all axes but the last two
	y, x        sweep
	ends        [][2]int // of each rest along x: the elements of a line of the copy that are in the image
	lines       int      // of results, that a task computes
	high, width int      // of a plane of the copy
	pitch       int      // of its lines: the zeros at their ends may be those at the beginnings of the next
	planes      int      // of a channel
	at          []int    // bytes from the window at position 0 to what it reads, by term
	lone        []int    // operands of post that are one for a channel
	rest        []operand
}

// A sweep is an axis of an image in a copy: for each rest of the taps' shifts by the step the elements that are a step apart.
type sweep struct {
	gridAxis
	least int      // of the shifts
	rests []int    // above that
	taps  [][2]int // which rest, and how many elements from position 0 on
	most  int      // of those
}

func newSweep(a gridAxis) sweep {
	s := sweep{gridAxis: a, least: a.shift[0]}
	for _, t := range a.shift {
		s.least = min(s.least, t)
	}
	for _, t := range a.shift {
		far, rest := (t-s.least)/a.step, (t-s.least)%a.step
		which := 0
		for which < len(s.rests) && s.rests[which] != rest {
			which++
		}
		if which == len(s.rests) {
			s.rests = append(s.rests, rest)
		}
		s.taps = append(s.taps, [2]int{which, far})
		s.most = max(s.most, far)
	}
	return s
}

// Bytes of the copy and of the sums of a task, and outputs that are summed at a time: with their weights they fit a second-level cache.
const copied, summed, summedRows = 256 << 10, 256 << 10, 96

// newDirect returns p, a convolution with windows on g, as one that runs directly, or nil if it cannot or should not be.
func newDirect[T, S term, E any](p *gemm[T, S], c *convShape, g *grid, data []E, wide func([]T, []E)) *direct[T, S, E] {
	const fewWindows = 4 // with which the weights are the greater factor
	if p.kern.tiles == nil || pluggedGemm[T]() != nil || p.batch*p.m*p.n*p.k == 0 || p.n < fewWindows {
		return nil
	}
	if _, ok := pointwise(g); ok && wide == nil {
		return nil
	}
	d := &direct[T, S, E]{blocked: newBlocked(p), shape: c, data: data, wide: wide}
	if d.k > d.depth {
		return nil
	}
	d.same, _ = any(data).([]T)
	last := len(g.axes) - 1
	d.x = newSweep(g.axes[last])
	one := gridAxis{n: 1, in: 1, step: 1, shift: []int{0}}
	axes := append([]gridAxis{one, one}, g.axes...)[last:]
	d.y = newSweep(axes[1])
	if last > 1 {
		axes = g.axes
	}
	d.outer = newGrid(axes[:max(1, last-1)])
	d.planes = len(d.y.rests) * len(d.x.rests)
	d.width = d.x.n + d.x.most
	shared := d.x.most
	for _, rest := range d.x.rests {
		a := d.x.gridAxis
		a.n = d.width
		lo, hi := a.inside(rest + d.x.least)
		d.ends = append(d.ends, [2]int{lo, hi})
		shared = min(shared, lo, d.width-hi)
	}
	d.pitch = d.width - shared
	return d
}

func (d *direct[T, S, E]) run(j *job) error {
	d.c, d.off, d.ld = d.inResult()
	if d.ld != d.n {
		d.c = nil
	}
	s := getScratch()
	defer putScratch(s)
	if err := d.packWeights(j, s); err != nil {
		return err
	}
	parts := d.divide()
	d.places()
	lines := (d.y.n + d.lines - 1) / d.lines
	m := roundUp((d.m+parts-1)/parts, d.Tiles[0].Rows)
	parts = (d.m + m - 1) / m
	grain := max(1, worthThread/(m*d.lines*d.width*d.k))
	return j.parallel(d.batch*d.outer.positions()*lines*parts, grain, func(lo, hi int) {
		w := d.worker(j.ctx)
		defer w.free()
		for t := lo; t < hi; t++ {
			part, line, o, batch := t%parts, t/parts%lines, t/parts/lines%d.outer.positions(), t/parts/lines/d.outer.positions()
			mark := w.mark()
			d.task(w, batch, o, part*m, min((part+1)*m, d.m), line*d.lines, min((line+1)*d.lines, d.y.n))
			w.release(mark)
		}
	})
}

// packWeights copies the weights of all groups to rows that lie well, if they do not.
func (d *direct[T, S, E]) packWeights(j *job, s *scratch) error {
	groups := d.shape.groups
	a := d.weights(0)
	ld := roundUp(d.k, 16) + 16
	size := groups * d.m * ld
	if !a.computed() && a.col == 1 && !d.crowded(a.row) || d.batch == groups && d.y.n*d.width < 4*d.nr || size*d.size > maxPacked {
		return nil
	}
	packed, weights := take[T](s, size), d.weights
	d.weights = func(group int) factor[T] {
		return factor[T]{matrix: matrix[T]{data: packed, off: group * d.m * ld, row: ld, col: 1}}
	}
	const worth = 1 << 14 // numbers a goroutine should pack
	return j.parallel(groups*d.m, max(1, worth/d.k), func(lo, hi int) {
		w := d.worker(j.ctx)
		defer w.free()
		for lo < hi {
			group, m := lo/d.m, lo%d.m
			n := min(hi-lo, d.m-m)
			a := weights(group)
			a.pack(w, packed[lo*ld:], 1, ld, m, m+n, 0, d.k)
			lo += n
		}
	})
}

// worker is that of the product, whose post begins anew for each channel if it has operands that are one for a channel.
func (d *direct[T, S, E]) worker(ctx context.Context) *worker {
	if len(d.lone) == 0 {
		return d.gemm.worker(ctx)
	}
	return &worker{scratch: getScratch(), ctx: ctx, post: d.post.frame()}
}

// divide sets the lines of a task, and returns in how many parts the outputs of a group are divided.
func (d *direct[T, S, E]) divide() (parts int) {
	channels := d.shape.channels * d.outer.taps
	line := d.width * d.size
	d.lines = min(copied/(channels*d.planes*line)-d.y.most, summed/(min(d.m, summedRows)*line), d.y.n)
	d.lines = max(d.lines, 1)
	even := func() { d.lines = (d.y.n-1)/((d.y.n-1)/d.lines+1) + 1 }
	even()
	parts = 1
	tasks := func() int { return d.batch * d.outer.positions() * ((d.y.n + d.lines - 1) / d.lines) * parts }
	for tasks() < 4*runtime.GOMAXPROCS(0) && d.m/parts*d.lines*d.width*d.k > 2*worthThread {
		switch {
		case d.lines >= 8:
			d.lines /= 2
			even()
		case d.m/parts > 2*d.Tiles[0].Rows:
			parts *= 2
		case d.lines > 1:
			d.lines /= 2
			even()
		default:
			return parts
		}
	}
	return parts
}

// places fills in at.
func (d *direct[T, S, E]) places() {
	d.high = d.lines + d.y.most
	d.at = make([]int, 0, d.k)
	for v := range d.shape.channels * d.outer.taps {
		for _, ty := range d.y.taps {
			for _, tx := range d.x.taps {
				plane := v*d.planes + ty[0]*len(d.x.rests) + tx[0]
				d.at = append(d.at, (plane*d.plane()+ty[1]*d.pitch+tx[1])*d.size)
			}
		}
	}
}

// plane returns the size of a plane of the copy.
func (d *direct[T, S, E]) plane() int { return d.high*d.pitch + d.width - d.pitch }

// task computes lines y0 to y1 of outputs m0 to m1 of one group of one image, at a position of the outer axes.
func (d *direct[T, S, E]) task(w *worker, batch, outer, m0, m1, y0, y1 int) {
	image, group := batch/d.shape.groups, batch%d.shape.groups
	x := d.shape.x.layout
	from := take[T](w.scratch, d.shape.channels*d.outer.taps*d.planes*d.plane())
	d.copy(w, from, x.Offset+image*x.Strides[0]+group*d.shape.channels*x.Strides[1], outer, y0, y1-y0+d.y.most)
	a := d.weights(group)
	n := (y1-y0-1)*d.pitch + d.x.n
	for ; m0 < m1; m0 += summedRows {
		mark := w.mark()
		m := min(summedRows, m1-m0)
		c := take[T](w.scratch, m*n)
		for k0 := 0; k0 < d.k; k0 += d.block {
			if m0 > 0 || k0 > 0 {
				look(w.ctx)
			}
			k1 := min(k0+d.block, d.k)
			x, row, col := d.left(w, &a, m0, m0+m, k0, k1, n)
			t := tiling{
				Product: d.Product, a: unsafe.Pointer(&x[0]), b: unsafe.Pointer(&from[0]), c: unsafe.Pointer(&c[0]), at: d.at[k0:k1],
				group: d.nr * d.size, size: d.size, k: k1 - k0, row: row, col: col, ldc: n, add: k0,
			}
			t.run(m, n)
		}
		for i := range m {
			d.emit(w, image, group*d.m+m0+i, outer, y0, y1-y0, c[i*n:][:n])
		}
		w.release(mark)
	}
}

// copy copies lines of the image of the channels that begin at base, from the one that position y0 reads first.
func (d *direct[T, S, E]) copy(w *worker, dst []T, base, outer, y0, lines int) {
	win := d.outer.window(base, outer)
	stride := d.shape.x.layout.Strides[1]
	for c := range d.shape.channels {
		for t := range d.outer.taps {
			reads := d.outer.reads(&win, t, len(d.outer.axes))
			at := win.at + d.outer.offs[t] + c*stride
			for _, ry := range d.y.rests {
				for i, rx := range d.x.rests {
					plane := dst[:d.plane()]
					dst = dst[len(plane):]
					for l := range lines {
						y := (y0+l)*d.y.step + ry + d.y.least
						line := plane[l*d.pitch:][:d.width]
						if !reads || uint(y) >= uint(d.y.in) {
							clear(line)
							continue
						}
						lo, hi := d.ends[i][0], d.ends[i][1]
						clear(line[:lo])
						d.copyLine(w, line[lo:hi], at+y*d.y.stride+(lo*d.x.step+rx+d.x.least)*d.x.stride)
						clear(line[hi:])
					}
				}
			}
		}
	}
}

// copyLine reads elements a step apart, from the one at a place in memory on.
func (d *direct[T, S, E]) copyLine(w *worker, dst []T, at int) {
	step := d.x.step * d.x.stride
	switch {
	case len(dst) == 0:
	case d.same != nil && step == 1:
		copy(dst, d.same[at:])
	case d.same != nil:
		for i := range dst {
			dst[i] = d.same[at]
			at += step
		}
	case step == 1:
		d.wide(dst, d.data[at:][:len(dst)])
	default:
		mark := w.mark()
		stored := take[E](w.scratch, len(dst))
		for i := range stored {
			stored[i] = d.data[at]
			at += step
		}
		d.wide(dst, stored)
		w.release(mark)
	}
}

// emit hands lines of results of a channel, whose sums lie as far apart as in the copy, to post.
func (d *direct[T, S, E]) emit(w *worker, image, channel, outer, y0, lines int, c []T) {
	n := d.x.n
	at := (((image*d.shape.groups*d.m+channel)*d.outer.positions()+outer)*d.y.n + y0) * n
	if d.c != nil {
		for l := range lines {
			copy(d.c[d.off+at+l*n:][:n], c[l*d.pitch:])
		}
		return
	}
	for l := 1; l < lines; l++ {
		copy(c[l*n:][:n], c[l*d.pitch:])
	}
	c = c[:lines*n]
	roundHalf(d.acc, unsafe.Pointer(&c[0]), len(c))
	if len(d.lone) > 0 {
		for i, k := range d.lone {
			o := &d.rest[k]
			place := o.layout.Offset + image*o.layout.Strides[0] + channel*o.layout.Strides[1]
			w.post.give(1+k, w.element(i, o, place))
		}
		w.post.begin(blockLen)
	}
	w.emit(at, len(c), bytesOf(c))
}

// element returns the element of o at a place in memory, as a register holds it.
func (w *worker) element(i int, o *operand, at int) unsafe.Pointer {
	p := unsafe.Pointer(&o.mem[at*o.dtype.Size()])
	if !o.dtype.IsHalf() {
		return p
	}
	widen(o.dtype, w.halves[i:i+1], vec[uint16](p, 1))
	return unsafe.Pointer(&w.halves[i])
}

// perChannel returns the operands over a domain [batch channels …] that are one element for a channel of an image.
func perChannel(in []operand) []int {
	var list []int
next:
	for i := range in {
		l := &in[i].layout
		for d := 2; d < len(l.Shape); d++ {
			if l.Strides[d] != 0 && l.Shape[d] != 1 {
				continue next
			}
		}
		if in[i].mem != nil && len(l.Shape) > 2 && len(list) < maxLone {
			list = append(list, i)
		}
	}
	return list
}

const maxLone = 16 // operands that are given apart
