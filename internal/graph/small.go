package graph

import (
	"context"
	"encoding/binary"

	"github.com/weft-go/weft/backend"
)

// What is computed without a plan: few operations on few elements, in the program's memory.
const (
	smallElements   = 256
	smallOperations = 8
)

// A small computes operations one by one. It has room for what comes between them.
type small struct {
	d     *Device
	n     int // elements of every value
	left  int // operations that may still be met
	room  [smallOperations][8 * smallElements]byte
	bits  [3 * smallOperations][8]byte // of constants
	bound int                          // of them in use
	in    [smallOperations][3][]byte   // the operands of each
}

// readSmall writes the elements of e to dst if few operations on few elements give them, whose inputs are in the program's memory:
// a plan and its kernel would take several times as long. It reports whether it has done so; if not, nothing has changed. The
// nodes stay as they are, to be computed if they are read again.
func (d *Device) readSmall(ctx context.Context, e Edge, dst []byte) bool {
	n := e.Node
	if d.applier == nil || d.unfused || n.kind != kindApply || n.mem.Load() != nil || backend.Tracing() {
		return false
	}
	elements := n.Layout.Len()
	if elements == 0 || elements > smallElements || e.Layout.Offset != 0 || !e.Layout.IsDense() || e.Layout.Len() != elements {
		return false
	}
	if d.lock.Lock(ctx) != nil {
		return false // the long way tells why
	}
	defer d.lock.Unlock()
	if d.small == nil {
		d.small = &small{d: d}
	}
	s := d.small
	s.n, s.left, s.bound = elements, smallOperations, 0
	if ctx.Err() != nil || !s.value(n, dst) {
		return false
	}
	d.stats.evals.Add(1)
	return true
}

// value writes the elements of n to z.
func (s *small) value(n *Node, z []byte) bool {
	if s.left--; s.left < 0 || n.gone != 0 {
		return false
	}
	in := &s.in[s.left]
	defer clear(in[:])
	for k := range n.in {
		if in[k] = s.operand(&n.in[k]); in[k] == nil {
			return false
		}
	}
	return s.d.applier.Apply(n.op, n.in[len(n.in)-1].Node.DType, s.n, z, in)
}

// operand returns the elements of e, one after the other or one for all, or nil.
func (s *small) operand(e *Edge) []byte {
	m := e.Node
	if m.gone != 0 {
		return nil
	}
	size, elements := m.DType.Size(), 1
	for _, stride := range e.Layout.Strides {
		if stride != 0 {
			elements = s.n
		}
	}
	if elements > 1 && !e.Layout.IsDense() || e.Layout.Len() != s.n {
		return nil
	}
	at := e.Layout.Offset * size
	switch b := m.mem.Load(); {
	case b != nil:
		mem, err := s.d.host.Bytes(b.buf)
		if err != nil || b.released {
			return nil
		}
		return mem[at : at+elements*size]
	case m.kind == kindConst:
		bits := &s.bits[s.bound]
		s.bound++
		binary.NativeEndian.PutUint64(bits[:], m.bits)
		return bits[:size]
	case m.kind == kindData:
		data, _ := m.attr.([]byte)
		if len(data) == 0 {
			return nil
		}
		return data[at : at+elements*size]
	case m.kind == kindApply && at == 0 && m.Layout.Len() == s.n && elements == s.n:
		if s.left == 0 {
			return nil
		}
		z := s.room[s.left-1][:s.n*size]
		if !s.value(m, z) {
			return nil
		}
		return z
	}
	return nil
}
