package wgpu

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// variances returns a kernel that computes the variance of rows as package tensor does, and their mean. Constant 0 is their length.
func variances() *backend.Reduce {
	var b ops.Builder
	x := b.Load(b.Operand(ops.Float32), false)
	n := b.Const(0, ops.Float32)
	mean := b.Apply(ops.Div, b.Reduce(ops.ReduceSum, x), n)
	d := b.Apply(ops.Sub, x, mean)
	sum := b.Reduce(ops.ReduceSum, d)
	squares := b.Reduce(ops.ReduceSum, b.Apply(ops.Square, d))
	b.Result(b.Apply(ops.Div, b.Apply(ops.Sub, squares, b.Apply(ops.Mul, sum, b.Apply(ops.Div, sum, n))), n))
	b.Result(mean)
	return &backend.Reduce{Body: b.Expr(), Axes: 1}
}

// TestMoments tests variances found in one pass: of rows whose mean is far from 0 or from their first elements, with infinities, and
// not a number, they are as near to what float64 gives as those of two passes, or nearly.
func TestMoments(t *testing.T) {
	e := openTest(t)
	r := rand.New(rand.NewPCG(1, 2))
	fills := map[string]func(i, n int) float64{
		"normal":        func(int, int) float64 { return r.NormFloat64() },
		"far":           func(int, int) float64 { return 1e6 + r.NormFloat64() },
		"near 2000":     func(i, _ int) float64 { return 2000 + float64(i%2*2) },
		"equal":         func(int, int) float64 { return 1.1 },
		"rising":        func(i, n int) float64 { return float64(i) / float64(n) },
		"outlier first": func(i, _ int) float64 { return r.NormFloat64() + float64(max(0, 1-i))*1e6 },
		"outlier last":  func(i, n int) float64 { return r.NormFloat64() + float64(max(0, 2+i-n))*1e6 },
		"two parts":     func(i, n int) float64 { return r.NormFloat64() + float64(2*i/n)*1e5 },
		"large":         func(int, int) float64 { return 1e15 * r.NormFloat64() },
		"infinity":      func(i, n int) float64 { return r.NormFloat64() / float64(max(0, i-n/2, n/2-i)) },
		"nan":           func(i, n int) float64 { return math.Sqrt(math.Abs(float64(i-n/2)) - 0.5) },
	}
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range fills {
			if !yield(name) {
				return
			}
		}
	})
	kernel := variances()
	for _, c := range []struct {
		rows, n int
		turned  bool
	}{{2, 40_000, false}, {3, 20_003, false}, {5, 5000, true}, {1, 100_001, false}, {1030, 1101, true}} {
		if testing.Short() && c.rows*c.n > 100_000 {
			break
		}
		shape := backend.Shape{c.rows, c.n}
		l := backend.Dense(shape)
		if c.turned {
			l.Strides = []int{1, c.rows}
		}
		for _, name := range names {
			x := make([]float64, c.n)
			for i := range x {
				x[i] = float64(float32(fills[name](i, c.n)))
			}
			mem := make([]byte, 4*c.rows*c.n)
			for i := range c.rows {
				for j, v := range x {
					binary.LittleEndian.PutUint32(mem[4*at(0, i, j, c.rows, c.n, c.turned):], math.Float32bits(float32(v)))
				}
			}
			want, mean := moments64(x)
			for _, subgroup := range slices.Compact([]int{e.subgroup, 0}) {
				var far [2]float64
				for k, once := range []bool{false, true} {
					v, m, p := varianceOf(t, e, kernel, shape, l, mem, subgroup, once)
					if once != (p.phases == 1) {
						t.Fatalf("%d phases", p.phases)
					}
					for i := range c.rows {
						if math.IsNaN(want) != math.IsNaN(v[i]) || !same32(m[i], mean, 1e-5*math.Sqrt(want)) {
							t.Errorf("%s, %v: in one pass %t: variance %g, mean %g, want %g and %g", name, shape, once, v[i], m[i], want, mean)
						}
						far[k] = max(far[k], math.Abs(v[i]-want)/want)
					}
				}
				if far[1] > 2e-6+far[0] {
					t.Errorf("%s, %v, subgroups of %d: off by %g, in two passes by %g", name, shape, subgroup, far[1], far[0])
				}
			}
		}
	}
}

