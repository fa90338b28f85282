package cpu_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/cpu"
	"github.com/weft-go/weft/ops"
)

// mapOne runs a body of one operand over vals, of type d, and returns its result.
func mapOne(t *testing.T, b *cpu.Backend, d ops.DType, vals []ops.Value, body func(b *ops.Builder, x ops.Ref) ops.Ref, consts ...uint64) []ops.Value {
	t.Helper()
	var eb ops.Builder
	eb.Result(body(&eb, eb.Load(eb.Operand(d), false)))
	e := eb.Expr()
	shape := backend.Shape{len(vals)}
	x := operand(t, b, d, backend.Dense(shape), func(i int) ops.Value { return vals[i] })
	s := backend.Step{
		Kernel: &backend.Map{Body: e}, Shape: shape, Consts: consts,
		In:  []backend.Operand{x.Operand},
		Out: []backend.Operand{result(t, b, e.Code[e.Out[0]].DType, backend.Dense(shape))},
	}
	run(t, b, s)
	return read(t, b, s.Out[0])
}

func TestCast(t *testing.T) {
	b := device(t)
	r := rand.New(rand.NewPCG(15, 16))
	for _, from := range ops.DTypes() {
		vals := make([]ops.Value, 3000)
		for i := range vals {
			vals[i] = number(r, from)
			if i%2 == 0 { // any bit pattern
				vals[i] = ops.FromBits(from, r.Uint64()&(1<<(from.Bits()-1)<<1-1))
			}
			if from.IsFloat() && i%7 == 0 { // beyond and near the integer types' ranges
				vals[i] = ops.FloatValue(from, math.Ldexp(float64(r.IntN(9)-4), r.IntN(66))+float64(r.IntN(3)-1))
			}
		}
		for _, to := range ops.DTypes() {
			if to == from {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s", from, to), func(t *testing.T) {
				got := mapOne(t, b, from, vals, func(b *ops.Builder, x ops.Ref) ops.Ref { return b.Cast(to, x) })
				for i, v := range vals {
					if want := v.Convert(to); !near(got[i], want, ops.Tol{}) {
						t.Fatalf("%v: got %v, want %v", v, got[i], want)
					}
				}
			})
		}
	}
}

// TestHalfPatterns copies, negates and widens every half-precision number.
func TestHalfPatterns(t *testing.T) {
	b := device(t)
	for _, d := range []ops.DType{ops.Float16, ops.BFloat16} {
		vals := make([]ops.Value, 1<<16)
		for i := range vals {
			vals[i] = ops.FromBits(d, uint64(i))
		}
		for name, body := range map[string]func(b *ops.Builder, x ops.Ref) ops.Ref{
			"copy":  func(_ *ops.Builder, x ops.Ref) ops.Ref { return x },
			"neg":   func(b *ops.Builder, x ops.Ref) ops.Ref { return b.Apply(ops.Neg, b.Apply(ops.Neg, x)) },
			"widen": func(b *ops.Builder, x ops.Ref) ops.Ref { return b.Cast(d, b.Cast(ops.Float32, x)) },
		} {
			got := mapOne(t, b, d, vals, body)
			for i, v := range vals {
				if v.F == v.F && got[i].Bits() != uint64(i) || v.F != v.F && got[i].F == got[i].F {
					t.Fatalf("%s %s of %#x: got %#x", d, name, i, got[i].Bits())
				}
			}
		}
	}
}

// TestFunctions32 holds the functions on float32 to their definitions over the whole range of patterns.
func TestFunctions32(t *testing.T) {
	b := device(t)
	stride := uint64(40009)
	if testing.Short() {
		stride = 400009
	}
	var vals []ops.Value
	for p := uint64(0); p < 1<<32; p += stride {
		vals = append(vals, ops.FromBits(ops.Float32, p))
	}
	for _, o := range ops.All() {
		if o.Arity != 1 || !o.Rule.Accept.Has(ops.Floats) || o.Rule.ToBool {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			got := mapOne(t, b, ops.Float32, vals, func(b *ops.Builder, x ops.Ref) ops.Ref { return b.Apply(o, x) })
			worst := 0.0
			for i, v := range vals {
				if !o.Within(got[i], v) {
					t.Fatalf("%v: got %v, want %v", v.F, got[i].F, o.Eval(v).F)
				}
				worst = max(worst, ops.ULPs(got[i], o.Eval(v)))
			}
			if worst > 1 && strings.HasSuffix(b.Info().Adapter, "generic") {
				t.Errorf("off by %v units in the last place; float64 intermediates give at most 1", worst)
			}
		})
	}
}

func TestPowExponents(t *testing.T) {
	b := device(t)
	r := rand.New(rand.NewPCG(17, 18))
	vals := make([]ops.Value, 500)
	for i := range vals {
		vals[i] = number(r, ops.Float32)
	}
	for _, y := range []float64{0, 1, 2, 3, -1, 0.5, -0.5, 1.5, -2, 7, math.Inf(1), math.Inf(-1), math.NaN()} {
		e := ops.FloatValue(ops.Float32, y)
		got := mapOne(t, b, ops.Float32, vals, func(b *ops.Builder, x ops.Ref) ops.Ref {
			return b.Apply(ops.Pow, x, b.Const(0, ops.Float32))
		}, e.Bits())
		for i, v := range vals {
			if !ops.Pow.Within(got[i], v, e) {
				t.Errorf("%v to %v: got %v, want %v", v.F, y, got[i].F, ops.Pow.Eval(v, e).F)
			}
		}
	}
}

// TestRandomStream has a key of constants, the case with a block function of its own.
func TestRandomStream(t *testing.T) {
	b := device(t)
	var eb ops.Builder
	k := eb.Operand(ops.Int64)
	eb.Result(eb.Apply(ops.RandBits, eb.Index(k, ops.Int64, false), eb.Const(0, ops.Int64), eb.Const(1, ops.Int64)))
	shape := backend.Shape{2500}
	x := tensor{Operand: backend.Operand{DType: ops.Int64, Layout: backend.Layout{Shape: shape, Strides: []int{1}, Offset: 7}}}
	for i := range shape[0] {
		x.vals = append(x.vals, ops.IntValue(ops.Int64, int64(i+7)))
	}
	checkMap(t, b, eb.Expr(), shape, []tensor{x}, backend.Dense(shape), []uint64{1234567, 89}, ops.Tol{})
}
