package cpu

import (
	"context"
	"fmt"
	"sync"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A job is one step while it runs. Its slices are used again by later jobs.
type job struct {
	*Backend
	ctx      context.Context
	step     *backend.Step
	in, out  []operand // of Step.In and Step.Out: parts of operands
	operands []operand
	held     []*buffer // what the operands are in, kept from reuse

	all     []backend.Layout // layouts of the operands
	sources []source         // for a Map
	binding binding
}

var jobs = sync.Pool{New: func() any { return new(job) }}

// An operand is a tensor in memory, checked: every position its layout gives is inside mem. Mem is nil, not
// just empty, for the operand of an index instruction.
type operand struct {
	mem    []byte
	dtype  ops.DType
	layout backend.Layout
}

// Run implements [backend.Backend]. The steps are done when it returns.
func (b *Backend) Run(ctx context.Context, steps []backend.Step) error {
	for i := range steps {
		if b.closed.Load() {
			return errClosed("run")
		}
		s := &steps[i]
		if s.Kernel == nil {
			return &backend.StepError{Step: i, Err: fmt.Errorf("cpu: step %d of %d has no kernel: %w", i, len(steps), backend.ErrUnsupported)}
		}
		if err := b.runStep(ctx, s); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return &backend.StepError{Step: i, Err: fmt.Errorf("cpu: %s %v: %w", s.Kernel.Family(), s.Shape, err)}
		}
		b.kernels.Add(1)
	}
	return nil
}

func (b *Backend) runStep(ctx context.Context, s *backend.Step) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := jobs.Get().(*job)
	j.Backend, j.ctx, j.step = b, ctx, s
	defer func() {
		if r := recover(); r != nil {
			err = panicError(r)
		}
		j.free()
	}()
	if err := s.CheckQuantized(); err != nil {
		return err
	}
	j.operands = resize(j.operands, len(s.In)+len(s.Out))
	j.in, j.out = j.operands[:len(s.In):len(s.In)], j.operands[len(s.In):]
	for i := range s.In {
		if err := j.hold(&j.in[i], &s.In[i]); err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
	}
	for i := range s.Out {
		if err := j.hold(&j.out[i], &s.Out[i]); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	return j.dispatch()
}

// free lets go of the operands, and keeps the job for another step.
func (j *job) free() {
	for _, c := range j.held {
		c.drop()
	}
	clear(j.held)
	clear(j.operands)
	clear(j.sources)
	clear(j.all)
	*j = job{operands: j.operands, held: j.held[:0], all: j.all, sources: j.sources}
	jobs.Put(j)
}

func (j *job) dispatch() error {
	switch k := j.step.Kernel.(type) {
	case *backend.Map:
		return j.runMap(k)
	case *backend.Reduce:
		return j.runReduce(k)
	case *backend.Row:
		return j.runRow(k)
	case *backend.Scan:
		return j.runScan(k)
	case *backend.MatMul:
		return j.runMatMul(k)
	case *backend.Conv:
		return j.runConv(k)
	case *backend.Pool:
		return j.runPool(k)
	case *backend.Gather:
		return j.runGather(k)
	case *backend.Scatter:
		return j.runScatter(k)
	case *backend.Sort:
		return j.runSort(k)
	case *backend.Attention:
		return j.runAttention(k)
	}
	return fmt.Errorf("unknown kernel: %w", backend.ErrUnsupported)
}

// hold checks o and keeps its memory until the end of the step.
func (j *job) hold(to *operand, o *backend.Operand) error {
	*to = operand{dtype: o.DType, layout: o.Layout}
	switch {
	case !o.DType.Valid() && !o.DType.Quantized():
		return fmt.Errorf("element type %s: %w", o.DType, backend.ErrDType)
	case len(o.Layout.Strides) != len(o.Layout.Shape):
		return fmt.Errorf("%d strides for shape %v: %w", len(o.Layout.Strides), o.Layout.Shape, backend.ErrShape)
	case o.Buf == nil:
		return o.Layout.Shape.Check()
	}
	c, err := j.buffer(o.Buf)
	if err != nil {
		return err
	}
	if err := o.Layout.Shape.Check(); err != nil {
		return err
	}
	if lo, hi := o.Layout.Bounds(); lo < 0 || o.DType.Bytes(hi+1) > c.size {
		return fmt.Errorf("elements %d to %d of a buffer of %d bytes of %s: %w", lo, hi, c.size, o.DType, backend.ErrDevice)
	}
	if err := c.retain(); err != nil {
		return err
	}
	j.held = append(j.held, c)
	if to.mem = c.data; to.mem == nil {
		to.mem = []byte{}
	}
	return nil
}

// elementwise checks that the operands suit the program e: their number, types and the shape of the
// domain.
func (j *job) elementwise(e *ops.Expr) error {
	if len(j.in) != len(e.In) || len(j.out) != len(e.Out) {
		return fmt.Errorf("%d inputs and %d outputs for a program of %d and %d: %w",
			len(j.in), len(j.out), len(e.In), len(e.Out), backend.ErrShape)
	}
	for i := range j.in {
		if err := j.suits(&j.in[i], e.In[i]); err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
	}
	for i := range j.out {
		if err := j.suits(&j.out[i], e.Code[e.Out[i]].DType); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	return nil
}

func (j *job) suits(o *operand, d ops.DType) error {
	if o.dtype != d {
		return fmt.Errorf("%s, want %s: %w", o.dtype, d, backend.ErrDType)
	}
	if !o.layout.Shape.Equal(j.step.Shape) {
		return fmt.Errorf("shape %v, want %v: %w", o.layout.Shape, j.step.Shape, backend.ErrShape)
	}
	return nil
}

// parallel is [Backend.parallel] under the job's context.
func (j *job) parallel(n, grain int, f func(lo, hi int)) error {
	return j.Backend.parallel(j.ctx, n, grain, f)
}
