package benchmarks

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/weft-go/weft/models/mnist"
	"github.com/weft-go/weft/tensor"
)

// A product is one of matrices, of batches of them where batch is more than one.
type product struct {
	batch, m, k, n int
	left, right    tensor.DType
}

// benchmark times p, after a look at some elements.
func (p product) benchmark(b *testing.B) {
	x, _, xs := input(b, 1, p.batch*p.m*p.k)
	y, _, ys := input(b, 2, p.batch*p.k*p.n)
	tol := 1e-5
	if p.left.Size() < 4 || p.right.Size() < 4 {
		tol = 1e-2 // the operands are rounded
	}
	left, right := x.Cast(p.left).Reshape(p.batch, p.m, p.k), y.Cast(p.right).Reshape(p.batch, p.k, p.n)
	if p.batch == 1 {
		left, right = left.Select(0, 0), right.Select(0, 0)
	}
	if err := tensor.Eval(ctx, left, right); err != nil {
		b.Fatal(err)
	}
	want := func(i int) float64 {
		batch, row, column := i/p.n/p.m, i/p.n%p.m, i%p.n
		sum := 0.0
		for k := range p.k {
			sum += xs[(batch*p.m+row)*p.k+k] * ys[(batch*p.k+k)*p.n+column]
		}
		return sum
	}
	b.Run("weft", func(b *testing.B) {
		build := func() *tensor.Tensor { return left.MatMul(right) }
		checkSome(b, build(), tol, want)
		evaluate(b, build)
		flops(b, 2*p.batch*p.m*p.k*p.n)
	})
}

// BenchmarkMatMul multiplies square matrices of float32.
func BenchmarkMatMul(b *testing.B) {
	sizes := []int{64, 256, 512, 1024, 2048}
	if onGPU(b) {
		sizes = append(sizes, 4096, 8192)
	}
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			product{1, n, n, n, tensor.Float32, tensor.Float32}.benchmark(b)
			if n <= 2048 {
				gemm(b, n)
			}
		})
	}
}

// gemm times gonum's product of matrices of float32.
func gemm(b *testing.B, n int) {
	general := func(seed uint64) blas32.General {
		_, v, _ := input(b, seed, n*n)
		return blas32.General{Rows: n, Cols: n, Stride: n, Data: v}
	}
	x, y, dst := general(1), general(2), general(3)
	b.Run("gonum", func(b *testing.B) {
		for b.Loop() {
			blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, x, y, 0, dst)
		}
		flops(b, 2*n*n*n)
	})
}

// BenchmarkMatMulTypes multiplies matrices of the other floating-point types.
func BenchmarkMatMulTypes(b *testing.B) {
	n, types := 1024, []tensor.DType{tensor.Float64, tensor.Float16, tensor.BFloat16}
	if onGPU(b) {
		n, types = 4096, types[1:]
	}
	for _, t := range types {
		b.Run(fmt.Sprintf("%v/%d", t, n), func(b *testing.B) { product{1, n, n, n, t, t}.benchmark(b) })
	}
}

// BenchmarkMatMulThin multiplies a few rows with a matrix of weights, as a language model does for each token.
func BenchmarkMatMulThin(b *testing.B) {
	side := 1024
	if onGPU(b) {
		side = 4096
	}
	for _, weights := range []tensor.DType{tensor.Float32, tensor.Float16} {
		for _, m := range []int{1, 8, 32} {
			b.Run(fmt.Sprintf("%v/%dx%dx%d", weights, m, side, side), func(b *testing.B) {
				product{1, m, side, side, tensor.Float32, weights}.benchmark(b)
			})
		}
	}
}

