package cpu

import (
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A scatterer is a scatter: rows of n elements take in m updates each.
type scatterer struct {
	*job
	base, index, updates       *operand
	baseRows, indexRows        backend.Layout
	updateRows                 backend.Layout
	baseStep, indexStep, apart int // from one element of a row to the next, of updates
	n, m                       int
	indices                    gatherer // reads and checks them
	post                       *binding
}

func (j *job) runScatter(k *backend.Scatter) error {
	post, err := cached(&j.programs, k, func() (*program, error) { return compile(&k.Post) })
	if err != nil {
		return err
	}
	if err := j.step.Check(); err != nil {
		return err
	}
	s := &scatterer{job: j, base: &j.in[0], index: &j.in[1], updates: &j.in[2]}
	last := len(j.step.Shape) - 1
	s.n, s.m = j.step.Shape[last], s.index.layout.Shape[last]
	for i, to := range []*backend.Layout{&s.baseRows, &s.indexRows, &s.updateRows} {
		l := j.in[i].layout
		*to = backend.Layout{Shape: l.Shape[:last], Strides: l.Strides[:last], Offset: l.Offset}
	}
	s.baseStep, s.indexStep, s.apart = s.base.layout.Strides[last], s.index.layout.Strides[last], s.updates.layout.Strides[last]
	s.indices = gatherer{index: s.index, extent: s.n, bad: -1}
	if s.post, err = bindPost(post, k.DType, j.step.Shape, j.in[3:], j.out, j.step.Consts); err != nil {
		return err
	}
	if err := s.run(k); err != nil {
		return err
	}
	if at := s.indices.bad; at >= 0 {
		return fmt.Errorf("index %d at %v is out of range for an axis of extent %d: %w",
			s.indices.badness, indexOf(s.index.layout.Shape, at), s.n, backend.ErrIndex)
	}
	return nil
}

// run takes the updates of each type in, in the registers of post.
func (s *scatterer) run(k *backend.Scatter) error {
	switch d := k.DType; {
	case !k.Add:
		return s.set(d)
	case d == ops.Float64:
		return scatterRows[float64, float64](s, asIs[float64], add[float64], nil)
	case d == ops.Float32:
		return scatterRows(s, func(x float32) float64 { return float64(x) }, add[float64], bytesOfFloats)
	case d.IsHalf():
		return scatterRows(s, func(x uint16) float64 {
			var wide [1]float32
			widen(d, wide[:], []uint16{x})
			return float64(wide[0])
		}, add[float64], func(w *worker, row []float64) []byte {
			vals := take[uint8](w.scratch, len(row)*regSize(d))
			round(vals, d, row)
			return vals
		})
	case d == ops.Bool:
		return scatterRows(s, asIs[uint8], func(x, y uint8) uint8 { return x | y }, nil)
	}
	switch k.DType.Size() {
	case 1:
		return scatterRows(s, asIs[uint8], add[uint8], nil)
	case 4:
		return scatterRows(s, asIs[uint32], add[uint32], nil)
	}
	return scatterRows(s, asIs[uint64], add[uint64], nil)
}

// set lets the last update win.
func (s *scatterer) set(d ops.DType) error {
	switch d.Size() {
	case 1:
		return scatterRows(s, asIs[uint8], second[uint8], nil)
	case 2:
		return scatterRows(s, asIs[uint16], second[uint16], func(w *worker, row []uint16) []byte {
			wide := take[float32](w.scratch, len(row))
			widen(d, wide, row)
			return bytesOf(wide)
		})
	case 4:
		return scatterRows(s, asIs[uint32], second[uint32], nil)
	}
	return scatterRows(s, asIs[uint64], second[uint64], nil)
}

func asIs[T any](x T) T      { return x }
func second[T any](_, y T) T { return y }

func add[T uint8 | uint32 | uint64 | float64](x, y T) T { return x + y }

func bytesOfFloats(w *worker, row []float64) []byte {
	narrow := take[float32](w.scratch, len(row))
	piecewise(w.ctx, len(row), func(lo, hi int) {
		for i, x := range row[lo:hi] {
			narrow[lo+i] = float32(x)
		}
	})
	return bytesOf(narrow)
}

// scatterRows takes in the updates of each row, by join, of elements that are stored as E and held as A. Registers makes
// those of post of a row; if it is nil they are the row.
func scatterRows[E, A any](s *scatterer, hold func(E) A, join func(x, y A) A, registers func(*worker, []A) []byte) error {
	const worth = 1 << 14 // elements
	base, updates := typed[E](s.base.mem), typed[E](s.updates.mem)
	return s.parallel(s.baseRows.Shape.Len(), max(1, worth/max(1, s.n+s.m)), func(lo, hi int) {
		w := newWorker(s.ctx, s.post)
		defer w.free()
		for r := lo; r < hi; r++ {
			mark := w.mark()
			row := take[A](w.scratch, s.n)
			at := offsetOf(s.baseRows, r)
			piecewise(w.ctx, s.n, func(lo, hi int) {
				at := at + lo*s.baseStep
				for i := lo; i < hi; i++ {
					row[i] = hold(base[at])
					at += s.baseStep
				}
			})
			indices, good := take[int](w.scratch, s.m), true
			from, first := offsetOf(s.indexRows, r), offsetOf(s.updateRows, r)
			piecewise(w.ctx, s.m, func(lo, hi int) {
				some, at := indices[lo:hi], first+lo*s.apart
				good = good && s.indices.load(some, from+lo*s.indexStep, s.indexStep, r*s.m+lo, 1)
				if !good {
					return
				}
				for _, i := range some {
					row[i] = join(row[i], hold(updates[at]))
					at += s.apart
				}
			})
			if !good {
				return
			}
			if registers != nil {
				w.emit(r*s.n, s.n, registers(w, row))
			} else {
				w.emit(r*s.n, s.n, bytesOf(row))
			}
			w.release(mark)
		}
	})
}
