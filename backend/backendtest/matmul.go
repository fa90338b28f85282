package backendtest

import (
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A product says what a trial multiplies.
type product struct {
	a, b, acc ops.DType // of the operands in memory, and of the sum: cast before
	batch     backend.Shape
	m, n, k   int

	howA, howB, out string
	onceA, onceB    bool // one matrix for the whole batch

	content content
	post    poster
}

// A poster is work on the sum: operands it wants beside it, over the domain, and what it computes.
type poster struct {
	name     string
	operands []string // their arrangements
	build    func(b *ops.Builder, sum ops.Ref, rest []ops.Ref)
	consts   []float64
}

// posters returns work after a kernel that sums: bias, activation, scale, residual, and several outputs.
func posters(acc ops.DType) []poster {
	plain := poster{name: "plain", build: func(b *ops.Builder, sum ops.Ref, _ []ops.Ref) { b.Result(sum) }}
	if !acc.IsFloat() {
		return []poster{plain, {name: "and an operand", operands: []string{"reversed"}, build: func(b *ops.Builder, sum ops.Ref, rest []ops.Ref) {
			b.Result(b.Apply(ops.Add, sum, rest[0]))
		}}}
	}
	return []poster{
		plain,
		{name: "bias, ReLU", operands: []string{"broadcast row"}, build: func(b *ops.Builder, sum ops.Ref, rest []ops.Ref) {
			b.Result(b.Apply(ops.ReLU, b.Apply(ops.Add, sum, rest[0])))
		}},
		{name: "scale, residual", operands: []string{"transposed"}, consts: []float64{0.5}, build: func(b *ops.Builder, sum ops.Ref, rest []ops.Ref) {
			b.Result(b.Apply(ops.Add, b.Apply(ops.Mul, sum, b.Const(0, acc)), rest[0]))
		}},
		{name: "two biases, two results", operands: []string{"broadcast column", "sliced"}, build: func(b *ops.Builder, sum ops.Ref, rest []ops.Ref) {
			b.Result(b.Apply(ops.Add, sum, rest[0]))
			b.Result(b.Apply(ops.Add, sum, rest[1]))
		}},
		{name: "cast", build: func(b *ops.Builder, sum ops.Ref, _ []ops.Ref) {
			b.Result(b.Cast(ops.Float16, b.Cast(ops.Float32, sum)))
		}},
	}
}

// apply adds the poster's operands, outputs and constants to the trial, and returns its program.
func (p *poster) apply(in *inputs, tr *trial, acc ops.DType, how string, f fill) ops.Expr {
	var b ops.Builder
	sum := b.Load(b.Operand(acc), false)
	var rest []ops.Ref
	for _, how := range p.operands {
		rest = append(rest, b.Load(b.Operand(acc), false))
		tr.in = append(tr.in, in.tensor(acc, how, tr.shape, f))
	}
	for _, c := range p.consts {
		tr.consts = append(tr.consts, ops.FloatValue(acc, c))
	}
	p.build(&b, sum, rest)
	if acc.IsHalf() && tr.bound > 0 && b.Len() > 1 {
		// The sum is rounded to 11 or 8 bits before; what follows may cancel, and magnify that.
		tr.bound += map[ops.DType]float64{ops.Float16: 1 << 14, ops.BFloat16: 1 << 17}[acc]
	}
	e := b.Expr()
	for _, r := range e.Out {
		tr.out = append(tr.out, in.blank(e.Code[r].DType, how, tr.shape))
	}
	return e
}

// trial returns the trial of p.
func (p *product) trial(in *inputs) *trial {
	shape := append(p.batch.Clone(), p.m, p.n)
	tr := &trial{
		name:  fmt.Sprintf("matmul %v, K %d, A %s, B %s, of %s, %s", shape, p.k, p.howA, p.howB, p.content.name, p.post.name),
		shape: shape, ulp: p.content.ulp, bound: p.content.bound,
	}
	other := p.content.other
	if other == nil {
		other = p.content.fill
	}
	tr.in = append(tr.in, in.matrix(p.a, p.howA, p.batch, backend.Shape{p.m, p.k}, p.onceA, p.content.fill),
		in.matrix(p.b, p.howB, p.batch, backend.Shape{p.k, p.n}, p.onceB, other))
	post := p.post.apply(in, tr, p.acc, p.out, other)
	tr.kernel = &backend.MatMul{A: load1(p.a, p.acc), B: load1(p.b, p.acc), Post: post, Acc: p.acc}
	return tr
}

// matrix returns an operand of matrices, the same for the whole batch if once.
func (in *inputs) matrix(d ops.DType, how string, batch, shape backend.Shape, once bool, f fill) operand {
	if !once {
		return in.tensor(d, how, append(batch.Clone(), shape...), f)
	}
	o := in.tensor(d, how, shape, f)
	l, err := o.layout.BroadcastTo(append(batch.Clone(), shape...))
	if err != nil {
		panic("backendtest: " + err.Error()) // the suite is wrong
	}
	o.layout = l
	return o
}

// testMatMul tests products of matrices of all types, in all arrangements and sizes.
func (s *suite) testMatMul(t tb) {
	for _, c := range []struct{ a, b, acc ops.DType }{
		{ops.Float32, ops.Float32, ops.Float32},
		{ops.Float64, ops.Float64, ops.Float64},
		{ops.Float16, ops.Float16, ops.Float16},
		{ops.BFloat16, ops.BFloat16, ops.BFloat16},
		{ops.Float16, ops.Float16, ops.Float32},
		{ops.Float32, ops.Float16, ops.Float32},
		{ops.Float32, ops.BFloat16, ops.Float32},
		{ops.Float32, ops.Int8, ops.Float32},
		{ops.Float32, ops.Q8_0, ops.Float32},
		{ops.Float32, ops.Q4_0, ops.Float32},
		{ops.Float32, ops.Q4_1, ops.Float32},
		{ops.Float16, ops.Q4_1, ops.Float16},
		{ops.Int8, ops.Int8, ops.Int8},
		{ops.Uint8, ops.Uint8, ops.Uint8},
		{ops.Int32, ops.Int32, ops.Int32},
		{ops.Uint32, ops.Uint32, ops.Uint32},
		{ops.Int64, ops.Int64, ops.Int64},
		{ops.Int8, ops.Int8, ops.Int32},
	} {
		s.leaf(t, fmt.Sprintf("%s·%s in %s", c.a, c.b, c.acc), func(t tb) {
			s.testMatMulOn(t, product{a: c.a, b: c.b, acc: c.acc})
		})
	}
	t.Run("program", s.testMatMulPrograms)
}

// testMatMulOn tests products of the types of p.
func (s *suite) testMatMulOn(t tb, p product) {
	in := s.draw(t)
	s.check(t, in.productSizes(p, s.short)...)
	s.check(t, in.productArrangements(p)...)
	s.check(t, in.productCorners(p)...)
}

// productContents returns contents for products of depth k.
func (in *inputs) productContents(p product) []content {
	if !p.acc.IsFloat() {
		return []content{{name: "random bits", fill: in.bits}}
	}
	list := []content{
		{name: "whole numbers", fill: in.whole},
		{name: "whole numbers and specials", fill: in.special(in.whole, 1+p.k*max(p.m, p.n)/2)},
		// Each of k additions and multiplications rounds once, whatever the order.
		{name: "normal numbers", fill: in.normal, ulp: 1, bound: float64(p.k) + 4},
	}
	if p.a == ops.Float32 && p.b == ops.Float32 && p.k <= 300 {
		// Fourteen significant bits times ±1: exact in float32, and not in the formats tensor cores round to.
		list = append(list, content{
			name:  "wide whole numbers",
			fill:  func(d ops.DType, _ int) uint64 { return number(d, float64(8193+2*in.IntN(4096))) },
			other: func(d ops.DType, _ int) uint64 { return number(d, float64(2*in.IntN(2)-1)) },
		})
	}
	return list
}

// edgeSizes are extents of matrices around those of registers, tiles and blocks.
var edgeSizes = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 17, 24, 25, 31, 32, 33, 48, 63, 64, 65, 96, 127, 128, 129, 192, 255, 256, 257}

