package backendtest

import (
	"fmt"
	"math"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// rowLengths are the lengths of rows around those at which kernels change their ways: nothing, a register, a
// vector, a block, a workgroup, and more than any of these.
var rowLengths = []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000, 1023, 1024, 1025, 4095, 4096, 4097}

// longRow is the length of a row that is split among workgroups or threads.
const longRow = 100_003

func (s *suite) testReduce(t tb) {
	for _, r := range ops.ReduceOps() {
		for _, d := range ops.DTypes() {
			if r.Accepts().Has(d.Kind()) {
				s.leaf(t, r.String()+"/"+d.String(), func(t tb) { s.testReduceOn(t, r, d) })
			}
		}
	}
	t.Run("program", s.testReducePrograms)
	t.Run("ones", s.testOnes)
}

// testReduceOn tests one reduction of elements of type d.
func (s *suite) testReduceOn(t tb, r ops.ReduceOp, d ops.DType) {
	in := s.draw(t)
	var trials []*trial
	lengths := rowLengths
	if s.short {
		lengths = append(sample(in, lengths, 6), 0)
	}
	for _, n := range append(lengths[:len(lengths):len(lengths)], longRow) {
		if n == 0 && !r.HasIdentity() || n == longRow && s.short && d != ops.Float32 {
			continue
		}
		rows := []int{1, 2, 3, 5, 17}[in.IntN(5)]
		if n >= 1000 {
			rows = 1 + in.IntN(2)
		}
		for _, f := range in.fills(r, d, n) {
			trials = append(trials, in.reduce(r, d, backend.Shape{rows, n}, 1, sample(in, readable[:6], 1)[0], f))
		}
	}
	for _, how := range readable {
		shapes := rowShapes
		if s.short {
			shapes = sample(in, shapes, 3)
		}
		for _, c := range shapes {
			fills := in.fills(r, d, c.length())
			trials = append(trials, in.reduce(r, d, c.shape, c.axes, how, fills[in.IntN(len(fills))]))
		}
	}
	for _, c := range rowCorners {
		if n := c.length(); n > 0 || r.HasIdentity() {
			trials = append(trials, in.reduce(r, d, c.shape, c.axes, "dense", in.fills(r, d, n)[0]))
		}
	}
	s.check(t, trials...)
}

// A rowShape is a domain and how many of its axes make a row.
type rowShape struct {
	shape backend.Shape
	axes  int
}

// length returns the number of elements of a row.
func (r rowShape) length() int { return r.shape[len(r.shape)-r.axes:].Len() }

// rowShapes are tried in every arrangement, rowCorners in one.
var (
	rowShapes = []rowShape{
		{backend.Shape{4, 5, 6}, 1},
		{backend.Shape{4, 5, 6}, 2},
		{backend.Shape{3, 4, 5}, 3},
		{backend.Shape{3, 1, 2, 7}, 3},
		{backend.Shape{2, 3, 33, 5}, 2},
		{backend.Shape{67, 3}, 1},
	}
	rowCorners = []rowShape{
		{backend.Shape{}, 0},
		{backend.Shape{5}, 0},
		{backend.Shape{1}, 1},
		{backend.Shape{0, 3}, 1},
		{backend.Shape{0, 0}, 1},
		{backend.Shape{1031, 3}, 1},
		{backend.Shape{4097, 2}, 1},
		{backend.Shape{3, 0}, 1},
		{backend.Shape{2, 0, 3}, 2},
		{backend.Shape{2, 3, 0}, 1},
	}
)

// A sort of content for a reduction, and how far the result may be off.
type content struct {
	name       string
	fill       fill
	other      fill // of the second factor of a product, if not the same
	ulp, bound float64
}

// reduce returns a trial of r over the last axes of a tensor.
func (in *inputs) reduce(r ops.ReduceOp, d ops.DType, shape backend.Shape, axes int, how string, c content) *trial {
	var b ops.Builder
	v := b.Reduce(r, b.Load(b.Operand(d), false))
	b.Result(v)
	return &trial{
		name:   fmt.Sprintf("%s over the last %d of %v of %s, %s", r, axes, shape, c.name, how),
		kernel: &backend.Reduce{Body: b.Expr(), Axes: axes}, shape: shape,
		in:  []operand{in.tensor(d, how, shape, c.fill)},
		out: []operand{in.rowBlank(b.DType(v), sample(in, writable, 1)[0], shape, axes)},
		ulp: c.ulp, bound: c.bound,
	}
}

// rowBlank returns an output of one element for each row: its strides along the last axes are 0.
func (in *inputs) rowBlank(d ops.DType, how string, shape backend.Shape, axes int) operand {
	return perRow(in.blank(d, how, shape[:len(shape)-axes]), shape, axes)
}

// perRow stretches an operand over the last axes of shape.
func perRow(o operand, shape backend.Shape, axes int) operand {
	o.layout.Shape = shape
	o.layout.Strides = append(o.layout.Strides[:len(shape)-axes:len(shape)-axes], make([]int, axes)...)
	return o
}

