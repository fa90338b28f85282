package tensor

import (
	"errors"
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/internal/graph"
)

// A Tensor is an immutable array of any number of axes, computed when it is first read. Its methods may
// be called by several goroutines at once; each returns a new Tensor and leaves its operands as they
// are.
//
// A method never panics and returns no error: one that refuses its operands returns a Tensor that
// carries an [*OpError], as does every operation on that. The error comes out of [Data], [Item], [Eval]
// and [Tensor.Err].
type Tensor struct {
	dev    *Device
	node   *graph.Node
	layout *backend.Layout // of the elements in the node's dense result
	other  *other          // what is no array: then there is nothing else
}

// An other is what a Tensor may be that is no array: an error, or a weakly typed Go scalar.
type other struct {
	err    error
	scalar scalar
}

// failure returns the error that t carries, or nil.
func (t *Tensor) failure() error {
	if t.other == nil {
		return nil
	}
	return t.other.err
}

// number returns the Go scalar that t is, or nil.
func (t *Tensor) number() *scalar {
	if t.other == nil || t.other.err != nil {
		return nil
	}
	return &t.other.scalar
}

func shapeOf(s []int) backend.Shape { return backend.Shape(s) }

// whole returns the tensor that is the whole result of n.
func whole(dev *Device, n *graph.Node) *Tensor {
	return new(Tensor).of(dev, n)
}

// edge returns what the graph knows of t.
func (t *Tensor) edge() graph.Edge { return graph.Edge{Node: t.node, Layout: t.layout} }

// Err returns the error that t carries, or nil. It computes nothing: an error of the device shows only
// when t is read.
func (t *Tensor) Err() error {
	if err := t.missing(); err != nil {
		return err
	}
	return t.failure()
}

// DType returns the type of t's elements. Of a [Scalar] it is the type it has where it stands alone. It
// is ops.Invalid if t carries an error.
func (t *Tensor) DType() DType {
	switch {
	case t == nil:
		return 0
	case t.node != nil:
		return t.node.DType
	case t.number() != nil:
		return t.number().kind.Default()
	}
	return 0
}

// Shape returns the extent of each axis. The slice is the caller's. It is nil if t carries an error, and
// empty for a scalar.
func (t *Tensor) Shape() []int {
	if t == nil || t.failure() != nil {
		return nil
	}
	return append([]int{}, t.shape()...)
}

// Dim returns the extent of an axis; negative axes count from the end. It is 0 if there is no such axis
// or t carries an error.
func (t *Tensor) Dim(axis int) int {
	shape := t.shape()
	a, err := shape.Axis(axis)
	if err != nil {
		return 0
	}
	return shape[a]
}

// Rank returns the number of axes.
func (t *Tensor) Rank() int { return len(t.shape()) }

// shape is Shape without a copy.
func (t *Tensor) shape() backend.Shape {
	if t == nil || t.layout == nil {
		return nil
	}
	return t.layout.Shape
}

// Len returns the number of elements, 0 if t carries an error.
func (t *Tensor) Len() int {
	if t.Err() != nil {
		return 0
	}
	return t.shape().Len()
}

// Device returns the device t is on. It is nil if t carries an error, or is a [Scalar] and so on none.
func (t *Tensor) Device() *Device {
	if t == nil {
		return nil
	}
	return t.dev
}

// String returns t's type, shape and device, and "lazy" if it is still to be computed; it computes
// nothing. [Format] prints the elements.
func (t *Tensor) String() string {
	switch err := t.Err(); {
	case err != nil:
		return "tensor(" + err.Error() + ")"
	case t.other != nil:
		return "tensor(scalar " + t.other.scalar.String() + ")"
	}
	lazy := ""
	if !t.node.Computed() {
		lazy = ", lazy"
	}
	return fmt.Sprintf("tensor(%s %v, %s%s)", t.node.DType, t.layout.Shape, t.dev.Name(), lazy)
}

// missing returns an error if t is no tensor: nil, or the zero Tensor.
func (t *Tensor) missing() error {
	switch {
	case t == nil:
		return errNil
	case t.node == nil && t.other == nil:
		return errZero
	}
	return nil
}

// refuseMissing returns the error of op that operand i of in is missing because of err. One that is alone needs no number.
func refuseMissing(op string, err error, i int, in ...*Tensor) *Tensor {
	what := "operand"
	if len(in) > 1 {
		what = fmt.Sprintf("operand %d", i)
	}
	if errors.Is(err, errNil) {
		return fail(op, err, what+" is nil", in...)
	}
	return fail(op, err, what+" is a "+err.Error(), in...)
}

// ready returns t as an operand of a view or another operation of one operand: with a node. ok is false
// if the result carries an error and is what the operation returns.
func (t *Tensor) ready(op string) (_ *Tensor, ok bool) {
	if err := t.missing(); err != nil {
		return refuseMissing(op, err, 0), false
	}
	switch {
	case t.node != nil:
		return t, true
	case t.other.err != nil:
		return t, false
	}
	return t.other.scalar.standAlone(op)
}

// readyAll is ready for several operands, which it replaces in place. All come to be on one device. The
// result is nil, or carries the error.
func readyAll(op string, ts []*Tensor) *Tensor {
	for i, t := range ts {
		if err := t.missing(); err != nil {
			return refuseMissing(op, err, i, ts...)
		}
		r, ok := t.ready(op)
		if !ok {
			return r
		}
		ts[i] = r
	}
	for _, t := range ts[1:] {
		if t.dev != ts[0].dev {
			return failDevices(op, ts...)
		}
	}
	return nil
}

func failDevices(op string, in ...*Tensor) *Tensor {
	names := make([]string, 0, len(in))
	for i, t := range in {
		if t != nil && t.dev != nil {
			if t.dev.closed.Load() {
				return fail(op, ErrDevice, fmt.Sprintf("device %s of operand %d is closed", t.dev.Name(), i), in...)
			}
			names = append(names, t.dev.Name())
		}
	}
	return fail(op, ErrDevice, fmt.Sprintf("operands are on different devices %v; To moves a tensor", names), in...)
}
