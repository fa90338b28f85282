package benchmarks

import (
	"fmt"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/mat"

	"github.com/weft-go/weft/models/mnist"
	"github.com/weft-go/weft/tensor"
)

// BenchmarkMatMul multiplies square matrices of float32.
func BenchmarkMatMul(b *testing.B) {
	sizes := []int{64, 256, 512, 1024, 2048}
	if onGPU(b) {
		sizes = append(sizes, 4096)
	}
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x, xn, xs := input(b, 1, n*n)
			y, yn, ys := input(b, 2, n*n)
			mx, my := x.Reshape(n, n), y.Reshape(n, n)
			var product mat.Dense
			product.Mul(mat.NewDense(n, n, xs), mat.NewDense(n, n, ys))
			b.Run("weft", func(b *testing.B) {
				check(b, mx.MatMul(my).Reshape(n*n), product.RawMatrix().Data, 1e-5)
				evaluate(b, func() *tensor.Tensor { return mx.MatMul(my) })
				flops(b, n)
			})
			general := func(v []float32) blas32.General { return blas32.General{Rows: n, Cols: n, Stride: n, Data: v} }
			dst := general(make([]float32, n*n))
			b.Run("gonum", func(b *testing.B) {
				for b.Loop() {
					blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, general(xn), general(yn), 0, dst)
				}
				flops(b, n)
			})
		})
	}
}

// flops reports the rate of products of n×n matrices.
func flops(b *testing.B, n int) {
	b.ReportMetric(2*float64(n)*float64(n)*float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

// BenchmarkMLP is a layer x·W + bias with ReLU: the product and what follows are one kernel.
func BenchmarkMLP(b *testing.B) {
	const rows, in, out = 256, 784, 512
	x, _, xs := input(b, 1, rows*in)
	w, _, ws := input(b, 2, in*out)
	bias, _, bs := input(b, 3, out)
	var want mat.Dense
	loop := func() {
		want.Mul(mat.NewDense(rows, in, xs), mat.NewDense(in, out, ws))
		want.Apply(func(_, j int, v float64) float64 { return max(0, v+bs[j]) }, &want)
	}
	loop()
	mx, mw := x.Reshape(rows, in), w.Reshape(in, out)
	build := func() *tensor.Tensor { return mx.MatMul(mw).Add(bias).ReLU() }
	plan, err := tensor.Explain(build())
	if err != nil || len(plan.Kernels) != 1 {
		b.Fatalf("%d kernels, want 1 (%v)", len(plan.Kernels), err)
	}
	weft(b, 0, want.RawMatrix().Data, 1e-5, build)
	peer(b, "gonum", 0, loop)
}

// BenchmarkMNIST is the forward pass of models/mnist on 256 images.
func BenchmarkMNIST(b *testing.B) {
	const batch = 256
	net, err := mnist.Load(nil)
	if err != nil {
		b.Fatal(err)
	}
	images := tensor.Rand(tensor.Float32, 1, batch, 1, mnist.Side, mnist.Side)
	if err := tensor.Eval(ctx, images); err != nil {
		b.Fatal(err)
	}
	digits, err := tensor.Data[int32](ctx, net.Classify(images))
	if err != nil {
		b.Fatal(err)
	}
	for i, d := range digits { // one image at a time must give the same
		one, err := tensor.Data[int32](ctx, net.Classify(images.Narrow(0, i, 1)))
		if err != nil || one[0] != d {
			b.Fatalf("image %d alone is a %v (%v), in the batch a %d", i, one, err, d)
		}
		if i == 7 {
			break
		}
	}
	b.Run(strings.ToLower(fmt.Sprintf("%dimages/weft", batch)), func(b *testing.B) {
		evaluate(b, func() *tensor.Tensor { return net.Forward(images) })
		b.ReportMetric(batch*float64(b.N)/b.Elapsed().Seconds(), "images/s")
	})
}
