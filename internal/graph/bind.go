package graph

import "github.com/weft-go/weft/backend"

// A binding is a plan at given sizes: all but the memory and the constants of its steps.
type binding struct {
	plan  *plan
	sizes []uint64 // what it was made for
	steps []boundStep

	results []boundResult
	slots   []int // sizes of the memory that results share which are not kept

	operands, consts int // how many all steps have together

	used uint64 // when it was last used
}

// A boundStep is a step without memory.
type boundStep struct {
	kernel  *kernel
	shape   backend.Shape
	in, out []backend.Operand
	memo    *backend.Memo
	inNode  []int32 // whose memory an operand is; -1 for none
	outNode []int32 // and a result
}

// A boundResult is the memory of a node that the steps compute.
type boundResult struct {
	node  int32
	bytes int
	slot  int32 // of binding.slots; or one of the following
}

const (
	ownSlot     = -1 // memory of its own
	inPlaceSlot = -2 // the memory of the version before
)

// bind returns the plan at the sizes of nodes, or nil if it does not suit them.
func (pl *plan) bind(nodes []*Node, facts []facts) *binding {
	b := &binding{plan: pl}
	for _, k := range pl.kernels {
		d, ok := k.place(nodes)
		if !ok {
			return nil
		}
		for _, o := range k.outs {
			if resultLen(d.places[o.at].Layout, d.axes) > 0 {
				b.step(k, d, nodes)
				break
			}
		}
	}
	b.share(nodes, facts)
	return b
}

// place puts the kernel together again, for the sizes of nodes.
func (k *kernel) place(nodes []*Node) (*domain, bool) {
	d := k.start(nodes)
	for _, e := range k.log {
		v := &k.values[e.value]
		n := nodes[v.node]
		ins, ok := d.enter(n, int(e.value), e.act)
		if !ok {
			return nil, false
		}
		if e.act == actBeside {
			continue // its inputs come with the next entry
		}
		for i := range n.in() {
			switch p := &d.places[v.from[i]]; {
			case p.in == nowhere:
				*p = place{ins[i], k.values[v.from[i]].in}
			case !p.Equal(ins[i]):
				return nil, false
			}
		}
	}
	return d, k.fits(d, nodes)
}

// start returns the domain that the kernel began with.
func (k *kernel) start(nodes []*Node) *domain {
	d := &domain{places: make([]place, len(k.values))}
	if o := &k.outs[0]; o.part == whole {
		d.places[0] = place{*nodes[o.node].Layout, inDomain}
	} else {
		in, at := nodes[o.node].part(int(o.part))
		d.places[0], d.places[1] = place{*in.Layout, inDomain}, place{at, inDomain}
	}
	d.shape = d.places[0].Shape
	return d
}

// fits reports whether what the kernel's programs take for granted is so in d.
func (k *kernel) fits(d *domain, nodes []*Node) bool {
	kept := len(d.shape) - d.axes
	for _, o := range k.operands {
		if o.row && !constant(d.places[o.value].Layout, kept) {
			return false
		}
	}
	for _, o := range k.outs {
		l := d.places[o.at].Layout
		if o.row && !constant(l, kept) || resultLen(l, d.axes) != o.len(nodes) {
			return false
		}
	}
	return true
}

// len returns how many elements the result has.
func (o *output) len(nodes []*Node) int {
	n := nodes[o.node]
	if o.part == whole {
		return n.Layout.Len()
	}
	_, at := n.part(int(o.part))
	return at.Len()
}

// resultLen returns how many elements are written at l, in a domain whose last axes are reduced.
func resultLen(l backend.Layout, axes int) int {
	if kept := len(l.Shape) - axes; constant(l, kept) {
		return l.Shape[:kept].Len()
	}
	return l.Len()
}

// step adds the step of k in domain d.
func (b *binding) step(k *kernel, d *domain, nodes []*Node) {
	in, out := len(k.operands), len(k.outs)
	all, ids := make([]backend.Operand, in+out), make([]int32, in+out)
	for i, o := range k.operands {
		v := &k.values[o.value]
		n := nodes[v.node]
		all[i] = backend.Operand{DType: n.DType, Layout: d.places[o.value].Layout}
		if ids[i] = v.node; v.in == inDomain && n.kind == kindIndex {
			ids[i] = -1
		}
	}
	for i, o := range k.outs {
		all[in+i] = backend.Operand{DType: nodes[o.node].DType, Layout: d.places[o.at].Layout}
		ids[in+i] = o.node
	}
	s := boundStep{kernel: k, shape: d.shape, memo: new(backend.Memo), in: all[:in], out: all[in:], inNode: ids[:in], outNode: ids[in:]}
	b.operands += len(s.in) + len(s.out)
	b.consts += len(k.consts)
	b.steps = append(b.steps, s)
}

// share gives memory to what the steps compute. Results that are not kept share memory, if the last step
// that reads one comes before the step that writes the other.
func (b *binding) share(nodes []*Node, facts []facts) {
	first, last, order := b.lives(len(nodes))
	own := make([]bool, len(nodes)) // its memory stays, if with another node
	for i := range facts {
		if facts[i].inPlace {
			own[nodes[i].in()[0].Node.id] = true
		}
	}
	var until []int // the last step that needs each slot
	for _, n := range order {
		r := boundResult{node: n, bytes: nodes[n].Layout.Len() * nodes[n].DType.Size(), slot: ownSlot}
		switch {
		case facts[n].inPlace:
			r.slot = inPlaceSlot
		case !facts[n].must && !facts[n].outside && !own[n]:
			r.slot = b.slot(until, r.bytes, first[n])
			if int(r.slot) == len(b.slots) {
				b.slots, until = append(b.slots, 0), append(until, 0)
			}
			b.slots[r.slot] = max(b.slots[r.slot], r.bytes)
			until[r.slot] = last[n]
		}
		b.results = append(b.results, r)
	}
}

// lives returns the nodes that get memory, in the order they are written, and of each node the first step
// that writes it and the last that uses it.
func (b *binding) lives(nodes int) (first, last []int, order []int32) {
	first, last = make([]int, nodes), make([]int, nodes)
	written := make([]bool, nodes)
	for i, s := range b.steps {
		for _, n := range s.outNode {
			if !written[n] {
				written[n], first[n] = true, i
				order = append(order, n)
			}
			last[n] = i
		}
		for _, n := range s.inNode {
			if n >= 0 {
				last[n] = i
			}
		}
	}
	for _, k := range b.plan.kernels { // those without elements, which no step writes
		for _, o := range k.outs {
			if !written[o.node] {
				written[o.node] = true
				order = append(order, o.node)
			}
		}
	}
	return first, last, order
}

// slot returns the slot for a result of the given size that step first writes: the one it fits best of
// those not needed any more, else a new one.
func (b *binding) slot(until []int, bytes, first int) int32 {
	best := len(b.slots)
	for i, size := range b.slots {
		switch {
		case until[i] >= first:
		case best == len(b.slots),
			size >= bytes && (b.slots[best] < bytes || size < b.slots[best]),
			size < bytes && size > b.slots[best]:
			best = i
		}
	}
	return int32(best)
}
