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
func (b *Backend) Apply(op *ops.Op, d ops.DType, n int, z []byte, in [3][]byte) bool {
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
	var at [3]unsafe.Pointer
	lone := 0
	for k := range op.Arity {
		size := d.Size()
		if op.Rule.Cond && k == 0 {
			size = 1
		}
		switch at[k] = unsafe.Pointer(unsafe.SliceData(in[k])); len(in[k]) {
		case n * size:
		case size:
			lone |= 1 << k
		default:
			return false
		}
	}
	run := f.v
	if lone > 0 {
		if lone == 1<<op.Arity-1 || f.lone[lone] == nil {
			return false
		}
		run = f.lone[lone]
	}
	run(unsafe.Pointer(unsafe.SliceData(z)), at[0], at[1], at[2], n)
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
