package wgpu

import (
	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A mode is how a thread reads or writes the elements of an operand. A thread takes four neighbours along the last axis,
// its lanes.
type mode uint8

const (
	modeOne    mode = iota // one element for the whole kernel: all strides are 0
	modeSplat              // one element for the lanes of a thread: the last stride is 0
	modeVector             // four elements side by side, at a multiple of four: whole words
	modeLanes              // an address for each lane
	modeTurned             // for each lane four elements side by side along the domain's turned axis, at a multiple of four
)

// whole reports whether elements are read and written as whole words.
func (m mode) whole() bool { return m == modeVector || m == modeTurned }

// An access says how a kernel reaches one operand. It is part of a pipeline's key; the numbers that vary from step to
// step are in its parameters.
type access struct {
	dtype  ops.DType
	mode   mode
	slot   int  // of the storage binding; -1 for the operand of an Index
	atomic bool // an output whose elements share words with what other threads write
}

// A slot is a storage binding of a kernel. Operands in the same buffer share one, which also spares bindings.
type slot struct {
	buffer *buffer
	wide   bool // bound as vec4<u32>: every access is of whole words of a 4- or 8-byte type, or modeOne of it
	pair   bool // bound as vec2<u32>: every access is modeVector of a 2-byte type
	write  bool
	atomic bool // bound as atomic<u32>

	quant  ops.DType // the quantised type of what is in it, else 0
	unpack bool      // of its scales by the device's own conversion: see reader
}

// A domain is what a kernel loops over, with neighbouring axes merged where all operands allow it: the
// layouts of the inputs and then the outputs.
type domain struct {
	shape   backend.Shape
	kept    int  // axes that rows are counted by; the rest is one row
	turned  int  // 1 + the axis that threads take four neighbours along too, so that inputs that lie so are read as whole words
	apart   int  // elements of the last axis from a lane to the next, if that is not 1 (0): see disperse
	plain   bool // reach every element by itself: fewer variants to compile
	layouts []backend.Layout
	in, out []access
	slots   []slot
}

// newDomain merges the axes of a step and classifies its operands. It knows no rows: kept is the rank.
func (e *engine) newDomain(s *backend.Step) domain {
	var d domain
	d.merge(s, 0)
	d.reach(s)
	return d
}

// merge finds the axes.
func (d *domain) merge(s *backend.Step, axes int) {
	layouts := make([]backend.Layout, 0, len(s.In)+len(s.Out))
	for _, o := range s.In {
		layouts = append(layouts, o.Layout)
	}
	for _, o := range s.Out {
		layouts = append(layouts, o.Layout)
	}
	d.layouts, d.kept = backend.Collapse(layouts, len(s.Shape)-axes)
	d.shape = d.layouts[0].Shape
}

// reach chooses how the operands of a step are reached by the domain's layouts, and binds their buffers.
func (d *domain) reach(s *backend.Step) {
	d.slots = make([]slot, 0, len(d.layouts))
	d.in = make([]access, len(s.In))
	d.out = make([]access, len(s.Out))
	for i, o := range s.Out {
		d.out[i] = d.classify(o, d.layouts[len(s.In)+i])
		d.bind(&d.out[i], o, true)
	}
	for i, o := range s.In {
		d.in[i] = d.classify(o, d.layouts[i])
		d.bind(&d.in[i], o, false)
	}
	d.settle(s)
}

// classify chooses the mode of an operand by its layout alone.
func (d *domain) classify(o backend.Operand, l backend.Layout) access {
	a := access{dtype: o.DType, mode: modeLanes, slot: -1}
	if d.plain {
		return a
	}
	last := len(l.Strides) - 1
	zero := true
	for _, st := range l.Strides {
		zero = zero && st == 0
	}
	switch {
	case zero:
		a.mode = modeOne
	case l.Strides[last] == 0:
		a.mode = modeSplat
	case l.Strides[last] == 1 && o.Buf != nil && aligned(l):
		a.mode = modeVector
	case d.turned > 0 && l.Strides[d.turned-1] == 1 && o.Buf != nil && alignedAlong(l, d.turned-1) && !o.DType.Quantized():
		a.mode = modeTurned
	}
	return a
}

// aligned reports whether every group of four elements along the last axis begins at a multiple of four.
func aligned(l backend.Layout) bool { return alignedAlong(l, len(l.Strides)-1) }

// alignedAlong reports the same of another axis, whose stride is 1.
func alignedAlong(l backend.Layout, axis int) bool {
	if l.Offset%4 != 0 {
		return false
	}
	for i, st := range l.Strides {
		if i != axis && l.Shape[i] != 1 && st%4 != 0 {
			return false
		}
	}
	return len(l.Shape) == 1 || l.Shape[axis]%4 == 0
}

// bind gives an operand its slot.
func (d *domain) bind(a *access, o backend.Operand, write bool) {
	if o.Buf == nil {
		return
	}
	b := o.Buf.(*buffer) // step has checked it
	wide := (a.mode.whole() || a.mode == modeOne) && o.DType.Size() >= 4
	for i := range d.slots {
		if s := &d.slots[i]; s.buffer == b {
			s.write = s.write || write
			s.wide = s.wide && wide
			a.slot = i
			return
		}
	}
	s := slot{buffer: b, wide: wide, write: write}
	if o.DType.Quantized() {
		s.quant = o.DType
	}
	d.slots = append(d.slots, s)
	a.slot = len(d.slots) - 1
}

// settle makes the modes agree with the slots: a wide slot only serves vectors, and outputs that share words with the work
// of other threads are written by atomic operations.
func (d *domain) settle(s *backend.Step) {
	n := len(s.In)
	for i, o := range s.Out {
		a := &d.out[i]
		l := d.layouts[n+i]
		if a.mode == modeVector && tailSpills(o, l) {
			a.mode = modeLanes
			d.slots[a.slot].wide = false
		}
		if a.mode != modeVector && o.DType.Size() < 4 {
			a.atomic = true
			d.slots[a.slot].atomic = true
			d.slots[a.slot].wide = false
		}
	}
	for i := range d.slots { // a slot only of single elements gains nothing from being wide
		if d.slots[i].wide && !d.anyVector(i) {
			d.slots[i].wide = false
		}
	}
	d.agree()
}

// agree takes vectors from operands whose slots cannot give them.
func (d *domain) agree() {
	for _, list := range [][]access{d.in, d.out} {
		for i := range list {
			a := &list[i]
			if a.slot < 0 || !a.mode.whole() {
				continue
			}
			if s := &d.slots[a.slot]; s.atomic || a.dtype.Size() >= 4 && !s.wide {
				a.mode = modeLanes
			}
		}
	}
}

// single makes a kernel read the elements of input i one by one.
func (d *domain) single(i int) {
	d.in[i].mode = modeLanes
	d.slots[d.in[i].slot].wide = false
	d.agree()
}

// pairs makes a kernel reach two words at a time where each access of a slot is of four 16-bit elements.
func (d *domain) pairs() {
	for i := range d.slots {
		d.slots[i].pair = !d.slots[i].atomic && d.anyVector(i)
	}
	for _, list := range [][]access{d.in, d.out} {
		for _, a := range list {
			if a.slot >= 0 && (a.mode != modeVector || a.dtype.Size() != 2) {
				d.slots[a.slot].pair = false
			}
		}
	}
}

func (d *domain) anyVector(slot int) bool {
	for _, list := range [][]access{d.in, d.out} {
		for _, a := range list {
			if a.slot == slot && a.mode.whole() {
				return true
			}
		}
	}
	return false
}

// tailSpills reports whether writing whole groups of four would reach beyond the operand into bytes that belong to
// somebody else: the last group is not full, and the buffer goes on after it.
func tailSpills(o backend.Operand, l backend.Layout) bool {
	last := len(l.Shape) - 1
	n := l.Shape[last]
	return n%4 != 0 && (l.Offset+n)*o.DType.Size() < o.Buf.Size()
}

// disperse sets the lanes of threads apart, so that each is the neighbour of the same lane of the next thread: what threads read
// and write one by one is then done in whole lines of memory. It is for kernels whose operands do not lie at multiples of four.
func (d *domain) disperse(apart int) {
	d.apart = apart
	for i := range d.slots {
		d.slots[i].wide, d.slots[i].pair = false, false
	}
	for _, list := range [][]access{d.in, d.out} {
		for i := range list {
			if list[i].mode.whole() {
				list[i].mode = modeLanes
			}
		}
	}
}

// loose reports whether the elements of operand i, an input or after those an output, are neighbours along the last axis that are
// not reached as whole words.
func (d *domain) loose(i int) bool {
	list, n := d.in, i
	if n >= len(d.in) {
		list, n = d.out, n-len(d.in)
	}
	a := list[n]
	return a.mode == modeLanes && one(d.layouts[i], len(d.shape)-1) && a.dtype.Size() >= 4
}

// lane returns the number of elements from the first lane of a thread to another.
func (d *domain) lane(n int) int { return n * max(d.apart, 1) }
