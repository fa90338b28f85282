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
	n, name := vector(b)
	x, _, xs := input(b, 1, n)
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
		b.Run(c.name+"/"+name, func(b *testing.B) {
			weft(b, 4*n, []float64{c.want}, 1e-5, func() *tensor.Tensor { return c.op(x) })
			peer(b, "gonum", 8*n, c.gonum)
		})
	}
}

// BenchmarkReduceAxis reduces the columns and the rows of a matrix.
func BenchmarkReduceAxis(b *testing.B) {
	side, name := matrix(b)
	x, _, xs := input(b, 1, side*side)
	m := x.Reshape(side, side)
	column := func(j int) []float64 {
		v := make([]float64, side)
		for i := range v {
			v[i] = xs[i*side+j]
		}
		return v
	}
	row := func(i int) []float64 { return xs[i*side : (i+1)*side] }
	variance := func(v []float64) float64 { return stat.PopVariance(v, nil) }
	for _, c := range []struct {
		name string
		op   func() *tensor.Tensor
		want func(i int) float64
	}{
		{"SumColumns", func() *tensor.Tensor { return m.Sum(0) }, func(j int) float64 { return floats.Sum(column(j)) }},
		{"SumRows", func() *tensor.Tensor { return m.Sum(1) }, func(i int) float64 { return floats.Sum(row(i)) }},
		{"MaxRows", func() *tensor.Tensor { return m.Max(1) }, func(i int) float64 { return floats.Max(row(i)) }},
		{"VarColumns", func() *tensor.Tensor { return m.Var(0) }, func(j int) float64 { return variance(column(j)) }},
		{"VarRows", func() *tensor.Tensor { return m.Var(1) }, func(i int) float64 { return variance(row(i)) }},
	} {
		b.Run(c.name+"/"+name, func(b *testing.B) { sampled(b, 4*side*side, 1e-5, c.want, c.op) })
	}
}

// BenchmarkCumSum scans a vector, and a matrix along each axis.
func BenchmarkCumSum(b *testing.B) {
	n, name := vector(b)
	v, _, vs := input(b, 1, n)
	b.Run("Vector/"+name, func(b *testing.B) {
		sums := floats.CumSum(make([]float64, n), vs)
		sampled(b, 8*n, 1e-4, func(i int) float64 { return sums[i] }, func() *tensor.Tensor { return v.CumSum(0) })
		peer(b, "gonum", 16*n, func() { floats.CumSum(sums, vs) })
	})
	side, name := matrix(b)
	x, _, xs := input(b, 1, side*side)
	m := x.Reshape(side, side)
	b.Run("Rows/"+name, func(b *testing.B) {
		want := func(i int) float64 { return floats.Sum(xs[i/side*side : i+1]) }
		sampled(b, 8*side*side, 1e-5, want, func() *tensor.Tensor { return m.CumSum(1) })
	})
	b.Run("Columns/"+name, func(b *testing.B) {
		want := func(i int) float64 {
			sum := 0.0
			for k := i % side; k <= i; k += side {
				sum += xs[k]
			}
			return sum
		}
		sampled(b, 8*side*side, 1e-5, want, func() *tensor.Tensor { return m.CumSum(0) })
	})
}

// BenchmarkSoftmax is softmax of the rows and of the columns of a matrix.
func BenchmarkSoftmax(b *testing.B) {
	n, width, name := rows(b)
	x, _, xs := input(b, 1, n*width)
	m := x.Reshape(n, width)
	b.Run("Rows/"+name, func(b *testing.B) {
		want := func(i int) float64 {
			row := xs[i/width*width : (i/width+1)*width]
			return math.Exp(xs[i] - floats.LogSumExp(row))
		}
		sampled(b, 8*n*width, 1e-5, want, func() *tensor.Tensor { return m.Softmax(-1) })
	})
	b.Run("Columns/"+name, func(b *testing.B) {
		want := func(i int) float64 {
			column := make([]float64, n)
			for k := range column {
				column[k] = xs[k*width+i%width]
			}
			return math.Exp(xs[i] - floats.LogSumExp(column))
		}
		sampled(b, 8*n*width, 1e-5, want, func() *tensor.Tensor { return m.Softmax(0) })
	})
}

// BenchmarkLayerNorm normalises the rows of a matrix.
func BenchmarkLayerNorm(b *testing.B) {
	n, width, name := rows(b)
	x, _, xs := input(b, 1, n*width)
	weight, bias := tensor.Ones(tensor.Float32, width), tensor.Zeros(tensor.Float32, width)
	m := x.Reshape(n, width)
	want := func(i int) float64 {
		mean, std := stat.PopMeanStdDev(xs[i/width*width:(i/width+1)*width], nil)
		return (xs[i] - mean) / math.Sqrt(std*std+1e-5)
	}
	b.Run("Rows/"+name, func(b *testing.B) {
		sampled(b, 8*n*width, 1e-5, want, func() *tensor.Tensor { return m.LayerNorm(weight, bias, 1e-5) })
	})
}
