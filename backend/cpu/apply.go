package cpu

import (
	"sync/atomic"
	"unsafe"

	"github.com/weft-go/weft/ops"
)

// singly are the block functions by number of the operation and by type: the table is too slow for single operations.
var singly = make([][ops.Float64 + 1]atomic.Pointer[blocks], len(ops.All()))

// Apply implements [backend.Applier].
func (b *Backend) Apply(op *ops.Op, d ops.DType, n int, z []byte, in *[3][]byte) bool {
	if d.IsHalf() || b.closed.Load() {
		return false
	}
	f := singly[op.ID()][d].Load()
	if f == nil {
		fs := lookup(op, d)
		f = &fs
		singly[op.ID()][d].Store(f)
	}
	var at [3]unsafe.Pointer
	lone := 0
	for k := range op.Arity {
		at[k] = unsafe.Pointer(unsafe.SliceData(in[k]))
		size := d.Size()
		if op.Rule.Cond && k == 0 {
			size = 1
		}
		if len(in[k]) == size && n > 1 {
			lone |= 1 << k
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
