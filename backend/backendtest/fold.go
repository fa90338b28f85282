package backendtest

import (
	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A folder writes programs that a compiler is tempted to simplify. Every simplification is right of numbers, and wrong
// where a NaN, an infinity, an overflow or a rounding comes between.
type folder struct {
	*ops.Builder
	d       ops.DType
	x, y, z ops.Ref // operands
}

// do applies an operation, to operands that are cast to the type of the program where it wants that.
func (f folder) do(o *ops.Op, args ...ops.Ref) ops.Ref {
	for i, d := range operandTypes(o, f.d) {
		args[i] = f.Cast(d, args[i])
	}
	return f.Apply(o, args...)
}

// zero and one are constants that only a compiler knows of: nothing is less than itself.
func (f folder) zero() ops.Ref { return f.Cast(f.d, f.do(ops.Less, f.x, f.x)) }

func (f folder) one() ops.Ref {
	return f.Cast(f.d, f.do(ops.LogicalNot, f.do(ops.Less, f.x, f.x)))
}

// infinity is ∞ to a compiler that looks through a division.
func (f folder) infinity() ops.Ref { return f.do(ops.Div, f.one(), f.zero()) }

// folds are the programs, by what they compute.
var folds = []struct {
	name string
	of   func(f folder) ops.Ref
}{
	{"x - x", func(f folder) ops.Ref { return f.do(ops.Sub, f.x, f.x) }},
	{"x + -x", func(f folder) ops.Ref { return f.do(ops.Add, f.x, f.do(ops.Neg, f.x)) }},
	{"-x + x", func(f folder) ops.Ref { return f.do(ops.Add, f.do(ops.Neg, f.x), f.x) }},
	{"(x + y) - x", func(f folder) ops.Ref { return f.do(ops.Sub, f.do(ops.Add, f.x, f.y), f.x) }},
	{"x - (x + y)", func(f folder) ops.Ref { return f.do(ops.Sub, f.x, f.do(ops.Add, f.x, f.y)) }},
	{"x - (x - y)", func(f folder) ops.Ref { return f.do(ops.Sub, f.x, f.do(ops.Sub, f.x, f.y)) }},
	{"-x + (x + y)", func(f folder) ops.Ref { return f.do(ops.Add, f.do(ops.Neg, f.x), f.do(ops.Add, f.x, f.y)) }},
	{"x / x", func(f folder) ops.Ref { return f.do(ops.Div, f.x, f.x) }},
	{"x·y / y", func(f folder) ops.Ref { return f.do(ops.Div, f.do(ops.Mul, f.x, f.y), f.y) }},
	{"x/y · y", func(f folder) ops.Ref { return f.do(ops.Mul, f.do(ops.Div, f.x, f.y), f.y) }},
	{"1/(1/x)", func(f folder) ops.Ref { return f.do(ops.Reciprocal, f.do(ops.Reciprocal, f.x)) }},
	{"x·y + x·z", func(f folder) ops.Ref {
		return f.do(ops.Add, f.do(ops.Mul, f.x, f.y), f.do(ops.Mul, f.x, f.z))
	}},
	{"x·y - x·z", func(f folder) ops.Ref {
		return f.do(ops.Sub, f.do(ops.Mul, f.x, f.y), f.do(ops.Mul, f.x, f.z))
	}},
	{"x·y + z", func(f folder) ops.Ref { return f.do(ops.Add, f.do(ops.Mul, f.x, f.y), f.z) }},
	{"z - x·y", func(f folder) ops.Ref { return f.do(ops.Sub, f.z, f.do(ops.Mul, f.x, f.y)) }},
	{"x² + y", func(f folder) ops.Ref { return f.do(ops.Add, f.do(ops.Square, f.x), f.y) }},
	{"-(x·y) + z", func(f folder) ops.Ref { return f.do(ops.Add, f.do(ops.Neg, f.do(ops.Mul, f.x, f.y)), f.z) }},
	{"lerp x x y", func(f folder) ops.Ref { return f.do(ops.Lerp, f.x, f.x, f.y) }},
	{"x - floor x", func(f folder) ops.Ref { return f.do(ops.Sub, f.x, f.do(ops.Floor, f.x)) }},
	{"max(x, y) - x", func(f folder) ops.Ref { return f.do(ops.Sub, f.do(ops.Maximum, f.x, f.y), f.x) }},
	{"|x| - x", func(f folder) ops.Ref { return f.do(ops.Sub, f.do(ops.Abs, f.x), f.x) }},
	{"x where x = x, less x", func(f folder) ops.Ref {
		return f.do(ops.Sub, f.do(ops.Where, f.do(ops.Equal, f.x, f.x), f.x, f.y), f.x)
	}},
	{"x·0", func(f folder) ops.Ref { return f.do(ops.Mul, f.x, f.zero()) }},
	{"0·x", func(f folder) ops.Ref { return f.do(ops.Mul, f.zero(), f.x) }},
	{"-0·x", func(f folder) ops.Ref { return f.do(ops.Mul, f.do(ops.Neg, f.zero()), f.x) }},
	{"(x < y)·z", func(f folder) ops.Ref { return f.do(ops.Mul, f.Cast(f.d, f.do(ops.Less, f.x, f.y)), f.z) }},
	{"(x < y)·(x < z)/0", func(f folder) ops.Ref {
		p := f.do(ops.Mul, f.Cast(f.d, f.do(ops.Less, f.x, f.y)), f.Cast(f.d, f.do(ops.Less, f.x, f.z)))
		return f.do(ops.Div, p, f.zero())
	}},
	{"x/0", func(f folder) ops.Ref { return f.do(ops.Div, f.x, f.zero()) }},
	{"0/x", func(f folder) ops.Ref { return f.do(ops.Div, f.zero(), f.x) }},
	{"0/0", func(f folder) ops.Ref { return f.do(ops.Div, f.zero(), f.zero()) }},
	{"1/0", func(f folder) ops.Ref { return f.infinity() }},
	{"x·∞", func(f folder) ops.Ref { return f.do(ops.Mul, f.x, f.infinity()) }},
	{"∞ - ∞", func(f folder) ops.Ref { return f.do(ops.Sub, f.infinity(), f.infinity()) }},
	{"x + 0", func(f folder) ops.Ref { return f.do(ops.Add, f.x, f.zero()) }},
	{"x - 0", func(f folder) ops.Ref { return f.do(ops.Sub, f.x, f.zero()) }},
	{"fma 0 x y", func(f folder) ops.Ref { return f.do(ops.FMA, f.zero(), f.x, f.y) }},
	{"fma x y 0", func(f folder) ops.Ref { return f.do(ops.FMA, f.x, f.y, f.zero()) }},
	{"lerp x y 0", func(f folder) ops.Ref { return f.do(ops.Lerp, f.x, f.y, f.zero()) }},
	{"lerp x y 1", func(f folder) ops.Ref { return f.do(ops.Lerp, f.x, f.y, f.one()) }},
	{"mod 0 x", func(f folder) ops.Ref { return f.do(ops.Mod, f.zero(), f.x) }},
	{"mod x 0", func(f folder) ops.Ref { return f.do(ops.Mod, f.x, f.zero()) }},
	{"x⁰", func(f folder) ops.Ref { return f.do(ops.Pow, f.x, f.zero()) }},
	{"atan2 0 x", func(f folder) ops.Ref { return f.do(ops.Atan2, f.zero(), f.x) }},
	{"hypot x ∞", func(f folder) ops.Ref { return f.do(ops.Hypot, f.x, f.infinity()) }},
	{"log 0", func(f folder) ops.Ref { return f.do(ops.Log, f.zero()) }},
	{"rsqrt 0", func(f folder) ops.Ref { return f.do(ops.Rsqrt, f.zero()) }},
	{"tanh ∞", func(f folder) ops.Ref { return f.do(ops.Tanh, f.infinity()) }},
	{"int 1/0", func(f folder) ops.Ref { return f.Cast(ops.Int32, f.infinity()) }},
	{"exp(log x)", func(f folder) ops.Ref { return f.do(ops.Exp, f.do(ops.Log, f.x)) }},
	{"log(exp x)", func(f folder) ops.Ref { return f.do(ops.Log, f.do(ops.Exp, f.x)) }},
	{"exp x · exp y", func(f folder) ops.Ref { return f.do(ops.Mul, f.do(ops.Exp, f.x), f.do(ops.Exp, f.y)) }},
	{"√(x·x)", func(f folder) ops.Ref { return f.do(ops.Sqrt, f.do(ops.Mul, f.x, f.x)) }},
	{"1/√x", func(f folder) ops.Ref { return f.do(ops.Reciprocal, f.do(ops.Sqrt, f.x)) }},
	{"log1p(expm1 x)", func(f folder) ops.Ref { return f.do(ops.Log1p, f.do(ops.Expm1, f.x)) }},
	{"acos x + 1", func(f folder) ops.Ref { return f.do(ops.Log1p, f.do(ops.Acos, f.x)) }},
	{"x as float16", func(f folder) ops.Ref { return f.Cast(f.d, f.Cast(ops.Float16, f.x)) }},
	{"x as int32", func(f folder) ops.Ref { return f.Cast(f.d, f.Cast(ops.Int32, f.x)) }},
	{"x as int64", func(f folder) ops.Ref { return f.Cast(f.d, f.Cast(ops.Int64, f.x)) }},
	{"min(max(x, 0), 1)", func(f folder) ops.Ref { return f.do(ops.Minimum, f.do(ops.Maximum, f.x, f.zero()), f.one()) }},
	{"x where x > y, else y", func(f folder) ops.Ref { return f.do(ops.Where, f.do(ops.Greater, f.x, f.y), f.x, f.y) }},
	{"x·x >= 0", func(f folder) ops.Ref { return f.do(ops.GreaterEqual, f.do(ops.Square, f.x), f.zero()) }},
	{"not x < y", func(f folder) ops.Ref { return f.do(ops.LogicalNot, f.do(ops.Less, f.x, f.y)) }},
	{"x·0 is NaN", func(f folder) ops.Ref { return f.do(ops.IsNaN, f.do(ops.Mul, f.x, f.zero())) }},
	{"x - x is finite", func(f folder) ops.Ref { return f.do(ops.IsFinite, f.do(ops.Sub, f.x, f.x)) }},
	{"x/x equals itself", func(f folder) ops.Ref {
		q := f.do(ops.Div, f.x, f.x)
		return f.do(ops.Equal, q, q)
	}},
}

// testFolds runs the programs as one kernel and one instruction at a time, on edge values.
func (s *suite) testFolds(t tb) {
	for _, d := range []ops.DType{ops.Float32, ops.Float16, ops.BFloat16, ops.Float64} {
		for _, p := range folds {
			s.leaf(t, d.String()+"/"+p.name, func(t tb) {
				c := &chain{in: s.draw(t), home: d}
				c.tr.name, c.tr.shape = p.name, backend.Shape{2000}
				f := folder{Builder: &c.b, d: d}
				for _, ref := range []*ops.Ref{&f.x, &f.y, &f.z} {
					*ref = c.b.Load(c.b.Operand(d), false)
					c.tr.in = append(c.tr.in, c.in.tensor(d, "dense", c.tr.shape, c.in.edge))
				}
				c.result(p.of(f))
				c.tr.kernel = &backend.Map{Body: c.b.Expr()}
				s.checkChain(t, c)
			})
		}
	}
}
