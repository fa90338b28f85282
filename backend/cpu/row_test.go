package cpu_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/cpu"
	"github.com/weft-go/weft/ops"
)

// plain returns a random element that no sum or product of some thousands overflows or cancels badly.
func plain(r *rand.Rand, d ops.DType) ops.Value {
	if !d.IsFloat() {
		return ops.IntValue(d, r.Int64N(9)-3)
	}
	return ops.FloatValue(d, 0.5+r.Float64())
}

// alongRows returns the layout of an output with one element a row of the last axes of shape.
func alongRows(shape backend.Shape, axes int) backend.Layout {
	keep := len(shape) - axes
	one := shape.Clone()
	for a := keep; a < len(one); a++ {
		one[a] = 1
	}
	return must(backend.Dense(one).BroadcastTo(shape))
}

var rowShapes = []struct {
	shape backend.Shape
	axes  int
}{
	{backend.Shape{7}, 1},
	{backend.Shape{1025}, 1},
	{backend.Shape{3, 5}, 1},
	{backend.Shape{300, 3}, 1},
	{backend.Shape{2, 33, 17}, 1},
	{backend.Shape{5, 300}, 1},
	{backend.Shape{4, 2, 700}, 2},
	{backend.Shape{2, 40, 3, 5}, 2},
	{backend.Shape{2, 3}, 0},
	{backend.Shape{1, 1}, 1},
}

func TestReduceRows(t *testing.T) {
	b := device(t)
	r := rand.New(rand.NewPCG(3, 4))
	for _, red := range ops.ReduceOps() {
		for _, d := range ops.DTypes() {
			if !red.Accepts().Has(d.Kind()) {
				continue
			}
			for i, s := range rowShapes {
				if i%4 != 3 && d != ops.Float32 && d != ops.Int64 {
					continue // the loops over rows are the same for all types
				}
				for _, name := range layoutNames(s.shape) {
					l := layouts(s.shape)[name]
					t.Run(fmt.Sprintf("%s/%s/%v/%d/%s", red, d, s.shape, s.axes, name), func(t *testing.T) {
						x := operand(t, b, d, l, func(int) ops.Value { return plain(r, d) })
						var eb ops.Builder
						eb.Result(eb.Reduce(red, eb.Load(eb.Operand(d), false)))
						tol := ops.Tol{ULP: 4}
						if d == ops.Float64 && red != ops.ReduceSum {
							tol.ULP = 100 // the reference multiplies, and adds exponentials, one by one
						}
						checkRows(t, b, eb.Expr(), true, s.shape, s.axes, []tensor{x}, nil, tol)
					})
				}
			}
		}
	}
}

// checkRows runs e as a Reduce or Row kernel and compares with its definition, within tol.
func checkRows(t *testing.T, b *cpu.Backend, e ops.Expr, reduce bool, shape backend.Shape, axes int, in []tensor, consts []uint64, tol ops.Tol) {
	t.Helper()
	s := backend.Step{Kernel: &backend.Row{Body: e, Axes: axes}, Shape: shape, Consts: consts}
	if reduce {
		s.Kernel = &backend.Reduce{Body: e, Axes: axes}
	}
	for _, x := range in {
		s.In = append(s.In, x.Operand)
	}
	for _, v := range e.Out {
		l := backend.Dense(shape)
		if reduce || e.Code[v].Row {
			l = alongRows(shape, axes)
		}
		s.Out = append(s.Out, result(t, b, e.Code[v].DType, l))
	}
	run(t, b, s)
	keep := len(shape) - axes
	want := evalRows(&e, shape[:keep].Len(), shape[keep:].Len(), in, consts)
	for k := range want {
		got := read(t, b, s.Out[k])
		for i := range got {
			if !near(got[i], want[k][i], tol) {
				t.Fatalf("result %d, element %d of %d: got %v, want %v", k, i, len(got), got[i], want[k][i])
			}
		}
	}
}

