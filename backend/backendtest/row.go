package backendtest

import (
	"math"

	"github.com/weft-go/weft/ops"
)

// testRow tests kernels that use the results of reductions for each element of the row.
func (s *suite) testRow(t tb) {
	t.Run("exact", func(t tb) { s.rowPrograms(t, exactRows, false) })
	t.Run("normalise", func(t tb) { s.rowPrograms(t, normalising, false) })
	t.Run("half", func(t tb) { s.rowPrograms(t, halfRows(), false) })
	t.Run("float64", func(t tb) { s.rowPrograms(t, doubleRows(), false) })
}

// exactRows are programs whose every step is exact on small whole numbers.
var exactRows = []rowProgram{
	{
		name: "less the minimum", least: 1, in: []rowOperand{of(ops.Float32, mixed)},
		build: func(b *ops.Builder) {
			x := b.Load(0, false)
			b.Result(b.Apply(ops.Sub, x, b.Reduce(ops.ReduceMin, x)))
		},
	},
	{
		name: "mark the maxima", least: 1, in: []rowOperand{of(ops.Float32, mixed), {dtype: ops.Int32}},
		consts: func(int) []ops.Value { return []ops.Value{ops.IntValue(ops.Int32, -1)} },
		build: func(b *ops.Builder) {
			x := b.Load(0, false)
			top := b.Reduce(ops.ReduceMax, x)
			hit := b.Apply(ops.Equal, x, top)
			b.Result(b.Apply(ops.Where, hit, b.Index(1, ops.Int32, false), b.Const(0, ops.Int32)))
			b.Result(top)
			b.Result(b.Reduce(ops.ReduceArgMax, x))
			b.Result(hit)
		},
	},
	{
		name: "times the sum, wrapping", in: []rowOperand{of(ops.Int32, func(in *inputs, _ int) fill { return in.bits })},
		build: func(b *ops.Builder) {
			x := b.Load(0, false)
			b.Result(b.Apply(ops.Mul, x, b.Reduce(ops.ReduceSum, x)))
		},
	},
	{
		name: "three phases", least: 1, in: []rowOperand{of(ops.Float32, wholes)},
		build: func(b *ops.Builder) {
			x := b.Load(0, false)
			d := b.Apply(ops.Sub, x, b.Reduce(ops.ReduceMax, x))
			p := b.Apply(ops.Mul, d, b.Reduce(ops.ReduceSum, d))
			b.Result(b.Apply(ops.Sub, p, b.Reduce(ops.ReduceMin, p)))
		},
	},
	{
		name: "with a row's operand", in: []rowOperand{of(ops.Float32, wholes), {dtype: ops.Float32, fill: wholes, row: true}}, consts: constant(2),
		build: func(b *ops.Builder) {
			x, r := b.Load(0, false), b.Load(1, true)
			twice := b.Apply(ops.Mul, r, b.Const(0, ops.Float32))
			sum := b.Reduce(ops.ReduceSum, b.Apply(ops.Add, x, twice))
			b.Result(b.Apply(ops.Add, b.Apply(ops.Mul, x, r), sum))
			b.Result(sum)
			b.Result(twice)
		},
	},
	{
		name: "any and all", in: []rowOperand{of(ops.Bool, func(in *inputs, n int) fill { return in.rarely(1/float64(n+1), 1, 0) })},
		build: func(b *ops.Builder) {
			x := b.Load(0, false)
			b.Result(b.Apply(ops.LogicalXor, x, b.Reduce(ops.ReduceAll, x)))
			b.Result(b.Reduce(ops.ReduceAny, b.Apply(ops.LogicalNot, x)))
		},
	},
	{
		name: "below the largest of another", least: 1, in: []rowOperand{of(ops.Int64, wholes), of(ops.Int64, wholes)},
		build: func(b *ops.Builder) {
			b.Result(b.Apply(ops.Less, b.Load(0, false), b.Reduce(ops.ReduceMax, b.Load(1, false))))
		},
	},
}

