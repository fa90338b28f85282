package backendtest

import (
	"fmt"
	"math"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A frame runs a program over the n elements of a row, or of a block of elements that have nothing to do
// with each other. A value of the program is n values, or one that stands for all.
type frame struct {
	e      *ops.Expr
	n      int
	load   func(k int, row bool) []ops.Value
	index  func(k int, d ops.DType, row bool) []ops.Value
	consts []uint64
	err    error
}

// pick returns element j of the n that v is or stands for.
func pick(v []ops.Value, j int) ops.Value {
	if len(v) == 1 {
		return v[0]
	}
	return v[j]
}

// run returns the results of the program.
func (f *frame) run() [][]ops.Value {
	vals := make([][]ops.Value, len(f.e.Code))
	for i := range f.e.Code {
		in := &f.e.Code[i]
		switch in.Kind {
		case ops.Load:
			vals[i] = f.load(int(in.Args[0]), in.Row)
		case ops.Index:
			vals[i] = f.index(int(in.Args[0]), in.DType, in.Row)
		case ops.Const:
			vals[i] = []ops.Value{ops.FromBits(in.DType, f.consts[in.Args[0]])}
		case ops.Apply, ops.Cast:
			vals[i] = f.apply(in, vals)
		case ops.Reduce:
			v, err := reduce(in.Red, in.DType, vals[in.Args[0]], f.n)
			if err != nil {
				f.err = err
			}
			vals[i] = []ops.Value{v}
		case ops.Scan:
			vals[i] = scan(in, vals[in.Args[0]], f.n)
		}
	}
	out := make([][]ops.Value, len(f.e.Out))
	for i, r := range f.e.Out {
		out[i] = vals[r]
	}
	return out
}

// apply computes an Apply or a Cast, for one element if its operands stand for all.
func (f *frame) apply(in *ops.Instr, vals [][]ops.Value) []ops.Value {
	n := 1
	for _, a := range in.Operands() {
		if len(vals[a]) != 1 {
			n = f.n
		}
	}
	out := make([]ops.Value, n)
	var args [3]ops.Value
	for j := range out {
		for k, a := range in.Operands() {
			args[k] = pick(vals[a], j)
		}
		if in.Kind == ops.Cast {
			out[j] = args[0].Convert(in.DType)
		} else {
			out[j] = in.Op.Eval(args[:in.Op.Arity]...)
		}
	}
	return out
}

// reduce combines the n elements v is or stands for into one of type d.
func reduce(op ops.ReduceOp, d ops.DType, v []ops.Value, n int) (ops.Value, error) {
	if n == 0 && !op.HasIdentity() {
		return ops.Value{DType: d}, fmt.Errorf("%s of no elements: %w", op, backend.ErrShape)
	}
	if op == ops.ReduceArgMax || op == ops.ReduceArgMin {
		best := 0
		for j := 1; j < n; j++ {
			if beats(op == ops.ReduceArgMax, pick(v, j), pick(v, best)) {
				best = j
			}
		}
		return ops.IntValue(d, int64(best)), nil
	}
	a := newAccumulator(op, d)
	for j := range n {
		a.add(pick(v, j))
	}
	return a.value(), nil
}

// beats reports whether x is a better maximum (or minimum) than y, which comes before it.
func beats(greatest bool, x, y ops.Value) bool {
	xf, yf, xi, yi := x.F, y.F, x.I, y.I
	if !greatest {
		xf, yf, xi, yi = yf, xf, yi, xi
	}
	if x.DType.IsFloat() {
		return !math.IsNaN(y.F) && (math.IsNaN(x.F) || xf > yf)
	}
	return xi > yi
}

// scan returns the combination of each prefix of the n elements v is or stands for.
func scan(in *ops.Instr, v []ops.Value, n int) []ops.Value {
	out := make([]ops.Value, n)
	a := newAccumulator(in.Red, in.DType)
	for i := range n {
		j := i
		if in.Reverse {
			j = n - 1 - i
		}
		if in.Exclusive {
			out[j] = a.value()
		}
		a.add(pick(v, j))
		if !in.Exclusive {
			out[j] = a.value()
		}
	}
	return out
}

// An accumulator combines elements of type d one after the other. A floating-point sum or product is held
// in two float64, so that its error does not count beside that of any backend.
type accumulator struct {
	op  ops.ReduceOp
	d   ops.DType
	i   int64
	f   double  // sum, product
	max float64 // of the elements so far; for logaddexp f is the sum of exp(x - max)
}

func newAccumulator(op ops.ReduceOp, d ops.DType) *accumulator {
	a := &accumulator{op: op, d: d, max: math.Inf(-1)}
	lo, hi := ops.IntRange(d)
	switch op {
	case ops.ReduceProd:
		a.i, a.f.hi = 1, 1
	case ops.ReduceAll:
		a.i = 1
	case ops.ReduceMax:
		a.i = lo
	case ops.ReduceMin:
		a.i, a.max = hi, math.Inf(1)
	default: // begin at 0, or at -∞
	}
	return a
}

func (a *accumulator) add(v ops.Value) {
	switch a.op {
	case ops.ReduceSum:
		a.i += v.I
		a.f.add(v.F)
	case ops.ReduceProd:
		a.i *= v.I
		a.f.mul(v.F)
	case ops.ReduceMax:
		a.i, a.max = max(a.i, v.I), max(a.max, v.F) // the builtin max propagates NaN
	case ops.ReduceMin:
		a.i, a.max = min(a.i, v.I), min(a.max, v.F)
	case ops.ReduceAny:
		a.i |= v.I
	case ops.ReduceAll:
		a.i &= v.I
	case ops.ReduceLogAddExp:
		a.addExp(v.F)
	default: // the argmax and argmin look for themselves
	}
}

// addExp adds exp(x) to the sum, which it scales so that its greatest term is 1.
func (a *accumulator) addExp(x float64) {
	switch {
	case math.IsInf(a.max, 1) || math.IsNaN(a.max):
		a.max += max(x, 0) // stays infinite or NaN, and becomes NaN with x
	case x > a.max || math.IsNaN(x):
		a.f.mul(math.Exp(a.max - x))
		a.f.add(1)
		a.max = x
	case !math.IsInf(x, -1):
		a.f.add(math.Exp(x - a.max))
	}
}

func (a *accumulator) value() ops.Value {
	if !a.d.IsFloat() {
		return ops.IntValue(a.d, a.i)
	}
	switch a.op {
	case ops.ReduceMax, ops.ReduceMin:
		return ops.FloatValue(a.d, a.max)
	case ops.ReduceLogAddExp:
		if math.IsInf(a.max, 0) || math.IsNaN(a.max) {
			return ops.FloatValue(a.d, a.max)
		}
		return ops.FloatValue(a.d, a.max+math.Log(a.f.value()))
	default:
		return ops.FloatValue(a.d, a.f.value())
	}
}

// A double is the sum of two float64, with about 106 bits of significand: "double-double" (T. J. Dekker,
// "A floating-point technique for extending the available precision", 1971).
type double struct{ hi, lo float64 }

// add adds x by Knuth's TwoSum.
func (s *double) add(x float64) {
	t := s.hi + x
	b := t - s.hi
	s.lo += (s.hi - (t - b)) + (x - b)
	s.hi = t
}

// addProduct adds x·y.
func (s *double) addProduct(x, y float64) {
	p := x * y
	s.add(p)
	s.lo += math.FMA(x, y, -p)
}

// mul multiplies by x.
func (s *double) mul(x float64) {
	p := s.hi * x
	lo := s.lo*x + math.FMA(s.hi, x, -p)
	s.hi, s.lo = p, lo
}

// value returns the nearest float64. Infinities and NaN are in hi alone.
func (s double) value() float64 {
	if math.IsInf(s.hi, 0) || math.IsNaN(s.hi) {
		return s.hi
	}
	return s.hi + s.lo
}
