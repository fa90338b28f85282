package benchmarks

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/weft-go/weft/models/mnist"
	"github.com/weft-go/weft/tensor"
)

// A product is one of matrices, of batches of them where batch is more than one.
type product struct {
	batch, m, k, n int
	left, right    tensor.DType
	turned         bool // the right one lies transposed in memory
}

// benchmark times p, after a look at some elements.
func (p product) benchmark(b *testing.B) {
	build, want, tol := p.make(b)
	b.Run("weft", func(b *testing.B) {
		checkSome(b, build(), tol, want)
		evaluate(b, build)
		flops(b, 2*p.batch*p.m*p.k*p.n)
	})
}

// make returns what records p, the elements of the result, and how near them they must be.
func (p product) make(b *testing.B) (build func() *tensor.Tensor, want func(i int) float64, tol float64) {
	b.Helper()
	x, _, xs := input(b, 1, p.batch*p.m*p.k)
	y, _, ys := input(b, 2, p.batch*p.k*p.n)
	tol = 1e-5
	if p.left.Size() < 4 || p.right.Size() < 4 {
		tol = 1e-2 // the operands are rounded
	}
	shape, row, column := []int{p.batch, p.k, p.n}, p.n, 1 // of the right factor in memory
	if p.turned {
		shape, row, column = []int{p.batch, p.n, p.k}, 1, p.k
	}
	left, right := x.Cast(p.left).Reshape(p.batch, p.m, p.k), y.Cast(p.right).Reshape(shape...)
	if p.batch == 1 {
		left, right = left.Select(0, 0), right.Select(0, 0)
	}
	if err := tensor.Eval(ctx, left, right); err != nil {
		b.Fatal(err)
	}
	if p.turned {
		right = right.T()
	}
	want = func(i int) float64 {
		batch, m, n := i/p.n/p.m, i/p.n%p.m, i%p.n
		sum := 0.0
		for k := range p.k {
			sum += xs[(batch*p.m+m)*p.k+k] * ys[batch*p.k*p.n+k*row+n*column]
		}
		return sum
	}
	return func() *tensor.Tensor { return left.MatMul(right) }, want, tol
}

// BenchmarkMatMul multiplies square matrices of float32.
func BenchmarkMatMul(b *testing.B) {
	sizes := []int{64, 256, 512, 1024, 2048}
	if onGPU(b) {
		sizes = append(sizes, 4096, 8192)
	}
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			product{1, n, n, n, tensor.Float32, tensor.Float32, false}.benchmark(b)
			if n <= 2048 {
				gemm(b, n)
			}
		})
	}
}

// gemm times gonum's product of matrices of float32.
func gemm(b *testing.B, n int) {
	product := sgemm(b, n)
	b.Run("gonum", func(b *testing.B) {
		for b.Loop() {
			product()
		}
		flops(b, 2*n*n*n)
	})
}

// sgemm returns gonum's product of matrices of float32, dgemm that of float64.
func sgemm(b *testing.B, n int) func() {
	b.Helper()
	general := func(seed uint64) blas32.General {
		_, v, _ := input(b, seed, n*n)
		return blas32.General{Rows: n, Cols: n, Stride: n, Data: v}
	}
	x, y, dst := general(1), general(2), general(3)
	return func() { blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, x, y, 0, dst) }
}

func dgemm(b *testing.B, n int, right blas.Transpose) func() {
	b.Helper()
	general := func(seed uint64) blas64.General {
		_, _, v := input(b, seed, n*n)
		return blas64.General{Rows: n, Cols: n, Stride: n, Data: v}
	}
	x, y, dst := general(1), general(2), general(3)
	return func() { blas64.Gemm(blas.NoTrans, right, 1, x, y, 0, dst) }
}

// BenchmarkMatMulTypes multiplies matrices of the other floating-point types.
func BenchmarkMatMulTypes(b *testing.B) {
	n, types := 1024, []tensor.DType{tensor.Float64, tensor.Float16, tensor.BFloat16}
	if onGPU(b) {
		n, types = 4096, types[1:]
	}
	for _, t := range types {
		b.Run(fmt.Sprintf("%v/%d", t, n), func(b *testing.B) { product{1, n, n, n, t, t, false}.benchmark(b) })
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
				product{1, m, side, side, tensor.Float32, weights, false}.benchmark(b)
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
		product{batch, n, n, n, tensor.Float32, tensor.Float32, false}.benchmark(b)
	})
}