// productSizes tries random combinations of sizes.
func (in *inputs) productSizes(p product, short bool) []*trial {
	count, most := 40, 300_000
	if short {
		count, most = 8, 50_000
	}
	var trials []*trial
	for len(trials) < count {
		pick := func() int { return edgeSizes[in.IntN(len(edgeSizes))] }
		p.batch, p.m, p.n, p.k = nil, pick(), pick(), pick()
		if p.m*p.n*p.k > most {
			continue
		}
		p.howA, p.howB, p.out = sample(in, writable[:3], 1)[0], sample(in, writable[:3], 1)[0], sample(in, writable, 1)[0]
		p.content = sample(in, in.productContents(p), 1)[0]
		p.post = sample(in, posters(p.acc), 1)[0]
		trials = append(trials, p.trial(in))
	}
	if short {
		return trials
	}
	for _, size := range [][3]int{{257, 129, 65}, {1, 513, 700}, {513, 1, 700}, {1, 1, longRow}, {130, 260, 33}} {
		p.m, p.n, p.k, p.howA, p.howB, p.out = size[0], size[1], size[2], "dense", "dense", "dense"
		for _, c := range in.productContents(p) {
			p.content, p.post = c, posters(p.acc)[0]
			trials = append(trials, p.trial(in))
		}
	}
	return trials
}

