package wgpu

import (
	"encoding/binary"
	"slices"

	"github.com/weft-go/weft/backend"
)

// A memo is what a step came to: its dispatches, with the numbers of operands in place of their buffers. A step that comes
// again with the same [backend.Memo] is that, with other memory and constants.
type memo struct {
	e        *engine
	sizes    []int // of the operands' buffers, 0 for none
	first    []int // the first operand in the same buffer as each
	launches []memoLaunch
	useless  bool // the step uses memory of its own, or constants elsewhere: it has to be lowered each time
}

type memoLaunch struct {
	launch       // without buffers
	slots  []int // the operand in each storage slot
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
	bufs := e.buffersOf(s)
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

// remember makes the memo of s from what lowering it has recorded.
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
		if len(s.Consts) > 0 && l.consts == 0 {
			m.useless, m.launches = true, nil
			return m
		}
		r := memoLaunch{launch: l}
		for i, b := range l.buffers {
			k := slices.Index(bufs, b)
			if k < 0 {
				m.useless, m.launches = true, nil
				return m
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
