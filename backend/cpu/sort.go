package cpu

import (
	"runtime"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A sorter sorts rows: n elements of src, stride apart, of which it gives the first kept.
type sorter struct {
	*job
	src       *operand
	order     ordering
	index     bool // give positions
	rows      backend.Layout
	n, stride int
	kept      int
	post      *binding
}

// longRow is the length from which a row is sorted by several goroutines, where there are fewer rows than those.
const longRow = 1 << 16

func (j *job) runSort(k *backend.Sort) error {
	post, err := cached(&j.programs, k, func() (*program, error) { return compile(&k.Post) })
	if err != nil {
		return err
	}
	if err := j.step.Check(); err != nil {
		return err
	}
	last := len(j.step.Shape) - 1
	l := j.in[0].layout
	s := &sorter{
		job: j, src: &j.in[0], order: orderOf(j.in[0].dtype, k.Descending), index: k.Index,
		rows: backend.Layout{Shape: l.Shape[:last], Strides: l.Strides[:last], Offset: l.Offset},
		n:    l.Shape[last], stride: l.Strides[last], kept: j.step.Shape[last],
	}
	found := s.src.dtype
	if k.Index {
		found = ops.Int32
	}
	if s.post, err = bindPost(post, found, j.step.Shape, j.in[1:], j.out, j.step.Consts); err != nil {
		return err
	}
	if j.step.Shape.Len() == 0 {
		return nil
	}
	switch s.src.dtype.Size() {
	case 1:
		return sortRows[uint32, uint8](s)
	case 2:
		return sortRows[uint32, uint16](s)
	case 4:
		return sortRows[uint32, uint32](s)
	default:
		return sortRows[uint64, uint64](s)
	}
}

// sortRows sorts rows of elements that are stored as E, by keys of type K.
func sortRows[K sortKey, E stored](s *sorter) error {
	rows := s.rows.Shape.Len()
	if s.n >= longRow && rows < runtime.GOMAXPROCS(0) {
		for r := range rows {
			w := newWorker(s.ctx, s.post)
			err := sortRow[K, E](s, w, r, s.job)
			w.free()
			if err != nil {
				return err
			}
		}
		return nil
	}
	const worth = 1 << 13 // elements
	return s.parallel(rows, max(1, worth/max(s.n, 1)), func(lo, hi int) {
		w := newWorker(s.ctx, s.post)
		defer w.free()
		for r := lo; r < hi; r++ {
			mark := w.mark()
			_ = sortRow[K, E](s, w, r, nil) // by one goroutine, which returns no error
			w.release(mark)
		}
	})
}

// sortRow sorts row r, with the help of other goroutines if there is a job, and gives the results to post.
func sortRow[K sortKey, E stored](s *sorter, w *worker, r int, j *job) error {
	few := max(s.kept, 256)*8 <= s.n
	if !few {
		if done, err := s.quickly(w, r, j); done {
			return err
		}
	}
	row := take[E](w.scratch, s.n)
	copyLong(s, row, offsetOf(s.rows, r))
	keys, odd := take[K](w.scratch, s.n), false
	piecewise(s.ctx, s.n, func(lo, hi int) { odd = orderKeys(&s.order, keys[lo:hi], row[lo:hi]) || odd })
	if few {
		s.give(w, r, leastKeys(s.ctx, w.scratch, keys, s.kept), row)
		return nil
	}
	var places []int32
	if s.index || s.kept < s.n {
		places = take[int32](w.scratch, s.n)
		piecewise(s.ctx, s.n, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				places[i] = int32(i)
			}
		})
	}
	if err := sortKeys(s.ctx, w.scratch, j, s.order.bits, &keys, &places); err != nil {
		return err
	}
	if places != nil {
		s.give(w, r, places[:s.kept], row)
		return nil
	}
	found := take[E](w.scratch, s.n)
	piecewise(s.ctx, s.n, func(lo, hi int) { elementsOf(&s.order, found[lo:hi], keys[lo:hi]) })
	if odd {
		restore(s, found, keys, row)
	}
	give(s, w, r, found)
	return nil
}

// copyLong reads row from the element at a place in memory on.
func copyLong[E stored](s *sorter, row []E, at int) {
	piecewise(s.ctx, len(row), func(lo, hi int) { copyRow(row[lo:hi], typed[E](s.src.mem), at+lo*s.stride, s.stride) })
}

// give gives post the positions, or the elements of row there.
func (s *sorter) give(w *worker, r int, places []int32, row any) {
	switch row := row.(type) {
	case []uint8:
		givePlaces(s, w, r, places, row)
	case []uint16:
		givePlaces(s, w, r, places, row)
	case []uint32:
		givePlaces(s, w, r, places, row)
	case []uint64:
		givePlaces(s, w, r, places, row)
	}
}

func givePlaces[E stored](s *sorter, w *worker, r int, places []int32, row []E) {
	if s.index {
		w.emit(r*s.kept, s.kept, bytesOf(places))
		return
	}
	found := take[E](w.scratch, len(places))
	piecewise(s.ctx, len(places), func(lo, hi int) {
		for i, at := range places[lo:hi] {
			found[lo+i] = row[at]
		}
	})
	give(s, w, r, found)
}

// give gives post the elements found in row r.
func give[E stored](s *sorter, w *worker, r int, found []E) {
	if half, ok := any(found).([]uint16); ok {
		wide := take[float32](w.scratch, len(half))
		piecewise(s.ctx, len(half), func(lo, hi int) { widen(s.src.dtype, wide[lo:hi], half[lo:hi]) })
		w.emit(r*s.kept, s.kept, bytesOf(wide))
		return
	}
	w.emit(r*s.kept, s.kept, bytesOf(found))
}
