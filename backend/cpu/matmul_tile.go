package cpu

import (
	"context"
	"runtime"
	"unsafe"

	"github.com/weft-go/weft/ops"
)

// A gemm is a batch of matrix products c = a·bᵀ, computed in tiles by all processors. Terms are of
// type T, and sums of more than one block in S: float64 for float32, so that the error does not grow with
// k, and int64 for the counts of Bool.
type gemm[T, S term] struct {
	batch, m, n, k int
	kern           *gemmKernel[T]
	factors        func(batch int) (a, b factor[T]) // of m and n rows, with k along them

	// post takes the elements of c, rounded to acc, as operand 0. Its domain is all of c, batch by batch
	// in row-major order.
	acc  ops.DType
	post *binding

	a, b *binding // what the factors' fill runs, or nil
}

// A worker is what one goroutine needs to compute tiles.
type worker struct {
	*scratch
	ctx        context.Context // of the run
	work       int             // elements since the last look
	a, b, post *frame
	halves     [maxLone]float32 // operands of post that were given, if they are of half precision
}

// Tiles of c: a tile's sums, its packed factors and what they are read from fit L2.
const (
	tileRows, tileCols = 128, 128
	minTile            = 16 // what tiles are cut down to, for more processors to have one
	fewRows            = 4  // up to which packing the right factor costs more than it saves
	fewCols            = 1024
	fewTerms           = 32 // up to which patches are made faster term by term than window by window
)

// run computes the product.
func (p *gemm[T, S]) run(j *job) error {
	if p.n == 1 && p.m > 1 { // a column is a row: c has the same elements at the same positions
		f := p.factors
		p.factors = func(batch int) (factor[T], factor[T]) {
			a, b := f(batch)
			return b, a
		}
		p.m, p.n = p.n, p.m
	}
	if f := pluggedGemm[T](); f != nil && p.batch*p.m*p.n*p.k > 0 && p.m*p.n*p.k >= minPlugged {
		return p.runPlugged(j, f)
	}
	if p.kern.tiles != nil {
		return p.runBlocked(j)
	}
	rows, cols := p.tiling()
	mt, nt := (p.m+rows-1)/rows, (p.n+cols-1)/cols
	const worth = 1 << 15 // terms: what a goroutine should have to do, about 5 µs
	grain := max(1, worth/max(1, rows*cols*p.k))
	return j.parallel(p.batch*mt*nt, grain, func(lo, hi int) {
		w := p.worker(j.ctx)
		defer w.free()
		for t := lo; t < hi; t++ {
			m0, n0 := t/nt%mt*rows, t%nt*cols
			mark := w.mark()
			p.tile(w, t/nt/mt, m0, min(m0+rows, p.m), n0, min(n0+cols, p.n))
			w.release(mark)
		}
	})
}

// newWorker returns a worker for a run under ctx, to be freed after use.
func newWorker(ctx context.Context, post *binding) *worker {
	w := &worker{scratch: getScratch(), ctx: ctx, post: post.frame()}
	w.post.begin(blockLen)
	return w
}

// worked counts n elements, and looks once there are many.
func (w *worker) worked(n int) {
	if w.work += n; w.work >= between {
		w.work = 0
		look(w.ctx)
	}
}

func (p *gemm[T, S]) worker(ctx context.Context) *worker {
	w := newWorker(ctx, p.post)
	if p.a != nil {
		w.a = p.a.frame()
		w.a.begin(blockLen)
	}
	if p.b != nil {
		w.b = p.b.frame()
		w.b.begin(blockLen)
	}
	return w
}

func (w *worker) free() {
	for _, f := range [...]*frame{w.a, w.b, w.post} {
		if f != nil {
			f.free()
		}
	}
	putScratch(w.scratch)
}

// tiling returns the size of tiles: small enough for each processor to have a few, if there is work for
// them. It changes no result.
func (p *gemm[T, S]) tiling() (rows, cols int) {
	rows, cols = min(tileRows, roundUp(p.m, 8)), min(tileCols, roundUp(p.n, 8))
	if p.m <= fewRows {
		cols = min(fewCols, roundUp(p.n, 8))
	}
	const worth = 1 << 17
	enough := 4 * runtime.GOMAXPROCS(0)
	for p.batch*((p.m+rows-1)/rows)*((p.n+cols-1)/cols) < enough && rows*cols*p.k > worth {
		switch {
		case cols >= rows && cols > minTile:
			cols = roundUp(cols/2, 8)
		case rows > minTile:
			rows = roundUp(rows/2, 8)
		default:
			return rows, cols
		}
	}
	return rows, cols
}

