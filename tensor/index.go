package tensor

import (
	"encoding/binary"
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/internal/graph"
	"github.com/weft-go/weft/ops"
)

// Take returns the elements of t at the positions along axis that index gives: the axis is replaced by
// the axes of index. Of [V E] it looks up rows: Take(0, ids) is an embedding. Positions are of any
// integer type; negative ones count from the end. One outside the axis is an error of kind [ErrIndex]: at once
// if the axis is empty, or the index a few numbers of the program's own; else where the device checks (the CPU
// does, when it computes).
func (t *Tensor) Take(axis int, index *Tensor) *Tensor {
	t, index, a, bad := indexed("take", t, axis, index)
	if bad != nil {
		return bad
	}
	src := t.layout.Shape
	shape := append(append(src[:a:a], index.layout.Shape...), src[a+1:]...)
	// The source under each element of the result: it moves along t's other axes, not along those of
	// index, and has the indexed axis last.
	l := backend.Layout{Shape: append(shape[:len(shape):len(shape)], src[a]), Offset: t.layout.Offset}
	l.Strides = make([]int, len(l.Shape))
	copy(l.Strides, t.layout.Strides[:a])
	copy(l.Strides[a+index.Rank():], t.layout.Strides[a+1:])
	l.Strides[len(shape)] = t.layout.Strides[a]
	// The index is the same all over t's axes.
	at := backend.Layout{Shape: shape, Strides: make([]int, len(shape)), Offset: index.layout.Offset}
	copy(at.Strides[a:], index.layout.Strides)
	return t.gather("take", shape, l, index, at)
}

// TakeAlongAxis returns, for each element of index, the element of t at the position along axis that it
// gives, and at its own place along the other axes; PyTorch's gather. The two have as many axes, and
// broadcast but for axis. It takes what ArgMax and sorting give, with Unsqueeze where an axis is
// missing. Positions are as in [Tensor.Take].
func (t *Tensor) TakeAlongAxis(axis int, index *Tensor) *Tensor {
	t, index, a, bad := indexed("take_along_axis", t, axis, index)
	switch {
	case bad != nil:
		return bad
	case t.Rank() != index.Rank():
		return fail("take_along_axis", ErrShape, "operands have different numbers of axes", t, index)
	}
	src := t.moveLast(a).layout
	n := len(src.Shape) - 1
	rest := src.Shape[:n:n]
	other := index.moveLast(a).layout.Shape[:n:n]
	shape, err := backend.Broadcast(rest, other)
	if err != nil {
		return failWith("take_along_axis", err, t, index)
	}
	// Put the indexed axis of the result back in its place; the source repeats along it.
	shape = append(shape[:a:a], append(backend.Shape{index.layout.Shape[a]}, shape[a:]...)...)
	in := *t.layout
	in.Shape = in.Shape.Clone()
	in.Shape[a] = 1
	if in, err = in.BroadcastTo(shape); err != nil {
		return failWith("take_along_axis", err, t, index)
	}
	at, err := index.layout.BroadcastTo(shape)
	if err != nil {
		return failWith("take_along_axis", err, t, index)
	}
	in.Strides = append(append([]int(nil), in.Strides...), t.layout.Strides[a])
	in.Strides[a] = 0
	in.Shape = append(shape[:len(shape):len(shape)], t.layout.Shape[a])
	return t.gather("take_along_axis", shape, in, index, at)
}

// indexed checks the operands of a gather.
func indexed(op string, t *Tensor, axis int, index *Tensor) (src, at *Tensor, a int, bad *Tensor) {
	in := [2]*Tensor{t, index}
	if bad := readyAll(op, in[:]); bad != nil {
		return nil, nil, 0, bad
	}
	a, err := in[0].layout.Shape.Axis(axis)
	if err != nil {
		return nil, nil, 0, failWith(op, err, in[:]...)
	}
	if !in[1].node.DType.IsInt() {
		return nil, nil, 0, fail(op, ErrDType, "index is "+in[1].node.DType.String()+", want an integer type", in[:]...)
	}
	return in[0], in[1], a, nil
}

// gather records the reading of t through index: src and at are the layouts of the two over shape.
func (t *Tensor) gather(op string, shape backend.Shape, src backend.Layout, index *Tensor, at backend.Layout) *Tensor {
	if err := shape.Check(); err != nil {
		return failWith(op, err, t, index)
	}
	n := shape.Len()
	if n == 0 {
		return t.zeros(shape)
	}
	extent := src.Shape[len(src.Shape)-1]
	if extent == 0 {
		return fail(op, ErrIndex, "index into an axis of extent 0", t, index)
	}
	if i, bad := outOfRange(index, extent); bad {
		return fail(op, ErrIndex, fmt.Sprintf("index %d for an axis of extent %d", i, extent), t, index)
	}
	from := newOrigin(op, t, index)
	return whole(t.dev, graph.Gather(shape, graph.Edge{Node: t.node, Layout: new(src)}, graph.Edge{Node: index.node, Layout: new(at)}, from))
}

// knownIndices is how many indices in the program's memory are checked when they are recorded. The device, which checks
// more or less by its kind, checks the rest.
const knownIndices = 1 << 16

// outOfRange returns an index that is out of range, if index is data of the program that tells already.
func outOfRange(index *Tensor, extent int) (i int64, bad bool) {
	if index.Len() > knownIndices {
		return 0, false
	}
	data := graph.HostData(index.node)
	if data == nil {
		return 0, false
	}
	d := index.node.DType
	for _, at := range index.layout.All() {
		var bits uint64
		switch p := data[at*d.Size():]; d.Size() {
		case 1:
			bits = uint64(p[0])
		case 4:
			bits = uint64(binary.NativeEndian.Uint32(p))
		case 8:
			bits = binary.NativeEndian.Uint64(p)
		}
		if i := ops.FromBits(d, bits).I; i < -int64(extent) || i >= int64(extent) {
			return i, true
		}
	}
	return 0, false
}
