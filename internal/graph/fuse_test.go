package graph

import (
	"context"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/weft-go/weft/ops"
)

var r = rand.New(rand.NewPCG(3, 4))

func x(d *Device) Edge { return random(d, r, 4, 6) }

func layerNorm(x Edge, axes ...int) Edge {
	d := x.Node.Device
	c, v := variance(x, axes...)
	n := apply(ops.Mul, c, apply(ops.Rsqrt, apply(ops.Add, v, num(d, 1e-5))))
	k := x.Layout.Shape[len(x.Layout.Shape)-1]
	return apply(ops.Add, apply(ops.Mul, n, random(d, r, k)), random(d, r, k))
}

// kernelCases are graphs and the families of the kernels they become, in order.
var kernelCases = []struct {
	name string
	want string
	make func(d *Device) []Edge
}{
	{"elementwise chain", "map", func(d *Device) []Edge {
		return []Edge{apply(ops.GELU, apply(ops.Add, apply(ops.Mul, x(d), num(d, 2)), num(d, 1)))}
	}},
	{"chain into sum", "reduce", func(d *Device) []Edge {
		return []Edge{sum(apply(ops.GELU, apply(ops.Add, apply(ops.Mul, x(d), num(d, 2)), num(d, 1))), -1)}
	}},
	{"sum and epilogue", "reduce", func(d *Device) []Edge {
		return []Edge{apply(ops.Sqrt, apply(ops.Add, sum(x(d), 0), random(d, r, 1, 6)))}
	}},
	{"softmax", "row", func(d *Device) []Edge { return []Edge{softmax(x(d), -1)} }},
	{"softmax along axis 0", "row", func(d *Device) []Edge { return []Edge{softmax(x(d), 0)} }},
	{"softmax of a transposed view", "row", func(d *Device) []Edge { return []Edge{softmax(permuted(x(d), 1, 0), 1)} }},
	{"softmax over all axes", "row", func(d *Device) []Edge { return []Edge{softmax(x(d), 0, 1)} }},
	{"softmax over two axes of three", "row", func(d *Device) []Edge { return []Edge{softmax(random(d, r, 3, 4, 5), 0, 2)} }},
	{"softmax of scaled and masked scores", "row", func(d *Device) []Edge {
		return []Edge{softmax(apply(ops.Add, apply(ops.Mul, random(d, r, 2, 3, 4, 4), num(d, 0.5)), random(d, r, 4, 4)), -1)}
	}},
	{"log-softmax", "row", func(d *Device) []Edge {
		s := apply(ops.Sub, x(d), reduce(ops.ReduceMax, x(d), -1))
		return []Edge{apply(ops.Sub, s, apply(ops.Log, sum(apply(ops.Exp, s), -1)))}
	}},
	{"logsumexp", "row", func(d *Device) []Edge {
		in := x(d)
		m := reduce(ops.ReduceMax, in, -1)
		return []Edge{apply(ops.Add, apply(ops.Log, sum(apply(ops.Exp, apply(ops.Sub, in, m)), -1)), m)}
	}},
	{"layer norm", "row", func(d *Device) []Edge { return []Edge{layerNorm(x(d), -1)} }},
	{"layer norm over two axes", "row", func(d *Device) []Edge { return []Edge{layerNorm(random(d, r, 2, 3, 4), -2, -1)} }},
	{"RMS norm", "row", func(d *Device) []Edge {
		in := x(d)
		ms := mean(apply(ops.Square, in), -1)
		return []Edge{apply(ops.Mul, apply(ops.Mul, in, apply(ops.Rsqrt, apply(ops.Add, ms, num(d, 1e-6)))), random(d, r, 6))}
	}},
	{"variance", "row", func(d *Device) []Edge { _, v := variance(x(d), -1); return []Edge{v} }},
	{"variance along axis 0", "row", func(d *Device) []Edge { _, v := variance(x(d), 0); return []Edge{v} }},
	{"standard deviation over all", "row", func(d *Device) []Edge {
		_, v := variance(x(d), 0, 1)
		return []Edge{apply(ops.Sqrt, v)}
	}},
	{"variance by moments", "reduce", func(d *Device) []Edge {
		in := x(d)
		return []Edge{apply(ops.Sub, mean(apply(ops.Square, in), -1), apply(ops.Square, mean(in, -1)))}
	}},
	{"L2 norm", "row", func(d *Device) []Edge {
		in := x(d)
		return []Edge{apply(ops.Div, in, apply(ops.Maximum, apply(ops.Sqrt, sum(apply(ops.Square, in), -1)), num(d, 1e-12)))}
	}},
	{"reductions of different rows", "reduce reduce", func(d *Device) []Edge { return []Edge{sum(mean(x(d), 0), 1)} }},
	{"sums along both axes", "reduce row", func(d *Device) []Edge {
		in := x(d)
		return []Edge{apply(ops.Add, sum(in, 0), sum(in, 1))}
	}},
	{"rows, and sums that rows share", "reduce row", func(d *Device) []Edge {
		in := random(d, r, 2, 3, 4)
		return []Edge{apply(ops.Add, apply(ops.Sub, in, reduce(ops.ReduceMax, in, -1)), sum(random(d, r, 3, 4), -1))}
	}},
	{"rows, and sums of rows along columns", "reduce row", func(d *Device) []Edge {
		in := random(d, r, 3, 3)
		return []Edge{apply(ops.Add, apply(ops.Sub, in, reduce(ops.ReduceMax, in, 1)), permuted(sum(in, 1), 1, 0))}
	}},
	{"matmul with bias and activation", "matmul", func(d *Device) []Edge {
		return []Edge{apply(ops.ReLU, apply(ops.Add, matmul(random(d, r, 3, 4), random(d, r, 4, 5)), random(d, r, 5)))}
	}},
	{"matmul reshaped, with bias and residual", "matmul", func(d *Device) []Edge {
		y := reshaped(matmul(random(d, r, 6, 4), random(d, r, 4, 5)), 2, 3, 5)
		return []Edge{apply(ops.Add, apply(ops.Add, y, random(d, r, 5)), random(d, r, 2, 3, 5))}
	}},
	{"matmul transposed after", "matmul", func(d *Device) []Edge {
		return []Edge{apply(ops.Add, permuted(matmul(random(d, r, 3, 4), random(d, r, 4, 5)), 1, 0), num(d, 1))}
	}},
	{"matmul of casts", "matmul", func(d *Device) []Edge {
		return []Edge{matmul(Of(Cast(ops.Float16, random(d, r, 3, 4))), Of(Cast(ops.Float16, random(d, r, 4, 5))))}
	}},
	{"matmul of products", "map matmul", func(d *Device) []Edge {
		return []Edge{matmul(apply(ops.Exp, random(d, r, 3, 4)), random(d, r, 4, 5))}
	}},
	{"two matmuls added", "matmul matmul", func(d *Device) []Edge {
		return []Edge{apply(ops.Add, matmul(random(d, r, 3, 4), random(d, r, 4, 5)), matmul(random(d, r, 3, 4), random(d, r, 4, 5)))}
	}},
	{"attention", "matmul row matmul", func(d *Device) []Edge {
		q, k, v := random(d, r, 2, 5, 4), random(d, r, 2, 5, 4), random(d, r, 2, 5, 4)
		s := apply(ops.Mul, matmul(q, permuted(k, 0, 2, 1)), num(d, 0.5))
		return []Edge{matmul(softmax(s, -1), v)}
	}},
	{"residual stream", "matmul row", func(d *Device) []Edge {
		h := apply(ops.Add, x(d), matmul(random(d, r, 4, 3), random(d, r, 3, 6)))
		n := softmax(h, -1)
		return []Edge{apply(ops.Add, h, Of(Copy(permuted(n, 0, 1))))}
	}},
	{"scan with prologue and epilogue", "scan", func(d *Device) []Edge {
		n := Scan(ops.ReduceSum, apply(ops.Exp, x(d)), 0, false, false)
		return []Edge{apply(ops.Log, Of(n))}
	}},
	{"concatenation", "map map", func(d *Device) []Edge {
		a, b := apply(ops.Exp, x(d)), apply(ops.Neg, x(d))
		at := Of(Const(d, ops.Float32, 0))
		at.Layout = random(d, r, 8, 6).Layout
		return []Edge{Of(Assemble(ops.Float32, at.Layout.Shape,
			Part{a, *sliced(at, 0, 0, 1, 4).Layout}, Part{b, *sliced(at, 0, 4, 1, 4).Layout}))}
	}},
	{"an expensive node with two readers", "map map map", func(d *Device) []Edge {
		h := apply(ops.Exp, apply(ops.Sin, x(d)))
		return []Edge{apply(ops.Neg, h), apply(ops.Abs, permuted(h, 1, 0))}
	}},
	{"a cheap node with two readers", "map map", func(d *Device) []Edge {
		h := apply(ops.Add, x(d), num(d, 1))
		return []Edge{apply(ops.Neg, h), apply(ops.Abs, permuted(h, 1, 0))}
	}},
	{"result and what it is computed from", "map", func(d *Device) []Edge {
		h := apply(ops.Exp, x(d))
		return []Edge{h, apply(ops.Neg, h)}
	}},
	{"mean and maximum of the same rows", "reduce", func(d *Device) []Edge {
		in := apply(ops.Add, x(d), num(d, 1))
		return []Edge{mean(in, 0), reduce(ops.ReduceMax, in, 0)}
	}},
	{"mean and variance", "row", func(d *Device) []Edge {
		in := x(d)
		m := mean(in, -1)
		return []Edge{m, mean(apply(ops.Square, apply(ops.Sub, in, m)), -1)}
	}},
	{"maximum and softmax", "row", func(d *Device) []Edge {
		in := x(d)
		return []Edge{reduce(ops.ReduceMax, in, -1), softmax(in, -1)}
	}},
	{"sums of different rows", "reduce reduce", func(d *Device) []Edge {
		in := random(d, r, 4, 4)
		return []Edge{sum(in, 0), sum(in, 1)}
	}},
	{"a sum, and one that reads it", "reduce matmul reduce", func(d *Device) []Edge {
		in := x(d)
		s := sum(in, -1)
		return []Edge{s, sum(apply(ops.Mul, in, matmul(s, random(d, r, 1, 6))), -1)}
	}},
	{"constants alone", "map", func(d *Device) []Edge {
		c := num(d, 2)
		c.Layout = new(must(c.Layout.BroadcastTo(x(d).Layout.Shape)))
		return []Edge{Of(Copy(c))}
	}},
	{"eye", "map", func(d *Device) []Edge {
		i, j := Of(Index(d, ops.Int32, 3)), Of(Index(d, ops.Int32, 3))
		i.Layout = new(must(i.Layout.Insert(1)))
		return []Edge{apply(ops.Equal, i, j)}
	}},
	{"broadcast of a sum", "reduce map", func(d *Device) []Edge {
		s := sum(x(d), -1)
		s.Layout = new(must(s.Layout.BroadcastTo(x(d).Layout.Shape)))
		return []Edge{apply(ops.Exp, s)}
	}},
	{"sum along a broadcast axis", "map reduce", func(d *Device) []Edge {
		e := apply(ops.Exp, random(d, r, 4, 1))
		e.Layout = new(must(e.Layout.BroadcastTo(x(d).Layout.Shape)))
		return []Edge{sum(e, -1)}
	}},
}

