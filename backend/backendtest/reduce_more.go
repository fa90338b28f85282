package backendtest

import (
	"fmt"
	"math"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A rowProgram is the body of a kernel that reduces rows, with the operands it wants.
type rowProgram struct {
	name   string
	in     []rowOperand
	consts func(n int) []ops.Value // for rows of n elements
	build  func(b *ops.Builder)    // operands are numbered as in in; it adds the results

	ulp   float64
	bound func(n int) float64 // in roundings of the sum of magnitudes
	abs   func(n int) float64 // in roundings of 1
	least int                 // elements a row must have
}

// A rowOperand is an input of a rowProgram.
type rowOperand struct {
	dtype ops.DType
	fill  func(in *inputs, n int) fill // nil for one that has no memory
	row   bool                         // one value for each row
}

// of returns an operand over the domain.
func of(d ops.DType, f func(in *inputs, n int) fill) rowOperand { return rowOperand{dtype: d, fill: f} }

func normals(in *inputs, _ int) fill { return in.normal }
func wholes(in *inputs, _ int) fill  { return in.whole }
func ordinary(in *inputs, _ int) fill {
	return in.ordinary
}
func mixed(in *inputs, n int) fill { return in.special(in.whole, n) }

// trial returns a trial of p. Reduce says that it is of that family, and has results of rows alone.
func (p *rowProgram) trial(in *inputs, reduce bool, shape backend.Shape, axes int, how, to string) *trial {
	n := shape[len(shape)-axes:].Len()
	tr := &trial{name: fmt.Sprintf("%s over the last %d of %v, %s", p.name, axes, shape, how), shape: shape, ulp: p.ulp}
	if p.bound != nil {
		tr.bound = p.bound(n)
	}
	if p.abs != nil {
		tr.abs = p.abs(n)
	}
	var b ops.Builder
	for _, o := range p.in {
		b.Operand(o.dtype)
		switch {
		case o.fill == nil:
			tr.in = append(tr.in, operand{dtype: o.dtype, how: how, layout: arrange(how, shape)})
		case o.row:
			x := in.tensor(o.dtype, how, shape[:len(shape)-axes], o.fill(in, n))
			tr.in = append(tr.in, perRow(x, shape, axes))
		default:
			tr.in = append(tr.in, in.tensor(o.dtype, how, shape, o.fill(in, n)))
		}
	}
	if p.consts != nil {
		tr.consts = p.consts(n)
	}
	p.build(&b)
	e := b.Expr()
	for _, r := range e.Out {
		c := e.Code[r]
		if c.Row {
			tr.out = append(tr.out, in.rowBlank(c.DType, to, shape, axes))
		} else {
			tr.out = append(tr.out, in.blank(c.DType, to, shape))
		}
	}
	tr.kernel = &backend.Row{Body: e, Axes: axes}
	if reduce {
		tr.kernel = &backend.Reduce{Body: e, Axes: axes}
	}
	return tr
}

// sumBound is the bound of a sum of n elements, in roundings; see [inputs.fills].
func sumBound(n int) float64 { return 2*math.Log2(float64(max(n, 2))) + 24 }

// constant returns constants of type float32.
func constant(xs ...float64) func(int) []ops.Value {
	return func(int) []ops.Value {
		vs := make([]ops.Value, len(xs))
		for i, x := range xs {
			vs[i] = ops.FloatValue(ops.Float32, x)
		}
		return vs
	}
}

// reciprocalLength is the constant 1/n.
func reciprocalLength(n int) []ops.Value {
	return []ops.Value{ops.FloatValue(ops.Float32, 1/float64(max(n, 1)))}
}

var reducePrograms = []rowProgram{
	{
		name: "root mean square", in: []rowOperand{of(ops.Float32, normals)}, consts: reciprocalLength, ulp: 2, bound: sumBound,
		build: func(b *ops.Builder) {
			x := b.Load(0, false)
			mean := b.Apply(ops.Mul, b.Reduce(ops.ReduceSum, b.Apply(ops.Mul, x, x)), b.Const(0, ops.Float32))
			b.Result(b.Apply(ops.Sqrt, mean))
		},
	},
	{
		name: "sum of int8 as int64", in: []rowOperand{of(ops.Int8, func(in *inputs, _ int) fill { return in.bits })},
		build: func(b *ops.Builder) { b.Result(b.Reduce(ops.ReduceSum, b.Cast(ops.Int64, b.Load(0, false)))) },
	},
	{
		name: "count of true", in: []rowOperand{of(ops.Bool, ordinary)},
		build: func(b *ops.Builder) { b.Result(b.Reduce(ops.ReduceSum, b.Cast(ops.Int64, b.Load(0, false)))) },
	},
	{
		name: "all finite", in: []rowOperand{of(ops.Float32, mixed)},
		build: func(b *ops.Builder) {
			b.Result(b.Reduce(ops.ReduceAll, b.Apply(ops.IsFinite, b.Load(0, false))))
		},
	},
	{
		name: "argmax of -x", least: 1, in: []rowOperand{of(ops.Float32, mixed)},
		build: func(b *ops.Builder) {
			b.Result(b.Reduce(ops.ReduceArgMax, b.Apply(ops.Neg, b.Load(0, false))))
		},
	},
	{
		name: "sum of float16 in float32", in: []rowOperand{of(ops.Float16, func(in *inputs, _ int) fill {
			return func(d ops.DType, i int) uint64 { return number(d, float64(30000*(2*in.IntN(2)-1))) }
		})},
		build: func(b *ops.Builder) {
			b.Result(b.Cast(ops.Float16, b.Reduce(ops.ReduceSum, b.Cast(ops.Float32, b.Load(0, false)))))
		},
	},
	{
		name: "dot product and a row's bias", in: []rowOperand{of(ops.Float32, wholes), of(ops.Float32, wholes), {dtype: ops.Float32, fill: wholes, row: true}},
		build: func(b *ops.Builder) {
			dot := b.Reduce(ops.ReduceSum, b.Apply(ops.Mul, b.Load(0, false), b.Load(1, false)))
			b.Result(b.Apply(ops.Add, dot, b.Load(2, true)))
		},
	},
	{
		name: "masked sum", in: []rowOperand{of(ops.Bool, ordinary), of(ops.Float32, wholes)}, consts: constant(0),
		build: func(b *ops.Builder) {
			b.Result(b.Reduce(ops.ReduceSum, b.Apply(ops.Where, b.Load(0, false), b.Load(1, false), b.Const(0, ops.Float32))))
		},
	},
	{
		name: "sum of a constant", in: []rowOperand{of(ops.Float32, wholes)}, consts: constant(3),
		build: func(b *ops.Builder) {
			b.Load(0, false)
			b.Result(b.Reduce(ops.ReduceSum, b.Const(0, ops.Float32)))
		},
	},
	{
		name: "sum of a row value", in: []rowOperand{of(ops.Float32, wholes), {dtype: ops.Float32, fill: wholes, row: true}},
		build: func(b *ops.Builder) {
			b.Result(b.Reduce(ops.ReduceSum, b.Apply(ops.Mul, b.Load(0, false), b.Load(1, true))))
			b.Result(b.Reduce(ops.ReduceSum, b.Load(1, true)))
		},
	},
	{
		name: "last position of a maximum", least: 1, in: []rowOperand{of(ops.Int32, wholes), {dtype: ops.Int32}},
		consts: func(int) []ops.Value { return []ops.Value{ops.IntValue(ops.Int32, 3), ops.IntValue(ops.Int32, -1)} },
		build: func(b *ops.Builder) {
			hit := b.Apply(ops.Equal, b.Load(0, false), b.Const(0, ops.Int32))
			b.Result(b.Reduce(ops.ReduceMax, b.Apply(ops.Where, hit, b.Index(1, ops.Int32, false), b.Const(1, ops.Int32))))
		},
	},
	{
		name: "a maximum and a sum", least: 1, in: []rowOperand{of(ops.Float32, mixed)},
		build: func(b *ops.Builder) {
			x := b.Load(0, false)
			b.Result(b.Reduce(ops.ReduceMax, x))
			b.Result(b.Reduce(ops.ReduceSum, x))
		},
	},
}

// testReducePrograms tests reductions with elementwise work before and after them.
func (s *suite) testReducePrograms(t tb) {
	s.rowPrograms(t, reducePrograms, true)
}

// rowPrograms tests programs on rows of all lengths and arrangements.
func (s *suite) rowPrograms(t tb, programs []rowProgram, reduce bool) {
	for i := range programs {
		p := &programs[i]
		s.leaf(t, p.name, func(t tb) {
			in := s.draw(t)
			var trials []*trial
			lengths := rowLengths
			if s.short {
				lengths = append(sample(in, lengths, 6), 0)
			}
			for _, n := range append(lengths[:len(lengths):len(lengths)], 20_011) {
				if n < p.least {
					continue
				}
				how, to := sample(in, writable, 1)[0], sample(in, writable, 1)[0]
				trials = append(trials, p.trial(in, reduce, backend.Shape{1 + in.IntN(4), n}, 1, how, to))
			}
			for k, how := range readable {
				to := writable[k%len(writable)]
				trials = append(trials, p.trial(in, reduce, backend.Shape{3, 4, 5}, 1, how, to),
					p.trial(in, reduce, backend.Shape{2, 3, 2, 9}, 2, how, to), p.trial(in, reduce, backend.Shape{3, 33}, 2, how, to))
			}
			trials = append(trials, p.trial(in, reduce, backend.Shape{517, 3}, 1, "dense", "dense"),
				p.trial(in, reduce, backend.Shape{0, 5}, 1, "dense", "dense"))
			s.check(t, trials...)
		})
	}
}