// BenchmarkMatMulQuantized is BenchmarkMatMulThin with quantised weights [out in], as files have them.
func BenchmarkMatMulQuantized(b *testing.B) {
	side := 1024
	if onGPU(b) {
		side = 4096
	}
	w, _, _ := input(b, 2, side*side)
	for _, d := range []tensor.DType{tensor.Q8_0, tensor.Q4_0, tensor.Q4_1} {
		q, err := tensor.Quantize(ctx, w.Reshape(side, side), d)
		if err != nil {
			b.Fatal(err)
		}
		rounded, err := tensor.Data[float32](ctx, q.Tensor())
		if err != nil {
			b.Fatal(err)
		}
		for _, m := range []int{1, 8, 32} {
			x, _, xs := input(b, 1, m*side)
			want := func(i int) float64 {
				sum := 0.0
				for k := range side {
					sum += xs[i/side*side+k] * float64(rounded[i%side*side+k])
				}
				return sum
			}
			b.Run(fmt.Sprintf("%v/%dx%dx%d/weft", d, m, side, side), func(b *testing.B) {
				build := func() *tensor.Tensor { return x.Reshape(m, side).MatMul(q.Tensor().T()) }
				checkSome(b, build(), 1e-5, want)
				evaluate(b, build)
				flops(b, 2*m*side*side)
			})
		}
	}
}

// BenchmarkMatMulBatch multiplies batches of small matrices.
func BenchmarkMatMulBatch(b *testing.B) {
	batch, n := 512, 32
	if onGPU(b) {
		batch, n = 64, 512
	}
	b.Run(fmt.Sprintf("%dx%dx%d", batch, n, n), func(b *testing.B) {
		product{batch, n, n, n, tensor.Float32, tensor.Float32}.benchmark(b)
	})
}

// BenchmarkConv2d is a convolution of 64 channels to 64 by kernels of 3×3.
func BenchmarkConv2d(b *testing.B) {
	const channels, side = 64, 56
	images := 8
	if onGPU(b) {
		images = 32
	}
	x, _, xs := input(b, 1, images*channels*side*side)
	w, _, ws := input(b, 2, channels*channels*9)
	image, kernels := x.Reshape(images, channels, side, side), w.Reshape(channels, channels, 3, 3)
	want := func(at int) float64 {
		n, c, i, j := at/side/side/channels, at/side/side%channels, at/side%side, at%side
		sum := 0.0
		for k := range channels * 9 {
			if y, x := i+k%9/3-1, j+k%3-1; y >= 0 && y < side && x >= 0 && x < side {
				sum += xs[((n*channels+k/9)*side+y)*side+x] * ws[c*channels*9+k]
			}
		}
		return sum
	}
	b.Run(fmt.Sprintf("%dx%dx%dx%d/weft", images, channels, side, side), func(b *testing.B) {
		build := func() *tensor.Tensor { return image.Conv2d(kernels, tensor.ConvOptions{Padding: []int{1, 1}}) }
		checkSome(b, build(), 1e-5, want)
		evaluate(b, build)
		flops(b, 2*images*channels*channels*9*side*side)
	})
}

// BenchmarkAttention is causal attention of 16 heads of 64 numbers.
func BenchmarkAttention(b *testing.B) {
	batch, heads, length := 1, 16, 512
	const width = 64
	if onGPU(b) {
		batch, length = 8, 1024
	}
	n := batch * heads * length * width
	q, _, qs := input(b, 1, n)
	k, _, ks := input(b, 2, n)
	v, _, vs := input(b, 3, n)
	shaped := func(t *tensor.Tensor) *tensor.Tensor { return t.Reshape(batch, heads, length, width) }
	want := func(at int) float64 {
		first := at / width / length * length // row of the head's first key
		sum, weights := 0.0, 0.0
		for row := first; row <= at/width; row++ {
			score := floats.Dot(qs[at/width*width:at/width*width+width], ks[row*width:(row+1)*width])
			weight := math.Exp(score / math.Sqrt(width))
			sum, weights = sum+weight*vs[row*width+at%width], weights+weight
		}
		return sum / weights
	}
	b.Run(fmt.Sprintf("Causal/%dx%dx%dx%d/weft", batch, heads, length, width), func(b *testing.B) {
		build := func() *tensor.Tensor {
			return tensor.ScaledDotProductAttention(shaped(q), shaped(k), shaped(v), tensor.AttentionOptions{Causal: true})
		}
		checkSome(b, build(), 1e-5, want)
		evaluate(b, build)
		flops(b, 2*batch*heads*length*length*width)
	})
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
	b.Run(fmt.Sprintf("%d/weft", batch), func(b *testing.B) {
		evaluate(b, func() *tensor.Tensor { return net.Forward(images) })
		b.ReportMetric(batch*float64(b.N)/b.Elapsed().Seconds(), "images/s")
	})
}
