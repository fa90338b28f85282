package tensor

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// FromMatrix returns a gonum matrix as a Float64 tensor of two axes. The elements are copied.
func FromMatrix(m mat.Matrix) *Tensor {
	if m == nil {
		return fail("from_matrix", errNil, "matrix is nil")
	}
	r, c := m.Dims()
	data := make([]float64, 0, r*c)
	if raw, ok := m.(mat.RawMatrixer); ok {
		rows := raw.RawMatrix()
		for i := range r {
			data = append(data, rows.Data[i*rows.Stride:i*rows.Stride+c]...)
		}
		return Wrap(data, r, c)
	}
	for i := range r {
		for j := range c {
			data = append(data, m.At(i, j))
		}
	}
	return Wrap(data, r, c)
}

// Matrix returns the elements of t, which has two axes, as a gonum matrix of its own. Elements of any
// type are converted to float64. The error is of kind [ErrShape] if t is no matrix or has no elements,
// which gonum does not know, or one of those of [Data].
func (t *Tensor) Matrix(ctx context.Context) (*mat.Dense, error) {
	t, ok := t.ready("matrix")
	if !ok {
		return nil, t.Err()
	}
	if t.Rank() != 2 || t.Len() == 0 {
		return nil, fail("matrix", ErrShape, fmt.Sprintf("needs two axes and an element, has shape %v", t.layout.Shape), t).Err()
	}
	data, err := Data[float64](ctx, t.Cast(Float64))
	if err != nil {
		return nil, err
	}
	return mat.NewDense(t.Dim(0), t.Dim(1), data), nil
}
