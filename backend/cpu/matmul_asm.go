package cpu

import (
	"unsafe"

	"github.com/weft-go/weft/backend/cpu/internal/asm"
)

// assembled returns the kernel over the tiles of p, or nil if there is none. It reads the rows of a where they lie. Of b it
// takes groups of p.Columns columns, packed, or in place where the columns lie side by side.
func assembled[T float32 | float64](p asm.Product, rest gemmKernel[T]) *gemmKernel[T] {
	if len(p.Tiles) == 0 {
		return nil
	}
	strided := func(m, n, k int, a []T, lda int, b []T, group, ldb int, c []T, ldc int) {
		for j := 0; j < n; j += p.Columns {
			y := unsafe.Pointer(&b[j/p.Columns*group])
			i := 0
			for _, t := range p.Tiles {
				for ; i+t.Rows <= m; i += t.Rows {
					t.Mul(unsafe.Pointer(&c[i*ldc+j]), unsafe.Pointer(&a[i*lda]), y, k, lda, ldb, ldc)
				}
			}
		}
	}
	return &gemmKernel[T]{
		mr: 1, nr: p.Columns, depth: 512,
		mul: func(m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int) {
			strided(m, n, k, a, lda, b, ldb, p.Columns, c, ldc)
		},
		mulRows: rest.mulRows,
		strided: strided,
		rows:    p.Tiles[0].Rows,
		columns: p.Columns,
	}
}

var tileKernel32, tileKernel64 = tileKernels(instructions)

// tileKernels returns the kernels for products of matrices of an instruction set, nil if it has none.
func tileKernels(s asm.Set) (*gemmKernel[float32], *gemmKernel[float64]) {
	l := s.Loops()
	if l == nil {
		return nil, nil
	}
	return assembled(l.ProductFloat32, dotKernel), assembled(l.ProductFloat64, gemvKernel)
}

// productKernel returns the kernel for products of m rows and n columns of k terms. It must not depend on how the product is
// cut into tiles.
func productKernel[T term](m, n, k int) *gemmKernel[T] {
	if n == 1 {
		m = n // see run
	}
	if m > fewRows {
		for _, kern := range [...]any{tileKernel32, tileKernel64} {
			if k, _ := kern.(*gemmKernel[T]); k != nil {
				return k
			}
		}
	}
	return kernelFor[T](k)
}

// addTo adds a block's sums, of a type not wider than S, to those of the blocks before.
func addTo[T, S term](sums []S, c []T) {
	if l := instructions.Loops(); l != nil && len(c) > 0 {
		switch s := any(sums).(type) {
		case []float64:
			to := unsafe.Pointer(unsafe.SliceData(s))
			switch c := any(c).(type) {
			case []float32:
				l.Float32.SumLines(to, unsafe.Pointer(unsafe.SliceData(c)), len(c), 1, len(c))
				return
			case []float64:
				l.Float64.SumLines(to, unsafe.Pointer(unsafe.SliceData(c)), len(c), 1, len(c))
				return
			}
		}
	}
	for i, v := range c {
		sums[i] += S(v)
	}
}