// The bounds of these programs, in roundings: what the sums contribute (see sumBound) and what the rest does.
var normalising = []rowProgram{
	{
		name: "softmax", least: 1, in: []rowOperand{of(ops.Float32, normals)}, build: softmax(ops.Float32), ulp: 24,
		abs: func(n int) float64 { return sumBound(n) / float64(n) },
	},
	{name: "softmax with masked elements", least: 1, in: []rowOperand{of(ops.Float32, masked)}, build: softmax(ops.Float32), ulp: 48},
	{name: "softmax of large numbers", least: 1, in: []rowOperand{of(ops.Float32, func(in *inputs, _ int) fill {
		return func(d ops.DType, _ int) uint64 { return number(d, 80*in.NormFloat64()) }
	})}, build: softmax(ops.Float32), ulp: 64, abs: func(int) float64 { return 1e-30 }},
	{
		name: "log-softmax", least: 1, in: []rowOperand{of(ops.Float32, normals)},
		abs: func(n int) float64 { return sumBound(n) + 8*math.Log(float64(n)+8) },
		build: func(b *ops.Builder) {
			x := b.Load(0, false)
			d := b.Apply(ops.Sub, x, b.Reduce(ops.ReduceMax, x))
			b.Result(b.Apply(ops.Sub, d, b.Apply(ops.Log, b.Reduce(ops.ReduceSum, b.Apply(ops.Exp, d)))))
		},
	},
	{
		name: "log-sum-exp", least: 1, in: []rowOperand{of(ops.Float32, normals)},
		abs: func(n int) float64 { return sumBound(n) + 8*math.Log(float64(n)+8) },
		build: func(b *ops.Builder) {
			x := b.Load(0, false)
			top := b.Reduce(ops.ReduceMax, x)
			sum := b.Reduce(ops.ReduceSum, b.Apply(ops.Exp, b.Apply(ops.Sub, x, top)))
			b.Result(b.Apply(ops.Add, top, b.Apply(ops.Log, sum)))
		},
	},
	{
		name: "layer norm", least: 1, in: []rowOperand{of(ops.Float32, normals), of(ops.Float32, normals), of(ops.Float32, normals)},
		consts: func(n int) []ops.Value { return append(reciprocalLength(n), constant(epsilon)(0)...) },
		abs:    func(n int) float64 { return 16 * sumBound(n) }, // of elements up to 4 deviations and gains as large
		build: func(b *ops.Builder) {
			y := normalise(b, ops.Float32, b.Load(0, false))
			b.Result(b.Apply(ops.Add, b.Apply(ops.Mul, y, b.Load(1, false)), b.Load(2, false)))
		},
	},
	{
		name: "RMS norm", least: 1, in: []rowOperand{of(ops.Float32, normals)}, ulp: 48,
		consts: func(n int) []ops.Value { return append(reciprocalLength(n), constant(epsilon)(0)...) },
		build: func(b *ops.Builder) {
			x := b.Load(0, false)
			mean := b.Apply(ops.Mul, b.Reduce(ops.ReduceSum, b.Apply(ops.Mul, x, x)), b.Const(0, ops.Float32))
			b.Result(b.Apply(ops.Mul, x, b.Apply(ops.Rsqrt, b.Apply(ops.Add, mean, b.Const(1, ops.Float32)))))
		},
	},
	{
		name: "variance", least: 1, in: []rowOperand{of(ops.Float32, normals)}, consts: reciprocalLength, ulp: 2,
		abs:   func(n int) float64 { return 16 * sumBound(n) },
		build: variance,
	},
	{name: "variance of numbers far from 0", least: 1, in: []rowOperand{of(ops.Float32, func(in *inputs, n int) fill {
		if n&(n-1) != 0 {
			return func(d ops.DType, _ int) uint64 { return number(d, 1) } // 1/n is not exact: the mean of ones nearly is
		}
		return func(d ops.DType, i int) uint64 { return number(d, 2000+float64(i%2*2)) }
	})}, consts: reciprocalLength, abs: func(int) float64 { return 1e-3 }, build: variance},
	{
		name: "L2 norm", in: []rowOperand{of(ops.Float32, normals)}, ulp: 48,
		build: func(b *ops.Builder) {
			x := b.Load(0, false)
			b.Result(b.Apply(ops.Div, x, b.Apply(ops.Sqrt, b.Reduce(ops.ReduceSum, b.Apply(ops.Mul, x, x)))))
		},
	},
}

