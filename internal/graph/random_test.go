package graph

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A grower makes random graphs.
type grower struct {
	r     *rand.Rand
	d     *Device
	edges []Edge
	exact bool // elementwise operations and views alone
}

// TestRandomGraphs computes random graphs at once and one node at a time. Fusing changes no bit of
// elementwise results, and reductions stay within rounding.
func TestRandomGraphs(t *testing.T) {
	seeds := 600
	if testing.Short() {
		seeds = 150
	}
	for seed := range seeds {
		seed := uint64(seed)
		if t.Run(fmt.Sprint(seed), func(t *testing.T) { compareRandom(t, seed) }); t.Failed() {
			return
		}
	}
}

func compareRandom(t *testing.T, seed uint64) {
	fusedDevice, f := testDevice(t)
	single, _ := testDevice(t)
	switch seed % 4 {
	case 1:
		f.limit = 4
	case 2: // a device without fused rows
		f.refuse = func(k backend.Kernel) bool { return k.Family() == "row" }
	case 3: // a device that fuses nothing
		f.refuse = func(k backend.Kernel) bool {
			n := 0
			for _, b := range k.Bodies() {
				for i := range b.Code {
					if b.Code[i].Kind >= ops.Apply {
						n++
					}
				}
			}
			return n > 1
		}
	}
	exact := seed%3 == 0
	a := grow(seed, fusedDevice, exact)
	b := grow(seed, single, exact)
	ctx := context.Background()
	for i, e := range b.edges { // recorded in order, so that each reads what is computed
		if err := Eval(ctx, e.Node); err != nil {
			t.Fatalf("node %d alone: %v", i, err)
		}
	}
	var want, roots []*Node
	for i := range a.edges {
		if i >= len(a.edges)-3 || a.r.IntN(12) == 0 {
			roots, want = append(roots, a.edges[i].Node), append(want, b.edges[i].Node)
		}
	}
	if err := Eval(ctx, roots...); err != nil {
		t.Fatal(err)
	}
	for i, n := range roots {
		compareNodes(t, n, want[i], exact)
	}
	for i := range a.edges { // what was fused can still be had
		compareNodes(t, a.edges[i].Node, b.edges[i].Node, exact)
	}
}

func compareNodes(t *testing.T, n, want *Node, exact bool) {
	t.Helper()
	if n.DType != ops.Float32 {
		return
	}
	got, ref := read(t, Of(n)), read(t, Of(want))
	for i := range got {
		g, w := float64(got[i]), float64(ref[i])
		if math.Float32bits(got[i]) == math.Float32bits(ref[i]) || math.IsNaN(g) && math.IsNaN(w) {
			continue
		}
		if exact || math.Abs(g-w) > 1e-3*(1+math.Abs(w)) {
			t.Fatalf("%v element %d: %v fused, %v alone", n.Layout.Shape, i, g, w)
		}
	}
}

// grow makes the same graph for the same seed. Values stay small, so that rounding does not grow.
func grow(seed uint64, d *Device, exact bool) *grower {
	g := &grower{r: rand.New(rand.NewPCG(seed, 7)), d: d, exact: exact}
	for range 2 + g.r.IntN(3) {
		g.edges = append(g.edges, random(d, g.r, g.shape()...))
	}
	for range 4 + g.r.IntN(25) {
		g.step()
	}
	return g
}

func (g *grower) shape() []int {
	s := make([]int, 1+g.r.IntN(3))
	for i := range s {
		s[i] = []int{1, 2, 3, 4, 6, 2, 3, 4, 6, 0}[g.r.IntN(10)]
	}
	return s
}

func (g *grower) pick() Edge {
	back := min(g.r.IntN(6)+g.r.IntN(3), len(g.edges)-1)
	return g.edges[len(g.edges)-1-back]
}

func (g *grower) add(e Edge) {
	if e.Layout.Len() < 400 {
		g.edges = append(g.edges, e)
	}
}