// softmax is a Row body over one operand.
func softmax(d ops.DType) ops.Expr {
	var b ops.Builder
	x := b.Load(b.Operand(d), false)
	e := b.Apply(ops.Exp, b.Apply(ops.Sub, x, b.Reduce(ops.ReduceMax, x)))
	b.Result(b.Apply(ops.Div, e, b.Reduce(ops.ReduceSum, e)))
	return b.Expr()
}

// layerNorm is a Row body: operand 0 normalised, times operand 1 and plus operand 2. Constants are 1/c
// and epsilon. Its other results are the mean and the variance.
func layerNorm(d ops.DType) ops.Expr {
	var b ops.Builder
	x := b.Load(b.Operand(d), false)
	gain, bias := b.Load(b.Operand(d), false), b.Load(b.Operand(d), false)
	perCount, eps := b.Const(0, d), b.Const(1, d)
	mean := b.Apply(ops.Mul, b.Reduce(ops.ReduceSum, x), perCount)
	centred := b.Apply(ops.Sub, x, mean)
	variance := b.Apply(ops.Mul, b.Reduce(ops.ReduceSum, b.Apply(ops.Square, centred)), perCount)
	y := b.Apply(ops.Mul, centred, b.Apply(ops.Rsqrt, b.Apply(ops.Add, variance, eps)))
	b.Result(b.Apply(ops.Add, b.Apply(ops.Mul, y, gain), bias))
	b.Result(mean)
	b.Result(variance)
	return b.Expr()
}

func TestRowBodies(t *testing.T) {
	b := device(t)
	r := rand.New(rand.NewPCG(5, 6))
	for _, d := range []ops.DType{ops.Float32, ops.Float64, ops.Float16} {
		for _, s := range rowShapes {
			for _, name := range layoutNames(s.shape) {
				l := layouts(s.shape)[name]
				next := func(int) ops.Value { return ops.FloatValue(d, r.NormFloat64()) }
				x := operand(t, b, d, l, next)
				cancels := ops.Tol{ULP: 100, Abs: map[ops.DType]float64{ops.Float16: 0.05, ops.Float32: 1e-5, ops.Float64: 1e-12}[d]}
				t.Run(fmt.Sprintf("softmax/%s/%v/%d/%s", d, s.shape, s.axes, name), func(t *testing.T) {
					checkRows(t, b, softmax(d), false, s.shape, s.axes, []tensor{x}, nil, ops.Tol{ULP: 60})
				})
				t.Run(fmt.Sprintf("layernorm/%s/%v/%d/%s", d, s.shape, s.axes, name), func(t *testing.T) {
					keep := len(s.shape) - s.axes
					param := must(backend.Dense(s.shape[keep:]).BroadcastTo(s.shape))
					in := []tensor{x, operand(t, b, d, param, next), operand(t, b, d, param, next)}
					consts := []uint64{ops.FloatValue(d, 1/float64(s.shape[keep:].Len())).Bits(), ops.FloatValue(d, 1e-3).Bits()}
					checkRows(t, b, layerNorm(d), false, s.shape, s.axes, in, consts, cancels)
				})
			}
		}
	}
}

// TestDeterministic runs long rows on one and on several threads and wants the same bits.
func TestDeterministic(t *testing.T) {
	b := device(t)
	r := rand.New(rand.NewPCG(7, 8))
	for _, c := range []int{1000, 300000} {
		shape := backend.Shape{3, c}
		x := operand(t, b, ops.Float32, backend.Dense(shape), func(int) ops.Value { return ops.FloatValue(ops.Float32, r.NormFloat64()) })
		s := backend.Step{Kernel: &backend.Row{Body: softmax(ops.Float32), Axes: 1}, Shape: shape, In: []backend.Operand{x.Operand}}
		var first []ops.Value
		for _, procs := range []int{1, 2, 5} {
			old := runtime.GOMAXPROCS(procs)
			s.Out = []backend.Operand{result(t, b, ops.Float32, backend.Dense(shape))}
			run(t, b, s)
			runtime.GOMAXPROCS(old)
			got := read(t, b, s.Out[0])
			if first == nil {
				first = got
			}
			if !slices.Equal(got, first) {
				t.Errorf("rows of %d: %d threads give other bits than 1", c, procs)
			}
		}
	}
}
