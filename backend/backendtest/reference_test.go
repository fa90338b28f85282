package backendtest

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// dense returns a float32 operand that holds the numbers.
func dense(shape backend.Shape, xs ...float64) operand {
	o := operand{dtype: ops.Float32, layout: backend.Dense(shape), cells: backend.Dense(shape), mem: make([]byte, 4*len(xs))}
	for i, x := range xs {
		storeBits(ops.Float32, o.mem, i, number(ops.Float32, x))
	}
	return o
}

// id is the program that gives its only operand.
func id() ops.Expr { return load1(ops.Float32, ops.Float32) }

func reduceBody(r ops.ReduceOp) ops.Expr {
	var b ops.Builder
	b.Result(b.Reduce(r, b.Load(b.Operand(ops.Float32), false)))
	return b.Expr()
}

func scanBody(r ops.ReduceOp, exclusive, reverse bool) ops.Expr {
	var b ops.Builder
	b.Result(b.Scan(r, b.Load(b.Operand(ops.Float32), false), exclusive, reverse))
	return b.Expr()
}

func softmaxBody() ops.Expr {
	var b ops.Builder
	b.Operand(ops.Float32)
	softmax(ops.Float32)(&b)
	return b.Expr()
}

// TestReferenceByHand holds the reference to results worked out by hand, or by PyTorch where it says so.
func TestReferenceByHand(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	m23 := dense(backend.Shape{2, 3}, 1, 2, 3, 4, 5, 6)
	square := dense(backend.Shape{1, 1, 3, 3}, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	pool := func(op ops.ReduceOp, pad, end int, count bool) *backend.Pool {
		return &backend.Pool{Op: op, Window: []int{2}, Stride: []int{2}, Dilation: []int{1}, Pad: []int{pad}, PadEnd: []int{end}, CountPad: count, Post: id()}
	}
	line5one := dense(backend.Shape{5}, 1, 2, 3, 4, 6)
	nans := dense(backend.Shape{5}, nan, 3, 1, nan, 2)
	line5 := dense(backend.Shape{1, 1, 5}, 1, 2, 3, 4, 6)
	for _, c := range []struct {
		name   string
		kernel backend.Kernel
		shape  backend.Shape
		in     []operand
		want   []float64
		rows   int // axes of a row that has one result
	}{
		{"map", &backend.Map{Body: id()}, backend.Shape{3, 2}, []operand{transpose(m23)}, []float64{1, 4, 2, 5, 3, 6}, 0},
		{"sum", &backend.Reduce{Body: reduceBody(ops.ReduceSum), Axes: 1}, backend.Shape{2, 3}, []operand{m23}, []float64{6, 15}, 1},
		{"sum of columns", &backend.Reduce{Body: reduceBody(ops.ReduceSum), Axes: 1}, backend.Shape{3, 2}, []operand{transpose(m23)}, []float64{5, 7, 9}, 1},
		{"product of all", &backend.Reduce{Body: reduceBody(ops.ReduceProd), Axes: 2}, backend.Shape{2, 3}, []operand{m23}, []float64{720}, 2},
		{"sum of nothing", &backend.Reduce{Body: reduceBody(ops.ReduceSum), Axes: 1}, backend.Shape{2, 0}, []operand{dense(backend.Shape{2, 0})}, []float64{0, 0}, 1},
		{"product of nothing", &backend.Reduce{Body: reduceBody(ops.ReduceProd), Axes: 1}, backend.Shape{1, 0}, []operand{dense(backend.Shape{1, 0})}, []float64{1}, 1},
		{"sum cancels", &backend.Reduce{Body: reduceBody(ops.ReduceSum), Axes: 1}, backend.Shape{4}, []operand{dense(backend.Shape{4}, 1e30, 1, -1e30, 1)}, []float64{2}, 1},
		{"max with NaN", &backend.Reduce{Body: reduceBody(ops.ReduceMax), Axes: 1}, backend.Shape{2, 3}, []operand{dense(backend.Shape{2, 3}, 1, nan, 3, -inf, -2, -3)}, []float64{nan, -2}, 1},
		{"logaddexp", &backend.Reduce{Body: reduceBody(ops.ReduceLogAddExp), Axes: 1}, backend.Shape{3, 2}, []operand{dense(backend.Shape{3, 2}, 1000, 1000, -inf, -inf, inf, 0)}, []float64{float64(float32(1000 + math.Ln2)), -inf, inf}, 1},
		{"cumulative sum", &backend.Scan{Body: scanBody(ops.ReduceSum, false, false)}, backend.Shape{2, 3}, []operand{m23}, []float64{1, 3, 6, 4, 9, 15}, 0},
		{"exclusive", &backend.Scan{Body: scanBody(ops.ReduceProd, true, false)}, backend.Shape{2, 3}, []operand{m23}, []float64{1, 1, 2, 1, 4, 20}, 0},
		{"reverse", &backend.Scan{Body: scanBody(ops.ReduceSum, false, true)}, backend.Shape{2, 3}, []operand{m23}, []float64{6, 5, 3, 15, 11, 6}, 0},
		{"exclusive, reverse", &backend.Scan{Body: scanBody(ops.ReduceMax, true, true)}, backend.Shape{2, 3}, []operand{m23}, []float64{3, 3, -inf, 6, 6, -inf}, 0},
		{"softmax", &backend.Row{Body: softmaxBody(), Axes: 1}, backend.Shape{2, 2}, []operand{dense(backend.Shape{2, 2}, 5, 5, -inf, 0)}, []float64{0.5, 0.5, 0, 1}, 0},
		{"softmax of -inf", &backend.Row{Body: softmaxBody(), Axes: 1}, backend.Shape{2}, []operand{dense(backend.Shape{2}, -inf, -inf)}, []float64{nan, nan}, 0},
		{"matmul", &backend.MatMul{A: id(), B: id(), Post: id(), Acc: ops.Float32}, backend.Shape{2, 2}, []operand{m23, transpose(m23)}, []float64{14, 32, 32, 77}, 0},
		{"matmul of no depth", &backend.MatMul{A: id(), B: id(), Post: id(), Acc: ops.Float32}, backend.Shape{1, 2}, []operand{dense(backend.Shape{1, 0}), dense(backend.Shape{0, 2})}, []float64{0, 0}, 0},
		{"matmul of 0 and infinity", &backend.MatMul{A: id(), B: id(), Post: id(), Acc: ops.Float32}, backend.Shape{1, 1}, []operand{dense(backend.Shape{1, 1}, 0), dense(backend.Shape{1, 1}, inf)}, []float64{nan}, 0},
		{
			"conv", &backend.Conv{Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{0, 0}, Groups: 1, Post: id()},
			backend.Shape{1, 1, 2, 2},
			[]operand{square, dense(backend.Shape{1, 1, 2, 2}, 1, 0, 0, 10)},
			[]float64{51, 62, 84, 95},
			0,
		},
		{
			"conv, padded at the start alone", &backend.Conv{Stride: []int{2}, Dilation: []int{2}, Pad: []int{1}, Groups: 1, Post: id()},
			backend.Shape{1, 1, 2},
			[]operand{line5, dense(backend.Shape{1, 1, 2}, 1, 10)},
			[]float64{20, 42},
			0,
		},
		{
			"conv, padded by the domain", &backend.Conv{Stride: []int{1}, Dilation: []int{1}, Pad: []int{0}, Groups: 1, Post: id()},
			backend.Shape{1, 1, 6},
			[]operand{line5, dense(backend.Shape{1, 1, 2}, 1, 10)},
			[]float64{21, 32, 43, 64, 6, 0},
			0,
		},
		{
			"conv in groups", &backend.Conv{Stride: []int{1}, Dilation: []int{1}, Pad: []int{0}, Groups: 2, Post: id()},
			backend.Shape{1, 2, 2},
			[]operand{dense(backend.Shape{1, 2, 2}, 1, 2, 3, 4), dense(backend.Shape{2, 1, 1}, 10, 100)},
			[]float64{10, 20, 300, 400},
			0,
		},
		// torch.nn.functional.conv_transpose1d([[[1, 2]]], [[[1, 10, 100]]], stride=2): 1 10 102 20 200
		{
			"transposed conv", &backend.Conv{Stride: []int{2}, Dilation: []int{1}, Pad: []int{0}, Groups: 1, Transposed: true, Post: id()},
			backend.Shape{1, 1, 5},
			[]operand{dense(backend.Shape{1, 1, 2}, 1, 2), dense(backend.Shape{1, 1, 3}, 1, 10, 100)},
			[]float64{1, 10, 102, 20, 200},
			0,
		},
		// … padding=1, output_padding=1: 10 102 20 200
		{
			"transposed conv, padded", &backend.Conv{Stride: []int{2}, Dilation: []int{1}, Pad: []int{1}, Groups: 1, Transposed: true, Post: id()},
			backend.Shape{1, 1, 4},
			[]operand{dense(backend.Shape{1, 1, 2}, 1, 2), dense(backend.Shape{1, 1, 3}, 1, 10, 100)},
			[]float64{10, 102, 20, 200},
			0,
		},
		{"max pool, ceil", pool(ops.ReduceMax, 0, 0, false), backend.Shape{1, 1, 3}, []operand{line5}, []float64{2, 4, 6}, 0},
		{"average pool, ceil", pool(ops.ReduceSum, 0, 0, true), backend.Shape{1, 1, 3}, []operand{line5}, []float64{1.5, 3.5, 6}, 0},
		{"average pool, padding counts", pool(ops.ReduceSum, 1, 1, true), backend.Shape{1, 1, 3}, []operand{line5}, []float64{0.5, 2.5, 5}, 0},
		{"average pool, padding does not", pool(ops.ReduceSum, 1, 0, false), backend.Shape{1, 1, 3}, []operand{line5}, []float64{1, 2.5, 5}, 0},
		{"sort", &backend.Sort{DType: ops.Float32, Post: id()}, backend.Shape{5}, []operand{nans}, []float64{1, 2, 3, nan, nan}, 0},
		{"sort, descending", &backend.Sort{DType: ops.Float32, Descending: true, Post: id()}, backend.Shape{4}, []operand{nans}, []float64{3, 2, 1, nan}, 0},
		{"the least two of each row", &backend.Sort{DType: ops.Float32, Post: id()}, backend.Shape{2, 2}, []operand{m23}, []float64{1, 2, 4, 5}, 0},
		// torch.nn.functional.scaled_dot_product_attention
		{
			"attention", &backend.Attention{DType: ops.Float32, Scale: 1 / math.Sqrt2, Post: id()},
			backend.Shape{2, 2},
			[]operand{dense(backend.Shape{2, 2}, 1, 0, 0, 2), dense(backend.Shape{2, 2}, 1, 1, 0, 1), dense(backend.Shape{2, 2}, 1, 2, 3, 4)},
			[]float64{1.660476922988891602, 2.660476922988891602, 2, 3},
			0,
		},
		{
			"causal attention to fewer keys than queries", &backend.Attention{DType: ops.Float32, Causal: true, Scale: 1, Post: id()},
			backend.Shape{4, 1},
			[]operand{dense(backend.Shape{4, 1}, 0, 0, 0, 0), dense(backend.Shape{2, 1}, 0, 0), dense(backend.Shape{2, 1}, 1, 2)},
			[]float64{0, 0, 1, 1.5},
			0,
		},
		{
			"scatter", &backend.Scatter{DType: ops.Float32, Post: id()},
			backend.Shape{5},
			[]operand{line5one, whole32(1, -1, 1), dense(backend.Shape{3}, 10, 20, 30)},
			[]float64{1, 30, 3, 4, 20},
			0,
		},
		{
			"scatter add", &backend.Scatter{DType: ops.Float32, Add: true, Post: id()},
			backend.Shape{5},
			[]operand{line5one, whole32(1, -1, 1), dense(backend.Shape{3}, 10, 20, 30)},
			[]float64{1, 42, 3, 4, 26},
			0,
		},
		{"gather", &backend.Gather{Post: id()}, backend.Shape{2}, []operand{m23, whole32(2, -3)}, []float64{3, 4}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := dense(c.shape[:len(c.shape)-c.rows], make([]float64, len(c.want))...)
			tr := &trial{kernel: c.kernel, shape: c.shape, in: c.in, out: []operand{perRow(out, c.shape, c.rows)}}
			got, err := tr.want(false)
			if err != nil {
				t.Fatal(err)
			}
			for i, w := range c.want {
				if g := load(ops.Float32, got[0], i).F; g != w && !(math.IsNaN(g) && math.IsNaN(w)) {
					t.Errorf("element %d: got %g, want %g", i, g, w)
				}
			}
		})
	}
}

