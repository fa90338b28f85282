package cpu

import (
	"context"
	"math/bits"
	"runtime"
	"slices"
	"unsafe"

	"github.com/weft-go/weft/backend/cpu/internal/asm"
)

// A quickKey is a signed integer that stands for an element, as a sortKey does.
type quickKey interface{ int32 | int64 }

// quickSort returns the quicksort of elements of size bytes in assembly, or nil.
func quickSort(size int) *asm.Sort {
	switch {
	case loops != nil && size == 4:
		return &loops.Sort32
	case loops != nil && size == 8:
		return &loops.Sort64
	}
	return nil
}

// quickly sorts row r by assembly, if there is some for it, with the help of other goroutines if there is a job. It reports
// whether there is.
func (s *sorter) quickly(w *worker, r int, j *job) (bool, error) {
	q, wide := quickSort(s.src.dtype.Size()), s.src.dtype.Size() == 8
	switch {
	case q == nil || wide && s.index:
		return false, nil
	case s.index:
		return true, quickPlaces(s, q, w, r, j)
	case wide:
		return true, quickValues[int64, uint64](s, q, w, r, j)
	}
	return true, quickValues[int32, uint32](s, q, w, r, j)
}

// quickValues sorts row r, of elements of type E with keys of type Q, by q.
func quickValues[Q quickKey, E stored](s *sorter, q *asm.Sort, w *worker, r int, j *job) error {
	row, keys := rowOf[E](s, w, r), take[Q](w.scratch, s.n)
	odd := quickKeysLong(s, q, keys, row)
	if err := quickSortKeys(s.ctx, q, j, keys, take[Q](w.scratch, s.n)); err != nil {
		return err
	}
	found := take[E](w.scratch, s.n)
	piecewise(s.ctx, s.n, func(lo, hi int) { elementsOfQuick(s, q, found[lo:hi], keys[lo:hi]) })
	if odd {
		restoreQuick(s, found, keys, row)
	}
	give(s, w, r, found[:s.kept])
	return nil
}

// quickPlaces sorts row r, of elements of 4 bytes, with their positions: integers of a key and a position are all different,
// and those of equal keys in the order of the positions.
func quickPlaces(s *sorter, q *asm.Sort, w *worker, r int, j *job) error {
	row, pairs := rowOf[uint32](s, w, r), take[int64](w.scratch, s.n)
	mark := w.mark()
	keys := take[int32](w.scratch, s.n)
	quickKeysLong(s, q, keys, row)
	piecewise(s.ctx, s.n, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			pairs[i] = int64(keys[i])<<32 | int64(i)
		}
	})
	w.release(mark)
	if err := quickSortKeys(s.ctx, &loops.Sort64, j, pairs, take[int64](w.scratch, s.n)); err != nil {
		return err
	}
	places := take[int32](w.scratch, s.kept)
	piecewise(s.ctx, s.kept, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			places[i] = int32(pairs[i])
		}
	})
	givePlaces(s, w, r, places, row)
	return nil
}

// rowOf returns the elements of row r, in place if they follow each other.
func rowOf[E stored](s *sorter, w *worker, r int) []E {
	at := offsetOf(s.rows, r)
	if s.stride == 1 {
		return typed[E](s.src.mem)[at : at+s.n]
	}
	row := take[E](w.scratch, s.n)
	copyLong(s, row, at)
	return row
}

// quickKeysLong is quickKeys, piece by piece.
func quickKeysLong[Q quickKey, E stored](s *sorter, q *asm.Sort, keys []Q, row []E) (odd bool) {
	piecewise(s.ctx, len(row), func(lo, hi int) { odd = quickKeys(s, q, keys[lo:hi], row[lo:hi]) || odd })
	return odd
}

// quickKeys writes the keys of row. It reports whether elementsOfQuick cannot give every element back.
func quickKeys[Q quickKey, E stored](s *sorter, q *asm.Sort, keys []Q, row []E) (odd bool) {
	if s.order.inf != 0 {
		return q.FloatKeys(unsafe.Pointer(&keys[0]), unsafe.Pointer(&row[0]), len(row), s.order.flip()) != 0
	}
	flip := s.order.flipInts()
	if flip == 0 {
		copy(vec[E](unsafe.Pointer(&keys[0]), len(keys)), row)
		return false
	}
	for i, x := range row {
		keys[i] = Q(x ^ E(flip))
	}
	return false
}

// elementsOfQuick writes the elements that have the given keys: 0 for both zeros, and any NaN for all.
func elementsOfQuick[Q quickKey, E stored](s *sorter, q *asm.Sort, row []E, keys []Q) {
	if s.order.inf != 0 {
		q.KeyFloats(unsafe.Pointer(&row[0]), unsafe.Pointer(&keys[0]), len(row), s.order.flip())
		return
	}
	flip := s.order.flipInts()
	if flip == 0 {
		copy(row, vec[E](unsafe.Pointer(&keys[0]), len(keys)))
		return
	}
	for i, k := range keys {
		row[i] = E(k) ^ E(flip)
	}
}

// flip returns the bits that a descending order inverts.
func (o *ordering) flip() int {
	if o.descending {
		return -1
	}
	return 0
}