// roundUp returns the multiple of unit that is not less than n, nor 0.
func roundUp(n, unit int) int { return max(1, (n+unit-1)/unit) * unit }

// tile computes rows m0 to m1 and columns n0 to n1 of the product of one batch.
func (p *gemm[T, S]) tile(w *worker, batch, m0, m1, n0, n1 int) {
	m, ldc := m1-m0, n1-n0
	c := take[T](w.scratch, m*ldc)
	a, b := p.factors(batch)
	depth := p.kern.depth
	if p.byColumns(&b) {
		depth = min(depth, rowDepth)
	}
	if p.k <= depth {
		if p.k == 0 {
			clear(c)
		} else {
			p.block(w, &a, &b, m0, m1, n0, n1, 0, p.k, c, ldc)
		}
		emitTile(p, w, batch, m0, n0, n1, c, ldc)
		return
	}
	sums := take[S](w.scratch, m*ldc)
	clear(sums)
	for k0 := 0; k0 < p.k; k0 += depth {
		look(w.ctx)
		p.block(w, &a, &b, m0, m1, n0, n1, k0, min(k0+depth, p.k), c, ldc)
		addTo(sums, c)
	}
	emitTile(p, w, batch, m0, n0, n1, sums, ldc)
}

// block sets c to the sums of the terms k0 to k1.
func (p *gemm[T, S]) block(w *worker, a, b *factor[T], m0, m1, n0, n1, k0, k1 int, c []T, ldc int) {
	mark := w.mark()
	defer w.release(mark)
	m, n, k := m1-m0, n1-n0, k1-k0
	if p.byColumns(b) {
		x, lda := p.panel(w, a, 1, false, m0, m1, k0, k1)
		y, ldb := b.data, b.col
		if b.columns == nil {
			y = y[b.off+n0+k0*b.col:]
		} else {
			y, ldb = take[T](w.scratch, k*n), n
			b.columns(w, y, n0, n1, k0, k1)
		}
		p.kern.mulRows(m, n, k, x, lda, y, ldb, c, ldc)
		return
	}
	x, lda := p.panel(w, a, p.kern.mr, true, m0, m1, k0, k1)
	y, ldb := p.panel(w, b, p.kern.nr, false, n0, n1, k0, k1)
	p.kern.mul(m, n, k, x, lda, y, ldb, c, ldc)
}

// byColumns reports whether it is quicker to sum rows of c than elements. That must not depend on the tile.
func (p *gemm[T, S]) byColumns(b *factor[T]) bool {
	switch {
	case b.columns != nil:
		return p.m <= fewRows || p.k <= fewTerms
	case !b.computed() && b.row == 1 && b.col >= p.n:
		return p.m <= fewRows || p.k < minDot
	}
	return false
}

// panel returns a part of f as the kernel reads it, in place if that can be.
func (p *gemm[T, S]) panel(w *worker, f *factor[T], group int, aligned bool, r0, r1, k0, k1 int) (x []T, ld int) {
	if f.inPlace(group, p.k, aligned) {
		return f.data[f.off+r0*f.row+k0:], f.row
	}
	if ld = (k1 - k0) * group; group == 1 {
		ld = roundUp(ld, 4) // rows begin at vectors
	}
	x = take[T](w.scratch, (r1-r0+group-1)/group*ld)
	f.pack(w, x, group, ld, r0, r1, k0, k1)
	return x, ld
}

// emitTile hands the rows of a tile to post: c[i·ldc+j] is row m0+i and column n0+j, before n1.
func emitTile[T, S, X term](p *gemm[T, S], w *worker, batch, m0, n0, n1 int, c []X, ldc int) {
	size := regSize(p.acc)
	vals := bytesOf(c)
	if !isNative[X](p.acc) || p.acc.IsHalf() {
		vals = take[uint8](w.scratch, len(c)*size)
		round(vals, p.acc, c)
	}
	at := (batch*p.m+m0)*p.n + n0
	n := n1 - n0
	if ldc == p.n { // the rows follow each other
		w.emit(at, len(c), vals)
		return
	}
	for i := range len(c) / ldc {
		w.emit(at+i*p.n, n, vals[i*ldc*size:])
	}
}

// emit runs post for n elements from position at on, with vals as operand 0. It may change vals.
func (w *worker) emit(at, n int, vals []byte) {
	size := regSize(w.post.in[0].dtype)
	piecewise(w.ctx, n, func(lo, hi int) {
		w.post.give(0, unsafe.Pointer(unsafe.SliceData(vals[lo*size:])))
		w.post.run(at+lo, hi-lo)
	})
}
