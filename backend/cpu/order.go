package cpu

import (
	"sync/atomic"

	"github.com/weft-go/weft/backend"
)

// An order is how a kernel over rows goes through operands of given layouts.
type order struct {
	layouts []backend.Layout
	passes  []*pass
}

// orders remembers the orders of the last few runs of a kernel: most run again and again over the same
// layouts.
type orders struct {
	known [4]atomic.Pointer[order]
	next  atomic.Uint32
}

// order returns the order in which to go through layouts, remembered or made by plan.
func (os *orders) order(layouts []backend.Layout, plan func() []domain) (*order, error) {
	for i := range os.known {
		if o := os.known[i].Load(); o != nil && o.suits(layouts) {
			return o, nil
		}
	}
	o := &order{layouts: append([]backend.Layout(nil), layouts...)}
	for _, d := range plan() {
		p, err := d.pass()
		if err != nil {
			return nil, err
		}
		o.passes = append(o.passes, p)
	}
	os.known[os.next.Add(1)%uint32(len(os.known))].Store(o)
	return o, nil
}

func (o *order) suits(layouts []backend.Layout) bool {
	for i := range layouts {
		if !o.layouts[i].Equal(layouts[i]) {
			return false
		}
	}
	return true
}

// A bound is a part of a kernel with its operands, kept from run to run of a pass: only memory and constants
// change.
type bound struct {
	binding
	part    *part
	in, out []source
	outs    []int // outputs of the kernel that the last results are
}

// newBound returns p over the views of the kernel's inputs, of which there are inputs, and then of its
// outputs. Its first results are made, the others outs. Lone says which values of other parts are one
// element for all of a run.
func newBound(p *part, views []view, inputs int, lone func(a arg) bool, made []source, outs []int) bound {
	b := bound{part: p, in: make([]source, len(p.args)), out: made, outs: outs}
	for i, a := range p.args {
		if a.input < 0 {
			b.in[i] = given(p.expr.In[i], lone(a))
			continue
		}
		b.in[i] = source{dtype: p.expr.In[i], view: views[a.input], uniform: views[a.input].uniform()}
	}
	for _, o := range outs {
		v := p.expr.Out[len(b.out)]
		b.out = append(b.out, source{dtype: p.expr.Code[v].DType, view: views[inputs+o]})
	}
	return b
}

// open binds the memory of j's operands.
func (b *bound) open(j *job) error {
	for i, a := range b.part.args {
		if a.input >= 0 {
			b.in[i].mem = j.in[a.input].mem
		}
	}
	first := len(b.out) - len(b.outs)
	for i, o := range b.outs {
		b.out[first+i].mem = j.out[o].mem
	}
	return b.set(b.part.program, b.in, b.out, j.step.Consts)
}

// close lets go of the memory.
func (b *bound) close() {
	for i := range b.in {
		b.in[i].mem = nil
	}
	for i := range b.out {
		b.out[i].mem = nil
	}
	b.consts = nil
}
