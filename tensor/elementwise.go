package tensor

import (
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/internal/graph"
	"github.com/weft-go/weft/ops"
)

// Apply returns op of its operands, element by element. The methods named after the operations are the
// usual way; Apply is for programs that choose one at run time.
//
// The operands are broadcast to one shape by NumPy's rule: aligned at the last axis, an extent of 1
// stretches to the other. They are converted to one element type by NumPy's table (see the package
// comment), which op may restrict. The error is of kind [ErrShape], [ErrDType] or [ErrDevice], or
// [ErrUnsupported] if op is not in the table of package ops.
func Apply(op *ops.Op, in ...*Tensor) *Tensor {
	if op == nil || ops.ByName(op.Name) != op {
		return fail("apply", ErrUnsupported, "operation is not one of ops.All", in...)
	}
	if len(in) != op.Arity {
		return fail(op.Name, ErrShape, fmt.Sprintf("%d operands, want %d", len(in), op.Arity), in...)
	}
	var x [3]operand
	for i, t := range in {
		x[i] = array(t)
	}
	return apply(op, x)
}

func monadic(op *ops.Op, x *Tensor) *Tensor {
	if x.isArray() && op.Keeps(x.node.DType) {
		return record1(x.dev, op, x.layout.Shape, x.edge())
	}
	return apply(op, [3]operand{array(x)})
}

// dyadic is apply for two operands, which mostly have one type and one shape.
func dyadic(op *ops.Op, x, y *Tensor) *Tensor {
	if x.isArray() && y.isArray() && x.dev == y.dev && x.node.DType == y.node.DType && op.Keeps(x.node.DType) && x.layout.Shape.Equal(y.layout.Shape) {
		return record2(x.dev, op, x.layout.Shape, x.edge(), y.edge())
	}
	return apply(op, [3]operand{array(x), array(y)})
}

func triadic(op *ops.Op, x, y, z *Tensor) *Tensor {
	return apply(op, [3]operand{array(x), array(y), array(z)})
}

// dyadicScalar is dyadic with a Go number on the right.
func dyadicScalar(op *ops.Op, x *Tensor, v any) *Tensor {
	s, err := weak(v)
	if err != nil {
		return Fail(op.Name, err, x)
	}
	if x.isArray() {
		if d := x.node.DType; op.Keeps(d) && ops.PromoteWeak(d, s.kind) == d && s.fits(d) {
			return recordConst(x, op, s.bits(d))
		}
	}
	return apply(op, [3]operand{array(x), {scalar: s, weak: true}})
}

// isArray reports whether t is an array, as opposed to a number, an error or nothing.
func (t *Tensor) isArray() bool { return t != nil && t.dev != nil }

// An operand of an elementwise operation is a tensor or a weakly typed number. It is a value, so that a
// number needs no memory.
type operand struct {
	t      *Tensor // nil for a number
	scalar scalar
	weak   bool
}

func array(t *Tensor) operand {
	if t != nil && t.number() != nil {
		return operand{scalar: *t.number(), weak: true}
	}
	return operand{t: t}
}

// shape returns the shape of x, which is usable.
func (x *operand) shape() backend.Shape {
	if x.weak {
		return nil
	}
	return x.t.layout.Shape
}

// apply records op of the first op.Arity of in. It is the road of every elementwise operation, so it
// allocates nothing that the result does not keep.
func apply(op *ops.Op, in [3]operand) *Tensor {
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
	var edges [3]graph.Edge
	for i := range n {
		want := arg
		if i == 0 && op.Rule.Cond {
			want = Bool
		}
		edges[i] = in[i].edge(dev, want, shape)
	}
	switch n {
	case 1:
		return record1(dev, op, shape, edges[0])
	case 2:
		return record2(dev, op, shape, edges[0], edges[1])
	}
	r := new(struct {
		t Tensor
		n graph.Room3
	})
	return r.t.of(dev, r.n.Apply3(op, shape, edges[0], edges[1], edges[2]))
}

