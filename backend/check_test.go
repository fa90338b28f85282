package backend_test

import (
	"errors"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// bytes is memory of that many bytes that nothing is ever read from.
type bytes int

func (b bytes) Size() int { return int(b) }
func (bytes) Release()    {}

// load returns a program that copies operand 0 of n operands of type d.
func load(d ops.DType, n int) ops.Expr {
	var b ops.Builder
	for range n {
		b.Operand(d)
	}
	v := b.Load(0, false)
	for i := 1; i < n; i++ {
		v = b.Apply(ops.Add, v, b.Load(i, false))
	}
	b.Result(v)
	return b.Expr()
}

func operand(d ops.DType, shape ...int) backend.Operand {
	l := backend.Dense(shape)
	return backend.Operand{Buf: bytes(l.Len() * d.Size()), DType: d, Layout: l}
}

// steps are well-formed steps of every family.
func steps() map[string]*backend.Step {
	f32 := ops.Float32
	one, two := load(f32, 1), load(f32, 2)
	row := func() ops.Expr {
		var b ops.Builder
		v := b.Load(b.Operand(f32), false)
		b.Result(b.Reduce(ops.ReduceSum, v))
		return b.Expr()
	}
	return map[string]*backend.Step{
		"map": {
			Kernel: &backend.Map{Body: two}, Shape: backend.Shape{2, 3},
			In: []backend.Operand{operand(f32, 2, 3), operand(f32, 2, 3)}, Out: []backend.Operand{operand(f32, 2, 3)},
		},
		"reduce": {
			Kernel: &backend.Reduce{Body: row(), Axes: 1}, Shape: backend.Shape{2, 3},
			In: []backend.Operand{operand(f32, 2, 3)}, Out: []backend.Operand{operand(f32, 2, 3)},
		},
		"matmul": {
			Kernel: &backend.MatMul{A: one, B: one, Post: two, Acc: f32}, Shape: backend.Shape{2, 4},
			In:  []backend.Operand{operand(f32, 2, 3), operand(f32, 3, 4), operand(f32, 2, 4)},
			Out: []backend.Operand{operand(f32, 2, 4)},
		},
		"conv": {
			Kernel: &backend.Conv{Stride: []int{1}, Dilation: []int{1}, Pad: []int{0}, Groups: 1, Post: one},
			Shape:  backend.Shape{1, 2, 3},
			In:     []backend.Operand{operand(f32, 1, 1, 4), operand(f32, 2, 1, 2)}, Out: []backend.Operand{operand(f32, 1, 2, 3)},
		},
		"sort": {
			Kernel: &backend.Sort{DType: f32, Post: two}, Shape: backend.Shape{2, 3},
			In: []backend.Operand{operand(f32, 2, 5), operand(f32, 2, 3)}, Out: []backend.Operand{operand(f32, 2, 3)},
		},
		"scatter": {
			Kernel: &backend.Scatter{DType: f32, Post: two}, Shape: backend.Shape{2, 3},
			In:  []backend.Operand{operand(f32, 2, 3), operand(ops.Int64, 2, 5), operand(f32, 2, 5), operand(f32, 2, 3)},
			Out: []backend.Operand{operand(f32, 2, 3)},
		},
		"attention": {
			Kernel: &backend.Attention{DType: f32, Mask: ops.Bool, Post: two}, Shape: backend.Shape{2, 3, 6},
			In:  []backend.Operand{operand(f32, 2, 3, 4), operand(f32, 2, 5, 4), operand(f32, 2, 5, 6), operand(ops.Bool, 2, 3, 5), operand(f32, 2, 3, 6)},
			Out: []backend.Operand{operand(f32, 2, 3, 6)},
		},
		"gather": {
			Kernel: &backend.Gather{Post: one}, Shape: backend.Shape{5},
			In: []backend.Operand{operand(f32, 5, 7), operand(ops.Int32, 5)}, Out: []backend.Operand{operand(f32, 5)},
		},
	}
}

func TestStepCheck(t *testing.T) {
	for name, s := range steps() {
		if err := s.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, c := range []struct {
		name, step string
		spoil      func(*backend.Step)
		want       error
	}{
		{"no kernel", "map", func(s *backend.Step) { s.Kernel = nil }, backend.ErrUnsupported},
		{"negative extent", "map", func(s *backend.Step) { s.Shape[0] = -1 }, backend.ErrShape},
		{"an input too few", "map", func(s *backend.Step) { s.In = s.In[:1] }, backend.ErrShape},
		{"an output too few", "map", func(s *backend.Step) { s.Out = nil }, backend.ErrShape},
		{"no memory", "map", func(s *backend.Step) { s.In[1].Buf = nil }, backend.ErrDevice},
		{"output without memory", "map", func(s *backend.Step) { s.Out[0].Buf = nil }, backend.ErrDevice},
		{"memory too small", "map", func(s *backend.Step) { s.In[0].Buf = bytes(20) }, backend.ErrDevice},
		{"before the memory", "map", func(s *backend.Step) { s.In[0].Layout.Offset = -1 }, backend.ErrDevice},
		{"another type", "map", func(s *backend.Step) { s.In[0].DType = ops.Int32 }, backend.ErrDType},
		{"no type", "map", func(s *backend.Step) { s.In[0].DType = 99 }, backend.ErrDType},
		{"another shape", "map", func(s *backend.Step) { s.Out[0] = operand(ops.Float32, 3, 2) }, backend.ErrShape},
		{"strides of another rank", "map", func(s *backend.Step) { s.In[0].Layout.Strides = []int{1} }, backend.ErrShape},
		{"too many axes to reduce", "reduce", func(s *backend.Step) { s.Kernel.(*backend.Reduce).Axes = 3 }, backend.ErrAxis},
		{"inner dimensions differ", "matmul", func(s *backend.Step) { s.In[1] = operand(ops.Float32, 4, 4) }, backend.ErrShape},
		{"no epilogue operand", "matmul", func(s *backend.Step) { s.In = s.In[:2] }, backend.ErrShape},
		{"weights of another type", "conv", func(s *backend.Step) { s.In[1].DType = ops.Int32 }, backend.ErrShape},
		{"fewer elements than wanted", "sort", func(s *backend.Step) { s.In[0] = operand(ops.Float32, 2, 2) }, backend.ErrShape},
		{"other rows", "sort", func(s *backend.Step) { s.In[0] = operand(ops.Float32, 3, 5) }, backend.ErrShape},
		{"elements of another type", "sort", func(s *backend.Step) { s.In[0].DType = ops.Int32 }, backend.ErrDType},
		{"positions of a float type", "sort", func(s *backend.Step) { s.Kernel.(*backend.Sort).Index = true }, backend.ErrDType},
		{"index of floats to scatter by", "scatter", func(s *backend.Step) { s.In[1].DType = ops.Float32 }, backend.ErrDType},
		{"fewer updates", "scatter", func(s *backend.Step) { s.In[2] = operand(ops.Float32, 2, 4) }, backend.ErrShape},
		{"updates of another type", "scatter", func(s *backend.Step) { s.In[2].DType = ops.Int32 }, backend.ErrDType},
		{"no mask", "attention", func(s *backend.Step) { s.In = s.In[:3] }, backend.ErrShape},
		{"keys of another width", "attention", func(s *backend.Step) { s.In[1] = operand(ops.Float32, 2, 5, 3) }, backend.ErrShape},
		{"values of another number", "attention", func(s *backend.Step) { s.In[2] = operand(ops.Float32, 2, 4, 6) }, backend.ErrShape},
		{"mask of integers", "attention", func(s *backend.Step) { s.Kernel.(*backend.Attention).Mask = ops.Int32 }, backend.ErrDType},
		{"attention of integers", "attention", func(s *backend.Step) { s.Kernel.(*backend.Attention).DType = ops.Int32 }, backend.ErrDType},
		{"index of floats", "gather", func(s *backend.Step) { s.In[1] = operand(ops.Float32, 5) }, backend.ErrDType},
		{"source without an axis", "gather", func(s *backend.Step) { s.In[0] = operand(ops.Float32, 5) }, backend.ErrShape},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := steps()[c.step]
			c.spoil(s)
			if err := s.Check(); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}
