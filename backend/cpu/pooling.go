package cpu

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// pooler is a pooling: windows over the last axes of x, for each index of the axes before.
type pooler struct {
	x       *operand
	grid    *grid
	lead    backend.Layout // of x, without the spatial axes
	windows int            // for each index of lead
	divisor [][]float64    // of an average, by axis and position: how many taps count
	post    *binding
}

func (j *job) runPool(k *backend.Pool) error {
	post, err := cached(&j.programs, k, func() (*program, error) { return compile(&k.Post) })
	if err != nil {
		return err
	}
	p, err := j.pooler(k, post)
	if err != nil {
		return err
	}
	switch d := p.x.dtype; {
	case k.Op == ops.ReduceMax:
		return p.max(j, d)
	case k.Op != ops.ReduceSum || !d.IsFloat():
		return fmt.Errorf("%s pooling of %s: %w", k.Op, d, backend.ErrUnsupported)
	case d == ops.Float64:
		return average[float64, float64](j, p, nil)
	case d == ops.Float32:
		return average[float32, float32](j, p, nil)
	default:
		return average(j, p, func(dst []float32, src []uint16) { widen(d, dst, src) })
	}
}

func (p *pooler) max(j *job, d ops.DType) error {
	switch d {
	case ops.Float16, ops.BFloat16:
		return maximum(j, p, float32(math.Inf(-1)), func(dst []float32, src []uint16) { widen(d, dst, src) })
	case ops.Float32:
		return maximum[float32, float32](j, p, float32(math.Inf(-1)), nil)
	case ops.Float64:
		return maximum[float64, float64](j, p, math.Inf(-1), nil)
	case ops.Bool, ops.Uint8:
		return maximum[uint8, uint8](j, p, 0, nil)
	case ops.Int8:
		return maximum[int8, int8](j, p, math.MinInt8, nil)
	case ops.Int32:
		return maximum[int32, int32](j, p, math.MinInt32, nil)
	case ops.Uint32:
		return maximum[uint32, uint32](j, p, 0, nil)
	default:
		return maximum[int64, int64](j, p, math.MinInt64, nil)
	}
}

func (j *job) pooler(k *backend.Pool, post *program) (*pooler, error) {
	if len(j.in) < 1 {
		return nil, fmt.Errorf("no input: %w", backend.ErrShape)
	}
	x, domain, spatial := j.in[0].layout, j.step.Shape, len(k.Window)
	lead := len(domain) - spatial
	bad := fmt.Errorf("image %v, window %v, stride %v, dilation %v, pad %v and %v: %w",
		x.Shape, k.Window, k.Stride, k.Dilation, k.Pad, k.PadEnd, backend.ErrShape)
	if spatial == 0 || spatial > maxAxes || lead < 0 || len(x.Shape) != len(domain) || !x.Shape[:lead].Equal(domain[:lead]) ||
		len(k.Stride) != spatial || len(k.Dilation) != spatial || len(k.Pad) != spatial || len(k.PadEnd) != spatial {
		return nil, bad
	}
	taps := 1
	for d := range spatial {
		if k.Window[d] < 1 || k.Stride[d] < 1 || k.Dilation[d] < 1 || k.Window[d] > maxTerms/taps {
			return nil, bad
		}
		taps *= k.Window[d]
	}
	p := &pooler{x: &j.in[0], lead: backend.Layout{Shape: x.Shape[:lead], Strides: x.Strides[:lead], Offset: x.Offset}}
	axes := make([]gridAxis, spatial)
	for d := range axes {
		a := windowAxis(domain[lead+d], x.Shape[lead+d], x.Strides[lead+d], k.Window[d], k.Stride[d], k.Dilation[d], k.Pad[d])
		axes[d] = a
		p.divisor = append(p.divisor, divisors(&a, k, d))
	}
	p.grid = newGrid(axes)
	p.windows = p.grid.positions()
	var err error
	p.post, err = bindPost(post, p.x.dtype, domain, j.in[1:], j.out, j.step.Consts)
	return p, err
}

// divisors returns for each position along an axis how many taps an average counts.
func divisors(a *gridAxis, k *backend.Pool, d int) []float64 {
	if k.Op != ops.ReduceSum {
		return nil
	}
	from, to := 0, a.in
	if k.CountPad {
		from, to = -k.Pad[d], a.in+k.PadEnd[d]
	}
	counts := make([]float64, a.n)
	for j := range counts {
		for _, s := range a.shift {
			if i := j*a.step + s; i >= from && i < to {
				counts[j]++
			}
		}
	}
	return counts
}

// poolLines calls f for lines of windows along the last axis: those from window p of a lead index on, whose image begins at base,
// with room for their results. It calls done for the results of lines that follow each other, from position pos of the domain on.
func poolLines[V any](j *job, p *pooler, f func(w *worker, base, p int, vals []V), done func(w *worker, pos int, vals []V)) error {
	n := p.grid.axes[len(p.grid.axes)-1].n
	if p.windows == 0 {
		return nil
	}
	perLead, together := p.windows/n, max(1, blockLen/n)
	const worth = 1 << 14 // elements read
	grain := roundUp(worth/(n*p.grid.taps), together)
	return j.parallel(p.lead.Len()*perLead, grain, func(lo, hi int) {
		w := newWorker(j.ctx, p.post)
		defer w.free()
		for r := lo; r < hi; r += together {
			mark := w.mark()
			vals := take[V](w.scratch, min(together, hi-r)*n)
			for i := range len(vals) / n {
				f(w, offsetOf(p.lead, (r+i)/perLead), (r+i)%perLead*n, vals[i*n:][:n])
			}
			done(w, r*n, vals)
			w.release(mark)
		}
	})
}