// productArrangements tries every arrangement of A, B and the output, and batches that share a matrix.
func (in *inputs) productArrangements(p product) []*trial {
	var trials []*trial
	for i, how := range readable {
		for j, batch := range []backend.Shape{nil, {3}, {2, 3}} {
			p.batch, p.m, p.n, p.k = batch, 3+in.IntN(8), 3+in.IntN(8), 3+in.IntN(8)
			p.howA, p.howB, p.out = how, readable[(i+2*j+1)%len(readable)], writable[(i+j)%len(writable)]
			p.onceA, p.onceB = in.IntN(3) == 0, in.IntN(3) == 0
			list := in.productContents(p)
			p.content, p.post = list[(i+j)%len(list)], posters(p.acc)[(i+2*j)%len(posters(p.acc))]
			trials = append(trials, p.trial(in))
		}
	}
	return trials
}

// productCorners tries extents of 0 and 1. The sum of no products is 0.
func (in *inputs) productCorners(p product) []*trial {
	var trials []*trial
	for _, c := range []struct {
		batch   backend.Shape
		m, n, k int
	}{
		{nil, 3, 4, 0},
		{backend.Shape{2}, 3, 4, 0},
		{nil, 0, 4, 3},
		{nil, 3, 0, 2},
		{nil, 0, 0, 0},
		{backend.Shape{0}, 2, 3, 4},
		{backend.Shape{2, 0}, 2, 3, 4},
		{nil, 1, 1, 1},
		{backend.Shape{1, 5, 1}, 1, 1, 2},
		{backend.Shape{33}, 1, 2, 1},
	} {
		p.batch, p.m, p.n, p.k = c.batch, c.m, c.n, c.k
		p.howA, p.howB, p.out = "dense", "transposed", "offset"
		for _, post := range posters(p.acc) {
			p.content, p.post = in.productContents(p)[0], post
			trials = append(trials, p.trial(in))
		}
	}
	return trials
}

// testMatMulPrograms tests work on the operands before they are multiplied: weights of int8 scaled by column,
// a mask of positions, a square.
func (s *suite) testMatMulPrograms(t tb) {
	in := s.draw(t)
	var trials []*trial
	for _, how := range writable {
		const m, n, k = 5, 7, 9
		var a, b, post ops.Builder
		x := a.Load(a.Operand(ops.Float32), false)
		a.Result(a.Apply(ops.Mul, x, x))
		w := b.Cast(ops.Float32, b.Load(b.Operand(ops.Int8), false))
		scaled := b.Apply(ops.Mul, w, b.Load(b.Operand(ops.Float32), false))
		low := b.Apply(ops.Less, b.Index(b.Operand(ops.Int32), ops.Int32, false), b.Const(0, ops.Int32))
		b.Result(b.Apply(ops.Where, low, scaled, b.Const(1, ops.Float32)))
		post.Result(post.Load(post.Operand(ops.Float32), false))
		trials = append(trials, &trial{
			name:   "matmul of squares and scaled, masked int8, " + how,
			kernel: &backend.MatMul{A: a.Expr(), B: b.Expr(), Post: post.Expr(), Acc: ops.Float32}, shape: backend.Shape{m, n},
			in: []operand{
				in.tensor(ops.Float32, how, backend.Shape{m, k}, in.whole), in.tensor(ops.Int8, how, backend.Shape{k, n}, in.whole),
				in.tensor(ops.Float32, "broadcast row", backend.Shape{k, n}, in.whole),
				{dtype: ops.Int32, how: "dense", layout: arrange("dense", backend.Shape{k, n})},
			},
			out:    []operand{in.blank(ops.Float32, how, backend.Shape{m, n})},
			consts: []ops.Value{ops.IntValue(ops.Int32, k*n/2), ops.FloatValue(ops.Float32, 0)},
		})
	}
	s.check(t, trials...)
}
