package benchmarks

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/weft-go/weft/tensor"
)

// BenchmarkReduce reduces a vector to a number.
func BenchmarkReduce(b *testing.B) {
	vector := length(b)
	x, _, xs := input(b, 1, vector)
	_, std := stat.PopMeanStdDev(xs, nil)
	for _, c := range []struct {
		name  string
		op    func(*tensor.Tensor) *tensor.Tensor
		want  float64
		gonum func()
	}{
		{"Sum", func(t *tensor.Tensor) *tensor.Tensor { return t.Sum() }, floats.Sum(xs), func() { floats.Sum(xs) }},
		{"Max", func(t *tensor.Tensor) *tensor.Tensor { return t.Max() }, floats.Max(xs), func() { floats.Max(xs) }},
		{"ArgMax", func(t *tensor.Tensor) *tensor.Tensor { return t.ArgMax() }, float64(floats.MaxIdx(xs)), func() { floats.MaxIdx(xs) }},
		{"Mean", func(t *tensor.Tensor) *tensor.Tensor { return t.Mean() }, stat.Mean(xs, nil), func() { stat.Mean(xs, nil) }},
		{"Var", func(t *tensor.Tensor) *tensor.Tensor { return t.Var() }, std * std, func() { stat.PopVariance(xs, nil) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			weft(b, 4*vector, []float64{c.want}, 1e-5, func() *tensor.Tensor { return c.op(x) })
			peer(b, "gonum", 8*vector, c.gonum)
		})
	}
}

const side = 4096

// BenchmarkSumAxis sums the rows and the columns of a matrix.
func BenchmarkSumAxis(b *testing.B) {
	x, _, xs := input(b, 1, side*side)
	m := x.Reshape(side, side)
	for axis, name := range []string{"Columns", "Rows"} {
		want := make([]float64, side)
		for i, v := range xs {
			if axis == 0 {
				want[i%side] += v
			} else {
				want[i/side] += v
			}
		}
		b.Run(name, func(b *testing.B) {
			weft(b, 4*side*side, want, 1e-5, func() *tensor.Tensor { return m.Sum(axis) })
			sums := make([]float64, side)
			peer(b, "gonum", 8*side*side, func() {
				for r := range side {
					if row := xs[r*side : (r+1)*side]; axis == 0 {
						floats.Add(sums, row)
					} else {
						sums[r] = floats.Sum(row)
					}
				}
			})
		})
	}
}

// BenchmarkCumSum scans a vector, and a matrix along each axis.
func BenchmarkCumSum(b *testing.B) {
	x, _, xs := input(b, 1, side*side)
	m := x.Reshape(side, side)
	dst := make([]float64, len(xs))
	b.Run("Vector", func(b *testing.B) {
		weft(b, 8*len(xs), floats.CumSum(make([]float64, len(xs)), xs), 1e-4, func() *tensor.Tensor { return x.CumSum(0) })
		peer(b, "gonum", 16*len(xs), func() { floats.CumSum(dst, xs) })
	})
	rows := make([]float64, len(xs))
	for r := range side {
		floats.CumSum(rows[r*side:(r+1)*side], xs[r*side:(r+1)*side])
	}
	b.Run("Rows", func(b *testing.B) {
		weft(b, 8*len(xs), rows, 1e-5, func() *tensor.Tensor { return m.CumSum(1) })
		peer(b, "gonum", 16*len(xs), func() {
			for r := range side {
				floats.CumSum(dst[r*side:(r+1)*side], xs[r*side:(r+1)*side])
			}
		})
	})
	columns := append([]float64(nil), xs...)
	for i := side; i < len(columns); i++ {
		columns[i] += columns[i-side]
	}
	b.Run("Columns", func(b *testing.B) {
		weft(b, 8*len(xs), columns, 1e-5, func() *tensor.Tensor { return m.CumSum(0) })
	})
}

// BenchmarkSoftmax is softmax of the rows of a matrix of 4096×1024, one kernel.
func BenchmarkSoftmax(b *testing.B) {
	const rows, cols = 4096, 1024
	x, _, xs := input(b, 1, rows*cols)
	want := make([]float64, len(xs))
	loop := func() {
		for r := range rows {
			in, out := xs[r*cols:(r+1)*cols], want[r*cols:(r+1)*cols]
			top := floats.Max(in)
			for i, v := range in {
				out[i] = math.Exp(v - top)
			}
			floats.Scale(1/floats.Sum(out), out)
		}
	}
	loop()
	m := x.Reshape(rows, cols)
	weft(b, 8*rows*cols, want, 1e-5, func() *tensor.Tensor { return m.Softmax(-1) })
	peer(b, "gonum", 16*rows*cols, loop)
}

// BenchmarkLayerNorm normalises the rows of a matrix of 4096×1024, one kernel.
func BenchmarkLayerNorm(b *testing.B) {
	const rows, cols = 4096, 1024
	x, _, xs := input(b, 1, rows*cols)
	weight, bias := tensor.Ones(tensor.Float32, cols), tensor.Zeros(tensor.Float32, cols)
	want := make([]float64, len(xs))
	loop := func() {
		for r := range rows {
			in, out := xs[r*cols:(r+1)*cols], want[r*cols:(r+1)*cols]
			mean, std := stat.PopMeanStdDev(in, nil)
			for i, v := range in {
				out[i] = (v - mean) / math.Sqrt(std*std+1e-5)
			}
		}
	}
	loop()
	m := x.Reshape(rows, cols)
	weft(b, 8*rows*cols, want, 1e-5, func() *tensor.Tensor { return m.LayerNorm(weight, bias, 1e-5) })
	peer(b, "gonum", 16*rows*cols, loop)
}
