package cpu

import (
	"runtime"

	"github.com/weft-go/weft/backend/cpu/internal/asm"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// A term is a number of a type that products are summed in: float32 for the 16-bit floats too, int32 for
// the narrow integers, whose sums wrap when they are stored, and for Bool, whose sums count.
type term interface {
	float32 | float64 | int32 | int64
}

// A gemmKernel multiplies panels that are in cache. Both factors lie with k along their rows (the right
// one is transposed), in groups of mr and nr rows: element (i, k) of the left one is at
// (i/mr)·lda + k·mr + i%mr, so that with mr = 1 a row is contiguous and its matrix may be used in place.
type gemmKernel[T term] struct {
	mr, nr int

	// mul sets c[i·ldc+j] = Σ_k a(i, k)·b(j, k) for i < m and j < n, with k > 0. Each sum depends on its
	// two rows and on j%4 alone, so that how a product is cut into tiles changes no bit.
	mul func(m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int)

	// mulRows is mul for b with its columns, not its rows, together, and a with mr = 1: element b(j, k) is at
	// k·ldb+j, ldb ≥ n. Each sum depends on its row of a and column of b, and on j%4.
	mulRows func(m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int)

	// tiles are the kernels in assembly, if there are: then the others are nil, see [gemm.runBlocked]. packedAt are the bytes
	// from the first row of a packed block of the right factor to the others.
	tiles    *asm.Product
	packedAt []int

	// depth is the greatest k of one call of mul. Longer sums are made of blocks of depth, added in a wider
	// type.
	depth int
}

const (
	rowDepth    = 128 // the depth of mulRows, which adds in one lane
	columnBlock = 16  // columns of c that mul computes at a time: as many rows of b fit L1
	minDot      = 16  // the least k from which a dot product costs more than its call
)

var portableKernels = struct {
	f32 gemmKernel[float32]
	f64 gemmKernel[float64]
	i32 gemmKernel[int32]
	i64 gemmKernel[int64]
}{
	f32: gemmKernel[float32]{mr: 2, nr: 4, mul: mulPortable[float32], mulRows: mulRowsPortable[float32], depth: 256},
	f64: gemmKernel[float64]{mr: 2, nr: 4, mul: mulPortable[float64], mulRows: mulRowsPortable[float64], depth: 256},
	i32: gemmKernel[int32]{mr: 2, nr: 4, mul: mulPortable[int32], mulRows: mulRowsPortable[int32], depth: 256},
	i64: gemmKernel[int64]{mr: 2, nr: 4, mul: mulPortable[int64], mulRows: mulRowsPortable[int64], depth: 256},
}

// Gonum has assembly for dot products and matrix-vector products on amd64 alone. There they run at 20 and 14
// GFLOP/s, the portable kernel at 4.
var (
	dotKernel  = gemmKernel[float32]{mr: 1, nr: 1, mul: mulDot, mulRows: mulAxpy, depth: 512}
	gemvKernel = gemmKernel[float64]{mr: 1, nr: 1, mul: mulGemv, mulRows: mulGemvT, depth: 256}
)

// kernelFor returns the kernel for products of k terms in T.
func kernelFor[T term](k int) *gemmKernel[T] {
	var kern any
	switch any(T(0)).(type) {
	case float32:
		kern = &portableKernels.f32
		if microKernel32 != nil {
			kern = microKernel32
		}
		if runtime.GOARCH == "amd64" && k >= minDot {
			kern = &dotKernel
		}
	case float64:
		kern = &portableKernels.f64
		if microKernel64 != nil {
			kern = microKernel64
		}
		if runtime.GOARCH == "amd64" && k >= minDot {
			kern = &gemvKernel
		}
	case int32:
		kern = &portableKernels.i32
	case int64:
		kern = &portableKernels.i64
	}
	return kern.(*gemmKernel[T])
}

// mulDot computes a row of c at a time by gonum's matrix-vector product, which is a dot product for each
// row of b. The assembly sums in eight lanes that begin at a multiple of 16 bytes of a: the packing sees to
// it that each row begins at one.
func mulDot(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
	var impl gonum.Implementation
	for j0 := 0; j0 < n; j0 += columnBlock {
		j1 := min(j0+columnBlock, n)
		for i := range m {
			row := c[i*ldc+j0 : i*ldc+j1]
			impl.Sgemv(blas.NoTrans, j1-j0, k, 1, b[j0*ldb:(j1-1)*ldb+k], ldb, a[i*lda:i*lda+k], 1, 0, row, 1)
		}
	}
}

// mulGemv is mulDot for float64, whose assembly takes four rows of b together.
func mulGemv(m, n, k int, a []float64, lda int, b []float64, ldb int, c []float64, ldc int) {
	var impl gonum.Implementation
	for j0 := 0; j0 < n; j0 += columnBlock {
		j1 := min(j0+columnBlock, n)
		for i := range m {
			row := c[i*ldc+j0 : i*ldc+j1]
			clear(row) // Dgemv multiplies the old content by beta, NaN or not
			impl.Dgemv(blas.NoTrans, j1-j0, k, 1, b[j0*ldb:(j1-1)*ldb+k], ldb, a[i*lda:i*lda+k], 1, 0, row, 1)
		}
	}
}

// mulPortable keeps 2 rows by 4 columns of c in registers: all that the 15 floating-point registers Go has
// on amd64 hold together with the operands.
func mulPortable[T term](m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int) {
	for j := 0; j < n; j += 4 {
		for i := 0; i < m; i += 2 {
			acc := mul2x4(a[i/2*lda:i/2*lda+2*k], b[j/4*ldb:j/4*ldb+4*k])
			w := min(4, n-j)
			copy(c[i*ldc+j:i*ldc+j+w], acc[0][:])
			if i+1 < m {
				copy(c[(i+1)*ldc+j:(i+1)*ldc+j+w], acc[1][:])
			}
		}
	}
}

func mul2x4[T term](a, b []T) [2][4]T {
	var c00, c01, c02, c03, c10, c11, c12, c13 T
	for len(a) >= 2 && len(b) >= 4 {
		b0, b1, b2, b3 := b[0], b[1], b[2], b[3]
		x := a[0]
		c00 += x * b0
		c01 += x * b1
		c02 += x * b2
		c03 += x * b3
		x = a[1]
		c10 += x * b0
		c11 += x * b1
		c12 += x * b2
		c13 += x * b3
		a, b = a[2:], b[4:]
	}
	return [2][4]T{{c00, c01, c02, c03}, {c10, c11, c12, c13}}
}

// mulAxpy adds multiples of rows of b. Unlike gonum's gemm, its Sgemv skips no zero.
func mulAxpy(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
	var impl gonum.Implementation
	for i := range m {
		impl.Sgemv(blas.Trans, k, n, 1, b[:(k-1)*ldb+n], ldb, a[i*lda:i*lda+k], 1, 0, c[i*ldc:i*ldc+n], 1)
	}
}

// mulGemvT is mulAxpy for float64, whose assembly takes four rows of b together.
func mulGemvT(m, n, k int, a []float64, lda int, b []float64, ldb int, c []float64, ldc int) {
	var impl gonum.Implementation
	for i := range m {
		row := c[i*ldc : i*ldc+n]
		clear(row)
		impl.Dgemv(blas.Trans, k, n, 1, b[:(k-1)*ldb+n], ldb, a[i*lda:i*lda+k], 1, 1, row, 1)
	}
}

// mulRowsPortable adds multiples of four rows of b at a time.
func mulRowsPortable[T term](m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int) {
	for i := range m {
		row, x := c[i*ldc:i*ldc+n], a[i*lda:i*lda+k]
		clear(row)
		y := b
		for ; len(x) >= 4; x = x[4:] {
			b0, b1, b2, b3 := y[:n], y[ldb:][:n], y[2*ldb:][:n], y[3*ldb:][:n]
			for j := range row {
				row[j] += (x[0]*b0[j] + x[1]*b1[j]) + (x[2]*b2[j] + x[3]*b3[j])
			}
			y = y[min(4*ldb, len(y)):]
		}
		for _, v := range x {
			for j, u := range y[:n] {
				row[j] += v * u
			}
			y = y[min(ldb, len(y)):]
		}
	}
}
