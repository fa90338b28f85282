package tensor

import (
	"fmt"

	"github.com/weft-go/weft/internal/graph"
	"github.com/weft-go/weft/ops"
)

// A ScanMode changes what a scan such as [Tensor.CumSum] combines for each element.
type ScanMode uint8

// The modes of scans; one may give both.
const (
	Exclusive ScanMode = 1 << iota // the elements before this one, without it; the first result is the identity
	Reverse                        // the elements from this one on to the end of the axis
)

// CumSum returns the sums of the elements up to and with each along axis. Integers and Bool are summed
// as Int64, wrapping; cast the result for a smaller type. The error is of kind [ErrAxis].
func (t *Tensor) CumSum(axis int, modes ...ScanMode) *Tensor {
	return t.scan("cumsum", ops.ReduceSum, axis, modes)
}

// CumProd returns the products of the elements up to and with each along axis. Types are as in
// [Tensor.CumSum].
func (t *Tensor) CumProd(axis int, modes ...ScanMode) *Tensor {
	return t.scan("cumprod", ops.ReduceProd, axis, modes)
}

// CumMax returns the greatest of the elements up to and with each along axis; NaN from the first NaN on.
// Its identity is -∞, or the least integer. Of zeros of both signs it may be either.
func (t *Tensor) CumMax(axis int, modes ...ScanMode) *Tensor {
	return t.scan("cummax", ops.ReduceMax, axis, modes)
}

// CumMin returns the least of the elements up to and with each along axis; NaN from the first NaN on.
// Its identity is +∞, or the greatest integer. Of zeros of both signs it may be either.
func (t *Tensor) CumMin(axis int, modes ...ScanMode) *Tensor {
	return t.scan("cummin", ops.ReduceMin, axis, modes)
}

// LogCumSumExp returns log Σ exp of the elements up to and with each along axis, without overflow.
// Integers and Bool are converted to Float32. Its identity is -∞.
func (t *Tensor) LogCumSumExp(axis int, modes ...ScanMode) *Tensor {
	return t.scan("logcumsumexp", ops.ReduceLogAddExp, axis, modes)
}

func (t *Tensor) scan(name string, op ops.ReduceOp, axis int, modes []ScanMode) *Tensor {
	t, ok := t.ready(name)
	if !ok {
		return t
	}
	a, err := t.layout.Shape.Axis(axis)
	if err != nil {
		return failWith(name, err, t)
	}
	var mode ScanMode
	for _, m := range modes {
		mode |= m
	}
	if mode&^(Exclusive|Reverse) != 0 {
		return fail(name, ErrUnsupported, fmt.Sprintf("mode %d is neither Exclusive nor Reverse", mode), t)
	}
	t = t.Cast(combined(op, t.node.DType))
	return whole(t.dev, graph.Scan(op, t.edge(), a, mode&Exclusive != 0, mode&Reverse != 0))
}
