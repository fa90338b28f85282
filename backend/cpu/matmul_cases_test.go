package cpu_test

import (
	"math"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/cpu"
	"github.com/weft-go/weft/ops"
)

func wantFloats(t *testing.T, got []ops.Value, want ...float64) {
	t.Helper()
	for i, v := range floats(got) {
		if math.Abs(v-want[i%len(want)]) > 1e-6*math.Abs(want[i%len(want)]) {
			t.Fatalf("got %v, want %v", floats(got), want)
		}
	}
}

func TestMatMulCases(t *testing.T) {
	b := device(t)
	f32 := ops.Float32
	t.Run("M01", func(t *testing.T) { // K = 0, in memory that held NaN
		for _, s := range [][4]int{{1, 4, 4, 0}, {3, 2, 3, 0}, {1, 4, 1, 0}} {
			x, y := dense(t, b, f32, backend.Shape{s[0], s[1], 0}, full(1)), dense(t, b, f32, backend.Shape{s[0], 0, s[2]}, full(1))
			wantFloats(t, matMul(t, b, x, y, backend.Dense(productShape(x, y))), 0)
		}
		var post ops.Builder
		post.Result(post.Apply(ops.Add, post.Load(post.Operand(f32), false), post.Load(post.Operand(f32), false)))
		x, y := dense(t, b, f32, backend.Shape{2, 0}, nil), dense(t, b, f32, backend.Shape{0, 4}, nil)
		bias := dense(t, b, f32, backend.Shape{2, 4}, list(1, 2, 3, 4))
		out := result(t, b, f32, backend.Dense(backend.Shape{2, 4}))
		run(t, b, backend.Step{
			Kernel: &backend.MatMul{A: load(f32), B: load(f32), Post: post.Expr(), Acc: f32}, Shape: backend.Shape{2, 4},
			In: []backend.Operand{x.Operand, y.Operand, bias.Operand}, Out: []backend.Operand{out},
		})
		wantFloats(t, read(t, b, out), 1, 2, 3, 4)
	})
	t.Run("M03", func(t *testing.T) { // transposed left view, and sizes 2 to 9
		x := dense(t, b, f32, backend.Shape{2, 3}, list(0.7, -1.3, 2.1, -0.4, 1.9, -3.2))
		y := dense(t, b, f32, backend.Shape{2, 2}, full(1))
		got := matMul(t, b, x.view(must(x.Layout.Permute(1, 0))), y, backend.Dense(backend.Shape{3, 2}))
		for i, want := range []float64{0.3, 0.3, 0.6, 0.6, -1.1, -1.1} {
			if math.Abs(got[i].F-want) > 1e-6 {
				t.Fatalf("got %v", floats(got))
			}
		}
		for n := 2; n <= 9; n++ {
			x := dense(t, b, f32, backend.Shape{n, n}, from(1))
			xt := x.view(must(x.Layout.Permute(1, 0)))
			for _, l := range []tensor{x, xt} {
				for _, r := range []tensor{x, xt} {
					checkMatMul(t, l, r, matMul(t, b, l, r, backend.Dense(x.Layout.Shape)))
				}
			}
		}
	})
	t.Run("M05", func(t *testing.T) { // outer product
		if testing.Short() {
			t.Skip("a result of 134 MB")
		}
		x := float32s(t, b, backend.Shape{1025, 1}, func(i int) float64 { return float64(i % 7) })
		y := float32s(t, b, backend.Shape{1, 32769}, func(i int) float64 { return float64(i % 5) })
		got := readFloat32s(t, b, matMulStep(t, b, x, y, backend.Dense(backend.Shape{1025, 32769})))
		if got[len(got)-1] != 6 {
			t.Errorf("last element %v, want 6", got[len(got)-1])
		}
		sum := float32(0)
		for _, v := range got[32769 : 2*32769] {
			sum += v
		}
		if sum != 65536 {
			t.Errorf("row 1 sums to %v, want 65536", sum)
		}
	})
	t.Run("M07", func(t *testing.T) { testOddSizes(t, b) })
	t.Run("M09", func(t *testing.T) { // long sums
		n := 1 << 20
		long, tall := float32s(t, b, backend.Shape{1, n}, full(0.1)), float32s(t, b, backend.Shape{n, 1}, full(0.1))
		got := readFloat32s(t, b, matMulStep(t, b, long, tall, backend.Dense(backend.Shape{1, 1})))
		if math.Abs(float64(got[0])-10485.760312) > 0.1 {
			t.Errorf("sum %v, want 10485.7603", got[0])
		}
		x, y := dense(t, b, ops.Float16, backend.Shape{1, 70000}, full(1)), dense(t, b, ops.Float16, backend.Shape{70000, 1}, full(1))
		if got := matMul(t, b, x, y, backend.Dense(backend.Shape{1, 1}))[0].F; !math.IsInf(got, 1) {
			t.Errorf("float16 sum %v, want +Inf", got)
		}
		if got := matMulCast(t, b, x, y); got != 70000 {
			t.Errorf("float32 sum %v, want 70000", got)
		}
	})
	t.Run("M11", func(t *testing.T) { // inserted axis, strided batch
		x := dense(t, b, f32, backend.Shape{4, 6}, from(0))
		y := dense(t, b, f32, backend.Shape{4, 6, 2}, full(1))
		got := matMul(t, b, x.view(must(x.Layout.Insert(1))), y, backend.Dense(backend.Shape{4, 1, 2}))
		wantFloats(t, got, 15, 15, 51, 51, 87, 87, 123, 123)
		y = dense(t, b, f32, backend.Shape{6, 1, 3}, full(1))
		got = matMul(t, b, x.view(must(must(x.Layout.Permute(1, 0)).Insert(2))), y, backend.Dense(backend.Shape{6, 4, 3}))
		for i, v := range got {
			if want := float64(i/3%4*6 + i/12); v.F != want {
				t.Fatalf("element %d: %v, want %v", i, v.F, want)
			}
		}
	})
}

