package cpu_test

import (
	"context"
	"fmt"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/cpu"
	"github.com/weft-go/weft/ops"
)

func flops(b *testing.B, n int) {
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

// alloc returns a dense operand of ones.
func alloc(b *testing.B, dev *cpu.Backend, d ops.DType, shape ...int) backend.Operand {
	b.Helper()
	return dense(b, dev, d, shape, full(1)).Operand
}

func benchStep(b *testing.B, dev *cpu.Backend, s backend.Step, flop int) {
	b.Helper()
	ctx := context.Background()
	steps := []backend.Step{s}
	for b.Loop() {
		if err := dev.Run(ctx, steps); err != nil {
			b.Fatal(err)
		}
	}
	flops(b, flop)
}

// BenchmarkMatMul multiplies beside gonum's gemm, with the right factor as it lies (N) and transposed (T).
func BenchmarkMatMul(b *testing.B) {
	dev := device(b)
	for _, c := range []struct{ batch, m, n, k int }{
		{1, 256, 256, 256}, {1, 512, 512, 512}, {1, 1024, 1024, 1024}, {512, 32, 32, 32}, {1, 1, 1024, 1024}, {1, 16, 1024, 1024},
	} {
		for _, d := range []ops.DType{ops.Float32, ops.Float64} {
			for _, trans := range []blas.Transpose{blas.NoTrans, blas.Trans} {
				flop := 2 * c.batch * c.m * c.n * c.k
				name := fmt.Sprintf("%s/%dx%dx%dx%d/%c", d, c.batch, c.m, c.k, c.n, trans)
				b.Run(name+"/weft", func(b *testing.B) {
					x, y := alloc(b, dev, d, c.batch, c.m, c.k), alloc(b, dev, d, c.batch, c.k, c.n)
					if trans == blas.Trans {
						y.Layout = must(backend.Dense(backend.Shape{c.batch, c.n, c.k}).Permute(0, 2, 1))
					}
					out := result(b, dev, d, backend.Dense(backend.Shape{c.batch, c.m, c.n}))
					k := &backend.MatMul{A: load(d), B: load(d), Post: load(d), Acc: d}
					benchStep(b, dev, backend.Step{Kernel: k, Shape: out.Layout.Shape, In: []backend.Operand{x, y}, Out: []backend.Operand{out}}, flop)
				})
				ldb := c.n
				if trans == blas.Trans {
					ldb = c.k
				}
				b.Run(name+"/gonum", func(b *testing.B) {
					if d == ops.Float32 {
						x, y, z := make([]float32, c.m*c.k), make([]float32, c.n*c.k), make([]float32, c.m*c.n)
						for i := range x {
							x[i] = 1 // gonum skips zeros
						}
						for b.Loop() {
							for range c.batch {
								gonum.Implementation{}.Sgemm(blas.NoTrans, trans, c.m, c.n, c.k, 1, x, c.k, y, ldb, 0, z, c.n)
							}
						}
					} else {
						x, y, z := make([]float64, c.m*c.k), make([]float64, c.n*c.k), make([]float64, c.m*c.n)
						for i := range x {
							x[i] = 1
						}
						for b.Loop() {
							for range c.batch {
								gonum.Implementation{}.Dgemm(blas.NoTrans, trans, c.m, c.n, c.k, 1, x, c.k, y, ldb, 0, z, c.n)
							}
						}
					}
					flops(b, flop)
				})
			}
		}
	}
}

// BenchmarkConv convolves; gonum stands for the product alone, of patches already made.
func BenchmarkConv(b *testing.B) {
	dev := device(b)
	for _, c := range []struct {
		name                            string
		batch, in, out, size, window, g int
	}{
		{"8x64x56x56/k3", 8, 64, 64, 56, 3, 1},
		{"256x1x28x28/k5/16", 256, 1, 16, 28, 5, 1},
		{"256x16x14x14/k5/32", 256, 16, 32, 14, 5, 1},
		{"8x64x56x56/k1", 8, 64, 64, 56, 1, 1},
		{"8x64x56x56/k3/depthwise", 8, 64, 64, 56, 3, 64},
	} {
		k := c.in / c.g * c.window * c.window
		flop := 2 * c.batch * c.out * c.size * c.size * k
		b.Run(c.name+"/weft", func(b *testing.B) {
			x, w := alloc(b, dev, ops.Float32, c.batch, c.in, c.size, c.size), alloc(b, dev, ops.Float32, c.out, c.in/c.g, c.window, c.window)
			out := result(b, dev, ops.Float32, backend.Dense(backend.Shape{c.batch, c.out, c.size, c.size}))
			pad := c.window / 2
			kern := &backend.Conv{Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{pad, pad}, Groups: c.g, Post: load(ops.Float32)}
			benchStep(b, dev, backend.Step{Kernel: kern, Shape: out.Layout.Shape, In: []backend.Operand{x, w}, Out: []backend.Operand{out}}, flop)
		})
		if c.g > 1 {
			continue
		}
		b.Run(c.name+"/gonum", func(b *testing.B) {
			p := c.size * c.size
			x, y, z := make([]float32, c.out*k), make([]float32, k*p), make([]float32, c.out*p)
			for i := range x {
				x[i] = 1
			}
			for b.Loop() {
				for range c.batch {
					gonum.Implementation{}.Sgemm(blas.NoTrans, blas.NoTrans, c.out, p, k, 1, x, k, y, p, 0, z, p)
				}
			}
			flops(b, flop)
		})
	}
}

func BenchmarkPool(b *testing.B) {
	dev := device(b)
	for _, op := range []ops.ReduceOp{ops.ReduceMax, ops.ReduceSum} {
		b.Run(op.String(), func(b *testing.B) {
			x := alloc(b, dev, ops.Float32, 8, 64, 56, 56)
			out := result(b, dev, ops.Float32, backend.Dense(backend.Shape{8, 64, 28, 28}))
			k := &backend.Pool{Op: op, Window: []int{2, 2}, Stride: []int{2, 2}, Dilation: []int{1, 1}, Pad: []int{0, 0}, PadEnd: []int{0, 0}, Post: load(ops.Float32)}
			b.SetBytes(8 * 64 * 56 * 56 * 4)
			benchStep(b, dev, backend.Step{Kernel: k, Shape: out.Layout.Shape, In: []backend.Operand{x}, Out: []backend.Operand{out}}, 0)
		})
	}
}

func BenchmarkGather(b *testing.B) {
	dev := device(b)
	table := alloc(b, dev, ops.Float32, 10000, 256)
	domain := backend.Shape{4096, 256}
	src := table
	src.Layout = must(must(table.Layout.Permute(1, 0)).BroadcastTo(backend.Shape{4096, 256, 10000}))
	index := alloc(b, dev, ops.Int32, 4096)
	index.Layout = must(must(index.Layout.Insert(-1)).BroadcastTo(domain))
	out := result(b, dev, ops.Float32, backend.Dense(domain))
	b.SetBytes(4096 * 256 * 4)
	benchStep(b, dev, backend.Step{Kernel: &backend.Gather{Post: load(ops.Float32)}, Shape: domain, In: []backend.Operand{src, index}, Out: []backend.Operand{out}}, 0)
}