// each calls f for each tap that reads elements of the image in the n windows from window p on: those of
// the windows from lo on are vals[at], vals[at+step]….
func each[T, E any](w *worker, g *grid, data []E, base, p, n int, wide func([]T, []E), f func(lo, n int, vals []T, at, step int)) {
	win := g.window(base, p)
	last := len(g.axes) - 1
	a := &g.axes[last]
	step := a.step * a.stride
	same, native := any(data).([]T)
	var stored []E
	var read []T
	if !native {
		stored, read = take[E](w.scratch, n), take[T](w.scratch, n)
	}
	for t := range g.taps {
		w.worked(n)
		lo, hi := g.lo[t], g.hi[t]
		if lo >= hi || !g.reads(&win, t, last) {
			continue
		}
		at := win.at + g.offs[t] + lo*step
		if native {
			f(lo, hi-lo, same, at, step)
			continue
		}
		for i := range hi - lo {
			stored[i] = data[at+i*step]
		}
		wide(read[:hi-lo], stored[:hi-lo])
		f(lo, hi-lo, read, 0, 1)
	}
}

// maximum gives each window's greatest element, least if it has none; NaN if any is.
func maximum[T number, E any](j *job, p *pooler, least T, wide func([]T, []E)) error {
	data, g := typed[E](p.x.mem), p.grid
	last := &g.axes[len(g.axes)-1]
	same, native := any(data).([]T)
	block := lookup(ops.Maximum, p.x.dtype).v
	return poolLines(j, p, func(w *worker, base, at int, best []T) {
		if native && last.stride == 1 {
			line := greatestLine(w, g, same, base, at, block)
			if line == nil {
				fill(best, least)
			} else {
				slideGreatest(w, last, best, line, least)
			}
			return
		}
		fill(best, least)
		each(w, g, data, base, at, len(best), wide, func(lo, n int, vals []T, i, step int) {
			for k, m := range best[lo : lo+n] {
				best[lo+k] = max(m, vals[i])
				i += step
			}
		})
	}, func(w *worker, pos int, vals []T) { w.emit(pos, len(vals), bytesOf(vals)) })
}

// greatestLine returns the greatest elements of the lines of the image that the windows from window p on read, or nil if there are
// none. The elements of a line follow each other.
func greatestLine[T number](w *worker, g *grid, data []T, base, p int, block block) (line []T) {
	win := g.window(base, p)
	last := len(g.axes) - 1
	a := &g.axes[last]
	var room []T
	for t := 0; t < g.taps; t += len(a.shift) {
		if !g.reads(&win, t, last) {
			continue
		}
		w.worked(a.in)
		next := data[win.at+g.offs[t]-a.shift[0]:][:a.in]
		if line == nil {
			line = next
			continue
		}
		if room == nil {
			room = take[T](w.scratch, a.in)
		}
		block(unsafe.Pointer(&room[0]), unsafe.Pointer(&line[0]), unsafe.Pointer(&next[0]), nil, a.in)
		line = room
	}
	return line
}

// slideGreatest gives the greatest element of each window on a line, least if it has none.
func slideGreatest[T number](w *worker, a *gridAxis, best, line []T, least T) {
	if a.step == 2 && len(a.shift) == 2 && a.shift[0] == 0 && a.shift[1] == 1 && 2*len(best) <= len(line) {
		for j := range best {
			best[j] = max(line[2*j], line[2*j+1])
		}
		return
	}
	fill(best, least)
	for _, s := range a.shift {
		w.worked(len(best))
		lo, hi := a.inside(s)
		at := lo*a.step + s
		for j := lo; j < hi; j++ {
			best[j] = max(best[j], line[at])
			at += a.step
		}
	}
}

// average gives each window's mean, summed in float64.
func average[T float32 | float64, E any](j *job, p *pooler, wide func([]T, []E)) error {
	data, d := typed[E](p.x.mem), p.x.dtype
	last := len(p.grid.axes) - 1
	return poolLines(j, p, func(w *worker, base, at int, sums []float64) {
		n := len(sums)
		clear(sums)
		each(w, p.grid, data, base, at, n, wide, func(lo, n int, vals []T, i, step int) {
			for k := range sums[lo : lo+n] {
				sums[lo+k] += float64(vals[i])
				i += step
			}
		})
		outer, rest := 1.0, at/n
		for a := last - 1; a >= 0; a-- {
			count := p.divisor[a]
			outer *= count[rest%len(count)]
			rest /= len(count)
		}
		for i, c := range p.divisor[last] {
			sums[i] /= outer * c
		}
	}, func(w *worker, pos int, sums []float64) {
		vals := take[uint8](w.scratch, len(sums)*regSize(d))
		round(vals, d, sums)
		w.emit(pos, len(sums), vals)
	})
}