func TestKernels(t *testing.T) {
	for _, c := range kernelCases {
		t.Run(c.name, func(t *testing.T) {
			d, _ := testDevice(t)
			edges := c.make(d)
			if got := families(t, edges...); got != c.want {
				t.Errorf("kernels: %s, want %s", got, c.want)
			}
			var nodes []*Node
			for _, e := range edges {
				nodes = append(nodes, e.Node)
			}
			if err := Eval(context.Background(), nodes...); err != nil {
				t.Fatal(err)
			}
			if got := d.Stats().Kernels; got != int64(len(strings.Fields(c.want))) {
				t.Errorf("%d kernels ran, want %s", got, c.want)
			}
		})
	}
}

func TestExplain(t *testing.T) {
	d, f := testDevice(t)
	x, w := arange(d, 2, 3), arange(d, 3, 3)
	h := apply(ops.Add, matmul(x, w), x)
	y, z := apply(ops.Exp, h), apply(ops.Neg, permuted(h, 1, 0))
	e, err := Explain(y.Node, z.Node)
	if err != nil {
		t.Fatal(err)
	}
	const want = `0 matmul [2 3]: matmul add (float32 [2 3], float32 [3 3], float32 [2 3]) -> (float32 [2 3]), 108 bytes, 42 operations
1 map [2 3]: exp (float32 [2 3]) -> (float32 [2 3]), 48 bytes, 6 operations
2 map [3 2]: neg (float32 [2 3]) -> (float32 [3 2]), 48 bytes, 6 operations
`
	if got := e.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if y.Node.Computed() || len(f.kernels) > 0 || d.Stats().Evals > 0 {
		t.Error("Explain ran something")
	}
	eval(t, y, z)
	if e, err := Explain(y.Node, z.Node); err != nil || len(e.Kernels) > 0 {
		t.Errorf("of what is computed: %v, %v", e, err)
	}
}