// TestMomentsOfOthers tests that sums of distances from anything but the mean are left to a pass of their own: of whole numbers they
// are exact.
func TestMomentsOfOthers(t *testing.T) {
	for name, about := range map[string]func(b *ops.Builder, x ops.Ref) ops.Ref{
		"maximum": func(b *ops.Builder, x ops.Ref) ops.Ref { return b.Reduce(ops.ReduceMax, x) },
		"sum":     func(b *ops.Builder, x ops.Ref) ops.Ref { return b.Reduce(ops.ReduceSum, x) },
		"mean of others": func(b *ops.Builder, x ops.Ref) ops.Ref {
			return b.Apply(ops.Div, b.Reduce(ops.ReduceSum, b.Apply(ops.Neg, x)), b.Const(0, ops.Float32))
		},
	} {
		var b ops.Builder
		x := b.Load(b.Operand(ops.Float32), false)
		d := b.Apply(ops.Sub, x, about(&b, x))
		b.Result(b.Reduce(ops.ReduceSum, d))
		b.Result(b.Reduce(ops.ReduceSum, b.Apply(ops.Square, d)))
		e := b.Expr()
		if p := newRowProgram(&e, true); len(p.moments) != 0 || p.phases != 2 {
			t.Errorf("of distances from the %s, %d sums are found in %d phases", name, len(p.moments), p.phases)
		}
	}
}

// moments64 returns the variance and the mean of x.
func moments64(x []float64) (variance, mean float64) {
	n := float64(len(x))
	for _, v := range x {
		mean += v / n
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / n
	}
	return variance, mean
}

// same32 reports whether a float32 is a number, but for its rounding and for an error.
func same32(got, want, far float64) bool {
	return math.IsNaN(got) && math.IsNaN(want) || got == want || math.Abs(got-want) <= 5e-7*math.Abs(want)+far
}

// varianceOf runs variances on rows, in one pass or two.
func varianceOf(t *testing.T, e *engine, kernel *backend.Reduce, shape backend.Shape, l backend.Layout, mem []byte, subgroup int, once bool) (v, mean []float64, k *rowKernel) {
	t.Helper()
	defer func(n int) { e.subgroup = n }(e.subgroup)
	e.subgroup = subgroup
	s := backend.Step{Kernel: kernel, Shape: shape, Consts: []uint64{ops.FloatValue(ops.Float32, float64(shape[1])).Bits()}}
	buffer := func(size int) backend.Buffer {
		b, err := e.Alloc(size)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Release)
		return b
	}
	in := buffer(len(mem))
	if err := e.Write(in, 0, mem); err != nil {
		t.Fatal(err)
	}
	s.In = []backend.Operand{{Buf: in, DType: ops.Float32, Layout: l}}
	for range 2 {
		s.Out = append(s.Out, backend.Operand{Buf: buffer(4 * shape[0]), DType: ops.Float32, Layout: backend.Layout{Shape: shape, Strides: []int{1, 0}}})
	}
	e.mu.Lock()
	k = e.planProgram(&s, kernel, newRowProgram(&kernel.Body, once), 1)
	err := e.recordRows(k, kernel)
	e.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	var results [2][]float64
	for i, o := range s.Out {
		out := make([]byte, 4*shape[0])
		if err := e.Read(t.Context(), out, o.Buf, 0); err != nil {
			t.Fatal(err)
		}
		for j := range shape[0] {
			results[i] = append(results[i], float64(math.Float32frombits(binary.LittleEndian.Uint32(out[4*j:]))))
		}
	}
	return results[0], results[1], k
}
