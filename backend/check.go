package backend

import (
	"fmt"
	"math"

	"github.com/weft-go/weft/ops"
)

// Check reports whether the step makes sense: operands of the number, types and shapes its kernel takes, every position
// inside its buffer, a constant for every slot. The graph builds only such steps; a backend whose kernels would run wild
// on others calls it first. It knows nothing of what a backend supports.
func (s *Step) Check() error {
	if s.Kernel == nil {
		return fmt.Errorf("step without a kernel: %w", ErrUnsupported)
	}
	if err := s.Shape.Check(); err != nil {
		return err
	}
	if err := each("input", s.In, s.checkOperand); err != nil {
		return err
	}
	if err := each("output", s.Out, s.checkOperand); err != nil {
		return err
	}
	for _, e := range s.Kernel.Bodies() {
		if err := s.checkConsts(e); err != nil {
			return err
		}
	}
	return s.checkKernel()
}

// each calls check for every operand, and says which one an error is about.
func each(what string, list []Operand, check func(*Operand) error) error {
	for i := range list {
		if err := check(&list[i]); err != nil {
			return fmt.Errorf("%s %d: %w", what, i, err)
		}
	}
	return nil
}

// checkOperand checks an operand by itself.
func (s *Step) checkOperand(o *Operand) error {
	switch {
	case !o.DType.Valid() && !o.DType.Quantized():
		return fmt.Errorf("element type %s: %w", o.DType, ErrDType)
	case len(o.Layout.Strides) != len(o.Layout.Shape):
		return fmt.Errorf("%d strides for shape %v: %w", len(o.Layout.Strides), o.Layout.Shape, ErrShape)
	}
	if err := o.Layout.Shape.Check(); err != nil || o.Buf == nil {
		return err
	}
	if lo, hi := o.Layout.Bounds(); lo < 0 || o.DType.Bytes(hi+1) > o.Buf.Size() {
		return fmt.Errorf("elements %d to %d of a buffer of %d bytes of %s: %w", lo, hi, o.Buf.Size(), o.DType, ErrDevice)
	}
	return nil
}

func (s *Step) checkConsts(e *ops.Expr) error {
	for i := range e.Code {
		if in := &e.Code[i]; in.Kind == ops.Const && (in.Args[0] < 0 || int(in.Args[0]) >= len(s.Consts)) {
			return fmt.Errorf("constant %d of %d: %w", in.Args[0], len(s.Consts), ErrShape)
		}
	}
	return nil
}

// CheckQuantized reports operands of quantised types where they have no place: only programs load them, and none stores them.
func (s *Step) CheckQuantized() error {
	direct := 0 // inputs that are not loaded by a program
	switch s.Kernel.(type) {
	case *Conv, *Gather:
		direct = 2
	case *Pool, *Sort:
		direct = 1
	case *Scatter:
		direct = 3
	case *Attention:
		direct = len(s.In)
	}
	for i := range s.In[:min(direct, len(s.In))] {
		if d := s.In[i].DType; d.Quantized() {
			return fmt.Errorf("input %d of a %s is %s: %w", i, s.Kernel.Family(), d, ErrDType)
		}
	}
	for i := range s.Out {
		if d := s.Out[i].DType; d.Quantized() {
			return fmt.Errorf("output %d is %s: %w", i, d, ErrDType)
		}
	}
	return nil
}

func (s *Step) checkKernel() error {
	if err := s.CheckQuantized(); err != nil {
		return err
	}
	rank := len(s.Shape)
	switch k := s.Kernel.(type) {
	case *Map:
		return s.checkBody(&k.Body, 0)
	case *Scan:
		if rank == 0 {
			return fmt.Errorf("scan without an axis: %w", ErrAxis)
		}
		return s.checkBody(&k.Body, 0)
	case *Reduce:
		return s.checkRows(&k.Body, k.Axes)
	case *Row:
		return s.checkRows(&k.Body, k.Axes)
	case *MatMul:
		return s.checkMatMul(k)
	case *Conv:
		return s.checkWindow(&k.Post, 2, len(k.Stride))
	case *Pool:
		return s.checkWindow(&k.Post, 1, len(k.Window))
	case *Gather:
		return s.checkGather(k)
	case *Scatter:
		return s.checkScatter(k)
	case *Sort:
		return s.checkSort(k)
	case *Attention:
		return s.checkAttention(k)
	}
	return fmt.Errorf("kernel of unknown family %s: %w", s.Kernel.Family(), ErrUnsupported)
}

func (s *Step) checkRows(e *ops.Expr, axes int) error {
	if axes < 0 || axes > len(s.Shape) {
		return fmt.Errorf("rows of %d axes of %d: %w", axes, len(s.Shape), ErrAxis)
	}
	return s.checkBody(e, 0)
}

