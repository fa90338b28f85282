package cpu

import (
	"runtime"
	"unsafe"

	"github.com/weft-go/weft/backend/cpu/internal/asm"
	"github.com/weft-go/weft/ops"
)

// Products with kernels in assembly. A tile of c is computed in registers from some rows of a and columns of b, for a block
// of terms; a task computes a rectangle of tiles, block by block. The rows of a block of b that a tile takes lie together:
// they are packed before, for all tasks, or are few enough to be read where they are.
const (
	stripBytes  = 32 << 10 // of the columns of a tile in a block of terms: a first-level cache
	fewBlocks   = 16       // blocks whose sums are added in the type of the terms, more in a wider one
	taskTiles   = 8        // of a task's rows: with a block of terms they fit the second-level cache
	taskCols    = 1024     // so do the sums of a task
	fewTiles    = 4        // of a task's rows: with fewer it reads the columns of b too often
	wideRows    = 4        // up to which b is read once, faster where it is
	dotTerms    = 2048     // float32 of a block of terms for dot products
	dotRows     = 48       // up to which b is not transposed, but dot products are made of its columns
	dotCols     = 128      // of a task with dot products
	passCols    = 4096     // of a task with few rows
	maxPacked   = 16 << 20 // bytes of b that are packed at a time: a part of a third-level cache
	worthThread = 1 << 18  // multiplications that a goroutine should have to do, about 5 µs
	mostTask    = 1 << 29  // multiplications of a task
)

// A blocked is a gemm under way.
type blocked[T, S term] struct {
	*gemm[T, S]
	*asm.Product
	size   int  // bytes of a T
	nr     int  // columns of a tile
	tall   int  // the most rows of a task
	dots   bool // the product is computed by dot products
	block  int  // terms of a block
	depth  int  // terms that are summed in T
	packed []T  // columns from n0 on of the right factors from batch b0 on
	b0, n0 int
	n1     int
	at     []int // bytes from the first row of a block of b to the others, where it lies
	c      []T   // the result, if tiles are written there
	off    int
	ld     int
}

// newBlocked returns p, which is not to be empty, as a product by tiles.
func newBlocked[T, S term](p *gemm[T, S]) *blocked[T, S] {
	q := &blocked[T, S]{gemm: p, Product: p.kern.tiles, size: int(unsafe.Sizeof(T(0)))}
	q.nr, q.tall = q.Tiles[0].Columns, taskTiles*q.Tiles[0].Rows
	q.cut(stripBytes/(q.nr*q.size), 8)
	return q
}

// cut divides the terms into even blocks of multiples of unit, at most as many as most.
func (q *blocked[T, S]) cut(most, unit int) {
	q.block = min(most, roundUp((q.k-1)/max(1, (q.k+most-1)/most)+1, unit))
	q.depth = fewBlocks * q.block
}

func (p *gemm[T, S]) runBlocked(j *job) error {
	if p.batch*p.m*p.n == 0 {
		return j.ctx.Err()
	}
	q := newBlocked(p)
	_, b := p.factors(0)
	if q.dots = p.m <= dotRows && p.k >= minDot && (b.fill != nil || !b.computed() && b.col == 1); q.dots {
		q.cut(dotTerms*4/q.size, ops.QuantBlock)
	}
	if p.k <= q.depth && p.k > 0 {
		q.c, q.off, q.ld = p.inResult()
	}
	s := getScratch()
	defer putScratch(s)
	if !q.dots && !b.computed() && b.row == 1 {
		q.at = take[int](s, min(q.block, p.k))
		for l := range q.at {
			q.at[l] = l * b.col * q.size
		}
	}
	return q.parts(j, s)
}

