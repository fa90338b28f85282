package graph

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

func eval(t testing.TB, edges ...Edge) {
	t.Helper()
	nodes := make([]*Node, len(edges))
	for i, e := range edges {
		nodes[i] = e.Node
	}
	if err := Eval(context.Background(), nodes...); err != nil {
		t.Fatal(err)
	}
}

// forward is a small network: what a program builds again for each input.
func forward(x, w, b Edge, scale float64) Edge {
	h := apply(ops.GELU, apply(ops.Add, matmul(x, w), b))
	return softmax(apply(ops.Mul, h, num(x.Node.Device, scale)), -1)
}

func TestPlansAreKept(t *testing.T) {
	d, _ := testDevice(t)
	r := rand.New(rand.NewPCG(5, 6))
	w, b := random(d, r, 4, 5), random(d, r, 5)
	eval(t, forward(random(d, r, 3, 4), w, b, 1))
	first := d.Stats()
	if first.Plans != 1 || first.PlanHits != 0 || first.Kernels != 2 {
		t.Fatalf("after the first Eval: %+v", first)
	}
	for i, c := range []struct {
		name string
		x    Edge
		w, b Edge
	}{
		{"same sizes", random(d, r, 3, 4), w, b},
		{"another batch", random(d, r, 7, 4), w, b},
		{"other weights", random(d, r, 3, 6), random(d, r, 6, 9), random(d, r, 9)},
	} {
		t.Run(c.name, func(t *testing.T) {
			eval(t, forward(c.x, c.w, c.b, float64(i)))
			s := d.Stats()
			if s.Plans != 1 || s.PlanHits != int64(i+1) || s.Compiled != first.Compiled {
				t.Errorf("planned or compiled again: %+v", s)
			}
		})
	}
	if n := len(d.cache.bindings); n != 3 {
		t.Errorf("%d bindings for three sizes", n)
	}
}

// TestStructureDiffers checks that graphs which differ in one thing do not get each other's plans.
func TestStructureDiffers(t *testing.T) {
	for _, hash := range []struct {
		name string
		f    func(uint64, []uint64) uint64
	}{
		{"hash", hashWords},
		{"every hash collides", func(uint64, []uint64) uint64 { return 0 }},
	} {
		t.Run(hash.name, func(t *testing.T) {
			d, _ := testDevice(t)
			d.cache.hash = hash.f
			x := arange(d, 2, 3)
			y := arange(d, 2, 3)
			sq := arange(d, 3, 3)
			graphs := []struct {
				e    Edge
				want []float32
			}{
				{apply(ops.Add, x, y), []float32{0, 2, 4, 6, 8, 10}},
				{apply(ops.Sub, x, y), []float32{0, 0, 0, 0, 0, 0}},
				{apply(ops.Add, x, x), []float32{0, 2, 4, 6, 8, 10}},
				{apply(ops.Add, x, num(d, 1)), []float32{1, 2, 3, 4, 5, 6}},
				{apply(ops.Add, x, num(d, 2)), []float32{2, 3, 4, 5, 6, 7}},
				{apply(ops.Sub, num(d, 1), x), []float32{1, 0, -1, -2, -3, -4}},
				{sum(x, 0), []float32{3, 5, 7}},
				{sum(x, 1), []float32{3, 12}},
				{reduce(ops.ReduceMax, x, 1), []float32{2, 5}},
				{sum(x, 0, 1), []float32{15}},
				{Of(Scan(ops.ReduceSum, x, 1, false, false)), []float32{0, 1, 3, 3, 7, 12}},
				{Of(Scan(ops.ReduceSum, x, 1, true, false)), []float32{0, 0, 1, 0, 3, 7}},
				{Of(Scan(ops.ReduceSum, x, 1, false, true)), []float32{3, 3, 2, 12, 9, 5}},
				{Of(Copy(permuted(x, 1, 0))), []float32{0, 3, 1, 4, 2, 5}},
				{Of(Copy(sliced(x, 1, 2, -1, 3))), []float32{2, 1, 0, 5, 4, 3}},
				{Of(Copy(sliced(x, 1, 0, 1, 2))), []float32{0, 1, 3, 4}},
				{Of(Copy(sliced(x, 1, 1, 1, 2))), []float32{1, 2, 4, 5}},
				{Of(Copy(sliced(x, 1, 0, 2, 2))), []float32{0, 2, 3, 5}},
				{Of(Copy(sq)), []float32{0, 1, 2, 3, 4, 5, 6, 7, 8}},
				{Of(Copy(permuted(sq, 1, 0))), []float32{0, 3, 6, 1, 4, 7, 2, 5, 8}},
				{apply(ops.Sub, sq, reduce(ops.ReduceMax, sq, 1)), []float32{-2, -1, 0, -2, -1, 0, -2, -1, 0}},
				{apply(ops.Sub, sq, reduce(ops.ReduceMax, sq, 0)), []float32{-6, -6, -6, -3, -3, -3, 0, 0, 0}},
			}
			for range 2 {
				for i, g := range graphs {
					if g.e.Node.Computed() {
						g.e = Edge{Copy(g.e), g.e.Layout}
						g.e.Layout = Of(g.e.Node).Layout
					}
					t.Logf("graph %d", i)
					wantFloats(t, g.e, g.want...)
				}
			}
		})
	}
}

