package graph

import (
	"errors"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A kernel is a group made ready for a backend.
type kernel struct {
	group
	kernel   backend.Kernel
	operands []operand
	consts   []int32 // the nodes of the constants
	fallback bool    // another device has to run it
}

// An operand is a value that a kernel reads.
type operand struct {
	value int32
	row   bool // declared to be one for each row
}

// errRow says that a group needs what a kernel cannot express: a reduction over values that do not change
// along the row, or a result for each element that does not.
var errRow = errors.New("row value in place of a value of the domain")

// An emitter writes the programs of a kernel.
type emitter struct {
	nodes []*Node
	k     *kernel
	b     *ops.Builder
	refs  []ops.Ref // of the values, -1 if not computed yet
	err   error
}

// emit returns the kernel of g.
func emit(nodes []*Node, g *group) (*kernel, error) {
	k := &kernel{group: *g}
	e := &emitter{nodes: nodes, k: k, refs: make([]ops.Ref, len(g.values))}
	for i := range e.refs {
		e.refs[i] = -1
	}
	anchor := kind(0)
	if g.anchor >= 0 {
		anchor = nodes[g.values[g.anchor].node].kind
	}
	switch anchor {
	case 0, kindReduce, kindScan:
		body := e.results(new(ops.Builder))
		switch {
		case anchor == kindScan:
			k.kernel = &backend.Scan{Body: body}
		case anchor == 0:
			k.kernel = &backend.Map{Body: body}
		case e.phases(body):
			k.kernel = &backend.Row{Body: body, Axes: g.dom.axes}
		default:
			k.kernel = &backend.Reduce{Body: body, Axes: g.dom.axes}
		}
	default:
		k.kernel = e.anchored()
	}
	return k, e.err
}

// anchored returns the kernel of an operation that reads its operands in its own way.
func (e *emitter) anchored() backend.Kernel {
	v := &e.k.values[e.k.anchor]
	n := e.nodes[v.node]
	if n.kind == kindMatMul {
		m := &backend.MatMul{Acc: n.DType}
		m.A = e.program(v.from[0])
		m.B = e.program(v.from[1])
		m.Post = e.post(n)
		return m
	}
	for k := range n.in() {
		e.k.operands = append(e.k.operands, operand{value: v.from[k]})
	}
	post := e.post(n)
	switch a := n.attr.(type) {
	case *ConvAttr:
		return &backend.Conv{
			Stride: a.Stride, Dilation: a.Dilation, Pad: a.Pad, Groups: a.Groups,
			Transposed: a.Transposed, Post: post,
		}
	case *PoolAttr:
		return &backend.Pool{
			Op: a.Op, Window: a.Window, Stride: a.Stride, Dilation: a.Dilation,
			Pad: a.Pad, PadEnd: a.PadEnd, CountPad: a.CountPad, Post: post,
		}
	case *ScatterAttr:
		return &backend.Scatter{DType: n.DType, Add: a.Add, Post: post}
	case *SortAttr:
		return &backend.Sort{DType: n.in()[0].Node.DType, Descending: a.Descending, Index: a.Index, Post: post}
	case *AttentionAttr:
		k := &backend.Attention{DType: n.DType, Causal: a.Causal, Scale: a.Scale, Post: post}
		if len(n.in()) > 3 {
			k.Mask = n.in()[3].Node.DType
		}
		return k
	}
	return &backend.Gather{Post: post}
}

// program returns the program whose one result is value v.
func (e *emitter) program(v int32) ops.Expr {
	e.b = new(ops.Builder)
	e.b.Result(e.value(v))
	return e.b.Expr()
}

// post returns the program that computes the results from the value of n, its operand 0.
func (e *emitter) post(n *Node) ops.Expr {
	b := new(ops.Builder)
	e.refs[e.k.anchor] = b.Load(b.Operand(n.DType), false)
	return e.results(b)
}

// results returns the program of the results of the kernel, begun in b.
func (e *emitter) results(b *ops.Builder) ops.Expr {
	e.b = b
	for i := range e.k.outs {
		o := &e.k.outs[i]
		r := e.value(o.value)
		b.Result(r)
		l := e.k.dom.places[o.at]
		o.row = b.Row(r)
		if o.row && !constant(l.Layout, len(l.Shape)-e.k.dom.axes) {
			e.err = errRow
		}
	}
	return b.Expr()
}

// value returns the value v of the group.
func (e *emitter) value(v int32) ops.Ref {
	if e.refs[v] >= 0 {
		return e.refs[v]
	}
	val := &e.k.values[v]
	n := e.nodes[val.node]
	var r ops.Ref
	switch {
	case !val.fused:
		r = e.load(v, n, e.constant(v))
	case n.kind == kindApply:
		var args [3]ops.Ref
		for k := range n.in() {
			args[k] = e.value(val.from[k])
		}
		r = e.b.Apply(n.op(), args[:len(n.in())]...)
	case n.kind == kindCast:
		r = e.b.Cast(n.DType, e.value(val.from[0]))
	case n.kind == kindCopy:
		r = e.value(val.from[0])
	case n.kind == kindReduce:
		r = e.b.Reduce(n.red, e.reduced(val.from[0]))
	case n.kind == kindScan:
		r = e.b.Scan(n.red, e.value(val.from[0]), n.scan&exclusive != 0, n.scan&reverse != 0)
	}
	e.refs[v] = r
	return r
}

// reduced returns the value v for a reduction, which wants one that is not declared to be a row value.
func (e *emitter) reduced(v int32) ops.Ref {
	val := &e.k.values[v]
	if !val.fused && e.constant(v) {
		return e.load(v, e.nodes[val.node], false)
	}
	r := e.value(v)
	if e.b.Row(r) {
		e.err = errRow
	}
	return r
}

// constant reports whether value v is one for each row.
func (e *emitter) constant(v int32) bool {
	d := &e.k.dom
	at := d.places[v]
	return d.axes > 0 && at.in == inDomain && constant(at.Layout, len(at.Shape)-d.axes)
}

// load returns the value of n that the kernel does not compute.
func (e *emitter) load(v int32, n *Node, row bool) ops.Ref {
	if e.k.values[v].in == inDomain && n.kind == kindConst {
		return e.b.Const(e.slot(e.k.values[v].node), n.DType)
	}
	e.k.operands = append(e.k.operands, operand{v, row})
	k := e.b.Operand(n.DType)
	if e.k.values[v].in == inDomain && n.kind == kindIndex {
		return e.b.Index(k, n.DType, row)
	}
	return e.b.Load(k, row)
}

// slot returns the number of the constant of a node.
func (e *emitter) slot(node int32) int {
	for i, c := range e.k.consts {
		if c == node {
			return i
		}
	}
	e.k.consts = append(e.k.consts, node)
	return len(e.k.consts) - 1
}

// phases reports whether the elements of a row are visited again once something was reduced.
func (e *emitter) phases(body ops.Expr) bool {
	after := make([]bool, len(body.Code)) // a reduction
	for i := range body.Code {
		in := &body.Code[i]
		for _, a := range in.Operands() {
			after[i] = after[i] || after[a]
		}
		if in.Kind == ops.Reduce {
			if after[i] {
				return true
			}
			after[i] = true
		}
	}
	for _, r := range body.Out {
		if !body.Code[r].Row {
			return true
		}
	}
	return false
}
