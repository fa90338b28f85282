package cpu

import (
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// matMulCode is a compiled [backend.MatMul].
type matMulCode struct{ a, b, post *program }

func compileMatMul(k *backend.MatMul) (*matMulCode, error) {
	var c matMulCode
	for _, x := range []struct {
		to *(*program)
		e  *ops.Expr
	}{{&c.a, &k.A}, {&c.b, &k.B}, {&c.post, &k.Post}} {
		p, err := compile(x.e)
		if err != nil {
			return nil, err
		}
		*x.to = p
	}
	return &c, nil
}

func (j *job) runMatMul(k *backend.MatMul) error {
	code, err := cached(&j.programs, k, func() (*matMulCode, error) { return compileMatMul(k) })
	if err != nil {
		return err
	}
	switch k.Acc {
	case ops.Float32, ops.Float16, ops.BFloat16:
		return runProduct[float32, float64](j, k, code)
	case ops.Float64:
		return runProduct[float64, float64](j, k, code)
	case ops.Int64:
		return runProduct[int64, int64](j, k, code)
	case ops.Bool: // or of ands: counts that are not 0
		return runProduct[int32, int64](j, k, code)
	case ops.Uint8, ops.Int8, ops.Int32, ops.Uint32:
		return runProduct[int32, int32](j, k, code)
	default:
		return fmt.Errorf("sum of type %s: %w", k.Acc, backend.ErrDType)
	}
}

func runProduct[T, S term](j *job, k *backend.MatMul, code *matMulCode) error {
	na, nb := len(k.A.In), len(k.B.In)
	rank := len(j.step.Shape)
	if rank < 2 || na == 0 || nb == 0 || len(j.in) < na+nb || len(j.in[0].layout.Shape) != rank {
		return fmt.Errorf("%d inputs: %w", len(j.in), backend.ErrShape)
	}
	batch, terms := j.step.Shape[:rank-2], j.in[0].layout.Shape[rank-1]
	p := gemm[T, S]{batch: batch.Len(), m: j.step.Shape[rank-2], n: j.step.Shape[rank-1], k: terms, acc: k.Acc}
	left, right := j.in[:na], transposed(j.in[na:na+nb])
	if err := checkFactor(&k.A, k.Acc, left, append(batch.Clone(), p.m, p.k)); err != nil {
		return fmt.Errorf("left factor: %w", err)
	}
	if err := checkFactor(&k.B, k.Acc, right, append(batch.Clone(), p.n, p.k)); err != nil {
		return fmt.Errorf("right factor, transposed: %w", err)
	}
	var err error
	if p.post, err = bindPost(code.post, k.Acc, j.step.Shape, j.in[na+nb:], j.out, j.step.Consts); err != nil {
		return err
	}
	if rank > 2 && repeated(right) { // one matrix for all batches: their rows are rows of one product
		left, right = mergeBatch(left), firstBatch(right)
		p.m, p.batch = p.m*p.batch, 1
	}
	p.kern = productKernel[T](p.k)
	var a, b factorOf[T]
	if a, p.a, err = newFactor[T](code.a, left, p.batch, k.Acc, j.step.Consts); err != nil {
		return err
	}
	if b, p.b, err = newFactor[T](code.b, right, p.batch, k.Acc, j.step.Consts); err != nil {
		return err
	}
	p.factors = func(batch int) (factor[T], factor[T]) {
		return a(batch, (*worker).frameA), b(batch, (*worker).frameB)
	}
	return p.run(j)
}

func (w *worker) frameA() *frame { return w.a }
func (w *worker) frameB() *frame { return w.b }

// transposed returns the operands with their last two axes exchanged. Those of fewer are left for
// checkShapes to refuse.
func transposed(in []operand) []operand {
	out := make([]operand, len(in))
	for i, o := range in {
		out[i] = o
		l := &out[i].layout
		n := len(l.Shape)
		if n < 2 {
			continue
		}
		shape, strides := l.Shape.Clone(), append([]int(nil), l.Strides...)
		shape[n-1], shape[n-2] = shape[n-2], shape[n-1]
		strides[n-1], strides[n-2] = strides[n-2], strides[n-1]
		*l = backend.Layout{Shape: shape, Strides: strides, Offset: l.Offset}
	}
	return out
}

// checkFactor checks that e gives a factor of type d from the operands, which are of shape want.
func checkFactor(e *ops.Expr, d ops.DType, in []operand, want backend.Shape) error {
	if len(e.Out) != 1 || e.Code[e.Out[0]].DType != d {
		return fmt.Errorf("program without one result of type %s: %w", d, backend.ErrDType)
	}
	for i := range in {
		if s := in[i].layout.Shape; !s.Equal(want) {
			return fmt.Errorf("shape %v, want %v: %w", s, want, backend.ErrShape)
		}
	}
	return nil
}

// repeated reports whether all batches of the operands are the same matrices.
func repeated(in []operand) bool {
	for i := range in {
		l := &in[i].layout
		for a := range len(l.Shape) - 2 {
			if l.Strides[a] != 0 && l.Shape[a] != 1 {
				return false
			}
		}
	}
	return true
}
