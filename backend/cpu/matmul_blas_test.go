package cpu_test

import (
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// counter is a BLAS that counts its calls.
type counter struct {
	gonum.Implementation
	calls *int
}

func (c counter) Sgemm(ta, tb blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, r []float32, ldc int) {
	*c.calls++
	c.Implementation.Sgemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, r, ldc)
}

func (c counter) Dgemm(ta, tb blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, r []float64, ldc int) {
	*c.calls++
	c.Implementation.Dgemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, r, ldc)
}

// TestMatMulPlugged takes large products to the library a program chose.
func TestMatMulPlugged(t *testing.T) {
	calls := 0
	blas32.Use(counter{calls: &calls})
	blas64.Use(counter{calls: &calls})
	defer blas32.Use(gonum.Implementation{})
	defer blas64.Use(gonum.Implementation{})
	b := device(t)
	r := rand.New(rand.NewPCG(5, 6))
	for _, d := range []ops.DType{ops.Float32, ops.Float64, ops.Float16} {
		for _, name := range []string{"dense", "transposed", "stepped", "reversed"} {
			t.Run(d.String()+"/"+name, func(t *testing.T) {
				x := operand(t, b, d, layouts(backend.Shape{2, 67, 71})[name], small(r, d))
				y := operand(t, b, d, layouts(backend.Shape{2, 71, 65})[name], small(r, d))
				calls = 0
				checkMatMul(t, x, y, matMul(t, b, x, y, backend.Dense(productShape(x, y))))
				if calls != 2 {
					t.Errorf("%d calls of the library, want 2", calls)
				}
			})
		}
	}
}