// matMulCast multiplies with float16 factors cast to float32.
func matMulCast(t *testing.T, b *cpu.Backend, x, y tensor) float64 {
	t.Helper()
	var eb ops.Builder
	eb.Result(eb.Cast(ops.Float32, eb.Load(eb.Operand(ops.Float16), false)))
	cast := eb.Expr()
	out := result(t, b, ops.Float32, backend.Dense(backend.Shape{1, 1}))
	run(t, b, backend.Step{
		Kernel: &backend.MatMul{A: cast, B: cast, Post: load(ops.Float32), Acc: ops.Float32}, Shape: backend.Shape{1, 1},
		In: []backend.Operand{x.Operand, y.Operand}, Out: []backend.Operand{out},
	})
	return read(t, b, out)[0].F
}

// testOddSizes is case M07: sizes beside those of tiles, with sums that every type used holds exactly.
func testOddSizes(t *testing.T, b *cpu.Backend) {
	for _, c := range []struct {
		m, k, n                  int
		first, middle, last, sum float64
	}{
		{1, 129, 17, -32, 9, 11, 62},
		{17, 33, 1, 113, 113, 113, 1921},
		{65, 127, 129, -30, 74, -130, 74},
		{129, 65, 33, 16, 29, 123, 107},
		{127, 129, 127, 42, 1, -6, 39},
		{1000, 3, 5, 32, 3, -3, -33},
		{2, 1025, 3, 12, 12, -12, 92},
		{1, 1, 1, 30, 30, 30, 30},
	} {
		for _, d := range []ops.DType{ops.Float32, ops.Float64, ops.Float16, ops.Int32, ops.Int64} {
			x := dense(t, b, d, backend.Shape{c.m, c.k}, func(i int) float64 { return float64(i*7%11 - 5) })
			y := dense(t, b, d, backend.Shape{c.k, c.n}, func(i int) float64 { return float64(i*5%13 - 6) })
			got := floats(matMul(t, b, x, y, backend.Dense(backend.Shape{c.m, c.n})))
			sum := 0.0
			for _, v := range got {
				sum += v
			}
			mid := got[c.m/2*c.n+c.n/2]
			if got[0] != c.first || mid != c.middle || got[len(got)-1] != c.last || sum != c.sum {
				t.Errorf("%s %d×%d×%d: %v, %v, %v, sum %v, want %v", d, c.m, c.k, c.n, got[0], mid, got[len(got)-1], sum, c)
			}
		}
	}
}
