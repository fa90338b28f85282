package benchmarks

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weft-go/weft/tensor"
)

// BenchmarkTranspose copies a matrix transposed.
func BenchmarkTranspose(b *testing.B) {
	side, name := matrix(b)
	x, _, xs := input(b, 1, side*side)
	m := x.Reshape(side, side)
	b.Run(name, func(b *testing.B) {
		want := func(i int) float64 { return xs[i%side*side+i/side] }
		sampled(b, 8*side*side, 0, want, func() *tensor.Tensor { return m.Transpose(0, 1).Contiguous() })
	})
}

// BenchmarkTake gathers rows of a matrix.
func BenchmarkTake(b *testing.B) {
	n, width, _ := rows(b)
	taken := 8*n - 1 // a buffer of 2 GiB is too large for Vulkan
	x, _, xs := input(b, 1, n*width)
	m := x.Reshape(n, width)
	at := make([]int32, taken)
	for i := range at {
		at[i] = int32(i * 7919 % n)
	}
	index := tensor.New(at)
	b.Run(fmt.Sprintf("%dx%d", taken, width), func(b *testing.B) {
		want := func(i int) float64 { return xs[int(at[i/width])*width+i%width] }
		sampled(b, 8*taken*width, 0, want, func() *tensor.Tensor { return m.Take(0, index) })
	})
}

// BenchmarkSort sorts a vector, and finds the order of one.
func BenchmarkSort(b *testing.B) {
	n, name := 1_000_000, "1e6"
	if onGPU(b) {
		n, name = 1<<24, "2^24"
	}
	x, _, xs := input(b, 1, n)
	sorted := slices.Sorted(slices.Values(xs))
	want := func(i int) float64 { return sorted[i] }
	b.Run("Values/"+name, func(b *testing.B) {
		sampled(b, 8*n, 0, want, func() *tensor.Tensor { return x.Sort(0) })
		peer(b, "slices", 0, func() { slices.Sort(slices.Clone(xs)) })
	})
	b.Run("Order/"+name, func(b *testing.B) {
		b.Run("weft", func(b *testing.B) {
			checkSome(b, x.Take(0, x.ArgSort(0)), 0, want)
			evaluate(b, func() *tensor.Tensor { return x.ArgSort(0) })
		})
	})
}

// BenchmarkTopK finds the 40 greatest of each row of a matrix.
func BenchmarkTopK(b *testing.B) {
	const k = 40
	n, width, name := rows(b)
	x, _, xs := input(b, 1, n*width)
	m := x.Reshape(n, width)
	want := func(i int) float64 {
		row := slices.Sorted(slices.Values(xs[i/k*width : (i/k+1)*width]))
		return row[width-1-i%k]
	}
	b.Run(fmt.Sprintf("%d/%s", k, name), func(b *testing.B) {
		sampled(b, 4*n*width, 0, want, func() *tensor.Tensor {
			values, _ := m.TopK(k, 1)
			return values
		})
	})
}