func (g *grower) step() {
	e := g.pick()
	n := 9
	if g.exact {
		n = 5
	}
	switch g.r.IntN(n) {
	case 0:
		unary := []*ops.Op{ops.Tanh, ops.Neg, ops.Abs, ops.Sigmoid, ops.Sin, ops.ReLU}
		g.add(apply(unary[g.r.IntN(len(unary))], e))
	case 1, 2:
		g.binary(e)
	case 3, 4:
		v := Edge{e.Node, new(randomView(g.r, *e.Layout, 1+g.r.IntN(2)))}
		if v.Layout.Len() > 0 {
			g.add(v)
		}
	case 5:
		g.pattern(e)
	case 6:
		if r := len(e.Layout.Shape); r > 0 {
			g.add(sum(e, g.r.IntN(r)))
		}
	case 7:
		if r := len(e.Layout.Shape); r > 0 {
			n := Scan(ops.ReduceSum, e, g.r.IntN(r), g.r.IntN(2) == 0, g.r.IntN(2) == 0)
			g.add(apply(ops.Tanh, Of(n)))
		}
	case 8:
		g.heavy(e)
	}
}

func (g *grower) binary(e Edge) {
	o := num(g.d, g.r.NormFloat64())
	for range 8 {
		p := g.pick()
		if _, err := backend.Broadcast(e.Layout.Shape, p.Layout.Shape); err == nil && g.r.IntN(4) > 0 {
			o = p
		}
	}
	binary := []*ops.Op{ops.Add, ops.Sub, ops.Mul, ops.Maximum}
	r := apply(binary[g.r.IntN(len(binary))], e, o)
	if g.r.IntN(3) == 0 {
		r = apply(ops.Tanh, r)
	}
	g.add(r)
}

// pattern adds what becomes a kernel over rows.
func (g *grower) pattern(e Edge) {
	r := len(e.Layout.Shape)
	if r == 0 {
		return
	}
	axes := []int{g.r.IntN(r)}
	if other := g.r.IntN(r); other > axes[0] {
		axes = append(axes, other)
	}
	switch g.r.IntN(4) {
	case 0:
		g.add(softmax(e, axes...))
	case 1:
		c, v := variance(e, axes...)
		g.add(apply(ops.Mul, c, apply(ops.Rsqrt, apply(ops.Add, v, num(g.d, 0.1)))))
	case 2:
		m := reduce(ops.ReduceMax, e, axes...)
		g.add(apply(ops.Add, m, apply(ops.Log, sum(apply(ops.Exp, apply(ops.Sub, e, m)), axes...))))
	case 3:
		_, v := variance(e, axes...)
		g.add(v)
	}
}

func (g *grower) heavy(e Edge) {
	s := e.Layout.Shape
	switch k := g.r.IntN(4); {
	case k == 0 && len(s) == 2:
		g.add(apply(ops.Tanh, matmul(e, permuted(e, 1, 0))))
	case k == 1 && len(s) >= 2:
		index := Of(Index(g.d, ops.Int32, s[len(s)-2]))
		shape := s[:len(s)-1]
		src := Edge{e.Node, new(must(e.Layout.Slice(-1, 0, 1, s[len(s)-1])))}
		index.Layout = new(must(index.Layout.BroadcastTo(shape)))
		if s[len(s)-1] >= s[len(s)-2] {
			g.add(Of(Gather(shape, src, index, nil)))
		}
	case k == 2 && len(s) > 0:
		o := apply(ops.Neg, e)
		shape := append(s.Clone()[:0:0], s...)
		shape[0] *= 2
		at := backend.Dense(shape)
		g.add(Of(Assemble(e.Node.DType, shape,
			Part{e, must(at.Slice(0, 0, 1, s[0]))}, Part{o, must(at.Slice(0, s[0], 1, s[0]))})))
	case k == 3:
		g.add(Of(Copy(e)))
	}
}