func transpose(o operand) operand {
	l, err := o.layout.Permute(1, 0)
	if err != nil {
		panic(err)
	}
	o.layout = l
	return o
}

func whole32(xs ...int64) operand {
	o := operand{dtype: ops.Int32, layout: backend.Dense(backend.Shape{len(xs)}), mem: make([]byte, 4*len(xs))}
	for i, x := range xs {
		store(o.mem, i, ops.IntValue(ops.Int32, x))
	}
	return o
}

// TestArgMaxByHand tests ties and NaN.
func TestArgMaxByHand(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		r    ops.ReduceOp
		row  []float64
		want int64
	}{
		{ops.ReduceArgMax, []float64{1, 3, 3, 2}, 1},
		{ops.ReduceArgMin, []float64{2, 1, 3, 1}, 1},
		{ops.ReduceArgMax, []float64{1, nan, 9, nan}, 1},
		{ops.ReduceArgMin, []float64{nan, nan, -1}, 0},
		{ops.ReduceArgMax, []float64{math.Inf(-1), math.Inf(-1)}, 0},
	} {
		vs := make([]ops.Value, len(c.row))
		for i, x := range c.row {
			vs[i] = ops.FloatValue(ops.Float32, x)
		}
		if got, err := reduce(c.r, ops.Int32, vs, len(vs)); err != nil || got.I != c.want {
			t.Errorf("%s of %v: %d, %v, want %d", c.r, c.row, got.I, err, c.want)
		}
	}
	if _, err := reduce(ops.ReduceArgMax, ops.Int32, nil, 0); !errors.Is(err, backend.ErrShape) {
		t.Errorf("argmax of nothing: %v, want ErrShape", err)
	}
}

// TestArrange tests that arrangements have the right shape, start at odd offsets, and never overlap where they
// are written.
func TestArrange(t *testing.T) {
	for _, how := range readable {
		for _, shape := range []backend.Shape{{}, {1}, {0}, {5}, {3, 4}, {2, 0, 3}, {2, 3, 4, 5}} {
			l := arrange(how, shape)
			if !l.Shape.Equal(shape) {
				t.Errorf("%s of %v has shape %v", how, shape, l.Shape)
			}
			at := positions(l)
			slices.Sort(at)
			if len(slices.Compact(at)) != shape.Len() && slices.Contains(writable, how) {
				t.Errorf("%s of %v repeats elements", how, shape)
			}
			if lo, _ := l.Bounds(); lo < 0 {
				t.Errorf("%s of %v begins at %d", how, shape, lo)
			}
		}
	}
}
