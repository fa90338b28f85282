package cpu

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"
)

// A gemmFunc is blas.Float32's Sgemm or blas.Float64's Dgemm.
type gemmFunc[T term] func(ta, tb blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int)

// pluggedGemm returns the matrix product of the library that the program chose with blas32.Use or
// blas64.Use, or nil if it chose none: gonum's own is slower than this package, and skips zeros, by which
// it loses the NaN of 0·Inf.
func pluggedGemm[T term]() gemmFunc[T] {
	var f any
	switch any(T(0)).(type) {
	case float32:
		if impl := blas32.Implementation(); impl != blas.Float32(gonum.Implementation{}) {
			f = gemmFunc[float32](impl.Sgemm)
		}
	case float64:
		if impl := blas64.Implementation(); impl != blas.Float64(gonum.Implementation{}) {
			f = gemmFunc[float64](impl.Dgemm)
		}
	}
	if f == nil {
		return nil
	}
	return f.(gemmFunc[T])
}

const (
	minPlugged = 1 << 18 // terms from which a call of a library pays: 64·64·64
	plugRows   = 1 << 22 // elements of c that are computed before post takes them
)

// runPlugged computes the product by f, batch by batch, with as many threads as the library takes.
func (p *gemm[T, S]) runPlugged(j *job, f gemmFunc[T]) error {
	w := p.worker(j.ctx)
	defer w.free()
	rows := min(p.m, max(1, plugRows/p.n))
	for t := range p.batch {
		a, b := p.factors(t)
		for m0 := 0; m0 < p.m; m0 += rows {
			if err := j.ctx.Err(); err != nil {
				return err
			}
			mark := w.mark()
			m := min(rows, p.m-m0)
			c := take[T](w.scratch, m*p.n)
			ta, x, lda := p.blasFactor(w, &a, m0, m0+m)
			tb, y, ldb := p.blasFactor(w, &b, 0, p.n) // with k along its rows: not as BLAS has it
			f(ta, flip(tb), m, p.n, p.k, 1, x, lda, y, ldb, 0, c, p.n)
			emitTile(p, w, t, m0, 0, p.n, c, p.n)
			w.release(mark)
		}
	}
	return nil
}

// blasFactor returns rows r0 to r1 of f as BLAS takes a matrix, in place if that can be.
func (p *gemm[T, S]) blasFactor(w *worker, f *factor[T], r0, r1 int) (trans blas.Transpose, x []T, ld int) {
	switch {
	case f.computed():
	case f.col == 1 && f.row >= p.k:
		return blas.NoTrans, f.data[f.off+r0*f.row:], f.row
	case f.row == 1 && f.col >= r1-r0:
		return blas.Trans, f.data[f.off+r0:], f.col
	}
	x = take[T](w.scratch, (r1-r0)*p.k)
	f.pack(w, x, 1, p.k, r0, r1, 0, p.k)
	return blas.NoTrans, x, p.k
}

func flip(t blas.Transpose) blas.Transpose {
	if t == blas.NoTrans {
		return blas.Trans
	}
	return blas.NoTrans
}