// parts computes the product in parts whose right factors are packed together.
func (q *blocked[T, S]) parts(j *job, s *scratch) error {
	q.n1 = q.n
	if !q.worthPacking() {
		return q.part(j, 0, q.batch)
	}
	one := roundUp(q.n, q.nr) * q.k * q.size
	batches := max(1, maxPacked/max(1, one))
	cols := roundUp(q.n, q.nr)
	if one > maxPacked {
		cols = maxPacked / (q.k * q.size) / q.nr * q.nr
	}
	for b0 := 0; b0 < q.batch; b0 += batches {
		b1 := min(b0+batches, q.batch)
		for n0 := 0; n0 < q.n; n0 += cols {
			mark := s.mark()
			q.b0, q.n0, q.n1 = b0, n0, min(n0+cols, q.n)
			q.packed = take[T](s, (b1-b0)*roundUp(q.n1-n0, q.nr)*q.k)
			if err := q.pack(j, b1-b0); err != nil {
				return err
			}
			if err := q.part(j, b0, b1); err != nil {
				return err
			}
			s.release(mark)
		}
	}
	return nil
}

// worthPacking reports whether the right factors should be packed before.
func (q *blocked[T, S]) worthPacking() bool {
	if q.dots || q.m <= wideRows || q.k == 0 || q.k*q.nr*q.size > maxPacked/8 {
		return false
	}
	if q.at != nil { // could be read where they are
		return q.m > 2*q.tall || q.m > 32 && q.k > fewTerms*2 && q.k*q.n*q.size > 64<<10
	}
	return q.m > q.tall
}

// pack packs columns n0 to n1 of the right factors of some batches.
func (q *blocked[T, S]) pack(j *job, batches int) error {
	const group = 4 // tiles that are packed together, so that their memory is read in longer pieces
	groups, steps := (q.n1-q.n0+group*q.nr-1)/(group*q.nr), (q.k+q.block-1)/q.block
	const worth = 1 << 14 // numbers a goroutine should pack: they are found again when the product begins
	return j.parallel(batches*groups*steps, max(1, worth/(group*q.nr*min(q.k, q.block))), func(lo, hi int) {
		w := q.worker(j.ctx)
		defer w.free()
		for t := lo; t < hi; t++ {
			batch, k0, n0 := q.b0+t/steps/groups, t%steps*q.block, q.n0+t/steps%groups*group*q.nr
			k1, n1 := min(k0+q.block, q.k), min(n0+group*q.nr, q.n1)
			_, b := q.factors(batch)
			q.packRight(w, &b, q.packed[q.packedAt(batch, n0, k0):], n0, n1, k0, k1)
		}
	})
}

// packRight packs the columns n0 to n1 of the terms k0 to k1 of b.
func (q *blocked[T, S]) packRight(w *worker, b *factor[T], dst []T, n0, n1, k0, k1 int) {
	n, k := n1-n0, k1-k0
	mark := w.mark()
	m := b.matrix
	switch {
	case b.fill != nil:
		ld := roundUp(k, 16) + 16
		m = matrix[T]{data: take[T](w.scratch, n*ld), row: ld, col: 1}
		for r := range n {
			b.fill(w, m.data[r*ld:][:k], n0+r, k0)
		}
	case b.columns != nil:
		m = matrix[T]{data: take[T](w.scratch, n*k), row: 1, col: n}
		b.columns(w, m.data, n0, n1, k0, k1)
	default:
		m.off += n0*m.row + k0*m.col
	}
	q.kern.packColumns(dst, m, n, k)
	w.release(mark)
}

// packedAt returns where the columns from n0 on begin, of the block of terms from k0 on.
func (q *blocked[T, S]) packedAt(batch, n0, k0 int) int {
	cols := roundUp(q.n1-q.n0, q.nr)
	return (batch-q.b0)*cols*q.k + k0*cols + (n0-q.n0)*(min(k0+q.block, q.k)-k0)
}

// part computes columns n0 to n1 of batches b0 to b1.
func (q *blocked[T, S]) part(j *job, b0, b1 int) error {
	n := q.n1 - q.n0
	rows, cols := q.taskSize(b1-b0, n)
	mt, nt := (q.m+rows-1)/rows, (n+cols-1)/cols
	grain := max(1, worthThread/max(1, max(rows, wideRows)*cols*q.k)) // with few rows it is the memory that takes time
	return j.parallel((b1-b0)*mt*nt, grain, func(lo, hi int) {
		w := q.worker(j.ctx)
		defer w.free()
		for t := lo; t < hi; t++ {
			m0, c0 := t/nt%mt*rows, q.n0+t%nt*cols
			mark := w.mark()
			q.task(w, b0+t/nt/mt, m0, min(m0+rows, q.m), c0, min(c0+cols, q.n1))
			w.release(mark)
		}
	})
}

