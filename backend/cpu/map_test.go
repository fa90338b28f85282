package cpu_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/cpu"
	"github.com/weft-go/weft/ops"
)

// dtypesOf returns the types that o takes without conversion.
func dtypesOf(o *ops.Op) []ops.DType {
	var ds []ops.DType
	for _, d := range ops.DTypes() {
		in := make([]ops.DType, o.Arity)
		for i := range in {
			in[i] = d
		}
		if o.Rule.Cond {
			in[0] = ops.Bool
		}
		if arg, _, err := o.Infer(in...); err == nil && arg == d {
			ds = append(ds, d)
		}
	}
	return ds
}

// TestMapRows holds every row on every type to its definition, with each combination of operands that are
// one element for all.
func TestMapRows(t *testing.T) {
	b := device(t)
	r := rand.New(rand.NewPCG(1, 2))
	shape := backend.Shape{2, 520} // more than a block
	for _, o := range ops.All() {
		for _, d := range dtypesOf(o) {
			for lone := range 1 << o.Arity {
				t.Run(fmt.Sprintf("%s/%s/%03b", o.Name, d, lone), func(t *testing.T) {
					var eb ops.Builder
					in := make([]tensor, o.Arity)
					args := make([]ops.Ref, o.Arity)
					for i := range in {
						di, l := d, backend.Dense(shape)
						if o.Rule.Cond && i == 0 {
							di = ops.Bool
						}
						if lone>>i&1 != 0 {
							l = layouts(shape)["scalar"]
						}
						in[i] = operand(t, b, di, l, func(int) ops.Value { return number(r, di) })
						args[i] = eb.Load(eb.Operand(di), false)
					}
					eb.Result(eb.Apply(o, args...))
					checkMap(t, b, eb.Expr(), shape, in, backend.Dense(shape), nil, o.Tol)
				})
			}
		}
	}
}

// checkMap runs e as a Map over in and compares with [ops.Expr.Eval].
func checkMap(t *testing.T, b *cpu.Backend, e ops.Expr, shape backend.Shape, in []tensor, out backend.Layout, consts []uint64, tol ops.Tol) {
	t.Helper()
	s := backend.Step{Kernel: &backend.Map{Body: e}, Shape: shape, Consts: consts}
	for _, x := range in {
		s.In = append(s.In, x.Operand)
	}
	for _, v := range e.Out {
		s.Out = append(s.Out, result(t, b, e.Code[v].DType, out))
	}
	run(t, b, s)
	got := make([][]ops.Value, len(s.Out))
	for k := range got {
		got[k] = read(t, b, s.Out[k])
	}
	bad := 0
	for i := range shape.Len() {
		want := e.Eval(
			func(k int) ops.Value { return in[k].vals[i] },
			func(k int) int64 { return in[k].vals[i].I }, consts)
		for k := range got {
			if !near(got[k][i], want[k], scaled(tol, want[k], in, i)) {
				args := ""
				for _, x := range in {
					args += fmt.Sprint(" ", x.vals[i])
				}
				t.Errorf("result %d, element %d: operands%s: got %v, want %v", k, i, args, got[k][i], want[k])
				if bad++; bad > 3 {
					return
				}
			}
		}
	}
}

// scaled returns tol with its scale, if it has one, of element i of the operands.
func scaled(tol ops.Tol, want ops.Value, in []tensor, i int) ops.Tol {
	if tol.Scale == nil {
		return tol
	}
	var x [3]float64
	for k := range in {
		x[k] = in[k].vals[i].F
	}
	tol.Abs = max(tol.Abs, tol.ULP*ulp(ops.FloatValue(want.DType, tol.Scale(x[0], x[1], x[2]))))
	return tol
}

// TestMapLayouts runs a body and a copy between all pairs of layouts, on domains with and without whole tiles.
func TestMapLayouts(t *testing.T) {
	b := device(t)
	r := rand.New(rand.NewPCG(19, 20))
	var eb ops.Builder
	x, y := eb.Load(eb.Operand(ops.Float32), false), eb.Load(eb.Operand(ops.Float32), false)
	eb.Result(eb.Apply(ops.Sub, x, y))
	sub := eb.Expr()
	next := func(int) ops.Value { return ops.FloatValue(ops.Float32, float64(r.IntN(1000))) }
	for _, shape := range []backend.Shape{{}, {0, 3}, {1}, {2000}, {70, 100}, {64, 96}, {5, 40, 33}, {9, 2, 300}} {
		in := layouts(shape)
		for from, l := range in {
			for to, m := range in {
				if to == "scalar" && len(shape) > 0 || strings.HasPrefix(to, "broadcast") {
					continue // not injective
				}
				if testing.Short() && shape.Len() > 4000 && from != "dense" && to != "dense" && from != "transposed" {
					continue
				}
				t.Run(fmt.Sprintf("%v/%s/%s", shape, from, to), func(t *testing.T) {
					ops32 := []tensor{operand(t, b, ops.Float32, l, next), operand(t, b, ops.Float32, backend.Dense(shape), next)}
					checkMap(t, b, sub, shape, ops32, m, nil, ops.Tol{})
					checkCopies(t, b, shape, l, m)
				})
			}
		}
	}
}