// fills returns contents of rows of n elements for a reduction or scan by r.
func (in *inputs) fills(r ops.ReduceOp, d ops.DType, n int) []content {
	logn := math.Log2(float64(max(n, 2)))
	switch {
	case d == ops.Bool:
		return []content{{name: "mostly false", fill: in.rarely(1/float64(n+1), 0, 1)}, {name: "mostly true", fill: in.rarely(1/float64(n+1), 1, 0)}}
	case !d.IsFloat() && (r == ops.ReduceSum || r == ops.ReduceProd):
		return []content{{name: "random bits", fill: in.bits}, {name: "odd numbers", fill: func(d ops.DType, i int) uint64 { return in.bits(d, i) | 1 }}}
	case !d.IsFloat():
		return []content{{name: "random bits", fill: in.bits}, {name: "ties", fill: in.whole}, {name: "edges", fill: in.edge}}
	case r == ops.ReduceSum:
		return []content{
			{name: "whole numbers", fill: in.whole},
			{name: "whole numbers and specials", fill: in.special(in.whole, n)},
			// Pairwise summation is log₂ n roundings off at the worst, and as much again for blocks summed
			// with several accumulators (Higham, "The accuracy of floating point summation", 1993).
			{name: "normal numbers", fill: in.normal, ulp: 1, bound: 2*logn + 20},
			{name: "numbers of one sign", fill: in.positive, ulp: 1, bound: 2*logn + 20},
		}
	case r == ops.ReduceProd:
		return []content{
			{name: "powers of 2", fill: in.powers(n)},
			{name: "powers of 2 and specials", fill: in.special(in.powers(n), n)},
			{name: "numbers near 1", fill: in.near(n), ulp: 1, bound: float64(n) + 1},
		}
	case r == ops.ReduceLogAddExp:
		return []content{
			{name: "normal numbers", fill: in.normal, ulp: 4, bound: 2*logn + 20},
			{name: "specials", fill: in.special(in.normal, n), ulp: 4, bound: 2*logn + 20},
			{name: "-inf", fill: func(d ops.DType, _ int) uint64 { return number(d, math.Inf(-1)) }},
			{name: "large numbers", fill: func(d ops.DType, _ int) uint64 { return number(d, 1000*in.NormFloat64()) }, ulp: 4, bound: 2*logn + 20},
		}
	}
	return []content{
		{name: "ordinary numbers", fill: in.ordinary},
		{name: "ties", fill: in.whole},
		{name: "specials", fill: in.special(in.whole, n)},
		{name: "edges", fill: in.edge},
		{name: "-inf", fill: func(d ops.DType, _ int) uint64 { return number(d, math.Inf(-1)) }},
		{name: "+inf", fill: func(d ops.DType, _ int) uint64 { return number(d, math.Inf(1)) }},
	}
}

// rarely gives common, and rare with probability p.
func (in *inputs) rarely(p float64, common, rare uint64) fill {
	return func(ops.DType, int) uint64 {
		if in.Float64() < p {
			return rare
		}
		return common
	}
}

// special puts infinities and NaN among the elements of f: about one special value in each row of n.
func (in *inputs) special(f fill, n int) fill {
	return func(d ops.DType, i int) uint64 {
		if in.IntN(n+1) > 0 {
			return f(d, i)
		}
		return number(d, []float64{math.Inf(1), math.Inf(-1), math.NaN(), -math.NaN()}[in.IntN(4)])
	}
}

// positive draws numbers of [1, 2), whose sums do not cancel.
func (in *inputs) positive(d ops.DType, _ int) uint64 { return number(d, 1+in.Float64()) }

// powers draws ±1 and, a few times in a row of n, 2 or ½: products are exact in any order.
func (in *inputs) powers(n int) fill {
	return func(d ops.DType, _ int) uint64 {
		x := float64(2*in.IntN(2) - 1)
		switch in.IntN(n/2 + 2) {
		case 0:
			x *= 2
		case 1:
			x /= 2
		}
		return number(d, x)
	}
}

// near draws numbers so close to 1 that the product of n is not far from it.
func (in *inputs) near(n int) fill {
	return func(d ops.DType, _ int) uint64 { return number(d, math.Exp(in.NormFloat64()/math.Sqrt(float64(n+1)))) }
}

// testOnes tests that a sum of more ones than float32 can count one by one is exact.
func (s *suite) testOnes(t tb) {
	n := 100_000_000
	if s.short {
		n = 1<<24 + 1<<20 + 2
	}
	if _, slow := s.b.(*reference); slow {
		t.Logf("skipped: the reference would take minutes")
		return
	}
	in := s.draw(t)
	tr := in.reduce(ops.ReduceSum, ops.Float32, backend.Shape{1}, 1, "dense", content{fill: func(d ops.DType, _ int) uint64 { return number(d, 1) }})
	if !s.b.Supports(tr.kernel) {
		s.skip(t, tr)
		return
	}
	var buffers pile
	defer buffers.release()
	st := tr.step(s.upload(t, &buffers, tr.in), s.upload(t, &buffers, tr.out))
	st.Shape = backend.Shape{n}
	st.In[0].Layout = backend.Layout{Shape: st.Shape, Strides: []int{0}}
	st.Out[0].Layout.Shape = st.Shape
	got := s.runAndRead(t, "sum of ones", []backend.Step{st}, st.Out[0].Buf)
	if v := load(ops.Float32, got, st.Out[0].Layout.Offset); v.F != float64(n) {
		t.Errorf("sum of %d ones of float32: %s", n, show(v))
	}
}
