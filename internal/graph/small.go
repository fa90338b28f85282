package graph

import (
	"context"
	"encoding/binary"

	"github.com/weft-go/weft/backend"
)

// What is computed without a plan: few elementwise operations on few elements, in the program's memory. To walk, find a plan, bind
// memory and run a kernel takes longer than to compute them. So under the lock of the device, which the short time allows,
// each operation is applied at once, by [backend.Applier], its operands first. The bits are those of the kernel, as a
// value is rounded after each operation there too.
//
// Of the nodes only those that Eval was asked for change: they get their results. What lies between is computed again
// if it is asked for. What cannot be computed so is left to a plan, and so is every error.
const (
	smallElements   = 256 // of a value
	smallOperations = 8   // altogether
	smallBytes      = 8 * smallElements
	maxArgs         = 3
	line            = 64 // bytes of the cache
)

// A small computes without a plan. A device has one, guarded by its lock.
type small struct {
	d       *Device
	results []*storage // of the nodes asked for
	left    int        // operations that may still be met
	used    int        // bytes of room in use
	room    [(smallOperations*(1+maxArgs) + 1) * smallBytes]byte
}

// smallWay takes the lock of d to compute without a plan. It returns nil if that cannot be.
func (d *Device) smallWay(ctx context.Context) *small {
	if d.applier == nil || d.unfused || backend.Tracing() || ctx.Err() != nil || d.lock.Lock(ctx) != nil {
		return nil
	}
	if d.closed {
		d.lock.Unlock()
		return nil
	}
	if d.small == nil {
		d.small = &small{d: d}
	}
	s := d.small
	s.left, s.used, s.results = smallOperations, 0, s.results[:0]
	return s
}

// readSmall writes the elements of e to dst, and reports whether it could.
func (d *Device) readSmall(ctx context.Context, e Edge, dst []byte) bool {
	if len(dst) > smallBytes || !e.Node.small() {
		return false
	}
	s := d.smallWay(ctx)
	if s == nil {
		return false
	}
	defer d.lock.Unlock()
	ok := false
	if e.Layout == e.Node.Layout && e.Node.mem.Load() == nil {
		ok = s.value(e.Node, dst)
	} else if x := s.operand(&e, true); x != nil {
		ok = copy(dst, x) == len(dst)
	}
	if ok {
		s.count()
	}
	return ok
}

// evalSmall computes those of nodes that are on d, and reports whether it could. If not, nothing has changed.
func (d *Device) evalSmall(ctx context.Context, nodes []*Node) bool {
	for _, n := range nodes {
		if n.Device == d && !n.small() {
			return false
		}
	}
	s := d.smallWay(ctx)
	if s == nil {
		return false
	}
	defer d.lock.Unlock()
	ok := s.values(nodes)
	if ok {
		s.keep(nodes)
		s.count()
	}
	clear(s.results)
	return ok
}

// values computes the results of nodes, and reports whether it could.
func (s *small) values(nodes []*Node) bool {
	for _, n := range nodes {
		var m *storage
		if n.Device == s.d && !n.Computed() {
			m = smallStorage(n.DType.Size() * n.Layout.Shape.Len())
			if n.claim != nil || !s.value(n, m.data) {
				return false
			}
		}
		if s.results = append(s.results, m); n.Device == s.d && n.gone != 0 {
			return false
		}
	}
	return true
}

// keep gives nodes their results.
func (s *small) keep(nodes []*Node) {
	for i, m := range s.results {
		if n := nodes[i]; m != nil && n.mem.Load() == nil { // n may be there twice
			n.mem.Store(m)
			n.takePart()
			n.forget()
		}
	}
}

// count counts an Eval, if anything was computed.
func (s *small) count() {
	if s.left < smallOperations {
		s.d.stats.evals.Add(1)
	}
}

// small reports whether n may have few elements that can be had without a plan.
func (n *Node) small() bool {
	elements := n.Layout.Shape.Len()
	return (n.kind.elementwise() || n.mem.Load() != nil) && 0 < elements && elements <= smallElements
}

// value writes the elements of n, which is not computed, to z, and reports whether it could.
func (s *small) value(n *Node, z []byte) bool {
	if s.left--; s.left < 0 || n.gone != 0 {
		return false
	}
	in := n.in()
	var x [maxArgs][]byte
	for k := range in {
		if x[k] = s.operand(&in[k], n.kind != kindApply); x[k] == nil {
			return false
		}
	}
	switch last := in[len(in)-1].Node; n.kind {
	case kindApply:
		return s.d.applier.Apply(n.op(), last.DType, n.Layout.Shape.Len(), z, x[0], x[1], x[2])
	case kindCast:
		return s.d.applier.Convert(n.DType, last.DType, n.Layout.Shape.Len(), z, x[0])
	default: // kindCopy
		return copy(z, x[0]) == len(z)
	}
}

// operand returns the elements of e, one after the other, or unless all is asked for the one that they all are. It returns nil if
// it cannot. A variable is left to a plan, which knows when its memory may be written over, and so are quantised elements, which
// have no size of their own.
func (s *small) operand(e *Edge, all bool) []byte {
	n, l := e.Node, e.Layout
	if n.gone != 0 || n.kind == kindUpdate || n.DType.Quantized() {
		return nil
	}
	var src []byte
	if m := n.mem.Load(); m != nil {
		src = m.data
	} else if n.kind == kindData {
		src, _ = n.attr.([]byte)
	} else {
		src = s.computed(n)
	}
	if src == nil {
		return nil
	}
	size := n.DType.Size()
	at := l.Offset * size
	switch {
	case l == n.Layout || l.IsDense():
		return src[at : at+l.Shape.Len()*size]
	case !all && constant(*l, 0):
		return src[at : at+size]
	}
	z := s.take(l.Shape.Len() * size)
	pack(z, src, *l, size)
	return z
}

// computed returns the elements of n, which has no memory yet, or nil.
func (s *small) computed(n *Node) []byte {
	size := n.DType.Size()
	switch {
	case n.kind == kindConst:
		return appendBits(s.take(8)[:0], n.bits(), size)
	case n.small() && s.left > 0:
		if z := s.take(size * n.Layout.Shape.Len()); s.value(n, z) {
			return z
		}
	}
	return nil
}

// take returns memory for what lies between, whole lines, so that vectors do not straddle two. There is enough: of each operation
// for the result and its operands, and for a view that is read.
func (s *small) take(bytes int) []byte {
	z := s.room[s.used : s.used+bytes : s.used+bytes]
	s.used += (bytes + line - 1) &^ (line - 1)
	return z
}

// appendBits appends an element of the given size, as the machine has it in memory.
func appendBits(z []byte, bits uint64, size int) []byte {
	switch size {
	case 1:
		return append(z, byte(bits))
	case 2:
		return binary.NativeEndian.AppendUint16(z, uint16(bits))
	case 4:
		return binary.NativeEndian.AppendUint32(z, uint32(bits))
	default:
		return binary.NativeEndian.AppendUint64(z, bits)
	}
}
