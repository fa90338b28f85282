package graph

import (
	"sync"

	"github.com/weft-go/weft/backend"
)

// A flight is one Eval on one device: what it computes, from the walk over the graph to the results. Its
// slices are used again by later flights.
type flight struct {
	d       *Device
	done    chan struct{} // closed at the end, if anybody waits
	order   []*Node       // what the nodes asked for need, inputs before those who read them
	facts   []facts       // of each
	reads   []int32       // how often each is read within order
	pending []int32       // of them, by nodes that have not taken part in an Eval before
	key     key
	work    int     // how many of order are to be computed
	moves   int     // how many of order are data to be brought to the device first
	busy    *flight // another that computes one of them at the moment
	binding *binding
	began   bool // kernels may have run

	explaining bool   // nothing is to be computed
	sources    []Edge // of the transfers to be explained

	bufs  []backend.Buffer // of each of order
	slots []backend.Buffer // given back at the end
	fresh []backend.Buffer // memory of results

	stack    []frame
	list     []backend.Step
	operands []backend.Operand
	consts   []uint64
	moved    []moved
}

// A frame is a node that a walk is at.
type frame struct {
	n    *Node
	next int // input to visit
}

// A moved is data that was brought to the device.
type moved struct {
	n   *Node
	buf backend.Buffer
}

// maxScratch is how many nodes a flight may have for its slices to be used again.
const maxScratch = 4096

var flights = sync.Pool{New: func() any { return new(flight) }}

func newFlight(d *Device) *flight {
	f := flights.Get().(*flight)
	f.d = d
	return f
}

// recycle ends the use of f. It keeps no pointer, and only the slices that are not huge.
func (f *flight) recycle() {
	if cap(f.order) > maxScratch {
		return
	}
	clear(f.stack) // of a walk that failed
	clear(f.order)
	clear(f.bufs)
	clear(f.slots)
	clear(f.fresh)
	clear(f.list)
	clear(f.operands)
	clear(f.moved)
	f.d, f.done, f.busy, f.binding, f.sources = nil, nil, nil, nil, nil
	f.work, f.moves, f.began, f.explaining = 0, 0, false, false
	f.stack = f.stack[:0]
	f.order, f.facts, f.reads, f.pending = f.order[:0], f.facts[:0], f.reads[:0], f.pending[:0]
	f.key.structure, f.key.sizes = f.key.structure[:0], f.key.sizes[:0]
	f.bufs, f.slots, f.fresh = f.bufs[:0], f.slots[:0], f.fresh[:0]
	f.list, f.operands, f.consts, f.moved = f.list[:0], f.operands[:0], f.consts[:0], f.moved[:0]
	flights.Put(f)
}

// walk lists what the nodes on f's device need. The caller holds the lock.
func (f *flight) walk(nodes []*Node) error {
	f.d.walks++
	for _, n := range nodes {
		if n.Device == f.d {
			if err := f.visit(n); err != nil {
				return err
			}
		}
	}
	if f.work == 0 || !f.explaining && (f.moves > 0 || f.busy != nil) {
		return nil
	}
	for _, n := range nodes {
		if n.Device == f.d && n.mark == f.d.walks && f.facts[n.id].todo {
			f.facts[n.id].must = true
		}
	}
	f.decide()
	f.key.flags(f.facts)
	return nil
}

// visit lists what root needs, and root itself unless there is nothing to compute.
func (f *flight) visit(root *Node) error {
	if root.mark == f.d.walks || root.Computed() {
		return root.available()
	}
	if err := f.enter(root); err != nil {
		return err
	}
	for len(f.stack) > 0 {
		top := &f.stack[len(f.stack)-1]
		n := top.n
		if in := n.in(); top.next < len(in) && n.mem.Load() == nil && n.kind != kindTransfer {
			m := in[top.next].Node
			top.next++
			again := m.gone == goneTorn && n.kind == kindUpdate && top.next == 1 // an update that failed
			if m.gone != 0 && !again {
				return m.available()
			}
			if m.mark != f.d.walks {
				if err := f.enter(m); err != nil {
					return err
				}
			}
			continue
		}
		*top = frame{}
		f.stack = f.stack[:len(f.stack)-1]
		f.add(n)
	}
	return nil
}

// enter goes on to n, which was not met before.
func (f *flight) enter(n *Node) error {
	n.mark = f.d.walks
	f.stack = append(f.stack, frame{n: n})
	if n.gone == goneTorn {
		return nil // visit has looked at the reader
	}
	return n.available()
}

// add lists n, whose inputs are listed.
func (f *flight) add(n *Node) {
	n.id = int32(len(f.order))
	f.order = append(f.order, n)
	computed := n.mem.Load() != nil
	todo := !computed && !n.kind.memoryless()
	f.facts = append(f.facts, facts{todo: todo})
	f.reads = append(f.reads, 0)
	f.pending = append(f.pending, 0)
	if !todo {
		f.key.add(n, false)
		return
	}
	if n.claim != nil {
		f.busy = n.claim
	}
	f.work++
	if n.kind == kindData || n.kind == kindTransfer {
		f.moves++
		return
	}
	f.key.add(n, true)
	for _, e := range n.in() {
		m := e.Node.id
		f.reads[m]++
		if n.stage != took {
			f.pending[m]++
		}
	}
}

// decide finds out which results are kept and which are written over others.
func (f *flight) decide() {
	for i, n := range f.order {
		fact := &f.facts[i]
		if !fact.todo {
			continue
		}
		fact.outside = n.readers.Load() > f.pending[i]
		again := n.stage == took && f.pending[i] > 0 // computed for one reader, and now for another: who knows how many will come
		fact.must = fact.must || again || fact.outside && !n.kind.elementwise()
		if n.kind == kindUpdate {
			fact.inPlace = f.replaces(n)
		}
	}
	for i, n := range f.order { // a version lasts until it is overwritten: it could not be computed again
		if f.facts[i].todo && n.kind == kindUpdate {
			f.facts[i].must = true
			if f.facts[i].inPlace {
				f.facts[n.in()[0].Node.id].must = false
			}
		}
	}
}

// replaces reports whether update n may take over the memory of the version before: that is the memory of
// a variable, nobody else reads it, now or later, and it is not asked for.
func (f *flight) replaces(n *Node) bool {
	prev := n.in()[0].Node
	i := prev.id
	if prev.kind != kindUpdate || f.facts[i].must || f.reads[i] != 1 || prev.readers.Load() != f.pending[i] {
		return false
	}
	s := prev.mem.Load()
	return s == nil || s.pins == 0
}
