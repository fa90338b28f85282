package benchmarks

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/weft-go/weft/tensor"
)

// BenchmarkFMA is a·b + 42 on vectors: one kernel, bound by memory.
func BenchmarkFMA(b *testing.B) {
	n, name := vector(b)
	x, _, xs := input(b, 1, n)
	y, _, ys := input(b, 2, n)
	b.Run(name, func(b *testing.B) {
		want := func(i int) float64 { return xs[i]*ys[i] + 42 }
		sampled(b, 12*n, 1e-6, want, func() *tensor.Tensor { return x.Mul(y).AddScalar(42) })
		dst := make([]float64, n)
		peer(b, "gonum", 24*n, func() {
			floats.MulTo(dst, xs, ys)
			floats.AddConst(42, dst)
		})
	})
}

// BenchmarkChain is gelu(a·b + 1)·2 - b: six operations, one kernel.
func BenchmarkChain(b *testing.B) {
	n, name := vector(b)
	x, _, xs := input(b, 1, n)
	y, _, ys := input(b, 2, n)
	want := func(i int) float64 {
		v := xs[i]*ys[i] + 1
		return v*math.Erfc(-v/math.Sqrt2) - ys[i]
	}
	b.Run(name, func(b *testing.B) {
		sampled(b, 12*n, 1e-6, want, func() *tensor.Tensor { return x.Mul(y).AddScalar(1).GELU().MulScalar(2).Sub(y) })
		dst := make([]float64, n)
		peer(b, "loop", 24*n, func() {
			for i := range dst {
				dst[i] = want(i)
			}
		})
	})
}

// BenchmarkUnary is one transcendental function of a vector, beside a loop over package math.
func BenchmarkUnary(b *testing.B) {
	n, name := vector(b)
	x, _, xs := input(b, 1, n)
	for _, c := range []struct {
		name string
		op   func(*tensor.Tensor) *tensor.Tensor
		f    func(float64) float64
	}{
		{"Exp", (*tensor.Tensor).Exp, math.Exp},
		{"LogAbs", func(t *tensor.Tensor) *tensor.Tensor { return t.Abs().Log() }, func(v float64) float64 { return math.Log(math.Abs(v)) }},
		{"Tanh", (*tensor.Tensor).Tanh, math.Tanh},
		{"Sin", (*tensor.Tensor).Sin, math.Sin},
		{"Erf", (*tensor.Tensor).Erf, math.Erf},
		{"Sigmoid", (*tensor.Tensor).Sigmoid, func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }},
	} {
		b.Run(c.name+"/"+name, func(b *testing.B) {
			sampled(b, 8*n, 1e-6, func(i int) float64 { return c.f(xs[i]) }, func() *tensor.Tensor { return c.op(x) })
			dst := make([]float64, n)
			peer(b, "math", 16*n, func() {
				for i, v := range xs {
					dst[i] = c.f(v)
				}
			})
		})
	}
}

// BenchmarkTiny is an addition of 16 elements, recorded, computed and read: the overhead of everything.
func BenchmarkTiny(b *testing.B) {
	x, _, xs := input(b, 1, 16)
	y, _, ys := input(b, 2, 16)
	want := make([]float64, 16)
	floats.AddTo(want, xs, ys)
	check(b, x.Add(y), want, 1e-6)
	b.Run("AddRead/16", func(b *testing.B) {
		b.Run("weft", func(b *testing.B) {
			latency(b, func() error {
				_, err := tensor.Data[float32](ctx, x.Add(y))
				return err
			})
		})
		peer(b, "gonum", 0, func() { floats.AddTo(want, xs, ys) })
	})
}

// BenchmarkTransfer moves 100 MB to the device and back, and reads 4 bytes.
func BenchmarkTransfer(b *testing.B) {
	const n = 25_000_000
	d, err := tensor.Default()
	if err != nil {
		b.Fatal(err)
	}
	_, host, _ := input(b, 1, n)
	rate := func(b *testing.B) { b.ReportMetric(4*n*float64(b.N)/b.Elapsed().Seconds()/1e9, "GB/s") }
	b.Run("Upload/100MB/weft", func(b *testing.B) {
		for b.Loop() {
			x := tensor.Wrap(host).To(d).AddScalar(0) // a kernel that reads it, so that it has to be there
			if err := tensor.Eval(ctx, x); err != nil {
				b.Fatal(err)
			}
			wait(b, x)
			x.Release()
		}
		rate(b)
	})
	x := tensor.Randn(tensor.Float32, 1, n)
	if err := tensor.Eval(ctx, x); err != nil {
		b.Fatal(err)
	}
	b.Run("Download/100MB/weft", func(b *testing.B) {
		for b.Loop() {
			if _, err := tensor.Data[float32](ctx, x); err != nil {
				b.Fatal(err)
			}
		}
		rate(b)
	})
	b.Run("Item/4B/weft", func(b *testing.B) {
		latency(b, func() error {
			_, err := tensor.Item[float32](ctx, x.Select(0, 7))
			return err
		})
	})
}

// BenchmarkDependent is 1,000 additions of 16 elements, each on the result of the one before and all evaluated apart.
func BenchmarkDependent(b *testing.B) {
	x, _, _ := input(b, 1, 16)
	b.Run("1000/weft", func(b *testing.B) {
		for b.Loop() {
			y := x
			for range 1000 {
				y = y.AddScalar(1)
				if err := tensor.Eval(ctx, y); err != nil {
					b.Fatal(err)
				}
			}
			wait(b, y)
		}
	})
}
