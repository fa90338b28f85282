package benchmarks

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/weft-go/weft/tensor"
)

// BenchmarkPeer is the cases that peers/numpy_pytorch_cpu.py puts to NumPy and PyTorch, of the same sizes, with
// the median and the least time of the calls. Products, convolutions and attention are in peers_products_test.go.
func BenchmarkPeer(b *testing.B) {
	for _, c := range slices.Concat(productPeers(), arrayPeers(b)) {
		b.Run(c.name, c.f)
	}
}

// A peerCase is a case by the name that the script has for it.
type peerCase struct {
	name string
	f    func(b *testing.B)
}

func arrayPeers(b *testing.B) []peerCase {
	b.Helper()
	const rows, cols, side = 4096, 1024, 4096
	unary := func(f func(*tensor.Tensor) *tensor.Tensor, g func(float64) float64) func(*testing.B) {
		return func(b *testing.B) {
			x, _, xs := input(b, 1, 1e7)
			median(b, mapped(xs, g), 1e-6, func() *tensor.Tensor { return f(x) })
		}
	}
	reduce := func(f func(*tensor.Tensor) *tensor.Tensor, g func(x []float64) float64) func(*testing.B) {
		return func(b *testing.B) {
			x, _, xs := input(b, 1, 1e7)
			median(b, []float64{g(xs)}, 1e-5, func() *tensor.Tensor { return f(x) })
		}
	}
	lines := func(f func(*tensor.Tensor) *tensor.Tensor, g func(z, x []float64)) func(*testing.B) {
		return func(b *testing.B) {
			x, _, xs := input(b, 1, rows*cols)
			want := make([]float64, len(xs))
			for at := 0; at < len(xs); at += cols {
				g(want[at:at+cols], xs[at:at+cols])
			}
			m := x.Reshape(rows, cols)
			median(b, want, 1e-5, func() *tensor.Tensor { return f(m) })
		}
	}
	sorted := func(d tensor.DType, scale float64) func(*testing.B) {
		return func(b *testing.B) {
			x := tensor.Randn(tensor.Float32, 1, 1e6).MulScalar(scale).Cast(d)
			if err := tensor.Eval(ctx, x); err != nil {
				b.Fatal(err)
			}
			want, err := tensor.Data[float64](ctx, x.Cast(tensor.Float64))
			if err != nil {
				b.Fatal(err)
			}
			slices.Sort(want)
			median(b, want, 1e-6, func() *tensor.Tensor { return x.Sort(0) })
		}
	}
	square := func(f func(m *tensor.Tensor) *tensor.Tensor, g func(x []float64) []float64) func(*testing.B) {
		return func(b *testing.B) {
			x, _, xs := input(b, 1, side*side)
			m := x.Reshape(side, side)
			median(b, g(xs), 1e-5, func() *tensor.Tensor { return f(m) })
		}
	}
	weight, _, ws := input(b, 3, cols)
	bias, _, bs := input(b, 4, cols)
	return []peerCase{
		{"Sort/float32", sorted(tensor.Float32, 1)},
		{"Sort/float64", sorted(tensor.Float64, 1)},
		{"Sort/int32", sorted(tensor.Int32, 1e8)},
		{"ArgSort/float32", func(b *testing.B) {
			x, _, xs := input(b, 1, 1e6)
			want := make([]float64, len(xs))
			for i := range want {
				want[i] = float64(i)
			}
			slices.SortStableFunc(want, func(i, j float64) int { return cmp.Compare(xs[int(i)], xs[int(j)]) })
			median(b, want, 0, func() *tensor.Tensor { return x.ArgSort(0) })
		}},
		{"Softmax", lines(func(x *tensor.Tensor) *tensor.Tensor { return x.Softmax(-1) }, func(z, x []float64) {
			exponentials(z, x)
			floats.Scale(1/floats.Sum(z), z)
		})},
		{"LogSoftmax", lines(func(x *tensor.Tensor) *tensor.Tensor { return x.LogSoftmax(-1) }, func(z, x []float64) {
			l := floats.LogSumExp(x)
			for i, v := range x {
				z[i] = v - l
			}
		})},
		{"LayerNorm", lines(func(x *tensor.Tensor) *tensor.Tensor { return x.LayerNorm(weight, bias, 1e-5) }, func(z, x []float64) {
			mean, std := stat.PopMeanStdDev(x, nil)
			for i, v := range x {
				z[i] = (v-mean)/math.Sqrt(std*std+1e-5)*ws[i] + bs[i]
			}
		})},
		{"RMSNorm", lines(func(x *tensor.Tensor) *tensor.Tensor { return x.RMSNorm(weight, 1e-5) }, func(z, x []float64) {
			floats.ScaleTo(z, 1/math.Sqrt(floats.Dot(x, x)/cols+1e-5), x)
			floats.Mul(z, ws)
		})},
		{"Transpose", square(func(m *tensor.Tensor) *tensor.Tensor { return m.T().Reshape(-1) }, func(x []float64) []float64 {
			z := make([]float64, len(x))
			for i, v := range x {
				z[i%side*side+i/side] = v
			}
			return z
		})},
		{"Gather", func(b *testing.B) {
			const entries, width = 65536, 128
			x, _, xs := input(b, 1, entries*width)
			index := tensor.RandInt(tensor.Int64, 2, 0, entries, entries)
			if err := tensor.Eval(ctx, index); err != nil {
				b.Fatal(err)
			}
			at, err := tensor.Data[int64](ctx, index)
			if err != nil {
				b.Fatal(err)
			}
			var want []float64
			for _, i := range at {
				want = append(want, xs[i*width:(i+1)*width]...)
			}
			m := x.Reshape(entries, width)
			median(b, want, 0, func() *tensor.Tensor { return m.Take(0, index) })
		}},
		{"Sum", reduce(func(x *tensor.Tensor) *tensor.Tensor { return x.Sum() }, floats.Sum)},
		{"Max", reduce(func(x *tensor.Tensor) *tensor.Tensor { return x.Max() }, floats.Max)},
		{"ArgMax", reduce(func(x *tensor.Tensor) *tensor.Tensor { return x.ArgMax() }, func(x []float64) float64 { return float64(floats.MaxIdx(x)) })},
		{"Mean", reduce(func(x *tensor.Tensor) *tensor.Tensor { return x.Mean() }, func(x []float64) float64 { return stat.Mean(x, nil) })},
		{"Var", reduce(func(x *tensor.Tensor) *tensor.Tensor { return x.Var() }, func(x []float64) float64 { return stat.PopVariance(x, nil) })},
		{"SumColumns", square(func(m *tensor.Tensor) *tensor.Tensor { return m.Sum(0) }, func(x []float64) []float64 {
			z := make([]float64, side)
			for i, v := range x {
				z[i%side] += v
			}
			return z
		})},
		{"SumRows", square(func(m *tensor.Tensor) *tensor.Tensor { return m.Sum(1) }, func(x []float64) []float64 {
			z := make([]float64, side)
			for i, v := range x {
				z[i/side] += v
			}
			return z
		})},
		{"Exp", unary((*tensor.Tensor).Exp, math.Exp)},
		{"Tanh", unary((*tensor.Tensor).Tanh, math.Tanh)},
		{"Log", func(b *testing.B) {
			x, _, xs := input(b, 1, 1e7)
			x = x.Abs()
			if err := tensor.Eval(ctx, x); err != nil {
				b.Fatal(err)
			}
			median(b, mapped(xs, func(v float64) float64 { return math.Log(math.Abs(v)) }), 1e-6, func() *tensor.Tensor { return x.Log() })
		}},
		{"Sigmoid", unary((*tensor.Tensor).Sigmoid, func(v float64) float64 { return 1 / (1 + math.Exp(-v)) })},
		{"Erf", unary((*tensor.Tensor).Erf, math.Erf)},
		{"FMA", func(b *testing.B) {
			x, _, xs := input(b, 1, 1e7)
			y, _, ys := input(b, 2, 1e7)
			for i, v := range ys {
				xs[i] = xs[i]*v + 42
			}
			median(b, xs, 1e-6, func() *tensor.Tensor { return x.Mul(y).AddScalar(42) })
		}},
		{"Chain", func(b *testing.B) {
			x, _, xs := input(b, 1, 1e7)
			y, _, ys := input(b, 2, 1e7)
			for i, v := range ys {
				t := xs[i]*v + 1
				xs[i] = t*math.Erfc(-t/math.Sqrt2) - v
			}
			median(b, xs, 1e-6, func() *tensor.Tensor { return x.Mul(y).AddScalar(1).GELU().MulScalar(2).Sub(y) })
		}},
		{"CumSum", func(b *testing.B) {
			x, _, xs := input(b, 1, 1e7)
			median(b, floats.CumSum(xs, xs), 1e-4, func() *tensor.Tensor { return x.CumSum(0) })
		}},
		{"CumSumRows", square(func(m *tensor.Tensor) *tensor.Tensor { return m.CumSum(1) }, func(x []float64) []float64 {
			for at := 0; at < len(x); at += side {
				floats.CumSum(x[at:at+side], x[at:at+side])
			}
			return x
		})},
		{"CumSumColumns", square(func(m *tensor.Tensor) *tensor.Tensor { return m.CumSum(0) }, func(x []float64) []float64 {
			for i := side; i < len(x); i++ {
				x[i] += x[i-side]
			}
			return x
		})},
		{"Tiny", func(b *testing.B) {
			x, _, xs := input(b, 1, 16)
			y, _, ys := input(b, 2, 16)
			median(b, floats.AddTo(make([]float64, 16), xs, ys), 1e-6, func() *tensor.Tensor { return x.Add(y) })
		}},
	}
}