// record1 is whole of an elementwise operation, the tensor and the node in one piece of memory.
func record1(dev *Device, op *ops.Op, shape backend.Shape, x graph.Edge) *Tensor {
	r := new(struct {
		t Tensor
		n graph.Room
	})
	return r.t.of(dev, r.n.Apply1(op, shape, x))
}

// record2 is record1 for two operands.
func record2(dev *Device, op *ops.Op, shape backend.Shape, x, y graph.Edge) *Tensor {
	r := new(struct {
		t Tensor
		n graph.Room
	})
	return r.t.of(dev, r.n.Apply2(op, shape, x, y))
}

// recordConst is record2 where the second operand is an element of x's type, of the given bit pattern.
func recordConst(x *Tensor, op *ops.Op, bits uint64) *Tensor {
	r := new(struct {
		t Tensor
		n graph.RoomConst
	})
	return r.t.of(x.dev, r.n.Apply(op, x.edge(), bits, noStrides(x.Rank())))
}

// of makes t the whole result of n.
func (t *Tensor) of(dev *Device, n *graph.Node) *Tensor {
	t.dev, t.node, t.layout = dev, n, n.Layout
	return t
}

// refuse is fail for operands.
func refuse(op string, kind error, reason string, in []operand) *Tensor {
	return fail(op, kind, reason, tensors(in)...)
}

// tensors returns the operands of an error as tensors.
func tensors(in []operand) []*Tensor {
	ts := make([]*Tensor, len(in))
	for i, x := range in {
		if ts[i] = x.t; x.weak {
			ts[i] = &Tensor{other: &other{scalar: x.scalar}}
		}
	}
	return ts
}

