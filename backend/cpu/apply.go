package cpu

import (
	"sync/atomic"
	"unsafe"

	"github.com/weft-go/weft/ops"
)

// The block functions of single operations, by number of the operation and type, and of conversions, by the types to and from:
// the tables they are from are too slow to look at each time.
var (
	singly      = make([][ops.Float64 + 1]atomic.Pointer[blocks], len(ops.All()))
	conversions [ops.Float64 + 1][ops.Float64 + 1]atomic.Pointer[block]
)

// Apply implements [backend.Applier].
func (b *Backend) Apply(op *ops.Op, d ops.DType, n int, z, x, y, w []byte) bool {
	if d.IsHalf() || b.closed.Load() {
		return false // the registers of half-precision numbers have another form
	}
	entry := &singly[op.ID()][d]
	f := entry.Load()
	if f == nil {
		fs := lookup(op, d)
		f = &fs
		entry.Store(f)
	}
	size := d.Size()
	lone := single(x, n, size)
	if op.Rule.Cond {
		lone = single(x, n, 1)
	}
	if op.Arity > 1 {
		lone |= single(y, n, size) << 1
	}
	if op.Arity > 2 {
		lone |= single(w, n, size) << 2
	}
	run := f.v
	if lone != 0 {
		if lone < 0 || lone == 1<<op.Arity-1 || f.lone[lone] == nil {
			return false
		}
		run = f.lone[lone]
	}
	run(first(z), first(x), first(y), first(w), n)
	return true
}

// Convert implements [backend.Applier].
func (b *Backend) Convert(to, from ops.DType, n int, z, x []byte) bool {
	if to.IsHalf() || from.IsHalf() || from.Quantized() || b.closed.Load() || len(x) != n*from.Size() {
		return false
	}
	entry := &conversions[to][from]
	f := entry.Load()
	if f == nil {
		g := castBlock(to, from)
		f = &g
		entry.Store(f)
	}
	(*f)(unsafe.Pointer(unsafe.SliceData(z)), unsafe.Pointer(unsafe.SliceData(x)), nil, nil, n)
	return true
}

// single returns 0 if b is n elements of the given size, 1 if it is one, and else -1.
func single(b []byte, n, size int) int {
	switch len(b) {
	case n * size:
		return 0
	case size:
		return 1
	}
	return -1
}

// first returns the address of the first byte, nil if there is none.
func first(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }
