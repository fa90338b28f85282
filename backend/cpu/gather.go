package cpu

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// gatherer is a gather: for each position of the domain, the element of src that index says there.
type gatherer struct {
	src, index *operand
	extent     int // of the indexed axis, and the distance from one element of it to the next
	stride     int

	// The domain with axes merged that both step through as one: strides of src and of the indices.
	shape                  backend.Shape
	srcStride, indexStride []int
	srcOffset, indexOffset int
	post                   *binding
	out                    *source // where elements go as they are, or nil: then post takes them
	stream                 bool    // rows of the result go past the caches

	mu      sync.Mutex
	bad     int // the first position whose index is out of range, or -1
	badness int64
}

func (j *job) runGather(k *backend.Gather) error {
	post, err := cached(&j.programs, k, func() (*program, error) { return compile(&k.Post) })
	if err != nil {
		return err
	}
	g, err := j.gatherer(k, post)
	if err != nil {
		return err
	}
	switch g.src.dtype.Size() {
	case 1:
		err = gatherAll[uint8](j, g, nil)
	case 2:
		err = gatherAll(j, g, func(dst []float32, src []uint16) { widen(g.src.dtype, dst, src) })
	case 4:
		err = gatherAll[uint32](j, g, nil)
	default:
		err = gatherAll[uint64](j, g, nil)
	}
	if err == nil && g.bad >= 0 {
		err = fmt.Errorf("index %d at %v is out of range for an axis of extent %d: %w",
			g.badness, indexOf(j.step.Shape, g.bad), g.extent, backend.ErrIndex)
	}
	return err
}

func (j *job) gatherer(k *backend.Gather, post *program) (*gatherer, error) {
	rank := len(j.step.Shape)
	if len(j.in) < 2 || len(j.in[0].layout.Shape) != rank+1 {
		return nil, fmt.Errorf("%d inputs: %w", len(j.in), backend.ErrShape)
	}
	g := &gatherer{src: &j.in[0], index: &j.in[1], bad: -1}
	src, index := g.src.layout, g.index.layout
	if !src.Shape[:rank].Equal(j.step.Shape) || !index.Shape.Equal(j.step.Shape) {
		return nil, fmt.Errorf("source %v, index %v: %w", src.Shape, index.Shape, backend.ErrShape)
	}
	if !g.index.dtype.IsInt() {
		return nil, fmt.Errorf("index of type %s: %w", g.index.dtype, backend.ErrDType)
	}
	g.extent, g.stride = src.Shape[rank], src.Strides[rank]
	src = backend.Layout{Shape: src.Shape[:rank], Strides: src.Strides[:rank], Offset: src.Offset}
	both, _ := backend.Collapse([]backend.Layout{src, index}, 0)
	g.shape, g.srcOffset, g.indexOffset = both[0].Shape, both[0].Offset, both[1].Offset
	g.srcStride, g.indexStride = both[0].Strides, both[1].Strides
	if len(g.shape) > maxAxes {
		return nil, fmt.Errorf("%d axes: %w", len(g.shape), backend.ErrUnsupported)
	}
	var err error
	if g.post, err = bindPost(post, g.src.dtype, j.step.Shape, j.in[2:], j.out, j.step.Consts); err != nil {
		return nil, err
	}
	e := &k.Post
	if len(e.Out) == 1 {
		if r := &e.Code[e.Out[0]]; r.Kind == ops.Load && r.Args[0] == 0 {
			g.out = &g.post.out[0]
			if n := j.step.Shape.Len(); n*g.src.dtype.Size() >= streamBytes {
				_, g.stream = g.out.view.run(0, n)
			}
		}
	}
	return g, nil
}

// indexOf returns the index of the element at pos of shape in row-major order.
func indexOf(shape backend.Shape, pos int) []int {
	index := make([]int, len(shape))
	for a := len(shape) - 1; a >= 0; a-- {
		index[a] = pos % shape[a]
		pos /= shape[a]
	}
	return index
}

// gatherAll gathers elements that are stored as E, and gives them to post as wide makes them, if it is not nil.
func gatherAll[E any](j *job, g *gatherer, wide func([]float32, []E)) error {
	data := typed[E](g.src.mem)
	return j.parallel(j.step.Shape.Len(), grain, func(lo, hi int) {
		w := newWorker(j.ctx, g.post)
		defer w.free()
		for pos := lo; pos < hi; pos += grain {
			gatherRange(w, g, data, pos, min(pos+grain, hi), wide)
		}
		if g.stream && loops != nil {
			loops.StoreFence()
		}
	})
}

// gatherRange gathers the elements of the domain from lo to hi.
func gatherRange[E any](w *worker, g *gatherer, data []E, lo, hi int, wide func([]float32, []E)) {
	mark := w.mark()
	defer w.release(mark)
	n := hi - lo
	if g.out != nil {
		if at, ok := g.out.view.run(lo, n); ok {
			gatherRows(w, g, typed[E](g.out.mem)[at:at+n], data, lo)
			return
		}
	}
	vals := take[E](w.scratch, n)
	switch ok := gatherRows(w, g, vals, data, lo); {
	case !ok:
	case g.out != nil:
		scatter(typed[E](g.out.mem), vals, &g.out.view, lo)
	case wide != nil:
		reg := take[float32](w.scratch, n)
		wide(reg, vals)
		w.emit(lo, n, bytesOf(reg))
	default:
		w.emit(lo, n, bytesOf(vals))
	}
}

// gatherRows gathers len(dst) elements from position pos on, run by run along the last axis. It reports
// whether all indices were in range.
func gatherRows[E any](w *worker, g *gatherer, dst, data []E, pos int) bool {
	last := len(g.shape) - 1
	is, ss := g.indexStride[last], g.srcStride[last]
	for n := 0; len(dst) > 0; dst, pos = dst[n:], pos+n {
		from, at := g.srcOffset, g.indexOffset
		rest := pos
		for a := last; a >= 0; a-- {
			i := rest % g.shape[a]
			rest /= g.shape[a]
			from, at = from+i*g.srcStride[a], at+i*g.indexStride[a]
			if a == last {
				n = min(g.shape[a]-i, len(dst))
			}
		}
		if is == 0 { // a row
			if m := g.wholeRows(pos, len(dst)); m > 1 && ss == 1 && loops != nil && n*int(unsafe.Sizeof(data[0])) >= leastPiece {
				if n *= m; !gatherPieces(w, g, dst[:n], data, pos, from, at, m) {
					return false
				}
				continue
			}
			var one [1]int
			if !g.load(one[:], at, 0, pos, 1) {
				return false
			}
			copyRow(dst[:n], data, from+one[0]*g.stride, ss)
			continue
		}
		mark := w.mark()
		index := take[int](w.scratch, n)
		if !g.load(index, at, is, pos, 1) {
			return false
		}
		for i, x := range index {
			dst[i] = data[from+x*g.stride]
			from += ss
		}
		w.release(mark)
	}
	return true
}

// leastPiece is the size in bytes from which on rows are copied by assembly.
const leastPiece = 64

// wholeRows returns how many rows along the last axis, of n elements from position pos on, are whole and evenly spaced.
func (g *gatherer) wholeRows(pos, n int) int {
	last := len(g.shape) - 1
	c := g.shape[last]
	if last == 0 || pos%c != 0 {
		return 0
	}
	r := g.shape[last-1]
	return min(n/c, r-pos/c%r)
}

// gatherPieces gathers dst, the given number of whole rows from position pos on, the first from element from on by the index at.
// It reports whether all indices were in range.
func gatherPieces[E any](w *worker, g *gatherer, dst, data []E, pos, from, at, rows int) bool {
	const most = 256 // rows at once
	mark := w.mark()
	defer w.release(mark)
	last, c, size := len(g.shape)-1, len(dst)/rows, int(unsafe.Sizeof(dst[0]))
	ahead := max(4096/(c*size), 1)
	offsets := take[int](w.scratch, most+ahead)
	f := loops.Gather.Copy
	if g.stream && (uintptr(unsafe.Pointer(&dst[0]))|uintptr(c*size))%leastPiece == 0 {
		f = loops.Gather.Stream
	}
	for n := 0; rows > 0; rows -= n {
		n = min(rows, most)
		if !g.load(offsets[:n], at, g.indexStride[last-1], pos, c) {
			return false
		}
		for i, x := range offsets[:n] {
			offsets[i] = (from + x*g.stride) * size
			from += g.srcStride[last-1]
		}
		fill(offsets[n:n+ahead], offsets[n-1])
		f(unsafe.Pointer(&dst[0]), unsafe.Pointer(&data[0]), unsafe.Pointer(&offsets[0]), n, c*size, ahead)
		dst, pos, at = dst[n*c:], pos+n*c, at+n*g.indexStride[last-1]
	}
	return true
}

// copyRow reads dst from elements at, at+stride, ….
func copyRow[E any](dst, data []E, at, stride int) {
	if stride == 1 {
		copy(dst, data[at:])
		return
	}
	for i := range dst {
		dst[i] = data[at]
		at += stride
	}
}

// load reads indices, from at on and stride apart, those of the domain's positions from pos on that are step apart, and counts
// negative ones from the end. It reports whether all are in range.
func (g *gatherer) load(dst []int, at, stride, pos, step int) bool {
	switch g.index.dtype {
	case ops.Int32:
		return loadIndices[int32](g, dst, at, stride, pos, step)
	case ops.Int64:
		return loadIndices[int64](g, dst, at, stride, pos, step)
	case ops.Uint32:
		return loadIndices[uint32](g, dst, at, stride, pos, step)
	case ops.Int8:
		return loadIndices[int8](g, dst, at, stride, pos, step)
	default:
		return loadIndices[uint8](g, dst, at, stride, pos, step)
	}
}

func loadIndices[I integer](g *gatherer, dst []int, at, stride, pos, step int) bool {
	index := typed[I](g.index.mem)
	for k := range dst {
		i := int64(index[at])
		at += stride
		if i < 0 {
			i += int64(g.extent)
		}
		if uint64(i) >= uint64(g.extent) {
			g.fail(pos+k*step, int64(index[at-stride]))
			return false
		}
		dst[k] = int(i)
	}
	return true
}

// fail keeps the index at the first position that is out of range.
func (g *gatherer) fail(pos int, index int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.bad < 0 || pos < g.bad {
		g.bad, g.badness = pos, index
	}
}