// TestComputedAgain tests that what was computed on the way to a result, and given up, is computed again as quickly when it is
// asked for, without keeping what it is made of; and that what several readers want one after another is kept at last.
func TestComputedAgain(t *testing.T) {
	kernels := func(e Edge) int {
		t.Helper()
		plan, err := Explain(e.Node)
		if err != nil {
			t.Fatal(err)
		}
		return len(plan.Kernels)
	}
	d, _ := testDevice(t)
	in := random(d, r, 30, 40)
	h := apply(ops.Exp, apply(ops.Mul, apply(ops.Add, in, num(d, 1)), num(d, 2)))
	loss := sum(h, -1)
	eval(t, loss)
	if n := kernels(h); n != 1 {
		t.Errorf("%d kernels for a chain whose sum is known", n)
	}
	eval(t, h)
	if n := d.Stats().BytesInUse; n != 4*(30*40+30+30*40) {
		t.Errorf("%d bytes in use by the input, the chain and its sum", n)
	}

	h = apply(ops.Exp, apply(ops.Mul, apply(ops.Add, in, num(d, 1)), num(d, 2)))
	eval(t, sum(h, -1))
	eval(t, sum(h, 0)) // the second reader: h is kept
	if !h.Node.Computed() {
		t.Error("what two readers wanted is not kept")
	}
	runtime.KeepAlive(loss.Node)
}