// taskSize returns the size of tasks: even ones, so that each processor has a few, if there is work for them. It changes no
// result.
func (q *blocked[T, S]) taskSize(batches, n int) (rows, cols int) {
	unit, most, nr, enough, worth := q.Tiles[0].Rows, taskCols, q.nr, 4*runtime.GOMAXPROCS(0), 2*worthThread
	switch {
	case q.dots:
		unit, most, nr = q.m, dotCols, 8
	case q.m <= wideRows:
		unit, nr, most, enough = q.m, passColumns, passCols, enough/4
	}
	even := func(n, most, unit int) int { return min(most, roundUp((n-1)/((n-1)/most+1)+1, unit)) }
	rows, cols = even(q.m, max(unit, q.tall), unit), even(n, most, nr)
	for rows*cols*q.k > mostTask || batches*((q.m+rows-1)/rows)*((n+cols-1)/cols) < enough && rows*cols*q.k > worth {
		switch {
		case q.packed != nil && rows > fewTiles*unit: // each task brings its rows in order, for all of its columns
			rows = roundUp(rows/2, unit)
		case cols > rows && cols >= 2*nr:
			cols = roundUp(cols/2, nr)
		case rows > 2*unit:
			rows = roundUp(rows/2, unit)
		default:
			return rows, cols
		}
	}
	return rows, cols
}

// task computes rows m0 to m1 and columns n0 to n1 of the product of one batch.
func (q *blocked[T, S]) task(w *worker, batch, m0, m1, n0, n1 int) {
	m, n := m1-m0, n1-n0
	a, b := q.factors(batch)
	if q.c != nil {
		at := q.off + (batch*q.m+m0)*q.ld + n0
		for k0 := 0; k0 < q.k; k0 += q.block {
			q.blockOf(w, &a, &b, batch, m0, m1, n0, n1, k0, min(k0+q.block, q.k), q.c[at:], q.ld, k0)
		}
		return
	}
	c := take[T](w.scratch, m*n)
	if q.k <= q.depth {
		if q.k == 0 {
			clear(c)
		}
		for k0 := 0; k0 < q.k; k0 += q.block {
			q.blockOf(w, &a, &b, batch, m0, m1, n0, n1, k0, min(k0+q.block, q.k), c, n, k0)
		}
		emitTile(q.gemm, w, batch, m0, n0, n1, c, n)
		return
	}
	sums := take[S](w.scratch, m*n)
	clear(sums)
	for d := 0; d < q.k; d += q.depth {
		for k0 := d; k0 < min(d+q.depth, q.k); k0 += q.block {
			q.blockOf(w, &a, &b, batch, m0, m1, n0, n1, k0, min(k0+q.block, q.k), c, n, k0-d)
		}
		addTo(sums, c)
	}
	emitTile(q.gemm, w, batch, m0, n0, n1, sums, n)
}

