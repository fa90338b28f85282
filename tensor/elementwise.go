package tensor

import (
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/internal/graph"
	"github.com/weft-go/weft/ops"
)

// Apply returns op of its operands, element by element. The methods named after the operations are the usual
// way; Apply is for programs that choose one at run time.
//
// The operands are broadcast to one shape by NumPy's rule: aligned at the last axis, an extent of 1
// stretches to the other. They are converted to one element type by NumPy's table (see the package comment),
// which op may restrict. The error is of kind [ErrShape], [ErrDType] or [ErrDevice].
func Apply(op *ops.Op, in ...*Tensor) *Tensor {
	if len(in) != op.Arity {
		return fail(op.Name, ErrShape, fmt.Sprintf("%d operands, want %d", len(in), op.Arity), in...)
	}
	var x [3]*Tensor
	copy(x[:], in)
	return apply(op, x)
}

func monadic(op *ops.Op, x *Tensor) *Tensor   { return apply(op, [3]*Tensor{x}) }
func dyadic(op *ops.Op, x, y *Tensor) *Tensor { return apply(op, [3]*Tensor{x, y}) }

// dyadicScalar is dyadic with a Go number on the right.
func dyadicScalar(op *ops.Op, x *Tensor, v any) *Tensor {
	s, err := weak(v)
	if err != nil {
		return failWith(op.Name, err, x)
	}
	return apply(op, [3]*Tensor{x, {scalar: &s}})
}

// apply records op of the first op.Arity of in. It is the road of every elementwise operation, so it
// allocates nothing that the result does not keep.
func apply(op *ops.Op, in [3]*Tensor) *Tensor {
	n := op.Arity
	dev, bad := common(op.Name, in[:n])
	if bad != nil {
		return bad
	}
	arg, bad := operandType(op, in[:n])
	if bad != nil {
		return bad
	}
	shape, bad := commonShape(op.Name, in[:n])
	if bad != nil {
		return bad
	}
	edges := make([]graph.Edge, n)
	for i, x := range in[:n] {
		want := arg
		if i == 0 && op.Rule.Cond {
			want = Bool
		}
		edges[i] = x.operand(dev, want, shape)
	}
	return whole(dev, graph.Apply(op, shape, edges...))
}

// common returns the device of the operands: that of the arrays among them, the default for scalars alone.
// The second result is nil, or carries an error.
func common(op string, in []*Tensor) (*Device, *Tensor) {
	var dev *Device
	for _, x := range in {
		switch {
		case x == nil:
			return nil, fail(op, errNil, "operand is nil", in...)
		case x.err != nil:
			return nil, x
		case x.scalar != nil:
		case x.node == nil:
			_, _ = x.ready(op)
			return nil, fail(op, errNil, "operand is a zero Tensor, which New and its like do not make")
		case dev == nil:
			dev = x.dev
		case dev != x.dev:
			return nil, failDevices(op, in...)
		}
	}
	if dev != nil {
		return dev, nil
	}
	dev, err := Default()
	if err != nil {
		return nil, failWith(op, err)
	}
	return dev, nil
}

// operandType returns the type the operands (but a condition) are converted to.
func operandType(op *ops.Op, in []*Tensor) (DType, *Tensor) {
	values := in
	if op.Rule.Cond {
		values = in[1:]
	}
	d := promoted(values)
	if op.Rule.ToBool && !fitAll(values, d) {
		d = Int64 // a comparison with a number the type lacks is still right
	}
	types := [3]DType{d, d, d}
	if op.Rule.Cond {
		types[0] = in[0].DType()
	}
	arg, _, err := op.Infer(types[:len(in)]...)
	if err != nil {
		return 0, failWith(op.Name, err, in...)
	}
	for _, x := range values {
		if x.scalar != nil && !x.scalar.fits(arg) {
			return 0, fail(op.Name, ErrDType, fmt.Sprintf("%d does not fit %s", x.scalar.i, arg), in...)
		}
	}
	return arg, nil
}

func fitAll(in []*Tensor, d DType) bool {
	for _, x := range in {
		if x.scalar != nil && !x.scalar.fits(d) {
			return false
		}
	}
	return true
}

