// Package peers times gomlx and gorgonia on cases of package benchmarks, beside weft in one run. It is a module of its own, so
// that weft does not depend on what it is compared with:
//
//	cd benchmarks/peers && go test -bench .
//
// gomlx runs on its backend in Go (simplego), which needs nothing installed. Results are compared before they are timed.
// The last release of gorgonia.org/tensor, v0.9.24, panics at start-up since Go 1.20; go.mod has a later version of the package
// that does that, which lets it run.
package peers

import (
	"context"
	"math"
	"testing"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/simplego"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"gonum.org/v1/gonum/mat"
	gorgonia "gorgonia.org/tensor"

	"github.com/weft-go/weft/tensor"
)

const (
	vector = 1_000_000
	side   = 512
)

func backend(b *testing.B) backends.Backend {
	b.Helper()
	be, err := simplego.New("")
	if err != nil {
		b.Fatal(err)
	}
	return be
}

// A pair is the same input for both.
type pair struct {
	weft  *tensor.Tensor
	gomlx *tensors.Tensor
}

func input(b *testing.B, seed uint64, shape ...int) pair {
	b.Helper()
	w := tensor.Randn(tensor.Float32, seed, shape...)
	data, err := tensor.Data[float32](context.Background(), w)
	if err != nil {
		b.Fatal(err)
	}
	return pair{tensor.New(data, shape...), tensors.FromFlatDataAndDimensions(data, shape...)}
}

// compare times both after it has compared their results.
func compare(b *testing.B, x, y pair, weft func(x, y *tensor.Tensor) *tensor.Tensor, gomlx func(x, y *graph.Node) *graph.Node) {
	b.Helper()
	ctx := context.Background()
	exec := graph.MustNewExec(backend(b), gomlx)
	got, err := tensor.Data[float32](ctx, weft(x.weft, y.weft))
	if err != nil {
		b.Fatal(err)
	}
	want, err := tensors.CopyFlatData[float32](exec.MustExec1(x.gomlx, y.gomlx))
	if err != nil {
		b.Fatal(err)
	}
	for i := range want {
		if !(math.Abs(float64(got[i]-want[i])) <= 1e-4*(1+math.Abs(float64(want[i])))) {
			b.Fatalf("element %d: weft %v, gomlx %v", i, got[i], want[i])
		}
	}
	b.Run("weft", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			z := weft(x.weft, y.weft)
			if err := tensor.Eval(ctx, z); err != nil {
				b.Fatal(err)
			}
			z.Release()
		}
	})
	b.Run("gomlx", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := exec.MustExec1(x.gomlx, y.gomlx).FinalizeAll(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkTiny adds 16 numbers to 16: the overhead of everything.
func BenchmarkTiny(b *testing.B) {
	x, y := input(b, 1, 16), input(b, 2, 16)
	compare(b, x, y, (*tensor.Tensor).Add, graph.Add)
	ctx := context.Background()
	xs, ys := tensor.Must(tensor.Data[float32](ctx, x.weft)), tensor.Must(tensor.Data[float32](ctx, y.weft))
	b.Run("weft-read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := tensor.Data[float32](ctx, x.weft.Add(y.weft)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("gorgonia", func(b *testing.B) {
		v := gorgonia.New(gorgonia.WithShape(4, 4), gorgonia.WithBacking(xs))
		w := gorgonia.New(gorgonia.WithShape(4, 4), gorgonia.WithBacking(ys))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := gorgonia.Add(v, w); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("gonum", func(b *testing.B) {
		wide := func(x []float32) *mat.Dense {
			v := make([]float64, len(x))
			for i := range x {
				v[i] = float64(x[i])
			}
			return mat.NewDense(4, 4, v)
		}
		v, w := wide(xs), wide(ys)
		b.ReportAllocs()
		for b.Loop() {
			var z mat.Dense
			z.Add(v, w)
		}
	})
}

func BenchmarkFMA(b *testing.B) {
	compare(b, input(b, 1, vector), input(b, 2, vector),
		func(x, y *tensor.Tensor) *tensor.Tensor { return x.Mul(y).AddScalar(42) },
		func(x, y *graph.Node) *graph.Node { return graph.AddScalar(graph.Mul(x, y), 42) })
}

func BenchmarkExp(b *testing.B) {
	compare(b, input(b, 1, vector), input(b, 2, vector),
		func(x, y *tensor.Tensor) *tensor.Tensor { return x.Add(y).Exp() },
		func(x, y *graph.Node) *graph.Node { return graph.Exp(graph.Add(x, y)) })
}

func BenchmarkSoftmax(b *testing.B) {
	compare(b, input(b, 1, 1024, 1024), input(b, 2, 1024, 1024),
		func(x, y *tensor.Tensor) *tensor.Tensor { return x.Add(y).Softmax(-1) },
		func(x, y *graph.Node) *graph.Node { return graph.Softmax(graph.Add(x, y)) })
}

func BenchmarkMatMul(b *testing.B) {
	compare(b, input(b, 1, side, side), input(b, 2, side, side), (*tensor.Tensor).MatMul, graph.Dot)
}
