package backendtest

import (
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

func (s *step) runMatMul(k *backend.MatMul) error {
	a, b := len(k.A.In), len(k.B.In)
	if len(k.Post.In) == 0 || len(k.A.Out) != 1 || len(k.B.Out) != 1 || len(s.Shape) < 2 {
		return fmt.Errorf("matmul of malformed programs over %v: %w", s.Shape, backend.ErrShape)
	}
	if err := s.counts(a+b+len(k.Post.In)-1, &k.Post); err != nil {
		return err
	}
	shapeA, shapeB, err := s.matMulShapes(a, b)
	if err != nil {
		return err
	}
	for i := range a + b {
		e, n, shape := &k.A, i, shapeA
		if i >= a {
			e, n, shape = &k.B, i-a, shapeB
		}
		if err := s.input(i, e, n, s.In[i].Layout, shape); err != nil {
			return err
		}
	}
	if err := s.post(&k.Post, a+b, k.Acc); err != nil {
		return err
	}
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
	return s.finish(&k.Post, a+b, sums)
}

// matMulShapes returns the shapes of A and B: the domain is [batch… M N], A [batch… M K], B [batch… K N].
func (s *step) matMulShapes(a, b int) (shapeA, shapeB backend.Shape, err error) {
	rank := len(s.Shape)
	for i := range a + b {
		if len(s.In[i].Layout.Shape) != rank {
			return nil, nil, fmt.Errorf("matmul over %v of %v: %w", s.Shape, s.In[i].Layout.Shape, backend.ErrShape)
		}
	}
	if a == 0 || b == 0 {
		return nil, nil, fmt.Errorf("matmul of no operands: %w", backend.ErrShape)
	}
	k := s.In[0].Layout.Shape[rank-1]
	shapeA, shapeB = s.Shape.Clone(), s.Shape.Clone()
	shapeA[rank-1], shapeB[rank-2] = k, k
	return shapeA, shapeB, nil
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
	if len(k.Post.In) == 0 || len(s.In) < 2 {
		return fmt.Errorf("gather of %d inputs: %w", len(s.In), backend.ErrShape)
	}
	if err := s.counts(1+len(k.Post.In), &k.Post); err != nil {
		return err
	}
	src, idx := s.In[0], s.In[1]
	rank := len(s.Shape)
	if len(src.Layout.Shape) != rank+1 || !idx.DType.IsInt() {
		return fmt.Errorf("gather over %v from %v by %s: %w", s.Shape, src.Layout.Shape, idx.DType, backend.ErrShape)
	}
	shape := append(s.Shape.Clone(), src.Layout.Shape[rank])
	if err := s.inside("source", src.DType, k.Post.In[0], src.Layout, shape, s.mem[0]); err != nil {
		return err
	}
	if err := s.inside("index", idx.DType, idx.DType, idx.Layout, s.Shape, s.mem[1]); err != nil {
		return err
	}
	if err := s.post(&k.Post, 2, src.DType); err != nil {
		return err
	}
	starts := positions(backend.Layout{Shape: s.Shape, Strides: src.Layout.Strides[:rank], Offset: src.Layout.Offset})
	at := make([]int, 0, len(starts))
	n := int64(shape[rank])
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
