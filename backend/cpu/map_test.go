package cpu_test

import (
	"fmt"
	"math/rand/v2"
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
	shape := backend.Shape{3, 701}
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
			if !near(got[k][i], want[k], tol) {
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
