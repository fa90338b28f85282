package tensor

import (
	"fmt"
	"math"

	"github.com/weft-go/weft/internal/graph"
	"github.com/weft-go/weft/ops"
)

// Sum returns the sum over axes; 0 of no elements. Integers and Bool are summed as Int64, wrapping.
// Floats keep their type and are summed pairwise or better, 16-bit types in Float32, so that a long sum
// does not stall as NumPy's does along an outer axis.
func (t *Tensor) Sum(axes ...int) *Tensor { return t.reduce(ops.ReduceSum, axes) }

// Prod returns the product over axes; 1 of no elements. Types are as in [Tensor.Sum].
func (t *Tensor) Prod(axes ...int) *Tensor { return t.reduce(ops.ReduceProd, axes) }

// Max returns the greatest element over axes, NaN if any is. Of zeros of both signs it may be either. Of no elements it
// is an error of kind [ErrShape].
func (t *Tensor) Max(axes ...int) *Tensor { return t.reduce(ops.ReduceMax, axes) }

// Min returns the least element over axes, NaN if any is. Of zeros of both signs it may be either. Of no elements it
// is an error of kind [ErrShape].
func (t *Tensor) Min(axes ...int) *Tensor { return t.reduce(ops.ReduceMin, axes) }

// ArgMax returns the position, as Int32, of the greatest element over axes: of the first of several, or
// of the first NaN. Over more than one axis the position counts their elements in row-major order. Of no
// elements it is an error of kind [ErrShape].
func (t *Tensor) ArgMax(axes ...int) *Tensor { return t.reduce(ops.ReduceArgMax, axes) }

// ArgMin returns the position of the least element, otherwise as [Tensor.ArgMax].
func (t *Tensor) ArgMin(axes ...int) *Tensor { return t.reduce(ops.ReduceArgMin, axes) }

// Any reports whether some element over axes is not zero, as Bool; false of no elements.
func (t *Tensor) Any(axes ...int) *Tensor { return t.reduce(ops.ReduceAny, axes) }

// All reports whether no element over axes is zero, as Bool; true of no elements.
func (t *Tensor) All(axes ...int) *Tensor { return t.reduce(ops.ReduceAll, axes) }

// Mean returns the arithmetic mean over axes; NaN of no elements. Integers and Bool are converted to
// Float32 first, and 16-bit types are summed in Float32, so that the sum does not overflow.
func (t *Tensor) Mean(axes ...int) *Tensor {
	r := t.rows("mean", axes)
	if r.bad != nil {
		return r.bad
	}
	return r.mean(r.in).Cast(r.result)
}

// Var returns the variance over axes, the mean of the squared distances from the mean, which are summed
// as such, so that it does not cancel; NaN of no elements. Types are as in [Tensor.Mean].
func (t *Tensor) Var(axes ...int) *Tensor { return t.variance("var", 0, axes) }

// Std returns the standard deviation over axes, the root of [Tensor.Var].
func (t *Tensor) Std(axes ...int) *Tensor { return t.variance("std", 0, axes) }

// VarDDof is [Tensor.Var] with the squares' sum divided by n − ddof, as NumPy's ddof has it, in place of
// n. 1 estimates the variance of a population from a sample.
func (t *Tensor) VarDDof(ddof int, axes ...int) *Tensor { return t.variance("var", ddof, axes) }

// StdDDof is the root of [Tensor.VarDDof].
func (t *Tensor) StdDDof(ddof int, axes ...int) *Tensor { return t.variance("std", ddof, axes) }

// reduce records a reduction of one kind.
func (t *Tensor) reduce(op ops.ReduceOp, axes []int) *Tensor {
	t, ok := t.ready(op.String())
	if !ok {
		return t
	}
	t, n, bad := t.reducible(op.String(), axes)
	if bad != nil {
		return bad
	}
	if !op.HasIdentity() && t.emptyRows(n) {
		return fail(op.String(), ErrShape, "of no elements", t)
	}
	t = t.Cast(combined(op, t.node.DType))
	return whole(t.dev, graph.Reduce(op, t.edge(), n))
}

// combined returns the type in which elements of type d are combined.
func combined(op ops.ReduceOp, d DType) DType {
	switch op {
	case ops.ReduceSum, ops.ReduceProd:
		if !d.IsFloat() {
			return Int64
		}
	case ops.ReduceAny, ops.ReduceAll:
		return Bool
	case ops.ReduceLogAddExp:
		return floating(d)
	default:
	}
	return d
}

// reducible returns t with the named axes last, and their number.
func (t *Tensor) reducible(op string, axes []int) (last *Tensor, n int, bad *Tensor) {
	set, err := axisSet(t.layout.Shape, axes)
	if err != nil {
		return nil, 0, failWith(op, err, t)
	}
	r := t.Rank()
	if len(axes) == 0 {
		return t, r, nil
	}
	order := make([]int, 0, r)
	for i := range r {
		if !set.has(i) {
			order = append(order, i)
		}
	}
	n = r - len(order)
	sorted := true
	for i := range r {
		if set.has(i) {
			sorted = sorted && i == len(order)
			order = append(order, i)
		}
	}
	if sorted {
		return t, n, nil
	}
	return t.Permute(order...), n, nil
}

// emptyRows reports whether the last n axes have no elements though the rest does.
func (t *Tensor) emptyRows(n int) bool {
	kept, row := t.layout.Shape[:t.Rank()-n], t.layout.Shape[t.Rank()-n:]
	return row.Len() == 0 && kept.Len() > 0
}

// Rows are a tensor with the axes to reduce last, as floats of the type that sums are computed in.
type rows struct {
	in     *Tensor
	axes   int
	n      int     // elements of a row
	result DType   // what the caller is to get
	bad    *Tensor // or an error
}

