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
			w := s.worker()
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
		w := s.worker()
		defer w.free()
		for r := lo; r < hi; r++ {
			mark := w.mark()
			_ = sortRow[K, E](s, w, r, nil) // by one goroutine, which cannot fail
			w.release(mark)
		}
	})
}

func (s *sorter) worker() *worker {
	w := &worker{scratch: getScratch(), post: s.post.frame()}
	w.post.begin(blockLen)
	return w
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
	copyRow(row, typed[E](s.src.mem), offsetOf(s.rows, r), s.stride)
	keys := take[K](w.scratch, s.n)
	odd := orderKeys(&s.order, keys, row)
	if few {
		s.give(w, r, leastKeys(w.scratch, keys, s.kept), row)
		return nil
	}
	var places []int32
	if s.index || s.kept < s.n {
		places = take[int32](w.scratch, s.n)
		for i := range places {
			places[i] = int32(i)
		}
	}
	if err := sortKeys(w.scratch, j, s.order.bits, &keys, &places); err != nil {
		return err
	}
	if places != nil {
		s.give(w, r, places[:s.kept], row)
		return nil
	}
	found := take[E](w.scratch, s.n)
	elementsOf(&s.order, found, keys)
	if odd {
		restore(&s.order, found, keys, row)
	}
	give(s, w, r, found)
	return nil
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
	for i, at := range places {
		found[i] = row[at]
	}
	give(s, w, r, found)
}

// give gives post the elements found in row r.
func give[E stored](s *sorter, w *worker, r int, found []E) {
	if half, ok := any(found).([]uint16); ok {
		wide := take[float32](w.scratch, len(half))
		widen(s.src.dtype, wide, half)
		w.emit(r*s.kept, s.kept, bytesOf(wide))
		return
	}
	w.emit(r*s.kept, s.kept, bytesOf(found))
}