// flipInts returns the bits to invert of integers, that they become signed ones in the order.
func (o *ordering) flipInts() uint64 {
	flip := uint64(o.flip())
	if o.sign == 0 {
		flip ^= 1 << (o.bits - 1)
	}
	return flip
}

// restoreQuick puts the zeros and the NaN of row, in their order there, to their places among the sorted elements.
func restoreQuick[Q quickKey, E stored](s *sorter, sorted []E, keys []Q, row []E) {
	z, _ := slices.BinarySearch(keys, Q(s.order.flip()))
	n, _ := slices.BinarySearch(keys, greatestKey[Q]())
	putOdd(s, sorted, row, z, n)
}

// greatestKey returns the key of NaN.
func greatestKey[Q quickKey]() Q {
	least := Q(1) << (8*unsafe.Sizeof(Q(0)) - 1)
	return ^least
}

// quickSortKeys sorts x, with y of the same length as memory to work in. With a job other goroutines help.
func quickSortKeys[Q quickKey](ctx context.Context, q *asm.Sort, j *job, x, y []Q) error {
	if procs := runtime.GOMAXPROCS(0); j != nil && procs > 1 {
		return quickTogether(q, j, x, y, 4*procs)
	}
	quickAlone(ctx, q, x, y)
	return nil
}

// quickTogether parts x until there are some parts for each of several goroutines.
func quickTogether[Q quickKey](q *asm.Sort, j *job, x, y []Q, some int) error {
	parts := [][2]int{{0, len(x)}}
	for split := true; split && len(parts) < some; {
		next := make([][][2]int, len(parts))
		err := j.parallel(len(parts), 1, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				p := parts[i]
				if p[1]-p[0] < sortChunk {
					next[i] = append(next[i], p)
					continue
				}
				low, high := quickPart(j.ctx, q, x[p[0]:p[1]], y[p[0]:p[1]])
				next[i] = append(next[i], [2]int{p[0], p[0] + low})
				if high > 0 {
					next[i] = append(next[i], [2]int{p[1] - high, p[1]})
				}
			}
		})
		if err != nil {
			return err
		}
		before := parts
		parts = slices.Concat(next...)
		split = !slices.Equal(parts, before)
	}
	return j.parallel(len(parts), 1, func(lo, hi int) {
		for _, p := range parts[lo:hi] {
			quickAlone(j.ctx, q, x[p[0]:p[1]], y[p[0]:p[1]])
		}
	})
}

// quickAlone sorts x, with y of the same length to work in.
func quickAlone[Q quickKey](ctx context.Context, q *asm.Sort, x, y []Q) {
	quick(ctx, q, x, y, 2*bits.Len(uint(len(x)))+8)
}

// quick sorts x, by another way where pivots parted it badly, until depth is used up.
func quick[Q quickKey](ctx context.Context, q *asm.Sort, x, y []Q, depth int) {
	for len(x) > q.Most {
		if len(x) >= sortChunk {
			look(ctx)
		}
		if depth--; depth < 0 {
			slices.Sort(x)
			return
		}
		low, high := quickPart(ctx, q, x, y)
		upper := x[len(x)-high:]
		if low < high {
			quick(ctx, q, x[:low], y[:low], depth)
			x, y = upper, y[:high]
		} else {
			quick(ctx, q, upper, y[:high], depth)
			x, y = x[:low], y[:low]
		}
	}
	if len(x) > 1 {
		q.Few(unsafe.Pointer(&x[0]), len(x))
	}
}

// quickPart parts x: the first low elements are not greater than the last high ones, and those between are in their places.
func quickPart[Q quickKey](ctx context.Context, q *asm.Sort, x, y []Q) (low, high int) {
	p, n := pivot(q, x), len(x)
	low = partition(ctx, q, x, y, int(p))
	if low < n {
		copy(x[low:], y[:n-low])
		return low, n - low
	}
	if p == ^greatestKey[Q]() {
		return 0, 0 // all are the least
	}
	low = partition(ctx, q, x, y, int(p)-1) // the pivot is the greatest
	fill(x[low:], p)
	return low, 0
}

// partition moves the elements that are not greater than p to the front of x, the others to y. It returns how many the first are.
func partition[Q quickKey](ctx context.Context, q *asm.Sort, x, y []Q, p int) (low int) {
	const piece = 1 << 22 // of more, half the elements are moved once more
	if len(x) <= piece {
		return q.Partition(unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0]), len(x), p)
	}
	for lo := 0; lo < len(x); lo += piece {
		look(ctx)
		some := x[lo:min(lo+piece, len(x))]
		n := q.Partition(unsafe.Pointer(&some[0]), unsafe.Pointer(&y[lo-low]), len(some), p)
		copy(x[low:], some[:n])
		low += n
	}
	return low
}

// pivot returns the median of some elements of x.
func pivot[Q quickKey](q *asm.Sort, x []Q) Q {
	var sample [31]Q
	some := sample[:]
	if len(x) < 1024 {
		some = sample[:11]
	}
	step := len(x) / len(some)
	for i := range some {
		some[i] = x[i*step+step/2]
	}
	q.Few(unsafe.Pointer(&some[0]), len(some))
	return some[len(some)/2]
}