// blockOf sets c to the sums of the terms k0 to k1, or with add ≠ 0 adds them.
func (q *blocked[T, S]) blockOf(w *worker, a, b *factor[T], batch, m0, m1, n0, n1, k0, k1 int, c []T, ldc, add int) {
	if k0 > 0 {
		look(w.ctx)
	}
	mark := w.mark()
	m, n, k := m1-m0, n1-n0, k1-k0
	x, row, col := q.left(w, a, m0, m1, k0, k1, n)
	t := tiling{Product: q.Product, k: k, row: row, col: col, ldc: ldc, add: add, size: q.size}
	t.a, t.c = unsafe.Pointer(&x[0]), unsafe.Pointer(&c[0])
	switch {
	case q.dots && b.dot != nil && m == 1:
		for j := range n {
			b.dot(unsafe.Add(t.c, j*q.size), t.a, n0+j, k0, k, add)
		}
		w.release(mark)
		return
	case q.dots && b.fill != nil: // a few columns at a time, which stay in the first-level cache
		ld := roundUp(k, 16)
		y := take[T](w.scratch, dotColumns*ld)
		t.b, t.group = unsafe.Pointer(&y[0]), ld
		first := t.c
		for j := 0; j < n; j += dotColumns {
			some := min(n-j, dotColumns)
			t.c = unsafe.Add(first, j*q.size)
			for r := range some {
				b.fill(w, y[r*ld:][:k], n0+j+r, k0)
			}
			t.runDots(m, some)
		}
		w.release(mark)
		return
	case q.dots:
		t.b, t.group = unsafe.Pointer(&b.data[b.off+n0*b.row+k0]), b.row
		t.runDots(m, n)
		w.release(mark)
		return
	case q.packed != nil:
		t.b, t.group, t.at = unsafe.Pointer(&q.packed[q.packedAt(batch, n0, k0)]), k*q.nr*q.size, q.kern.packedAt
	case q.at != nil:
		t.b, t.group, t.at = unsafe.Pointer(&b.data[b.off+n0+k0*b.col]), q.nr*q.size, q.at
		if m <= wideRows && n >= passColumns {
			t.room = unsafe.Pointer(unsafe.SliceData(take[T](w.scratch, m*n)))
		}
	default:
		y := take[T](w.scratch, roundUp(n, q.nr)*k)
		q.packRight(w, b, y, n0, n1, k0, k1)
		t.b, t.group, t.at = unsafe.Pointer(&y[0]), k*q.nr*q.size, q.kern.packedAt
	}
	t.run(m, n)
	w.release(mark)
}

// left returns rows r0 to r1 of the terms k0 to k1 of a, and the distances of its rows and columns: where they are if they
// lie well for n columns of tiles, else a copy.
func (q *blocked[T, S]) left(w *worker, a *factor[T], r0, r1, k0, k1, n int) (x []T, row, col int) {
	h, k := r1-r0, k1-k0
	if !a.computed() {
		few := n <= 2*q.nr || h <= wideRows
		if a.col == 1 && (few || q.dots || !q.crowded(a.row)) || !q.dots && (a.row == 1 && few || h == 1) {
			return a.data[a.off+r0*a.row+k0*a.col:], a.row, a.col
		}
	}
	if a.columns != nil && a.fill == nil && !q.dots {
		x = take[T](w.scratch, h*k)
		a.columns(w, x, r0, r1, k0, k1)
		return x, 1, h
	}
	if !a.computed() && a.row == 1 && !q.dots {
		x = take[T](w.scratch, h*k)
		for l := range k {
			copy(x[l*h:(l+1)*h], a.data[a.off+r0+(k0+l)*a.col:])
		}
		return x, 1, h
	}
	ld := roundUp(k, 16) + 16
	x = take[T](w.scratch, h*ld)
	a.pack(w, x, 1, ld, r0, r1, k0, k1)
	return x, ld, 1
}

// crowded reports whether rows that many numbers apart fall into few sets of a cache, so that a dozen of them, read side by
// side, push one another out.
func (q *blocked[T, S]) crowded(row int) bool {
	const apart = 512 // bytes
	return row*q.size%apart == 0
}

// inResult returns the memory of the result, the place of its first element and the distance of its rows, if tiles may be
// written there: if post only stores them, and the elements of a row lie together.
func (p *gemm[T, S]) inResult() (c []T, off, ld int) {
	b := p.post
	e := b.plan.expr
	if p.acc.IsHalf() || !isNative[T](p.acc) || len(e.Out) != 1 || b.out[0].given || b.out[0].held {
		return nil, 0, 0
	}
	if v := &e.Code[e.Out[0]]; v.Kind != ops.Load || v.Args[0] != 0 {
		return nil, 0, 0
	}
	v := &b.out[0].view
	switch {
	case len(v.shape) == 1 && (v.strides[0] == 1 || v.shape[0] == 1):
		return typed[T](b.out[0].mem), v.offset, p.n
	case len(v.shape) == 2 && v.strides[1] == 1 && v.shape[1] == p.n && v.strides[0] > 0:
		return typed[T](b.out[0].mem), v.offset, v.strides[0]
	}
	return nil, 0, 0
}