// checkBody checks the inputs from number first on, and the outputs, against an elementwise or reducing program whose
// operand 0 is input first.
func (s *Step) checkBody(e *ops.Expr, first int) error {
	if len(s.In) != first+len(e.In) {
		return fmt.Errorf("%d inputs, want %d: %w", len(s.In), first+len(e.In), ErrShape)
	}
	for i := range e.In {
		if err := s.suits(&s.In[first+i], e.In[i], s.Shape); err != nil {
			return fmt.Errorf("input %d: %w", first+i, err)
		}
	}
	for i := range e.Code {
		if in := &e.Code[i]; in.Kind == ops.Load && s.In[first+int(in.Args[0])].Buf == nil {
			return fmt.Errorf("input %d: no memory: %w", first+int(in.Args[0]), ErrDevice)
		}
	}
	return s.checkOut(e)
}

func (s *Step) checkOut(e *ops.Expr) error {
	if len(s.Out) != len(e.Out) {
		return fmt.Errorf("%d outputs, want %d: %w", len(s.Out), len(e.Out), ErrShape)
	}
	for i, r := range e.Out {
		if s.Out[i].Buf == nil {
			return fmt.Errorf("output %d: no memory: %w", i, ErrDevice)
		}
		if err := s.suits(&s.Out[i], e.Code[r].DType, s.Shape); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	return nil
}

func (s *Step) suits(o *Operand, d ops.DType, shape Shape) error {
	if o.DType != d {
		return fmt.Errorf("%s, want %s: %w", o.DType, d, ErrDType)
	}
	if !o.Layout.Shape.Equal(shape) {
		return fmt.Errorf("shape %v, want %v: %w", o.Layout.Shape, shape, ErrShape)
	}
	return nil
}

// checkPost checks an epilogue, whose operand 0 the kernel itself gives and whose others are the inputs from number first
// on.
func (s *Step) checkPost(e *ops.Expr, first int) error {
	if len(e.In) == 0 || len(s.In) != first+len(e.In)-1 {
		return fmt.Errorf("%d inputs, want %d: %w", len(s.In), first+len(e.In)-1, ErrShape)
	}
	for i := range e.In[1:] {
		if err := s.suits(&s.In[first+i], e.In[1+i], s.Shape); err != nil {
			return fmt.Errorf("input %d: %w", first+i, err)
		}
	}
	for i := range e.Code {
		in := &e.Code[i]
		if in.Kind == ops.Load && in.Args[0] > 0 && s.In[first+int(in.Args[0])-1].Buf == nil {
			return fmt.Errorf("input %d: no memory: %w", first+int(in.Args[0])-1, ErrDevice)
		}
	}
	return s.checkOut(e)
}

func (s *Step) checkMatMul(k *MatMul) error {
	na, nb := len(k.A.In), len(k.B.In)
	rank := len(s.Shape)
	if rank < 2 || na == 0 || nb == 0 || len(s.In) < na+nb {
		return fmt.Errorf("matmul of rank %d with %d inputs, want %d: %w", rank, len(s.In), na+nb, ErrShape)
	}
	a := s.In[0].Layout.Shape
	if len(a) != rank {
		return fmt.Errorf("input 0: shape %v of a product %v: %w", a, s.Shape, ErrShape)
	}
	left, right := s.Shape.Clone(), s.Shape.Clone()
	left[rank-1], right[rank-2] = a[rank-1], a[rank-1]
	for i := range na + nb {
		want, e, n := left, &k.A, i
		if i >= na {
			want, e, n = right, &k.B, i-na
		}
		if err := s.suits(&s.In[i], e.In[n], want); err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
		if s.In[i].Buf == nil && readsFrom(e, n) {
			return fmt.Errorf("input %d: no memory: %w", i, ErrDevice)
		}
	}
	return s.checkPost(&k.Post, na+nb)
}

// readsFrom reports whether e reads the elements of operand k, and not its positions alone.
func readsFrom(e *ops.Expr, k int) bool {
	for i := range e.Code {
		if in := &e.Code[i]; in.Kind == ops.Load && int(in.Args[0]) == k {
			return true
		}
	}
	return false
}

// checkWindow checks a kernel of windows over spatial axes, whose first inputs are its own.
func (s *Step) checkWindow(post *ops.Expr, first, spatial int) error {
	if spatial < 1 || len(s.Shape) < spatial || len(s.In) < first {
		return fmt.Errorf("windows of %d axes with %d inputs on %v: %w", spatial, len(s.In), s.Shape, ErrShape)
	}
	for i := range first {
		if o := &s.In[i]; len(o.Layout.Shape) != len(s.Shape) || o.Buf == nil || o.DType != s.In[0].DType {
			return fmt.Errorf("input %d: %s %v for a result %v: %w", i, o.DType, o.Layout.Shape, s.Shape, ErrShape)
		}
	}
	return s.checkPost(post, first)
}

func (s *Step) checkScatter(k *Scatter) error {
	last := len(s.Shape) - 1
	if last < 0 || len(s.In) < 3 {
		return fmt.Errorf("scatter of %d inputs, want 3, over %v: %w", len(s.In), s.Shape, ErrShape)
	}
	if err := s.suits(&s.In[0], k.DType, s.Shape); err != nil {
		return fmt.Errorf("input 0: %w", err)
	}
	index := s.In[1].Layout.Shape
	switch {
	case len(index) != last+1 || !index[:last].Equal(s.Shape[:last]):
		return fmt.Errorf("input 1: shape %v for a result %v: %w", index, s.Shape, ErrShape)
	case !s.In[1].DType.IsInt():
		return fmt.Errorf("input 1: index of %s: %w", s.In[1].DType, ErrDType)
	case index[last] > math.MaxInt32:
		return fmt.Errorf("input 1: rows of %d updates, at most %d: %w", index[last], math.MaxInt32, ErrShape)
	}
	if err := s.suits(&s.In[2], k.DType, index); err != nil {
		return fmt.Errorf("input 2: %w", err)
	}
	for i := range 3 {
		if s.In[i].Buf == nil {
			return fmt.Errorf("input %d: no memory: %w", i, ErrDevice)
		}
	}
	if err := checkFound(&k.Post, k.DType); err != nil {
		return err
	}
	return s.checkPost(&k.Post, 3)
}

func (s *Step) checkSort(k *Sort) error {
	last := len(s.Shape) - 1
	if last < 0 || len(s.In) < 1 {
		return fmt.Errorf("sort of %d inputs over %v: %w", len(s.In), s.Shape, ErrShape)
	}
	in := s.In[0].Layout.Shape
	switch {
	case len(in) != last+1 || !in[:last].Equal(s.Shape[:last]) || in[last] < s.Shape[last]:
		return fmt.Errorf("input 0: shape %v for a result %v: %w", in, s.Shape, ErrShape)
	case in[last] > math.MaxInt32:
		return fmt.Errorf("input 0: row of %d elements, at most %d: %w", in[last], math.MaxInt32, ErrShape)
	case s.In[0].Buf == nil:
		return fmt.Errorf("input 0: no memory: %w", ErrDevice)
	case s.In[0].DType != k.DType:
		return fmt.Errorf("input 0: %s, want %s: %w", s.In[0].DType, k.DType, ErrDType)
	}
	want := k.DType
	if k.Index {
		want = ops.Int32
	}
	if err := checkFound(&k.Post, want); err != nil {
		return err
	}
	return s.checkPost(&k.Post, 1)
}

func (s *Step) checkAttention(k *Attention) error {
	lead, first := len(s.Shape)-2, 3
	if k.Mask != 0 {
		first++
	}
	if lead < 0 || len(s.In) < first {
		return fmt.Errorf("attention of %d inputs, want %d, over %v: %w", len(s.In), first, s.Shape, ErrShape)
	}
	if !k.DType.IsFloat() || k.Mask != 0 && k.Mask != ops.Bool && !k.Mask.IsFloat() {
		return fmt.Errorf("attention of %s with a mask of %s: %w", k.DType, k.Mask, ErrDType)
	}
	q, keys := s.In[0].Layout.Shape, s.In[1].Layout.Shape
	if len(q) != lead+2 || len(keys) != lead+2 {
		return fmt.Errorf("inputs 0 and 1: shapes %v and %v for a result %v: %w", q, keys, s.Shape, ErrShape)
	}
	m, v, d, n := s.Shape[lead], s.Shape[lead+1], q[lead+1], keys[lead]
	for i, want := range [][2]int{{m, d}, {n, d}, {n, v}, {m, n}}[:first] {
		dtype := k.DType
		if i == 3 {
			dtype = k.Mask
		}
		shape := append(s.Shape[:lead:lead], want[:]...)
		if err := s.suits(&s.In[i], dtype, shape); err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
		if s.In[i].Buf == nil {
			return fmt.Errorf("input %d: no memory: %w", i, ErrDevice)
		}
	}
	if err := checkFound(&k.Post, k.DType); err != nil {
		return err
	}
	return s.checkPost(&k.Post, first)
}

// checkFound checks that operand 0 of an epilogue is of the type that the kernel finds.
func checkFound(post *ops.Expr, want ops.DType) error {
	if len(post.In) > 0 && post.In[0] != want {
		return fmt.Errorf("epilogue of %s, the kernel finds %s: %w", post.In[0], want, ErrDType)
	}
	return nil
}

func (s *Step) checkGather(k *Gather) error {
	if len(s.In) < 2 {
		return fmt.Errorf("%d inputs, want 2: %w", len(s.In), ErrShape)
	}
	source, index := &s.In[0], &s.In[1]
	n := len(source.Layout.Shape) - 1
	switch {
	case n != len(s.Shape) || !source.Layout.Shape[:n].Equal(s.Shape):
		return fmt.Errorf("input 0: shape %v for a result %v: %w", source.Layout.Shape, s.Shape, ErrShape)
	case !index.Layout.Shape.Equal(s.Shape):
		return fmt.Errorf("input 1: shape %v for a result %v: %w", index.Layout.Shape, s.Shape, ErrShape)
	case !index.DType.IsInt():
		return fmt.Errorf("input 1: index of %s: %w", index.DType, ErrDType)
	case source.Buf == nil || index.Buf == nil:
		return fmt.Errorf("inputs 0 and 1: no memory: %w", ErrDevice)
	}
	return s.checkPost(&k.Post, 2)
}
