package tensor

import (
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/internal/graph"
	"github.com/weft-go/weft/ops"
)

// MatMul returns the matrix product t·y by NumPy's rules. Of operands [… M K] and [… K N] it is [… M N],
// the leading axes being broadcast as batches. An operand of one axis is a row vector on the left and a
// column vector on the right, and its axis of extent 1 does not show in the result. With K = 0 the
// result is zeros. NaN and infinities propagate.
//
// The element type is NumPy's promotion of both. Floats of 16 bits are summed in Float32 or better,
// integers wrap; of Bool the result is Bool, the logical or of ands. The error is of kind [ErrShape],
// also for an operand without axes.
func (t *Tensor) MatMul(y *Tensor) *Tensor {
	in := [2]*Tensor{t, y}
	if bad := readyAll("matmul", in[:]); bad != nil {
		return bad
	}
	a, b := in[0], in[1]
	if a.Rank() == 0 || b.Rank() == 0 {
		return fail("matmul", ErrShape, "operand without axes; Mul multiplies by a number", a, b)
	}
	inner := max(b.Rank()-2, 0) // the axis of b that is summed over
	if k, l := a.Dim(-1), b.Dim(inner); k != l {
		return fail("matmul", ErrShape, fmt.Sprintf("inner dimensions %d and %d differ", k, l), a, b)
	}
	d := ops.Promote(a.node.DType, b.node.DType)
	if d == Bool {
		return a.Cast(Int32).MatMul(b.Cast(Int32)).Cast(Bool)
	}
	row, column := a.Rank() == 1, b.Rank() == 1
	a, b = a.Cast(d), b.Cast(d)
	if row {
		a = a.Unsqueeze(0)
	}
	if column {
		b = b.Unsqueeze(1)
	}
	z := multiply(a, b)
	switch {
	case z.Err() != nil:
	case row && column:
		z = z.Reshape()
	case row:
		z = z.Squeeze(-2)
	case column:
		z = z.Squeeze(-1)
	}
	return z
}

// multiply records the product of batches of matrices of one element type whose inner dimensions agree.
func multiply(a, b *Tensor) *Tensor {
	as, bs := a.layout.Shape, b.layout.Shape
	an, bn := len(as)-2, len(bs)-2
	if an > 0 || bn > 0 {
		batch, err := backend.Broadcast(as[:an], bs[:bn])
		if err != nil {
			return fail("matmul", ErrShape, fmt.Sprintf("batches %v and %v do not broadcast", as[:an], bs[:bn]), a, b)
		}
		n := len(batch)
		a, b = a.BroadcastTo(append(batch[:n:n], as[an:]...)...), b.BroadcastTo(append(batch[:n:n], bs[bn:]...)...)
		if a.Err() != nil {
			return a
		}
		if b.Err() != nil {
			return b
		}
	}
	if err := append(a.layout.Shape[:a.Rank()-1].Clone(), b.Dim(-1)).Check(); err != nil {
		return failWith("matmul", err, a, b)
	}
	return whole(a.dev, graph.MatMul(a.edge(), b.edge()))
}

// Outer returns the products of each element of t with each of y, both of one axis: [M] and [N] give [M
// N].
func (t *Tensor) Outer(y *Tensor) *Tensor {
	if t.Err() == nil && y.Err() == nil && (t.Rank() != 1 || y.Rank() != 1) {
		return fail("outer", ErrShape, "operands need one axis each", t, y)
	}
	return named("outer", t.Unsqueeze(-1).Mul(y), t, y)
}
