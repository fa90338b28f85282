package graph

import (
	"slices"
	"sync/atomic"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A Node is an operation on the results of other nodes, or data. Its exported fields never change.
// Its result, once computed, is dense and row-major.
//
// What a node computes is in its private fields. They are guarded by the lock of its device, except those
// that never change and those that are atomic.
//
// Programs make many nodes, so a node is small, and its fields are in an order that leaves no gaps. Layouts are shared. What but
// some kinds need is in attr.
type Node struct {
	Device *Device
	Layout *backend.Layout // of the result
	DType  ops.DType

	kind    kind
	red     ops.ReduceOp // reduce, scan
	scan    scanForm     // scan
	axes    int16        // reduce: how many; scan: which
	stage   stage
	gone    gone         // why the result can be had no more
	readers atomic.Int32 // nodes recorded on this one that have not taken part in an Eval yet; see begin
	id      int32        // its number in the last walk that met it
	mark    uint64       // of that walk

	// attr is an *ops.Op (apply), *uint64 (const: the bits), *ConvAttr, *PoolAttr, *ScatterAttr, *SortAttr, *AttentionAttr,
	// origin (gather), []backend.Layout (assemble, update) or []byte (data, until it is on the device).
	attr any

	few   [2]Edge                 // the inputs, unless they are more; forgotten once computed
	more  *[]Edge                 // then these
	mem   atomic.Pointer[storage] // the result, once computed; nil before
	claim *flight                 // the Eval that computes the node now
}

// in returns the inputs.
func (n *Node) in() []Edge {
	switch {
	case n.more != nil:
		return *n.more
	case n.few[1].Node != nil:
		return n.few[:]
	case n.few[0].Node != nil:
		return n.few[:1]
	}
	return nil
}

// op returns what an apply computes.
func (n *Node) op() *ops.Op { return n.attr.(*ops.Op) }

// bits returns the element of a const.
func (n *Node) bits() uint64 { return *n.attr.(*uint64) }

// An Edge is a node seen through a layout over its dense result. The layout may belong to other edges too: it never changes.
type Edge struct {
	Node   *Node
	Layout *backend.Layout
}

// Of returns the edge that sees n as it is.
func Of(n *Node) Edge { return Edge{n, n.Layout} }

// A scanForm says which elements a scan combines for each.
type scanForm uint8

const (
	exclusive scanForm = 1 << iota // without the element itself
	reverse                        // from the end
)

// formOf returns the form that is exclusive, reverse, both or neither.
func formOf(excl, rev bool) (f scanForm) {
	if excl {
		f |= exclusive
	}
	if rev {
		f |= reverse
	}
	return f
}

// Computed reports whether there is nothing to compute for n: it holds its result, in the memory of its
// device or of the program, or is a constant or an index.
func (n *Node) Computed() bool { return n.mem.Load() != nil || n.kind.leaf() }

// A kind says what a node is.
type kind uint8

const (
	kindData      kind = iota + 1 // data of the program, or a result moved from another device
	kindConst                     // one number
	kindIndex                     // 0, 1, 2, …
	kindApply                     // an elementwise operation
	kindCast                      // another element type
	kindCopy                      // the same elements, dense
	kindReduce                    //
	kindScan                      //
	kindMatMul                    //
	kindConv                      //
	kindPool                      //
	kindGather                    //
	kindScatter                   //
	kindSort                      //
	kindAttention                 //
	kindAssemble                  // parts put side by side
	kindUpdate                    // the next version of a variable
	kindTransfer                  // elements from another device
)

// elementwise reports whether an element of the node depends on one element of each input.
func (k kind) elementwise() bool { return k == kindApply || k == kindCast || k == kindCopy }

// leaf reports whether the node has no inputs, whatever it holds.
func (k kind) leaf() bool { return k <= kindIndex }

// A stage says whether a node took part in an Eval.
type stage uint8

const (
	uncounted stage = iota // not yet, and its inputs need not know
	counted                // not yet, and is among the readers of its inputs until then
	took                   // it did
)

// gone says why a result that was there is not any more.
type gone uint8

const (
	goneReleased    gone = iota + 1 // Release was called
	goneTorn                        // a later version of the variable is being written over it, or that failed
	goneOverwritten                 // a later version of the variable was written over it
)

// Room is room for an elementwise operation, for a caller who wants it in one piece of memory with something else.
type Room struct{ node Node }

// Room3 is Room for three inputs.
type Room3 struct {
	node Node
	ins  [3]Edge
	in   []Edge
}

// RoomConst is Room with a second input, a constant.
type RoomConst struct {
	Room
	constant Node
	bits     uint64
	layout   backend.Layout
}

// Apply1 makes an operation in r, as the function [Apply] does.
func (r *Room) Apply1(op *ops.Op, shape backend.Shape, x Edge) *Node {
	n := &r.node
	n.few[0], n.attr = x, op
	n.begin(kindApply, x.Node.Device, op.Returns(x.Node.DType), shape, n.few[:1])
	return n
}

// Apply2 makes an operation in r, as the function [Apply] does.
func (r *Room) Apply2(op *ops.Op, shape backend.Shape, x, y Edge) *Node {
	n := &r.node
	n.few, n.attr = [2]Edge{x, y}, op
	n.begin(kindApply, y.Node.Device, op.Returns(y.Node.DType), shape, n.few[:])
	return n
}

// Apply3 makes an operation in r, as the function [Apply] does.
func (r *Room3) Apply3(op *ops.Op, shape backend.Shape, x, y, z Edge) *Node {
	n := &r.node
	r.ins = [3]Edge{x, y, z}
	r.in = r.ins[:]
	n.more, n.attr = &r.in, op
	n.begin(kindApply, z.Node.Device, op.Returns(z.Node.DType), shape, r.in)
	return n
}

// Apply makes an operation in r, as the function [Apply] does, of x and an element of its type with the given bit pattern, which
// is broadcast by strides of 0.
func (r *RoomConst) Apply(op *ops.Op, x Edge, bits uint64, strides []int) *Node {
	r.bits = bits
	r.constant.attr = &r.bits
	r.constant.begin(kindConst, x.Node.Device, x.Node.DType, nil, nil)
	r.layout = backend.Layout{Shape: x.Layout.Shape, Strides: strides}
	return r.Apply2(op, x.Layout.Shape, x, Edge{&r.constant, &r.layout})
}

// newNode returns a node on in, which it copies, and counts it as a reader of them.
func newNode(k kind, d *Device, t ops.DType, shape backend.Shape, in ...Edge) *Node {
	n := nodeOn(in)
	n.begin(k, d, t, shape, n.in())
	return n
}

// nodeOn returns a node on in, which it copies.
func nodeOn(in []Edge) *Node {
	n := new(Node)
	if copy(n.few[:], in) < len(in) {
		n.few = [2]Edge{}
		more := slices.Clone(in)
		n.more = &more
	}
	return n
}

// begin makes n, which has its inputs, in, a node and counts it as a reader of them: of all, unless none of them is still to be
// computed or a variable, as of others nobody asks.
func (n *Node) begin(k kind, d *Device, t ops.DType, shape backend.Shape, in []Edge) {
	n.kind, n.DType = k, t
	var l *backend.Layout
	for i := range in {
		m := in[i].Node
		if m.kind == kindUpdate || !m.Computed() {
			n.stage = counted
		}
		if l == nil && sameSlice(m.Layout.Shape, shape) {
			l = m.Layout
		}
	}
	if l == nil {
		l = dense(shape)
	}
	n.Device, n.Layout = d, l
	if n.stage == counted {
		n.addToReaders(1)
	}
}

// addToReaders counts n as a reader of its inputs, or as one less.
func (n *Node) addToReaders(count int32) {
	for _, e := range n.in() {
		e.Node.readers.Add(count)
	}
}

// point is the layout of what has no axes.
var point backend.Layout

// dense returns the row-major layout of shape, with its strides in one piece of memory.
func dense(shape backend.Shape) *backend.Layout {
	switch len(shape) {
	case 0:
		return &point
	case 1, 2, 3, 4:
		l := new(struct {
			backend.Layout
			room [4]int
		})
		l.Shape, l.Strides = shape, l.room[:len(shape):len(shape)]
		step := 1
		for i := len(shape) - 1; i >= 0; i-- {
			l.Strides[i] = step
			step *= shape[i]
		}
		return &l.Layout
	}
	l := backend.Dense(shape)
	return &l
}

// Host returns a node of data in the program's memory, which must not change any more. Its elements are
// dense and row-major, or in blocks of a quantised type, for a Cast to read. The data reaches the device when a kernel first reads it.
func Host(d *Device, t ops.DType, shape backend.Shape, data []byte) *Node {
	n := newNode(kindData, d, t, shape)
	if data == nil {
		data = []byte{}
	}
	n.attr = data
	return n
}

// Const returns a node of no axes whose element has the given bit pattern, as [ops.Value.Bits] gives it.
func Const(d *Device, t ops.DType, bits uint64) *Node {
	n := newNode(kindConst, d, t, nil)
	n.attr = &bits
	return n
}

// Index returns the numbers 0 to n-1, of type Int32 or Int64. They take no memory.
func Index(d *Device, t ops.DType, n int) *Node {
	return newNode(kindIndex, d, t, backend.Shape{n})
}

// Apply returns an elementwise operation. The inputs have the types that [ops.Op.Infer] asks for, and layouts of the given shape.
func Apply(op *ops.Op, shape backend.Shape, in ...Edge) *Node {
	last := in[len(in)-1].Node
	n := newNode(kindApply, last.Device, op.Returns(last.DType), shape, in...)
	n.attr = op
	return n
}

// Cast returns the elements converted to type t, as [ops.Value.Convert] does it.
func Cast(t ops.DType, in Edge) *Node {
	return newNode(kindCast, in.Node.Device, t, in.Layout.Shape, in)
}

// Copy returns the elements, dense.
func Copy(in Edge) *Node {
	return newNode(kindCopy, in.Node.Device, in.Node.DType, in.Layout.Shape, in)
}

// Reduce returns op over the last axes of the layout, all at once; the result has the axes before them.
func Reduce(op ops.ReduceOp, in Edge, axes int) *Node {
	kept := len(in.Layout.Shape) - axes
	n := newNode(kindReduce, in.Node.Device, op.Result(in.Node.DType), in.Layout.Shape[:kept:kept], in)
	n.red, n.axes = op, int16(axes)
	return n
}

// Scan returns op over each prefix along axis: with exclusive, without the element itself; with reverse,
// from the end.
func Scan(op ops.ReduceOp, in Edge, axis int, exclusive, reverse bool) *Node {
	n := newNode(kindScan, in.Node.Device, in.Node.DType, in.Layout.Shape, in)
	n.red, n.axes, n.scan = op, int16(axis), formOf(exclusive, reverse)
	return n
}

// MatMul returns the products of the matrices [… M K] of a and [… K N] of b. The leading axes are alike.
func MatMul(a, b Edge) *Node {
	r := len(a.Layout.Shape)
	shape := make(backend.Shape, r)
	copy(shape, a.Layout.Shape)
	shape[r-1] = b.Layout.Shape[r-1]
	return newNode(kindMatMul, a.Node.Device, a.Node.DType, shape, a, b)
}

// ConvAttr is the form of a convolution; the fields are those of [backend.Conv].
type ConvAttr struct {
	Stride, Dilation, Pad []int
	Groups                int
	Transposed            bool
}

// Conv returns the convolution of images x with weights w, of shape out.
func Conv(x, w Edge, out backend.Shape, a ConvAttr) *Node {
	n := newNode(kindConv, x.Node.Device, x.Node.DType, out, x, w)
	n.attr = &a
	return n
}

// PoolAttr is the form of a pooling; the fields are those of [backend.Pool].
type PoolAttr struct {
	Op                                    ops.ReduceOp
	Window, Stride, Dilation, Pad, PadEnd []int
	CountPad                              bool
}

// Pool returns the windows of x reduced, of shape out.
func Pool(x Edge, out backend.Shape, a PoolAttr) *Node {
	n := newNode(kindPool, x.Node.Device, x.Node.DType, out, x)
	n.attr = &a
	return n
}

// Gather returns, for each index of shape, the element of src there at the position that index gives. Src
// has one axis more than shape, the last. What can go wrong shows when it is computed: origin then says in a [RunError]
// who recorded it.
func Gather(shape backend.Shape, src, index Edge, origin any) *Node {
	n := newNode(kindGather, src.Node.Device, src.Node.DType, shape, src, index)
	n.attr = origin
	return n
}

// ScatterAttr says what becomes of updates, as [backend.Scatter] has it, and who recorded the node, as in [Gather].
type ScatterAttr struct {
	Add    bool
	Origin any
}

// Scatter returns base, [… N], with updates, [… M], taken in at the places along the last axis that index, [… M], gives.
func Scatter(base, index, updates Edge, a ScatterAttr) *Node {
	n := newNode(kindScatter, base.Node.Device, base.Node.DType, base.Layout.Shape, base, index, updates)
	n.attr = &a
	return n
}

// SortAttr says how a row is sorted; the fields are those of [backend.Sort].
type SortAttr struct{ Descending, Index bool }

// Sort returns the first n elements of each row of in, its last axis, in sorted order, or their positions.
func Sort(in Edge, n int, a SortAttr) *Node {
	shape := in.Layout.Shape.Clone()
	shape[len(shape)-1] = n
	t := in.Node.DType
	if a.Index {
		t = ops.Int32
	}
	s := newNode(kindSort, in.Node.Device, t, shape, in)
	s.attr = &a
	return s
}

// AttentionAttr is the form of an attention; the fields are those of [backend.Attention].
type AttentionAttr struct {
	Causal bool
	Scale  float64
}

// Attention returns the attention of queries q [… M D] to keys k [… N D] with values v [… N V], of shape [… M V]. Mask,
// [… M N], may be without a node.
func Attention(q, k, v, mask Edge, a AttentionAttr) *Node {
	in := []Edge{q, k, v, mask}
	if mask.Node == nil {
		in = in[:3]
	}
	last := len(q.Layout.Shape) - 1
	shape := append(q.Layout.Shape[:last:last], v.Layout.Shape[last])
	n := newNode(kindAttention, q.Node.Device, q.Node.DType, shape, in...)
	n.attr = &a
	return n
}

// A Part is a piece of a result: the elements In and the places At where they go.
type Part struct {
	In Edge
	At backend.Layout
}

// Assemble returns parts put side by side: they cover each element of the dense result exactly once.
func Assemble(t ops.DType, shape backend.Shape, parts ...Part) *Node {
	in, at := make([]Edge, len(parts)), make([]backend.Layout, len(parts))
	for i, p := range parts {
		in[i], at[i] = p.In, p.At
	}
	n := newNode(kindAssemble, in[0].Node.Device, t, shape, in...)
	n.attr = at
	return n
}

// Update returns the next version of a variable: prev, with in written at the places at. It takes over the
// memory of prev if prev is an Update too and nobody reads it any more; else it copies prev.
func Update(prev *Node, at backend.Layout, in Edge) *Node {
	n := newNode(kindUpdate, prev.Device, prev.DType, prev.Layout.Shape, Of(prev), in)
	n.attr = []backend.Layout{at}
	return n
}

// Transfer returns the elements of in on device d.
func Transfer(d *Device, in Edge) *Node {
	m := in.Node
	switch {
	case m.Device == d:
		return Copy(in)
	case m.kind == kindConst:
		return Copy(Edge{Const(d, m.DType, m.bits()), in.Layout})
	case m.kind == kindIndex:
		return Copy(Edge{Index(d, m.DType, m.Layout.Shape[0]), in.Layout})
	}
	if data := m.hostData(); data != nil && in.Layout.IsDense() {
		at, size := m.DType.Bytes(in.Layout.Offset), m.DType.Bytes(in.Layout.Len())
		return Host(d, m.DType, in.Layout.Shape, data[at:at+size])
	}
	return newNode(kindTransfer, d, m.DType, in.Layout.Shape, in)
}

// HostData returns the data of the program that n stands for, dense and row-major, or nil if n is something else, was
// released, or has its data on the device by now. It must not be changed.
func HostData(n *Node) []byte { return n.hostData() }

// hostData returns the data of the program that n stands for, or nil if n is something else, was released,
// or has its data on the device by now.
func (n *Node) hostData() []byte {
	if n.kind != kindData {
		return nil
	}
	n.Device.lock.must()
	defer n.Device.lock.Unlock()
	data, _ := n.attr.([]byte)
	return data
}
