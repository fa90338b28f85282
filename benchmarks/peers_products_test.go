package benchmarks

import (
	"testing"

	"gonum.org/v1/gonum/blas"

	"github.com/weft-go/weft/tensor"
)

func productPeers() []peerCase {
	products := func(p product) func(*testing.B) {
		return func(b *testing.B) {
			build, want, tol := p.make(b)
			medianOfSome(b, tol, want, build)
		}
	}
	square := func(n int, d tensor.DType, turned bool) func(*testing.B) {
		return products(product{1, n, n, n, d, d, turned})
	}
	row := func(n int, turned bool) func(*testing.B) {
		return products(product{1, 1, n, n, tensor.Float32, tensor.Float32, turned})
	}
	images := func(c convolution) func(*testing.B) {
		return func(b *testing.B) {
			build, want := c.make(b)
			medianOfSome(b, 1e-5, want, build)
		}
	}
	heads := func(a attention) func(*testing.B) {
		return func(b *testing.B) {
			build, want := a.make(b)
			medianOfSome(b, 1e-5, want, build)
		}
	}
	return []peerCase{
		{"MatMul/float32/256", square(256, tensor.Float32, false)},
		{"MatMul/float32/512", square(512, tensor.Float32, false)},
		{"MatMul/float32/1024", square(1024, tensor.Float32, false)},
		{"MatMul/float32/2048", square(2048, tensor.Float32, false)},
		{"MatMul/float64/1024", square(1024, tensor.Float64, false)},
		{"MatMulTransposed/float32/1024", square(1024, tensor.Float32, true)},
		{"MatMulTransposed/float64/1024", square(1024, tensor.Float64, true)},
		{"MatMulBatch/512x32x32", products(product{512, 32, 32, 32, tensor.Float32, tensor.Float32, false})},
		{"MatMulRow/1024", row(1024, false)},
		{"MatMulRow/4096", row(4096, false)},
		{"MatMulRowTransposed/1024", row(1024, true)},
		{"Conv2d/8x64x56x56/3x3", images(convolution{8, 64, 56, 3})},
		{"Conv2d/8x64x56x56/1x1", images(convolution{8, 64, 56, 1})},
		{"Conv2d/8x256x14x14/3x3", images(convolution{8, 256, 14, 3})},
		{"MNIST/256", func(b *testing.B) { evaluations(b, digits(b, 256)) }},
		{"Attention/1x8x512x64", heads(attention{1, 8, 512, false})},
		{"Attention/8x12x128x64", heads(attention{8, 12, 128, false})},
	}
}

// BenchmarkPeerGonum is those of BenchmarkPeer that gonum has, for the same script.
func BenchmarkPeerGonum(b *testing.B) {
	for _, c := range []struct {
		name string
		f    func(b *testing.B) func()
	}{
		{"MatMul/float32/256", func(b *testing.B) func() { return sgemm(b, 256) }},
		{"MatMul/float32/512", func(b *testing.B) func() { return sgemm(b, 512) }},
		{"MatMul/float32/1024", func(b *testing.B) func() { return sgemm(b, 1024) }},
		{"MatMul/float32/2048", func(b *testing.B) func() { return sgemm(b, 2048) }},
		{"MatMul/float64/1024", func(b *testing.B) func() { return dgemm(b, 1024, blas.NoTrans) }},
		{"MatMulTransposed/float64/1024", func(b *testing.B) func() { return dgemm(b, 1024, blas.Trans) }},
	} {
		b.Run(c.name, func(b *testing.B) { times(b, c.f(b), func() {}) })
	}
}