// TestSizesThatDoNotFit gives a plan sizes at which its layouts cannot be expressed: then there is another.
func TestSizesThatDoNotFit(t *testing.T) {
	z := func(d *Device, m, k int) Edge { // fuses if m = k alone: rows of z and of x are alike
		return apply(ops.Mul, arange(d, 2, m), sum(arange(d, 2, k), -1))
	}
	for _, sizes := range [][][2]int{{{3, 3}, {4, 3}, {5, 5}, {3, 2}}, {{4, 3}, {3, 3}, {2, 3}, {2, 2}}} {
		d, _ := testDevice(t)
		for _, s := range sizes {
			m, k := s[0], s[1]
			var want []float32
			for i := range 2 {
				total := float32(0)
				for j := range k {
					total += float32(i*k + j)
				}
				for j := range m {
					want = append(want, float32(i*m+j)*total)
				}
			}
			wantFloats(t, z(d, m, k), want...)
		}
		if p := d.Stats().Plans; p > 2 {
			t.Errorf("sizes %v: %d plans", sizes, p)
		}
	}
}

// TestOperandsAlikeByChance makes a plan where two operands, or all elements of a row, are one by chance.
func TestOperandsAlikeByChance(t *testing.T) {
	d, _ := testDevice(t)
	x := arange(d, 8)
	for _, at := range [][2]int{{1, 1}, {1, 3}, {3, 1}, {2, 2}} {
		a, b := at[0], at[1]
		y := apply(ops.Sub, sliced(x, 0, a, 1, 2), sliced(x, 0, b, 1, 2))
		wantFloats(t, y, float32(a-b), float32(a-b))
	}
	for _, step := range []int{1, 2, 1, 3} {
		w := Edge{x.Node, new(must(x.Layout.Unfold(0, 2, step)))}
		w = sliced(sliced(w, 0, 0, 1, 2), 1, 1, -1, 2) // element i, j is step·i + 1 - j
		n := apply(ops.Neg, w)
		n.Layout = new(must(n.Layout.Diagonal(0, 0, 1))) // element i is -(step·i + 1 - i)
		z := floats(d, backend.Shape{2}, 5, 6)
		y := apply(ops.Add, apply(ops.Sub, z, reduce(ops.ReduceMax, z, 0)), n)
		wantFloats(t, y, -2, float32(-step))
	}
}

// TestExtentOne checks that extents of 1, which broadcast, do not mislead a plan for others.
func TestExtentOne(t *testing.T) {
	for _, order := range [][]int{{1, 4, 1, 3}, {4, 1, 3, 1}} {
		d, _ := testDevice(t)
		for _, n := range order {
			x := arange(d, 2, n)
			want := make([]float32, 2*n)
			for i := range want {
				want[i] = float32(i - (i/n*n + n - 1))
			}
			wantFloats(t, apply(ops.Sub, x, reduce(ops.ReduceMax, x, -1)), want...)
		}
	}
}

func TestEmpty(t *testing.T) {
	d, f := testDevice(t)
	e := floats(d, backend.Shape{0, 3})
	wantFloats(t, apply(ops.Exp, e))
	wantFloats(t, softmax(e, 1))
	wantFloats(t, sum(apply(ops.Exp, e), 0), 0, 0, 0)
	wantFloats(t, apply(ops.Add, sum(e, 0, 1), num(d, 1)), 1)
	wantFloats(t, sum(floats(d, backend.Shape{3, 0}), 1), 0, 0, 0)
	wantFloats(t, matmul(floats(d, backend.Shape{2, 0}), floats(d, backend.Shape{0, 2})), 0, 0, 0, 0)
	wantFloats(t, matmul(floats(d, backend.Shape{0, 2}), floats(d, backend.Shape{2, 2})))
	if n := len(f.kernels); n != 4 {
		t.Errorf("%d kernels, want one for each of the results that has elements", n)
	}
}

func TestCacheIsBounded(t *testing.T) {
	d, _ := testDevice(t)
	c := &d.cache
	x := arange(d, 3)
	eval(t, apply(ops.Neg, x))
	steps := make([]boundStep, 99)
	for i := range 3 * maxSteps / 100 {
		k := key{structure: []uint64{1}, sizes: []uint64{uint64(i)}}
		c.lookup(&k)
		p := &plan{kernels: make([]*kernel, 99)}
		c.addPlan(&k, p)
		c.addBinding(&k, &binding{plan: p, steps: steps})
		if b, _ := c.lookup(&k); b == nil {
			t.Fatalf("binding %d was forgotten at once", i)
		}
	}
	if n := len(c.bindings); n > maxSteps/100 || n < maxSteps/300 {
		t.Errorf("%d bindings are kept", n)
	}
	if n := len(c.plans[c.hash(0, []uint64{1})]); n > maxKernels/100 {
		t.Errorf("%d plans are kept", n)
	}
	wantFloats(t, apply(ops.Neg, x), 0, -1, -2)
}
