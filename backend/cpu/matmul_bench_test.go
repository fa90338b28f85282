package cpu

import (
	"fmt"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/weft-go/weft/ops"
)

func flops(b *testing.B, n int) {
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

func ones[T term](n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = 1
	}
	return x
}

// BenchmarkProduct compares with gonum's gemm, for b as it lies and transposed.
func BenchmarkProduct(b *testing.B) {
	for _, n := range []int{64, 256, 512, 1024} {
		x, y := ones[float32](n*n), ones[float64](n*n)
		out, out64 := make([]float32, n*n), make([]float64, n*n)
		for _, tb := range []blas.Transpose{blas.NoTrans, blas.Trans} {
			row, col := 1, n
			if tb == blas.Trans {
				row, col = n, 1
			}
			b.Run(fmt.Sprintf("f32/%d/%c/weft", n, tb), func(b *testing.B) {
				c := mulCase[float32]{n, n, n, matrix[float32]{x, 0, n, 1}, matrix[float32]{x, 0, row, col}}
				for b.Loop() {
					c.product(b, kernelFor[float32](n), ops.Float32)
				}
				flops(b, 2*n*n*n)
			})
			b.Run(fmt.Sprintf("f32/%d/%c/gonum", n, tb), func(b *testing.B) {
				for b.Loop() {
					gonum.Implementation{}.Sgemm(blas.NoTrans, tb, n, n, n, 1, x, n, x, n, 0, out, n)
				}
				flops(b, 2*n*n*n)
			})
			b.Run(fmt.Sprintf("f64/%d/%c/weft", n, tb), func(b *testing.B) {
				c := mulCase[float64]{n, n, n, matrix[float64]{y, 0, n, 1}, matrix[float64]{y, 0, row, col}}
				for b.Loop() {
					c.product(b, kernelFor[float64](n), ops.Float64)
				}
				flops(b, 2*n*n*n)
			})
			b.Run(fmt.Sprintf("f64/%d/%c/gonum", n, tb), func(b *testing.B) {
				for b.Loop() {
					gonum.Implementation{}.Dgemm(blas.NoTrans, tb, n, n, n, 1, y, n, y, n, 0, out64, n)
				}
				flops(b, 2*n*n*n)
			})
		}
	}
}
