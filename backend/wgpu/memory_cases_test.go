package wgpu

import (
	"cmp"
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A memoryCase is a kernel whose time is that of its memory traffic: it reads its operands once and writes its result once.
type memoryCase struct {
	name   string
	shape  backend.Shape
	inputs int
	axis   int // that is reduced, scanned or normalised along
	consts []float64
	dtype  ops.DType // Float32 if 0

	// layout, if not nil, is where input k lies, given the dense layout.
	layout func(k int, l backend.Layout) backend.Layout
	build  func(b *ops.Builder, in []ops.Ref) backend.Kernel
}

func mapping(f func(b *ops.Builder, in []ops.Ref) ops.Ref) func(*ops.Builder, []ops.Ref) backend.Kernel {
	return func(b *ops.Builder, in []ops.Ref) backend.Kernel {
		b.Result(f(b, in))
		return &backend.Map{Body: b.Expr()}
	}
}

func reducing(op ops.ReduceOp) func(*ops.Builder, []ops.Ref) backend.Kernel {
	return func(b *ops.Builder, in []ops.Ref) backend.Kernel {
		b.Result(b.Reduce(op, in[0]))
		return &backend.Reduce{Body: b.Expr(), Axes: 1}
	}
}

func scanning(b *ops.Builder, in []ops.Ref) backend.Kernel {
	b.Result(b.Scan(ops.ReduceSum, in[0], false, false))
	return &backend.Scan{Body: b.Expr()}
}

// centred gives the distances from the mean and the mean of their squares; constant 0 is one by the length of a row.
func centred(b *ops.Builder, x ops.Ref) (d, variance ops.Ref) {
	n := b.Const(0, ops.Float32)
	d = b.Apply(ops.Sub, x, b.Apply(ops.Mul, b.Reduce(ops.ReduceSum, x), n))
	return d, b.Apply(ops.Mul, b.Reduce(ops.ReduceSum, b.Apply(ops.Square, d)), n)
}

func softmaxing(b *ops.Builder, in []ops.Ref) backend.Kernel {
	e := b.Apply(ops.Exp, b.Apply(ops.Sub, in[0], b.Reduce(ops.ReduceMax, in[0])))
	b.Result(b.Apply(ops.Div, e, b.Reduce(ops.ReduceSum, e)))
	return &backend.Row{Body: b.Expr(), Axes: 1}
}

func normalising(b *ops.Builder, in []ops.Ref) backend.Kernel {
	d, v := centred(b, in[0])
	b.Result(b.Apply(ops.Mul, d, b.Apply(ops.Rsqrt, b.Apply(ops.Add, v, b.Const(1, ops.Float32)))))
	return &backend.Row{Body: b.Expr(), Axes: 1}
}

func varying(b *ops.Builder, in []ops.Ref) backend.Kernel {
	_, v := centred(b, in[0])
	b.Result(v)
	return &backend.Reduce{Body: b.Expr(), Axes: 1}
}

func copying(_ *ops.Builder, in []ops.Ref) ops.Ref { return in[0] }

func adding(b *ops.Builder, in []ops.Ref) ops.Ref { return b.Apply(ops.Add, in[0], in[1]) }

// permuting says that the axes lie in memory in another order.
func permuting(order ...int) func(int, backend.Layout) backend.Layout {
	return func(_ int, l backend.Layout) backend.Layout {
		stride := 1
		for i := len(order) - 1; i >= 0; i-- {
			l.Strides[order[i]] = stride
			stride *= l.Shape[order[i]]
		}
		return l
	}
}

// second gives the second input its strides.
func second(strides ...int) func(int, backend.Layout) backend.Layout {
	return func(k int, l backend.Layout) backend.Layout {
		if k == 1 {
			l.Strides = strides
		}
		return l
	}
}

// shapeCases returns cases of n elements whose rows, columns and layouts are unlike those that presets are made for.
func shapeCases(n int) []memoryCase {
	var cases []memoryCase
	add := func(c memoryCase) {
		c.inputs = 1
		cases = append(cases, c)
	}
	for _, length := range []int{1, 3, 10, 100, 1000, 4096, 8191, 32_000, 100_000, 1_000_000} {
		rows, columns := backend.Shape{n / length, length}, backend.Shape{length, n / length}
		add(memoryCase{name: fmt.Sprintf("softmax, rows of %d", length), shape: rows, axis: 1, build: softmaxing})
		add(memoryCase{name: fmt.Sprintf("sum, rows of %d", length), shape: rows, axis: 1, build: reducing(ops.ReduceSum)})
		add(memoryCase{name: fmt.Sprintf("cumsum, rows of %d", length), shape: rows, axis: 1, build: scanning})
		add(memoryCase{name: fmt.Sprintf("softmax, columns of %d", length), shape: columns, build: softmaxing})
		add(memoryCase{name: fmt.Sprintf("sum, columns of %d", length), shape: columns, build: reducing(ops.ReduceSum)})
		add(memoryCase{name: fmt.Sprintf("cumsum, columns of %d", length), shape: columns, build: scanning})
	}
	batch := backend.Shape{n >> 20, 128, 64, 128}
	matrix := backend.Shape{n >> 13, 1 << 12}
	for _, c := range []memoryCase{
		{name: "permute 0 2 1 3", shape: batch, layout: permuting(0, 2, 1, 3)},
		{name: "permute 3 2 1 0", shape: batch, layout: permuting(3, 2, 1, 0)},
		{name: "permute 1 0 3 2", shape: batch, layout: permuting(1, 0, 3, 2)},
		{name: "odd transpose", shape: backend.Shape{n>>13 - 1, 1<<12 - 1}, layout: permuting(1, 0)},
		{name: "flip", shape: matrix, layout: func(_ int, l backend.Layout) backend.Layout {
			return backend.Layout{Shape: l.Shape, Strides: []int{l.Shape[1], -1}, Offset: l.Shape[1] - 1}
		}},
		{name: "columns 1 to the end", shape: backend.Shape{n >> 13, 1<<12 - 1}, layout: func(_ int, l backend.Layout) backend.Layout {
			return backend.Layout{Shape: l.Shape, Strides: []int{1 << 12, 1}, Offset: 1}
		}},
		{name: "every second column", shape: backend.Shape{n >> 13, 1 << 11}, layout: func(_ int, l backend.Layout) backend.Layout {
			return backend.Layout{Shape: l.Shape, Strides: []int{1 << 12, 2}}
		}},
	} {
		c.build = mapping(copying)
		add(c)
	}
	return cases
}

// memoryCases returns the cases for n elements, and for matrices of side² elements.
func memoryCases(n, side int) []memoryCase {
	line, square := backend.Shape{n}, backend.Shape{side, side}
	mean := []float64{1 / float64(side), 1e-5}
	cases := []memoryCase{
		{name: "a*b+42", shape: line, inputs: 2, consts: []float64{42}, build: mapping(func(b *ops.Builder, in []ops.Ref) ops.Ref {
			return b.Apply(ops.Add, b.Apply(ops.Mul, in[0], in[1]), b.Const(0, ops.Float32))
		})},
		{name: "gelu(a*b+1)*2-b", shape: line, inputs: 2, consts: []float64{1, 2}, build: mapping(func(b *ops.Builder, in []ops.Ref) ops.Ref {
			g := b.Apply(ops.GELU, b.Apply(ops.Add, b.Apply(ops.Mul, in[0], in[1]), b.Const(0, ops.Float32)))
			return b.Apply(ops.Sub, b.Apply(ops.Mul, g, b.Const(1, ops.Float32)), in[1])
		})},
		{name: "a*b float16", shape: line, inputs: 2, dtype: ops.Float16, build: mapping(func(b *ops.Builder, in []ops.Ref) ops.Ref {
			return b.Apply(ops.Mul, in[0], in[1])
		})},
		{name: "copy", shape: line, inputs: 1, build: mapping(copying)},
		{name: "sum", shape: line, inputs: 1, build: reducing(ops.ReduceSum)},
		{name: "max", shape: line, inputs: 1, build: reducing(ops.ReduceMax)},
		{name: "argmax", shape: line, inputs: 1, build: reducing(ops.ReduceArgMax)},
		{name: "cumsum", shape: line, inputs: 1, build: scanning},
		{name: "transpose", shape: square, inputs: 1, layout: permuting(1, 0), build: mapping(copying)},
		{name: "plus a row", shape: square, inputs: 2, layout: second(0, 1), build: mapping(adding)},
		{name: "plus a column", shape: square, inputs: 2, layout: second(1, 0), build: mapping(adding)},
	}
	for axis := range 2 {
		for _, c := range []memoryCase{
			{name: "softmax", build: softmaxing},
			{name: "layer norm", build: normalising, consts: mean},
			{name: "sum", build: reducing(ops.ReduceSum)},
			{name: "argmax", build: reducing(ops.ReduceArgMax)},
			{name: "var", build: varying, consts: mean[:1]},
			{name: "cumsum", build: scanning},
		} {
			c.name = fmt.Sprintf("%s, axis %d", c.name, axis)
			c.shape, c.inputs, c.axis = square, 1, axis
			cases = append(cases, c)
		}
	}
	return cases
}

// step returns the step of a case, with the operands that data gives.
func (c *memoryCase) step(data func(k, elements int) backend.Buffer) backend.Step {
	var b ops.Builder
	var in []ops.Ref
	for range c.inputs {
		in = append(in, b.Load(b.Operand(cmp.Or(c.dtype, ops.Float32)), false))
	}
	kernel := c.build(&b, in)
	order := func(l backend.Layout) backend.Layout { // the axis comes last
		if rank := len(c.shape); c.axis != rank-1 && rank > 1 && kernel.Family() != "map" {
			l.Shape = backend.Shape{c.shape[1], c.shape[0]}
			l.Strides = []int{l.Strides[1], l.Strides[0]}
		}
		return l
	}
	s := backend.Step{Kernel: kernel, Shape: order(backend.Dense(c.shape)).Shape, Memo: new(backend.Memo)}
	for _, v := range c.consts {
		s.Consts = append(s.Consts, ops.FloatValue(ops.Float32, v).Bits())
	}
	for k := range c.inputs {
		l := backend.Dense(c.shape)
		if c.layout != nil {
			l = c.layout(k, l)
		}
		s.In = append(s.In, backend.Operand{DType: cmp.Or(c.dtype, ops.Float32), Layout: order(l), Buf: data(k, l.Touched())})
	}
	body := kernel.Bodies()[0]
	l := order(backend.Dense(c.shape))
	if body.Code[body.Out[0]].Row {
		last := len(l.Shape) - 1
		l.Strides = append(l.Shape[:last].Strides(), 0)
	}
	d := body.Code[body.Out[0]].DType
	s.Out = []backend.Operand{{DType: d, Layout: l, Buf: data(-1, l.Touched())}}
	return s
}