// BenchmarkConv2d is a convolution of 64 channels to 64 by kernels of 3×3.
func BenchmarkConv2d(b *testing.B) {
	c := convolution{images: 8, channels: 64, side: 56, kernel: 3}
	if onGPU(b) {
		c.images = 32
	}
	build, want := c.make(b)
	b.Run(fmt.Sprintf("%dx%dx%dx%d/weft", c.images, c.channels, c.side, c.side), func(b *testing.B) {
		checkSome(b, build(), 1e-5, want)
		evaluate(b, build)
		flops(b, 2*c.images*c.channels*c.channels*c.kernel*c.kernel*c.side*c.side)
	})
}

// A convolution of square images with square kernels to as many channels, padded to the size they have.
type convolution struct{ images, channels, side, kernel int }

// make returns what records c, and the elements of the result.
func (c convolution) make(b *testing.B) (build func() *tensor.Tensor, want func(at int) float64) {
	b.Helper()
	area := c.kernel * c.kernel
	terms, pad := c.channels*area, c.kernel/2
	x, _, xs := input(b, 1, c.images*c.channels*c.side*c.side)
	w, _, ws := input(b, 2, c.channels*terms)
	image, kernels := x.Reshape(c.images, c.channels, c.side, c.side), w.Reshape(c.channels, c.channels, c.kernel, c.kernel)
	want = func(at int) float64 {
		n, out, i, j := at/c.side/c.side/c.channels, at/c.side/c.side%c.channels, at/c.side%c.side, at%c.side
		sum := 0.0
		for k := range terms {
			y, x := i+k%area/c.kernel-pad, j+k%c.kernel-pad
			if y >= 0 && y < c.side && x >= 0 && x < c.side {
				sum += xs[((n*c.channels+k/area)*c.side+y)*c.side+x] * ws[out*terms+k]
			}
		}
		return sum
	}
	options := tensor.ConvOptions{Padding: []int{pad, pad}}
	return func() *tensor.Tensor { return image.Conv2d(kernels, options) }, want
}

// BenchmarkAttention is causal attention of 16 heads of 64 numbers.
func BenchmarkAttention(b *testing.B) {
	a := attention{batch: 1, heads: 16, length: 512, causal: true}
	if onGPU(b) {
		a.batch, a.length = 8, 1024
	}
	build, want := a.make(b)
	b.Run(fmt.Sprintf("Causal/%dx%dx%dx%d/weft", a.batch, a.heads, a.length, headWidth), func(b *testing.B) {
		checkSome(b, build(), 1e-5, want)
		evaluate(b, build)
		flops(b, 2*a.batch*a.heads*a.length*a.length*headWidth)
	})
}

// An attention has heads of headWidth numbers, as many queries as keys.
type attention struct {
	batch, heads, length int
	causal               bool
}

const headWidth = 64

// make returns what records a, and the elements of the result.
func (a attention) make(b *testing.B) (build func() *tensor.Tensor, want func(at int) float64) {
	b.Helper()
	const width = headWidth
	n := a.batch * a.heads * a.length * width
	q, _, qs := input(b, 1, n)
	k, _, ks := input(b, 2, n)
	v, _, vs := input(b, 3, n)
	shaped := func(t *tensor.Tensor) *tensor.Tensor { return t.Reshape(a.batch, a.heads, a.length, width) }
	want = func(at int) float64 {
		first := at / width / a.length * a.length // row of the head's first key
		end := first + a.length
		if a.causal {
			end = at/width + 1
		}
		sum, weights := 0.0, 0.0
		for row := first; row < end; row++ {
			score := floats.Dot(qs[at/width*width:at/width*width+width], ks[row*width:(row+1)*width])
			weight := math.Exp(score / math.Sqrt(width))
			sum, weights = sum+weight*vs[row*width+at%width], weights+weight
		}
		return sum / weights
	}
	build = func() *tensor.Tensor {
		return tensor.ScaledDotProductAttention(shaped(q), shaped(k), shaped(v), tensor.AttentionOptions{Causal: a.causal})
	}
	return build, want
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
	build := digits(b, batch)
	b.Run(fmt.Sprintf("%d/weft", batch), func(b *testing.B) {
		evaluate(b, build)
		b.ReportMetric(batch*float64(b.N)/b.Elapsed().Seconds(), "images/s")
	})
}

// digits returns what records the forward pass of models/mnist on a batch of images.
func digits(b *testing.B, batch int) func() *tensor.Tensor {
	b.Helper()
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
	for i, d := range digits[:8] { // one image at a time must give the same
		one, err := tensor.Data[int32](ctx, net.Classify(images.Narrow(0, i, 1)))
		if err != nil || one[0] != d {
			b.Fatalf("image %d alone is a %v (%v), in the batch a %d", i, one, err, d)
		}
	}
	return func() *tensor.Tensor { return net.Forward(images) }
}
