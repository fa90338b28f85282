package graph

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A null backend computes nothing: what is measured on it is the graph.
type null struct{ buf nullBuffer }

type nullBuffer struct{}

func (nullBuffer) Size() int { return 1 << 40 }
func (nullBuffer) Release()  {}

func (*null) Info() backend.Info                                      { return backend.Info{Name: "null"} }
func (*null) Supports(backend.Kernel) bool                            { return true }
func (n *null) Alloc(int) (backend.Buffer, error)                     { return &n.buf, nil }
func (*null) Write(backend.Buffer, int, []byte) error                 { return nil }
func (*null) Run(context.Context, []backend.Step) error               { return nil }
func (*null) Read(context.Context, []byte, backend.Buffer, int) error { return nil }
func (*null) Close() error                                            { return nil }

// BenchmarkChain records three operations on 16 elements and runs them by a plan that is there.
func BenchmarkChain(b *testing.B) {
	d := NewDevice("null", new(null))
	x := arange(d, 16)
	shape := x.Layout.Shape
	two := num(d, 2)
	two.Layout = new(must(two.Layout.BroadcastTo(shape)))
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		y := Apply(ops.Mul, shape, x, two)
		y = Apply(ops.Add, shape, Of(y), two)
		y = Apply(ops.Exp, shape, Of(y))
		if err := Eval(ctx, y); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNetwork runs a block of a transformer of small size by a plan that is there.
func BenchmarkNetwork(b *testing.B) {
	d := NewDevice("null", new(null))
	r := rand.New(rand.NewPCG(1, 2))
	w := random(d, r, 8, 8)
	block := func(x Edge) Edge {
		q, k, v := matmul(x, w), matmul(x, w), matmul(x, w)
		a := matmul(softmax(apply(ops.Mul, matmul(q, permuted(k, 1, 0)), num(d, 0.5)), -1), v)
		h := apply(ops.Add, x, matmul(a, w))
		return apply(ops.Add, h, matmul(apply(ops.GELU, matmul(h, w)), w))
	}
	x := random(d, r, 4, 8)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if err := Eval(ctx, block(block(x)).Node); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(d.Stats().Kernels)/float64(d.Stats().Evals), "kernels/op")
}

// BenchmarkOtherSizes runs the same computation at sizes never seen before.
func BenchmarkOtherSizes(b *testing.B) {
	d := NewDevice("null", new(null))
	r := rand.New(rand.NewPCG(1, 2))
	w, bias := random(d, r, 8, 8), random(d, r, 8)
	n := 0
	for b.Loop() {
		n++
		data := Host(d, ops.Float32, backend.Shape{n, 8}, make([]byte, 0))
		if err := Eval(context.Background(), forward(Of(data), w, bias, 1).Node); err != nil {
			b.Fatal(err)
		}
	}
	if p := d.Stats().Plans; p > 2 { // one for the extent 1
		b.Errorf("%d plans", p)
	}
}

// BenchmarkPlan plans the same block from scratch.
func BenchmarkPlan(b *testing.B) {
	d := NewDevice("null", new(null))
	r := rand.New(rand.NewPCG(1, 2))
	x, w := random(d, r, 4, 8), random(d, r, 8, 8)
	for b.Loop() {
		y := softmax(apply(ops.GELU, apply(ops.Add, matmul(x, w), random(d, r, 8))), -1)
		if _, err := Explain(y.Node); err != nil {
			b.Fatal(err)
		}
	}
}