// promoted returns the type that arrays and scalars together have: that of the arrays by NumPy's table, then
// raised to the kind of the scalars; that of the scalars' default types where there is no array.
func promoted(in []*Tensor) DType {
	d, arrays := DType(0), false
	for _, x := range in {
		switch {
		case x.scalar != nil:
		case arrays:
			d = ops.Promote(d, x.node.DType)
		default:
			d, arrays = x.node.DType, true
		}
	}
	for _, x := range in {
		switch {
		case x.scalar == nil:
		case arrays:
			d = ops.PromoteWeak(d, x.scalar.kind)
		default:
			d, arrays = x.scalar.kind.Default(), true
		}
	}
	return d
}

// commonShape returns the shape the operands broadcast to.
func commonShape(op string, in []*Tensor) (backend.Shape, *Tensor) {
	shape := in[0].layout.Shape
	for _, x := range in[1:] {
		s := x.layout.Shape
		switch {
		case len(s) == 0 || shape.Equal(s):
		case len(shape) == 0:
			shape = s
		default:
			return broadcastAll(op, in)
		}
	}
	return shape, nil
}

func broadcastAll(op string, in []*Tensor) (backend.Shape, *Tensor) {
	var shapes [3]backend.Shape
	for i, x := range in {
		shapes[i] = x.layout.Shape
	}
	shape, err := backend.Broadcast(shapes[:len(in)]...)
	if err == nil {
		err = shape.Check()
	}
	if err != nil {
		return nil, failWith(op, err, in...)
	}
	return shape, nil
}

// operand returns x converted to type d and broadcast to shape, which it is known to suit.
func (t *Tensor) operand(dev *Device, d DType, shape backend.Shape) graph.Edge {
	if t.scalar != nil {
		return graph.Edge{Node: graph.Const(dev.g, d, t.scalar.bits(d)), Layout: repeat(shape)}
	}
	e := t.edge()
	if t.node.DType != d {
		e = graph.Of(graph.Cast(d, e))
	}
	if !e.Layout.Shape.Equal(shape) {
		e.Layout, _ = e.Layout.BroadcastTo(shape) // commonShape has checked it
	}
	return e
}

// Cast returns t's elements converted to type d. Integers wrap around; a float becomes the nearest float,
// ties to even, or the integer toward zero, saturated to the range of d with NaN giving 0; to Bool all
// but zero is true, NaN included.
func (t *Tensor) Cast(d DType) *Tensor {
	t, ok := t.ready("cast")
	switch {
	case !ok, t.node.DType == d:
		return t
	case !d.Valid():
		return fail("cast", ErrDType, "unknown element type "+d.String(), t)
	}
	return whole(t.dev, graph.Cast(d, t.edge()))
}

// Where returns the elements of x where cond is true and those of y elsewhere; the other is not looked at, so
// its NaNs do not leak. cond is Bool; the three broadcast.
func Where(cond, x, y *Tensor) *Tensor { return apply(ops.Where, [3]*Tensor{cond, x, y}) }

// Clip returns t limited to lo…hi, which broadcast: min(max(t, lo), hi), so that hi wins where lo is
// greater. A NaN among the three gives NaN.
func (t *Tensor) Clip(lo, hi *Tensor) *Tensor { return apply(ops.Clip, [3]*Tensor{t, lo, hi}) }

// ClipScalar is [Tensor.Clip] with Go numbers.
func (t *Tensor) ClipScalar(lo, hi any) *Tensor {
	return apply(ops.Clip, [3]*Tensor{t, Scalar(lo), Scalar(hi)})
}

// Lerp returns t + (y−t)·weight, the linear interpolation from t to y. Floats only.
func (t *Tensor) Lerp(y, weight *Tensor) *Tensor { return apply(ops.Lerp, [3]*Tensor{t, y, weight}) }

// FMA returns t·y + z. Whether the product is rounded before the sum is the device's choice.
func (t *Tensor) FMA(y, z *Tensor) *Tensor { return apply(ops.FMA, [3]*Tensor{t, y, z}) }