// common returns the device of the operands: that of the arrays among them, the default for numbers
// alone. The second result is nil, or carries an error.
func common(op string, in []operand) (*Device, *Tensor) {
	var dev *Device
	for i := range in {
		t := in[i].t
		switch {
		case in[i].weak:
		case t.missing() != nil:
			return nil, refuseMissing(op, t.missing(), i, tensors(in)...)
		case t.failure() != nil:
			return nil, t
		case dev == nil:
			dev = t.dev
		case dev != t.dev:
			return nil, failDevices(op, tensors(in)...)
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
func operandType(op *ops.Op, in []operand) (DType, *Tensor) {
	values, types := in, [3]DType{}
	if op.Rule.Cond {
		values = in[1:]
		if types[0] = in[0].scalar.kind.Default(); !in[0].weak {
			types[0] = in[0].t.node.DType
		}
	}
	d := promoted(values)
	if op.Rule.ToBool && misfit(values, d) != nil {
		d = Int64 // a comparison with a number the type lacks is still right
	}
	for i := len(in) - len(values); i < len(in); i++ {
		types[i] = d
	}
	arg, _, err := op.Infer(types[:len(in)]...)
	if err != nil {
		return 0, failWith(op.Name, err, tensors(in)...)
	}
	if s := misfit(values, arg); s != nil {
		return 0, refuse(op.Name, ErrDType, fmt.Sprintf("%d does not fit %s", s.i, arg), in)
	}
	return arg, nil
}

// misfit returns the number among in that type d cannot hold, or nil.
func misfit(in []operand, d DType) *scalar {
	for i := range in {
		if in[i].weak && !in[i].scalar.fits(d) {
			s := in[i].scalar
			return &s
		}
	}
	return nil
}

// promoted returns the type that arrays and numbers together have: that of the arrays by NumPy's table,
// then raised to the kind of the numbers; that of the numbers' default types where there is no array.
func promoted(in []operand) DType {
	d, some := DType(0), false
	for i := range in {
		switch {
		case in[i].weak:
		case some:
			d = ops.Promote(d, in[i].t.node.DType)
		default:
			d, some = in[i].t.node.DType, true
		}
	}
	for i := range in {
		switch {
		case !in[i].weak:
		case some:
			d = ops.PromoteWeak(d, in[i].scalar.kind)
		default:
			d, some = in[i].scalar.kind.Default(), true
		}
	}
	return d
}

// commonShape returns the shape the operands broadcast to.
func commonShape(op string, in []operand) (backend.Shape, *Tensor) {
	shape := in[0].shape()
	for i := range in[1:] {
		s := in[i+1].shape()
		switch {
		case len(s) == 0 || shape.Equal(s):
		case len(shape) == 0 || stretches(shape, s):
			shape = s
		case stretches(s, shape):
		default:
			return broadcastAll(op, in)
		}
	}
	return shape, nil
}

// stretches reports whether shape s broadcasts to t.
func stretches(s, t backend.Shape) bool {
	off := len(t) - len(s)
	if off < 0 {
		return false
	}
	for i, d := range s {
		if d != 1 && d != t[off+i] {
			return false
		}
	}
	return true
}

func broadcastAll(op string, in []operand) (backend.Shape, *Tensor) {
	var shapes [3]backend.Shape
	for i := range in {
		shapes[i] = in[i].shape()
	}
	shape, err := backend.Broadcast(shapes[:len(in)]...)
	if err == nil {
		err = shape.Check()
	}
	if err != nil {
		return nil, failWith(op, err, tensors(in)...)
	}
	return shape, nil
}

// edge returns x converted to type d and broadcast to shape, which it is known to suit.
func (x *operand) edge(dev *Device, d DType, shape backend.Shape) graph.Edge {
	if x.weak {
		return graph.Edge{Node: graph.Const(dev.g, d, x.scalar.bits(d)), Layout: repeat(shape)}
	}
	e := x.t.edge()
	if x.t.node.DType != d {
		e = graph.Of(graph.Cast(d, e))
	}
	if !e.Layout.Shape.Equal(shape) {
		e.Layout = stretched(e.Layout, shape)
	}
	return e
}

// stretched returns l broadcast to shape, which it suits.
func stretched(l *backend.Layout, shape backend.Shape) *backend.Layout {
	r := new(struct { // one piece of memory instead of two
		backend.Layout
		strides [fewAxes]int
	})
	r.Shape, r.Offset = shape, l.Offset
	if r.Strides = r.strides[:]; len(shape) > fewAxes {
		r.Strides = make([]int, len(shape))
	}
	r.Strides = r.Strides[:len(shape):len(shape)]
	off := len(shape) - len(l.Shape)
	for i, d := range l.Shape {
		if d != 1 {
			r.Strides[off+i] = l.Strides[i]
		}
	}
	return &r.Layout
}

// Cast returns t's elements converted to type d. Integers wrap around; a float becomes the nearest
// float, ties to even, or the integer toward zero, saturated to the range of d with NaN giving 0; to
// Bool all but zero is true, NaN included.
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

// Where returns the elements of x where cond is true and those of y elsewhere; the other is not looked
// at, so its NaNs do not leak. cond is Bool; the three broadcast.
func Where(cond, x, y *Tensor) *Tensor { return triadic(ops.Where, cond, x, y) }

// Clip returns t limited to lo…hi, which broadcast: min(max(t, lo), hi), so that hi wins where lo is
// greater. A NaN among the three gives NaN.
func (t *Tensor) Clip(lo, hi *Tensor) *Tensor { return triadic(ops.Clip, t, lo, hi) }

// ClipScalar is [Tensor.Clip] with Go numbers.
func (t *Tensor) ClipScalar(lo, hi any) *Tensor {
	var limits [2]operand
	for i, v := range [...]any{lo, hi} {
		s, err := weak(v)
		if err != nil {
			return Fail("clip", err, t)
		}
		limits[i] = operand{scalar: s, weak: true}
	}
	return apply(ops.Clip, [3]operand{array(t), limits[0], limits[1]})
}

// Lerp returns t + (y−t)·weight, the linear interpolation from t to y, a float: integers are
// converted as [Tensor.Div] does.
func (t *Tensor) Lerp(y, weight *Tensor) *Tensor { return triadic(ops.Lerp, t, y, weight) }

// FMA returns t·y + z. Whether the product is rounded before the sum is the device's choice.
func (t *Tensor) FMA(y, z *Tensor) *Tensor { return triadic(ops.FMA, t, y, z) }