// checkCopies copies elements of each size from layout l to layout m.
func checkCopies(t *testing.T, b *cpu.Backend, shape backend.Shape, l, m backend.Layout) {
	t.Helper()
	for _, d := range []ops.DType{ops.Uint8, ops.BFloat16, ops.Int32, ops.Int64} {
		var eb ops.Builder
		eb.Result(eb.Load(eb.Operand(d), false))
		x := operand(t, b, d, l, func(i int) ops.Value {
			return ops.FromBits(d, uint64(i)*2654435761>>3&(1<<(d.Bits()-1)-1))
		})
		checkMap(t, b, eb.Expr(), shape, []tensor{x}, m, nil, ops.Tol{})
	}
}

// TestMapInPlace has the first operand for its output, which a body that reads it twice must not see
// changed.
func TestMapInPlace(t *testing.T) {
	b := device(t)
	r := rand.New(rand.NewPCG(21, 22))
	var eb ops.Builder
	x := eb.Load(eb.Operand(ops.Float32), false)
	e := eb.Apply(ops.Add, x, x)
	eb.Result(e)
	eb.Result(eb.Apply(ops.Mul, e, x))
	body := eb.Expr()
	shape := backend.Shape{3000}
	in := operand(t, b, ops.Float32, backend.Dense(shape), func(int) ops.Value { return plain(r, ops.Float32) })
	out := result(t, b, ops.Float32, backend.Dense(shape))
	run(t, b, backend.Step{
		Kernel: &backend.Map{Body: body}, Shape: shape,
		In: []backend.Operand{in.Operand}, Out: []backend.Operand{in.Operand, out},
	})
	twice, squares := read(t, b, in.Operand), read(t, b, out)
	for i, v := range in.vals {
		if twice[i].F != 2*v.F || squares[i] != ops.FloatValue(ops.Float32, 2*v.F*v.F) {
			t.Fatalf("element %d, %v: got %v and %v", i, v.F, twice[i].F, squares[i].F)
		}
	}
}

// TestMapStream has sums and copies of more than a cache holds, in memory that begins at a cache line and not, and in an operand's.
func TestMapStream(t *testing.T) {
	b := device(t)
	const n = 4<<20 + 37
	for _, d := range []ops.DType{ops.Float32, ops.Float64, ops.Int32} {
		x, y := make([]byte, n*d.Size()), make([]byte, n*d.Size())
		for i := range n {
			encode(x, d, i, ops.IntValue(ops.Int64, int64(i)).Convert(d))
			encode(y, d, i, ops.IntValue(ops.Int64, int64(i%1000)).Convert(d))
		}
		of := func(mem []byte, off int) backend.Operand {
			l := backend.Dense(backend.Shape{n - off})
			l.Offset = off
			return backend.Operand{Buf: b.Wrap(mem), DType: d, Layout: l}
		}
		for name, c := range map[string]struct {
			arrays, off int
			inPlace     bool
		}{"copy": {1, 0, false}, "copy from 3": {1, 3, false}, "sum": {2, 0, false}, "sum from 1": {2, 1, false}, "sum in place": {2, 0, true}} {
			var e ops.Builder
			v := e.Load(e.Operand(d), false)
			in := []backend.Operand{of(x, c.off), of(y, c.off)}[:c.arrays]
			if c.arrays == 2 {
				v = e.Apply(ops.Add, v, e.Load(e.Operand(d), false))
			}
			e.Result(v)
			z := make([]byte, len(x))
			if c.inPlace {
				copy(z, x)
				in[0] = of(z, c.off)
			}
			step := backend.Step{Kernel: &backend.Map{Body: e.Expr()}, Shape: backend.Shape{n - c.off}, In: in, Out: []backend.Operand{of(z, c.off)}}
			if err := b.Run(t.Context(), []backend.Step{step}); err != nil {
				t.Fatal(err)
			}
			want := make([]byte, len(x))
			for i := c.off; i < n; i++ {
				encode(want, d, i, ops.IntValue(ops.Int64, int64(i+(c.arrays-1)*(i%1000))).Convert(d))
			}
			if !bytes.Equal(z, want) {
				t.Errorf("%s: %s is wrong", d, name)
			}
		}
	}
}
