package cpu

import (
	"unsafe"

	"github.com/weft-go/weft/ops"
)

// A block computes one operation for n elements: z from as many of x, y and w as the operation has
// operands. The elements are in registers (see [regSize]) or in memory of the same form. z may be one of the
// operands, but does not otherwise overlap them. It is the seam for assembly.
type block func(z, x, y, w unsafe.Pointer, n int)

// blocks are the block functions of an operation on one element type. In lone[m] the operands whose bits
// are set in m are single elements. A nil one is not there; v always is.
type blocks struct {
	v    block
	lone [7]block
}

const (
	loneX = 1 << iota
	loneY
	loneW
)

// A rowKey names the block functions of an operation for operands of one type.
type rowKey struct {
	op    string
	dtype ops.DType
}

// lookup returns the block functions of o for operands of type d: those of the table, or for a row that
// has none there, its definition.
func lookup(o *ops.Op, d ops.DType) blocks {
	if b, ok := table[rowKey{o.Name, d}]; ok {
		return b
	}
	return blocks{v: defined(o, d)}
}

// table holds the block functions written for an operation and type.
var table = map[rowKey]blocks{}
