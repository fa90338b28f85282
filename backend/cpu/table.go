package cpu

import (
	"unsafe"

	"github.com/weft-go/weft/backend/cpu/internal/asm"
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

// Bits of the operands in the index of blocks.lone.
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
var table = newTable(instructions)

// newTable returns the block functions in Go, those for which s has assembly being replaced by that.
func newTable(s asm.Set) map[rowKey]blocks {
	t := tableOf{}
	for _, d := range []ops.DType{ops.Bool, ops.Uint8} {
		addAny[uint8](t, d)
	}
	addBool(t)
	addInts[uint8](t, ops.Uint8)
	addInts[int8](t, ops.Int8)
	addInts[int32](t, ops.Int32)
	addInts[uint32](t, ops.Uint32)
	addInts[int64](t, ops.Int64)
	addAny[int8](t, ops.Int8)
	addAny[int32](t, ops.Int32)
	addAny[uint32](t, ops.Uint32)
	addAny[int64](t, ops.Int64)
	addRandom(t)
	addAny[float32](t, ops.Float32)
	addAny[float64](t, ops.Float64)
	addFloats[float32](t, ops.Float32)
	addFloats[float64](t, ops.Float64)
	t.set(ops.Float32, "abs", masked[uint32](1<<31-1))
	t.set(ops.Float64, "abs", masked[uint64](1<<63-1))
	addFunctions(t)
	addAssembly(t, s)
	addHalves(t)
	return t
}

type tableOf map[rowKey]blocks

func (t tableOf) set(d ops.DType, op string, b blocks) { t[rowKey{op, d}] = b }

// addAny adds the operations that every type has.
func addAny[T number](t tableOf, d ops.DType) {
	t.set(d, "maximum", commutative(maximumV[T], maximumS[T]))
	t.set(d, "minimum", commutative(minimumV[T], minimumS[T]))
	t.set(d, "equal", commutative(equalV[T], equalS[T]))
	t.set(d, "not_equal", commutative(notEqualV[T], notEqualS[T]))
	t.set(d, "less", binary(lessV[T], lessS[T], greaterS[T]))
	t.set(d, "less_equal", binary(lessEqualV[T], lessEqualS[T], greaterEqualS[T]))
	t.set(d, "greater", binary(greaterV[T], greaterS[T], lessS[T]))
	t.set(d, "greater_equal", binary(greaterEqualV[T], greaterEqualS[T], lessEqualS[T]))
	switch d.Size() {
	case 1:
		t.set(d, "where", selection[uint8]())
	case 4:
		t.set(d, "where", selection[uint32]())
	case 8:
		t.set(d, "where", selection[uint64]())
	}
}

// addBool adds the operations of Bool, whose elements are 0 and 1.
func addBool(t tableOf) {
	d := ops.Bool
	or := commutative(orV[uint8], orS[uint8])
	and := commutative(andV[uint8], andS[uint8])
	xor := commutative(xorV[uint8], xorS[uint8])
	for _, name := range []string{"add", "logical_or", "bitwise_or"} {
		t.set(d, name, or)
	}
	for _, name := range []string{"mul", "logical_and", "bitwise_and"} {
		t.set(d, name, and)
	}
	for _, name := range []string{"logical_xor", "bitwise_xor"} {
		t.set(d, name, xor)
	}
	t.set(d, "logical_not", unary(func(z, x []uint8) {
		for i, v := range x {
			z[i] = v ^ 1
		}
	}))
}

// addNumbers adds the arithmetic of a type that wraps or rounds as Go's does.
func addNumbers[T number](t tableOf, d ops.DType) {
	t.set(d, "add", commutative(addV[T], addS[T]))
	t.set(d, "sub", binary(subV[T], subS[T], subR[T]))
	t.set(d, "mul", commutative(mulV[T], mulS[T]))
	t.set(d, "square", unary(square[T]))
	t.set(d, "neg", unary(neg[T]))
	t.set(d, "relu", unary(relu[T]))
}

// addInts adds the operations of integers.
func addInts[T integer](t tableOf, d ops.DType) {
	addNumbers[T](t, d)
	t.set(d, "bitwise_or", commutative(orV[T], orS[T]))
	t.set(d, "bitwise_and", commutative(andV[T], andS[T]))
	t.set(d, "bitwise_xor", commutative(xorV[T], xorS[T]))
}

// addHalves adds to the half-precision types what Float32 has: their registers are of that type, and an
// operation that is exact, or close, in float32 is so in half precision when it is rounded once more.
// FMA and Lerp are not there, as their sums would be rounded twice to different effect.
func addHalves(t tableOf) {
	for _, d := range []ops.DType{ops.Float16, ops.BFloat16} {
		for k, b := range t {
			if k.dtype != ops.Float32 {
				continue
			}
			if o := ops.ByName(k.op); o != nil && !o.Rule.ToBool && o.Name != "where" {
				b = rounded(b, d)
			}
			t.set(d, k.op, b)
		}
	}
}

// rounded returns b with its results rounded to type d.
func rounded(b blocks, d ops.DType) blocks {
	round := func(f block) block {
		if f == nil {
			return nil
		}
		return func(z, x, y, w unsafe.Pointer, n int) {
			f(z, x, y, w, n)
			roundHalf(d, z, n)
		}
	}
	r := blocks{v: round(b.v)}
	for i, f := range b.lone {
		r.lone[i] = round(f)
	}
	return r
}
