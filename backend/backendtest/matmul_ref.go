package backendtest

import (
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

func (s *step) runMatMul(k *backend.MatMul) error {
	a := len(k.A.In)
	shapeA, shapeB := s.In[0].Layout.Shape, s.In[a].Layout.Shape
	left, err := s.elementwise(&k.A, 0, nil, shapeA)
	if err != nil {
		return err
	}
	right, err := s.elementwise(&k.B, a, nil, shapeB)
	if err != nil {
		return err
	}
	sums, err := s.products(left[0], right[0], shapeA[len(shapeA)-1], k.Acc)
	if err != nil {
		return err
	}
	return s.finish(&k.Post, a+len(k.B.In), sums)
}

// products returns the sums of products, for each element of the domain.
func (s *step) products(a, b []ops.Value, depth int, acc ops.DType) ([]ops.Value, error) {
	rank := len(s.Shape)
	m, n := s.Shape[rank-2], s.Shape[rank-1]
	sums := make([]ops.Value, 0, s.Shape.Len())
	for batch := range s.Shape[:rank-2].Len() {
		for i := range m {
			if err := s.ctx.Err(); err != nil {
				return nil, err
			}
			for j := range n {
				d := dot{d: acc}
				for l := range depth {
					d.add(a[(batch*m+i)*depth+l], b[(batch*depth+l)*n+j])
				}
				sums = append(sums, d.value())
			}
		}
	}
	return sums, nil
}

// A dot is a sum of products of type d.
type dot struct {
	d ops.DType
	i int64
	f double
}

func (s *dot) add(x, y ops.Value) {
	s.i += x.I * y.I
	s.f.addProduct(x.F, y.F)
}

func (s *dot) value() ops.Value {
	if s.d.IsFloat() {
		return ops.FloatValue(s.d, s.f.value())
	}
	return ops.IntValue(s.d, s.i)
}

func (s *step) runGather(k *backend.Gather) error {
	src, idx := s.In[0], s.In[1]
	rank := len(s.Shape)
	starts := positions(backend.Layout{Shape: s.Shape, Strides: src.Layout.Strides[:rank], Offset: src.Layout.Offset})
	at := make([]int, 0, len(starts))
	n := int64(src.Layout.Shape[rank])
	for i, v := range s.values(1, positions(idx.Layout)) {
		x := v.I
		if x < 0 {
			x += n
		}
		if x < 0 || x >= n {
			return fmt.Errorf("gather: index %d of an axis of extent %d: %w", v.I, n, backend.ErrIndex)
		}
		at = append(at, starts[i]+int(x)*src.Layout.Strides[rank])
	}
	return s.finish(&k.Post, 2, s.values(0, at))
}