// masked draws normal numbers and some -inf, as attention masks give.
func masked(in *inputs, _ int) fill {
	return func(d ops.DType, i int) uint64 {
		if in.IntN(3) == 0 {
			return number(d, math.Inf(-1))
		}
		return in.normal(d, i)
	}
}

// softmax is exp(x - max)/Σ exp(x - max), in type d whatever the operand is.
func softmax(d ops.DType) func(*ops.Builder) {
	return func(b *ops.Builder) {
		x := b.Load(0, false)
		from := b.DType(x)
		x = b.Cast(d, x)
		e := b.Apply(ops.Exp, b.Apply(ops.Sub, x, b.Reduce(ops.ReduceMax, x)))
		b.Result(b.Cast(from, b.Apply(ops.Div, e, b.Reduce(ops.ReduceSum, e))))
	}
}

// epsilon is what the norms add to the variance. It is larger than in use, so that rows of equal elements do
// not magnify the error of their mean.
const epsilon = 0.5

// normalise is (x - mean)/√(variance + ε), with the constants 1/n and ε.
func normalise(b *ops.Builder, d ops.DType, x ops.Ref) ops.Ref {
	mean := b.Apply(ops.Mul, b.Reduce(ops.ReduceSum, x), b.Const(0, d))
	c := b.Apply(ops.Sub, x, mean)
	v := b.Apply(ops.Mul, b.Reduce(ops.ReduceSum, b.Apply(ops.Mul, c, c)), b.Const(0, d))
	return b.Apply(ops.Mul, c, b.Apply(ops.Rsqrt, b.Apply(ops.Add, v, b.Const(1, d))))
}

// variance is the mean of the squares of (x - mean), with the constant 1/n.
func variance(b *ops.Builder) {
	x := b.Load(0, false)
	n := b.Const(0, ops.Float32)
	c := b.Apply(ops.Sub, x, b.Apply(ops.Mul, b.Reduce(ops.ReduceSum, x), n))
	b.Result(b.Apply(ops.Mul, b.Reduce(ops.ReduceSum, b.Apply(ops.Mul, c, c)), n))
}

// halfRows are programs on 16-bit floats that compute in float32.
func halfRows() []rowProgram {
	var ps []rowProgram
	for _, d := range []ops.DType{ops.Float16, ops.BFloat16} {
		ps = append(ps,
			rowProgram{name: "softmax of " + d.String(), least: 1, in: []rowOperand{of(d, normals)}, build: softmax(ops.Float32), ulp: 1},
			rowProgram{
				name: "layer norm of " + d.String(), least: 2, in: []rowOperand{of(d, normals)}, ulp: 1,
				consts: func(n int) []ops.Value { return append(reciprocalLength(n), constant(epsilon)(0)...) },
				abs:    func(n int) float64 { return 16 * sumBound(n) },
				build: func(b *ops.Builder) {
					b.Result(b.Cast(d, normalise(b, ops.Float32, b.Cast(ops.Float32, b.Load(0, false)))))
				},
			})
	}
	return ps
}

// doubleRows are programs on float64.
func doubleRows() []rowProgram {
	return []rowProgram{
		{name: "softmax of float64", least: 1, in: []rowOperand{of(ops.Float64, normals)}, build: softmax(ops.Float64), ulp: 48},
		{
			name: "layer norm of float64", least: 2, in: []rowOperand{of(ops.Float64, normals)},
			consts: func(n int) []ops.Value {
				return []ops.Value{ops.FloatValue(ops.Float64, 1/float64(n)), ops.FloatValue(ops.Float64, epsilon)}
			},
			abs:   func(n int) float64 { return 16 * sumBound(n) },
			build: func(b *ops.Builder) { b.Result(normalise(b, ops.Float64, b.Load(0, false))) },
		},
	}
}
