package cpu

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/cpu/internal/asm"
	"github.com/weft-go/weft/ops"
)

// quickBodies are rows that assembly does at once, as package tensor records them: of operand 0, with a weight and a bias where
// there are more. Constants are 1/c and epsilon.
var quickBodies = map[string]func(b *ops.Builder){
	"softmax": func(b *ops.Builder) {
		e := b.Apply(ops.Exp, belowMax(b))
		b.Result(b.Apply(ops.Div, e, b.Reduce(ops.ReduceSum, e)))
	},
	"log-softmax": func(b *ops.Builder) {
		d := belowMax(b)
		b.Result(b.Apply(ops.Sub, d, b.Apply(ops.Log, b.Reduce(ops.ReduceSum, b.Apply(ops.Exp, d)))))
	},
	"layer norm":         func(b *ops.Builder) { b.Result(normalised(b)) },
	"layer norm, weight": func(b *ops.Builder) { b.Result(b.Apply(ops.Mul, normalised(b), load32(b))) },
	"layer norm and affine": func(b *ops.Builder) {
		b.Result(b.Apply(ops.Add, b.Apply(ops.Mul, normalised(b), load32(b)), load32(b)))
	},
	"rms norm":         func(b *ops.Builder) { b.Result(rmsNormalised(b)) },
	"rms norm, weight": func(b *ops.Builder) { b.Result(b.Apply(ops.Mul, rmsNormalised(b), load32(b))) },
}

func load32(b *ops.Builder) ops.Ref { return b.Load(b.Operand(ops.Float32), false) }

func belowMax(b *ops.Builder) ops.Ref {
	x := load32(b)
	return b.Apply(ops.Sub, x, b.Reduce(ops.ReduceMax, x))
}

func normalised(b *ops.Builder) ops.Ref {
	x, count, eps := load32(b), b.Const(0, ops.Float32), b.Const(1, ops.Float32)
	d := b.Apply(ops.Sub, x, b.Apply(ops.Mul, b.Reduce(ops.ReduceSum, x), count))
	sum := b.Reduce(ops.ReduceSum, d)
	rest := b.Apply(ops.Mul, sum, count)
	squares := b.Apply(ops.Sub, b.Reduce(ops.ReduceSum, b.Apply(ops.Square, d)), b.Apply(ops.Mul, sum, rest))
	return b.Apply(ops.Mul, b.Apply(ops.Sub, d, rest), b.Apply(ops.Rsqrt, b.Apply(ops.Add, b.Apply(ops.Mul, squares, count), eps)))
}

func rmsNormalised(b *ops.Builder) ops.Ref {
	x := load32(b)
	sum := b.Reduce(ops.ReduceSum, b.Apply(ops.Square, x))
	return b.Apply(ops.Mul, x, b.Apply(ops.Rsqrt, b.Apply(ops.Add, b.Apply(ops.Mul, sum, b.Const(0, ops.Float32)), b.Const(1, ops.Float32))))
}

// TestQuickRows compares rows in assembly at once with the same operation by operation: of lengths around those of blocks and
// segments, with gaps between rows, with elements that are not numbers, and as many as are written past the caches.
func TestQuickRows(t *testing.T) {
	if loops == nil {
		t.Skip("no assembly")
	}
	for name, build := range quickBodies {
		var eb ops.Builder
		build(&eb)
		e := eb.Expr()
		t.Run(name, func(t *testing.T) {
			k, err := splitRows(&e, false)
			if err != nil {
				t.Fatal(err)
			}
			for i := range k.phases {
				if p := &k.phases[i]; p.quick == nil && len(p.loads) == 0 {
					t.Errorf("phase %d is not done at once", i)
				}
			}
			for _, s := range [][3]int{{1, 256, 0}, {20, 300, 0}, {9, 1000, 24}, {13, 1024, 0}, {3, 1025, 7}, {2, 8200, 0}, {2, 70_001, 0}, {4100, 1024, 0}} {
				quickRowsCase(t, e, s[0], s[1], s[2])
			}
		})
	}
}

