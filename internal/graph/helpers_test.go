package graph

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// The helpers build graphs as package tensor does, with NumPy's broadcasting.

func testDevice(t testing.TB) (*Device, *fake) {
	f := newFake(t)
	return NewDevice("test", f), f
}

func floats(d *Device, shape backend.Shape, vs ...float32) Edge {
	data := make([]byte, 0, 4*len(vs))
	for _, v := range vs {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return Of(Host(d, ops.Float32, shape, data))
}

func random(d *Device, r *rand.Rand, shape ...int) Edge {
	vs := make([]float32, backend.Shape(shape).Len())
	for i := range vs {
		vs[i] = float32(r.NormFloat64())
	}
	return floats(d, shape, vs...)
}

func arange(d *Device, shape ...int) Edge {
	vs := make([]float32, backend.Shape(shape).Len())
	for i := range vs {
		vs[i] = float32(i)
	}
	return floats(d, shape, vs...)
}

func num(d *Device, v float64) Edge {
	return Of(Const(d, ops.Float32, ops.FloatValue(ops.Float32, v).Bits()))
}

func apply(op *ops.Op, in ...Edge) Edge {
	shapes := make([]backend.Shape, len(in))
	for i, e := range in {
		shapes[i] = e.Layout.Shape
	}
	shape := must(backend.Broadcast(shapes...))
	edges := make([]Edge, len(in))
	for i, e := range in {
		edges[i] = Edge{e.Node, new(must(e.Layout.BroadcastTo(shape)))}
	}
	return Of(Apply(op, shape, edges...))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// reduce reduces axes and keeps them with extent 1.
func reduce(op ops.ReduceOp, e Edge, axes ...int) Edge {
	var order, rows []int
	for a := range e.Layout.Shape {
		in := false
		for _, x := range axes {
			in = in || a == must(e.Layout.Shape.Axis(x))
		}
		if in {
			rows = append(rows, a)
		} else {
			order = append(order, a)
		}
	}
	n := Reduce(op, Edge{e.Node, new(must(e.Layout.Permute(append(order, rows...)...)))}, len(rows))
	l := Of(n).Layout
	for _, a := range rows {
		l = new(must(l.Insert(a)))
	}
	return Edge{n, l}
}

func sum(e Edge, axes ...int) Edge { return reduce(ops.ReduceSum, e, axes...) }

func count(e Edge, axes ...int) Edge {
	n := 1
	for _, a := range axes {
		n *= e.Layout.Shape[must(e.Layout.Shape.Axis(a))]
	}
	return num(e.Node.Device, float64(n))
}

func mean(e Edge, axes ...int) Edge { return apply(ops.Div, sum(e, axes...), count(e, axes...)) }

func softmax(e Edge, axes ...int) Edge {
	x := apply(ops.Exp, apply(ops.Sub, e, reduce(ops.ReduceMax, e, axes...)))
	return apply(ops.Div, x, sum(x, axes...))
}

func variance(e Edge, axes ...int) (centred, v Edge) {
	centred = apply(ops.Sub, e, mean(e, axes...))
	return centred, mean(apply(ops.Square, centred), axes...)
}

func matmul(a, b Edge) Edge { return Of(MatMul(a, b)) }

func permuted(e Edge, axes ...int) Edge { return Edge{e.Node, new(must(e.Layout.Permute(axes...)))} }

func reshaped(e Edge, shape ...int) Edge {
	l, ok := e.Layout.Reshape(shape)
	if !ok {
		e = Of(Copy(e))
		l = must2(e.Layout.Reshape(shape))
	}
	return Edge{e.Node, new(l)}
}

func must2(l backend.Layout, ok bool) backend.Layout {
	if !ok {
		panic("no such layout")
	}
	return l
}

func sliced(e Edge, axis, start, step, n int) Edge {
	return Edge{e.Node, new(must(e.Layout.Slice(axis, start, step, n)))}
}

// read returns the elements of e.
func read(t testing.TB, e Edge) []float32 {
	t.Helper()
	data, err := Bytes(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	vs := make([]float32, len(data)/4)
	for i := range vs {
		vs[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return vs
}

func wantFloats(t testing.TB, e Edge, want ...float32) {
	t.Helper()
	got := read(t, e)
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

// families returns the kernels an Eval of edges would run, by family.
func families(t testing.TB, edges ...Edge) string {
	t.Helper()
	var nodes []*Node
	for _, e := range edges {
		nodes = append(nodes, e.Node)
	}
	x, err := Explain(nodes...)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, k := range x.Kernels {
		names = append(names, k.Family)
	}
	return strings.Join(names, " ")
}