// rows prepares a reduction that computes in floats.
func (t *Tensor) rows(op string, axes []int) rows {
	t, ok := t.ready(op)
	if !ok {
		return rows{bad: t}
	}
	last, n, bad := t.reducible(op, axes)
	if bad != nil {
		return rows{bad: bad}
	}
	r := rows{axes: n, n: last.layout.Shape[last.Rank()-n:].Len(), result: floating(t.node.DType)}
	r.in = last.Cast(accumulator(r.result))
	return r
}

// floating returns the type in which functions with fractions are computed.
func floating(t DType) DType {
	if t.IsFloat() {
		return t
	}
	return ops.DefaultFloat
}

// accumulator returns the type in which many elements of type t are best combined.
func accumulator(t DType) DType {
	switch t {
	case Float16, BFloat16:
		return Float32
	case Uint8, Int8:
		return Int32
	default:
		return t
	}
}

// of reduces x, which has the shape of the rows.
func (r *rows) of(op ops.ReduceOp, x *Tensor) *Tensor {
	return whole(x.dev, graph.Reduce(op, x.edge(), r.axes))
}

// keep returns v, one value for each row, with the rows' axes of extent 1.
func (r *rows) keep(v *Tensor) *Tensor {
	var short [8]int
	axes := short[:0]
	for i := range r.axes {
		axes = append(axes, -1-i)
	}
	return v.Unsqueeze(axes...)
}

func (r *rows) mean(x *Tensor) *Tensor { return r.of(ops.ReduceSum, x).DivScalar(float64(r.n)) }

// variance returns the variance, or for op "std" its root.
func (t *Tensor) variance(op string, ddof int, axes []int) *Tensor {
	r := t.rows(op, axes)
	if r.bad != nil {
		return r.bad
	}
	_, squares := r.centred()
	v := squares.DivScalar(math.Max(0, float64(r.n-ddof)))
	if op == "std" {
		v = v.Sqrt()
	}
	return v.Cast(r.result)
}

// centred returns the distances of the elements from the mean of their row, and the sum of their
// squares. Where the mean is large beside the distances its rounding shows in them: their own mean is
// not zero, and is taken off again. (Chan, Golub and LeVeque, "Algorithms for computing the sample
// variance", 1983, equation 1.7.)
func (r *rows) centred() (d, squares *Tensor) {
	d = r.in.Sub(r.keep(r.mean(r.in)))
	sum := r.of(ops.ReduceSum, d)
	rest := sum.MulScalar(1 / float64(r.n))
	squares = r.of(ops.ReduceSum, d.Square()).Sub(sum.Mul(rest)).MaximumScalar(0)
	return d.Sub(r.keep(rest)), squares
}

// LogSumExp returns log Σ exp over axes, without overflow; -∞ of no elements, or of -∞ alone. Types are
// as in [Tensor.Mean].
func (t *Tensor) LogSumExp(axes ...int) *Tensor {
	r := t.rows("logsumexp", axes)
	switch {
	case r.bad != nil:
		return r.bad
	case r.n == 0:
		return r.of(ops.ReduceSum, r.in).Log().Cast(r.result)
	}
	m := r.of(ops.ReduceMax, r.in)
	m = Where(m.IsFinite(), m, Scalar(0)) // an infinite maximum less itself would be NaN
	return r.of(ops.ReduceSum, r.in.Sub(r.keep(m)).Exp()).Log().Add(m).Cast(r.result)
}

// Norm returns the vector norm (Σ|t|ᵖ)^(1/p) of order p over axes: 2 is Euclid's, 1 the sum of the
// absolute values, +Inf and -Inf the greatest and least of them, and 0 the number of elements that are
// not zero. It is 0 of no elements. Values are scaled by the greatest before they are raised to a power,
// so that the norm overflows only if it does not fit the type; NumPy's does earlier. Types are as in
// [Tensor.Mean]. The error is of kind [ErrShape] for order -Inf, or a negative one, of no elements, and
// [ErrDType] for order NaN.
func (t *Tensor) Norm(p float64, axes ...int) *Tensor {
	r := t.rows("norm", axes)
	switch {
	case r.bad != nil:
		return r.bad
	case math.IsNaN(p):
		return fail("norm", ErrDType, "order is NaN", t)
	case p < 0 && r.in.emptyRows(r.axes):
		return fail("norm", ErrShape, fmt.Sprintf("order %v of no elements", p), t)
	}
	x := r.in.Abs()
	switch {
	case p == 0:
		x = r.of(ops.ReduceSum, x.NotEqualScalar(0).Cast(x.DType()))
	case r.n == 0 || p == 1:
		x = r.of(ops.ReduceSum, x)
	case math.IsInf(p, 1):
		x = r.of(ops.ReduceMax, x)
	case math.IsInf(p, -1):
		x = r.of(ops.ReduceMin, x)
	default:
		x = r.norm(p, x)
	}
	return x.Cast(r.result)
}

// norm returns the norm of order p of rows of absolute values x, none of them empty.
func (r *rows) norm(p float64, x *Tensor) *Tensor {
	scale := r.of(ops.ReduceMax, x)
	if p < 0 {
		scale = r.of(ops.ReduceMin, x)
	}
	scale = Where(scale.IsFinite().LogicalAnd(scale.GreaterScalar(0)), scale, Scalar(1))
	x = x.Div(r.keep(scale))
	if p == 2 {
		return r.of(ops.ReduceSum, x.Square()).Sqrt().Mul(scale)
	}
	return r.of(ops.ReduceSum, x.PowScalar(p)).PowScalar(1 / p).Mul(scale)
}
