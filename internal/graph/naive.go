package graph

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// run computes the claimed nodes, one kernel each.
func (f *flight) run(ctx context.Context) error {
	var steps []backend.Step
	bufs := make([]backend.Buffer, len(f.order))
	for _, n := range f.order {
		if n.claim != f {
			if s := n.mem.Load(); s != nil {
				bufs[n.id] = s.buf
			}
			continue
		}
		buf, err := f.d.alloc(n.Shape.Len() * n.DType.Size())
		if err != nil {
			return err
		}
		s := newStorage(buf)
		s.writable = n.kind == kindUpdate
		f.results = append(f.results, result{n, s})
		bufs[n.id] = buf
		steps = append(steps, nodeSteps(n, bufs)...)
	}
	f.d.stats.kernels.Add(int64(len(steps)))
	if err := f.d.b.Run(ctx, steps); err != nil {
		return fmt.Errorf("graph: run on %s: %w", f.d.name, err)
	}
	return nil
}

// Explain lists the kernels an Eval of nodes would run.
func Explain(nodes ...*Node) (Explanation, error) {
	var e Explanation
	for _, d := range devices(nodes) {
		f := &flight{d: d}
		if err := d.lock.Lock(context.Background()); err != nil {
			return e, err
		}
		err := f.walk(nodes)
		bufs := make([]backend.Buffer, len(f.order))
		for _, n := range f.order {
			if err == nil && n.mem.Load() == nil {
				for _, s := range nodeSteps(n, bufs) {
					e.Kernels = append(e.Kernels, KernelInfo{Family: s.Kernel.Family(), Shape: s.Shape})
				}
			}
		}
		d.lock.Unlock()
		if err != nil {
			return e, err
		}
	}
	return e, nil
}

func devices(nodes []*Node) (ds []*Device) {
	for i, n := range nodes {
		if !seenDevice(nodes[:i], n.Device) {
			ds = append(ds, n.Device)
		}
	}
	return ds
}

func nodeSteps(n *Node, bufs []backend.Buffer) []backend.Step {
	var b ops.Builder
	s := backend.Step{Shape: n.Shape}
	out := backend.Dense(n.Shape)
	load := func(e Edge) ops.Ref {
		m := e.Node
		switch m.kind {
		case kindConst:
			s.Consts = append(s.Consts, m.bits)
			return b.Const(len(s.Consts)-1, m.DType)
		}
		s.In = append(s.In, backend.Operand{Buf: bufs[m.id], DType: m.DType, Layout: e.Layout})
		return b.Load(b.Operand(m.DType), false)
	}
	raw := func() {
		for _, e := range n.in {
			s.In = append(s.In, backend.Operand{Buf: bufs[e.Node.id], DType: e.Node.DType, Layout: e.Layout})
		}
	}
	post := func(d ops.DType) ops.Expr {
		var p ops.Builder
		p.Result(p.Load(p.Operand(d), false))
		return p.Expr()
	}
	switch n.kind {
	case kindConst:
		s.Consts = append(s.Consts, n.bits)
		b.Result(b.Const(0, n.DType))
	case kindIndex:
		s.In = append(s.In, backend.Operand{DType: n.DType, Layout: out})
		b.Result(b.Index(b.Operand(n.DType), n.DType, false))
	case kindApply:
		var args []ops.Ref
		for _, e := range n.in {
			args = append(args, load(e))
		}
		b.Result(b.Apply(n.op, args...))
	case kindCast:
		b.Result(b.Cast(n.DType, load(n.in[0])))
	case kindCopy:
		b.Result(load(n.in[0]))
	case kindReduce:
		in := n.in[0].Layout
		s.Shape = in.Shape
		b.Result(b.Reduce(n.red, load(n.in[0])))
		out.Shape = in.Shape
		out.Strides = append(append([]int(nil), out.Strides...), make([]int, n.axes)...)
		s.Kernel = &backend.Reduce{Body: b.Expr(), Axes: int(n.axes)}
	case kindScan:
		b.Result(b.Scan(n.red, load(n.in[0]), n.excl, n.rev))
		last := func(l backend.Layout) backend.Layout {
			var axes []int
			for i := range l.Shape {
				if i != int(n.axes) {
					axes = append(axes, i)
				}
			}
			l, err := l.Permute(append(axes, int(n.axes))...)
			if err != nil {
				panic(err)
			}
			return l
		}
		for i := range s.In {
			s.In[i].Layout = last(s.In[i].Layout)
		}
		out = last(out)
		s.Shape = out.Shape
		s.Kernel = &backend.Scan{Body: b.Expr()}
	case kindMatMul:
		raw()
		s.Kernel = &backend.MatMul{A: post(n.in[0].Node.DType), B: post(n.in[1].Node.DType), Post: post(n.DType), Acc: n.DType}
	case kindConv:
		raw()
		a := n.attr.(*ConvAttr)
		s.Kernel = &backend.Conv{Stride: a.Stride, Dilation: a.Dilation, Pad: a.Pad, Groups: a.Groups, Transposed: a.Transposed, Post: post(n.DType)}
	case kindPool:
		raw()
		a := n.attr.(*PoolAttr)
		s.Kernel = &backend.Pool{Op: a.Op, Window: a.Window, Stride: a.Stride, Dilation: a.Dilation, Pad: a.Pad, PadEnd: a.PadEnd, CountPad: a.CountPad, Post: post(n.DType)}
	case kindGather:
		raw()
		s.Kernel = &backend.Gather{Post: post(n.DType)}
	case kindAssemble, kindUpdate:
		return writeSteps(n, bufs)
	}
	if s.Kernel == nil {
		s.Kernel = &backend.Map{Body: b.Expr()}
	}
	s.Out = []backend.Operand{{Buf: bufs[n.id], DType: n.DType, Layout: out}}
	return []backend.Step{s}
}

func writeSteps(n *Node, bufs []backend.Buffer) (steps []backend.Step) {
	at := n.attr.([]backend.Layout)
	if n.kind == kindUpdate {
		at = []backend.Layout{backend.Dense(n.Shape), at[0]}
	}
	for i, e := range n.in {
		var b ops.Builder
		b.Result(b.Load(b.Operand(n.DType), false))
		steps = append(steps, backend.Step{
			Kernel: &backend.Map{Body: b.Expr()},
			Shape:  at[i].Shape,
			In:     []backend.Operand{{Buf: bufs[e.Node.id], DType: n.DType, Layout: e.Layout}},
			Out:    []backend.Operand{{Buf: bufs[n.id], DType: n.DType, Layout: at[i]}},
		})
	}
	return steps
}