// exponentials writes exp(x - the greatest of x).
func exponentials(z, x []float64) {
	top := floats.Max(x)
	for i, v := range x {
		z[i] = math.Exp(v - top)
	}
}

// median reports the times of what build records, after it has compared the result with want.
func median(b *testing.B, want []float64, tol float64, build func() *tensor.Tensor) {
	b.Helper()
	check(b, build(), want, tol)
	evaluations(b, build)
}

// medianOfSome is median for a result of which some elements are compared.
func medianOfSome(b *testing.B, tol float64, want func(i int) float64, build func() *tensor.Tensor) {
	b.Helper()
	checkSome(b, build(), tol, want)
	evaluations(b, build)
}

// evaluations reports the times of the evaluation of what build records.
func evaluations(b *testing.B, build func() *tensor.Tensor) {
	b.Helper()
	var y *tensor.Tensor
	times(b, func() {
		y = build()
		if err := tensor.Eval(ctx, y); err != nil {
			b.Fatal(err)
		}
	}, func() { y.Release() })
}

// times reports the median and the least time of f, without that of after.
func times(b *testing.B, f, after func()) {
	b.Helper()
	f() // as the peers are called once before
	after()
	runtime.GC() // which what was checked has set off, and no library in C does meanwhile
	var taken []time.Duration
	for range b.N {
		start := time.Now()
		f()
		taken = append(taken, time.Since(start))
		after()
	}
	slices.Sort(taken)
	b.ReportMetric(float64(taken[len(taken)/2].Nanoseconds())/1e6, "median-ms")
	b.ReportMetric(float64(taken[0].Nanoseconds())/1e6, "least-ms")
}

func mapped(x []float64, f func(float64) float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = f(v)
	}
	return y
}
