package wgpu

import (
	"encoding/binary"
	"slices"

	"github.com/weft-go/weft/backend"
)

// A memo is what a step came to: its dispatches, with the numbers of operands in place of their buffers. A step that comes
// again with the same [backend.Memo] is that, with other memory and constants. Memory that a step has for itself is taken anew,
// and numbered after the operands.
type memo struct {
	e        *engine
	sizes    []int // of the operands' buffers, 0 for none
	first    []int // the first operand in the same buffer as each
	own      []int // sizes of the step's own memory
	launches []memoLaunch
}

type memoLaunch struct {
	launch       // without buffers
	slots  []int // the number of each buffer
	writes []int // of slots
}

// buffersOf lists the buffers of the operands of s in the engine's scratch, nil for none.
func (e *engine) buffersOf(s *backend.Step) []*buffer {
	e.operands = e.operands[:0]
	for _, list := range [...][]backend.Operand{s.In, s.Out} {
		for i := range list {
			own, _ := list[i].Buf.(*buffer)
			e.operands = append(e.operands, own)
		}
	}
	return e.operands
}

// suits reports whether s is like the step that m was made of.
func (m *memo) suits(e *engine, s *backend.Step) bool {
	bufs := e.buffersOf(s)
	if m.e != e || len(bufs) != len(m.sizes) {
		return false
	}
	for i, b := range bufs {
		if b == nil && m.sizes[i] != 0 || b != nil && b.size != m.sizes[i] || slices.Index(bufs, b) != m.first[i] {
			return false
		}
	}
	return true
}

// replay records what m remembers for s, which it suits.
func (e *engine) replay(m *memo, s *backend.Step) error {
	t := temporaries{e: e}
	defer t.release()
	for _, size := range m.own { // before all else: an allocation may give up the lock
		if _, err := t.bytes(size); err != nil {
			return err
		}
	}
	bufs := append(e.buffersOf(s), t.list...)
	for i := range m.launches {
		l := &m.launches[i]
		again := l.launch
		again.buffers, again.writes = e.slotted[:0], e.written[:0]
		for _, k := range l.slots {
			again.buffers = append(again.buffers, bufs[k])
		}
		for _, k := range l.writes {
			again.writes = append(again.writes, bufs[l.slots[k]])
		}
		e.slotted, e.written = again.buffers, again.writes
		if l.consts > 0 {
			again.args = append(e.args[:0], l.args...)
			e.args = again.args
			for k, c := range s.Consts {
				binary.LittleEndian.PutUint64(again.args[4*(l.consts-1)+8*k:], c)
			}
		}
		if err := e.record(again); err != nil {
			return err
		}
	}
	return nil
}

// remember makes the memo of s from what lowering it has recorded. Constants are in the parameters of a launch, if they are
// in it at all, in all their number.
func (e *engine) remember(s *backend.Step, launches []launch) *memo {
	bufs := e.buffersOf(s)
	m := &memo{e: e}
	for _, b := range bufs {
		size := 0
		if b != nil {
			size = b.size
		}
		m.sizes = append(m.sizes, size)
		m.first = append(m.first, slices.Index(bufs, b))
	}
	for _, l := range launches {
		r := memoLaunch{launch: l}
		for i, b := range l.buffers {
			k := slices.Index(bufs, b)
			if k < 0 {
				k = len(bufs)
				bufs = append(bufs, b)
				m.own = append(m.own, b.size)
			}
			r.slots = append(r.slots, k)
			if slices.Contains(l.writes, b) {
				r.writes = append(r.writes, i)
			}
		}
		r.launch.buffers, r.launch.writes = nil, nil
		m.launches = append(m.launches, r)
	}
	return m
}