func quickRowsCase(t *testing.T, e ops.Expr, rows, c, gap int) {
	r := rand.New(rand.NewPCG(uint64(rows), uint64(c)))
	shape := backend.Shape{rows, c}
	x := make([]float32, rows*(c+gap))
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	if rows > 1 {
		x[5] = float32(math.NaN())
		x[c+gap+3] = float32(math.Inf(-1))
	}
	params := [][]float32{x, make([]float32, c), make([]float32, c)}
	for i := range c {
		params[1][i], params[2][i] = float32(r.NormFloat64()), float32(r.NormFloat64())
	}
	run := func() []float32 {
		b := New()
		s := backend.Step{
			Kernel: &backend.Row{Body: e, Axes: 1}, Shape: shape,
			Consts: []uint64{ops.FloatValue(ops.Float32, 1/float64(c)).Bits(), ops.FloatValue(ops.Float32, 1e-5).Bits()},
		}
		for i := range e.In {
			l := backend.Layout{Shape: shape, Strides: []int{0, 1}}
			if i == 0 {
				l.Strides[0] = c + gap
			}
			s.In = append(s.In, backend.Operand{Buf: b.Wrap(bytesOf(params[i])), DType: ops.Float32, Layout: l})
		}
		out, err := b.Alloc(4 * rows * c)
		if err != nil {
			t.Fatal(err)
		}
		s.Out = []backend.Operand{{Buf: out, DType: ops.Float32, Layout: backend.Dense(shape)}}
		if err := b.Run(context.Background(), []backend.Step{s}); err != nil {
			t.Fatal(err)
		}
		p, err := b.Bytes(out)
		if err != nil {
			t.Fatal(err)
		}
		return typed[float32](p)
	}
	got := run()
	forms := quickForms
	quickForms = nil
	want := run()
	quickForms = forms
	for i, w := range want {
		g := got[i]
		if g == w || g != g && w != w {
			continue
		}
		if !(math.Abs(float64(g-w)) <= 1e-6*math.Abs(float64(w))+1e-6) {
			t.Fatalf("%v with gaps of %d: element %d is %v, want %v", shape, gap, i, g, w)
		}
	}
}

// TestQuickSums holds the sums in assembly to float64 ones, for every length of a few steps, and looks at large elements.
func TestQuickSums(t *testing.T) {
	loopSets(t, func(t *testing.T, s asm.Set) {
		r := rand.New(rand.NewPCG(9, 10))
		l := &s.Loops().Rows
		for n := 1; n < 300; n++ {
			x, z := make([]float32, n), make([]float32, n+1)
			m := float32(r.NormFloat64())
			var sum, far, squares, own, exps float64
			for i := range x {
				x[i] = float32(r.NormFloat64())
				d := x[i] - m
				sum += float64(d)
				far += math.Abs(float64(d))
				squares += float64(d * d)
				own += float64(x[i] * x[i])
				exps += math.Exp(float64(d))
			}
			px, pm := unsafe.Pointer(&x[0]), unsafe.Pointer(&m)
			var two [2]float64
			l.Moments(unsafe.Pointer(&two[0]), px, pm, n, 4*n)
			if !(math.Abs(two[0]-sum) <= 1e-7*far) {
				t.Errorf("%d elements: sum of distances is %v, want %v", n, two[0], sum)
			}
			z[n] = 77
			for what, c := range map[string][2]float64{
				"of their squares": {two[1], squares}, "of squares": {l.SumSquares(px, n, 4*n), own},
				"of exponentials": {l.ExpSumOnly(px, pm, n, 0), exps}, "of exponentials kept": {l.ExpSum(unsafe.Pointer(&z[0]), px, pm, n, 0), exps},
			} {
				if !(math.Abs(c[0]-c[1]) <= 2e-7*(math.Abs(c[1])+1)) {
					t.Errorf("%d elements: %s is %v, want %v", n, what, c[0], c[1])
				}
			}
			if z[n] != 77 {
				t.Errorf("%d elements: one beyond was written", n)
			}
		}
		x := make([]float32, 256)
		for i := range x {
			x[i] = 3e38 * float32(1-2*(i/16%2))
		}
		var two [2]float64
		zero := float32(0)
		l.Moments(unsafe.Pointer(&two[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&zero), len(x), 0)
		if two[0] != 0 || !math.IsInf(two[1], 1) {
			t.Errorf("moments of large elements: %v", two)
		}
	})
}
