package wgpu

import (
	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A product is a MatMul in the form its kernels work on: neighbouring batch axes are merged, batches that share B are
// rows of one product, and the sides are exchanged where that suits the sizes or the output, since the transpose of
// A·B is Bᵀ·Aᵀ.
type product struct {
	a, b, post *ops.Expr
	acc        ops.DType
	batch      backend.Shape // may be empty
	m, n, k    int

	left, right []backend.Operand // of a, [batch… m k], and of b, [batch… k n]
	rest, out   []backend.Operand // of post from its operand 1 on, and the results: [batch… m n]
	consts      []uint64
	exchanged   bool
	image       *image // of a convolution, which is what right then holds
}

func (e *engine) lowerMatMul(s *backend.Step, k *backend.MatMul) error {
	if s.Shape.Len() == 0 {
		return nil
	}
	p, key := newProduct(s, k), k.AppendKey(nil)
	c, err := e.choose(p, key)
	if err != nil {
		return err
	}
	return e.multiply(p, c, key)
}

// newProduct brings a step into its form.
func newProduct(s *backend.Step, k *backend.MatMul) *product {
	rank, na, nb := len(s.Shape), len(k.A.In), len(k.B.In)
	p := &product{
		a: &k.A, b: &k.B, post: &k.Post, acc: k.Acc, consts: s.Consts,
		m: s.Shape[rank-2], n: s.Shape[rank-1], k: s.In[0].Layout.Shape[rank-1],
		left: s.In[:na:na], right: s.In[na : na+nb : na+nb], rest: s.In[na+nb:], out: s.Out,
	}
	p.mergeBatch(s.Shape[:rank-2])
	p.fillEmpty()
	p.foldBatch()
	if p.wantsExchange() {
		p.exchange()
	}
	return p
}

// fillEmpty gives factors without elements some memory, which is never read.
func (p *product) fillEmpty() {
	for _, list := range [][]backend.Operand{p.left, p.right} {
		for i := range list {
			if b := list[i].Buf; b != nil && b.Size() == 0 {
				list[i].Buf = p.out[0].Buf
			}
		}
	}
}

// operands calls f for each list of operands.
func (p *product) operands(f func(list []backend.Operand) []backend.Operand) {
	p.left, p.right, p.rest, p.out = f(p.left), f(p.right), f(p.rest), f(p.out)
}

// mergeBatch merges batch axes that all operands step through as through one.
func (p *product) mergeBatch(batch backend.Shape) {
	nb := len(batch)
	var layouts []backend.Layout
	p.operands(func(list []backend.Operand) []backend.Operand {
		for _, o := range list {
			layouts = append(layouts, backend.Layout{Shape: batch, Strides: o.Layout.Strides[:nb], Offset: o.Layout.Offset})
		}
		return list
	})
	if layouts, _ = backend.Collapse(layouts, nb); batch.Len() != 1 {
		p.batch = layouts[0].Shape
	}
	i := 0
	p.operands(func(list []backend.Operand) []backend.Operand {
		list = append([]backend.Operand(nil), list...)
		for j := range list {
			l := &list[j].Layout
			l.Shape = append(p.batch.Clone(), l.Shape[nb:]...)
			l.Strides = append(layouts[i].Strides[:len(p.batch):len(p.batch)], l.Strides[nb:]...)
			i++
		}
		return list
	})
}

// foldBatch makes rows of one product of batches that share B.
func (p *product) foldBatch() {
	for len(p.batch) > 0 && p.foldable() {
		last := len(p.batch) - 1
		d := p.batch[last]
		drop := func(l backend.Layout, rows int) backend.Layout {
			c := backend.Layout{Shape: p.batch[:last].Clone(), Offset: l.Offset}
			c.Shape = append(append(c.Shape, l.Shape[last+1]*rows), l.Shape[last+2:]...)
			c.Strides = append(append(c.Strides, l.Strides[:last]...), l.Strides[last+1:]...)
			if rows > 1 && l.Shape[last+1] == 1 {
				c.Strides[last] = l.Strides[last]
			}
			return c
		}
		for _, list := range [][]backend.Operand{p.left, p.rest, p.out} {
			for i := range list {
				list[i].Layout = drop(list[i].Layout, d)
			}
		}
		for i := range p.right {
			p.right[i].Layout = drop(p.right[i].Layout, 1)
		}
		p.m *= d
		p.batch = p.batch[:last]
	}
}

func (p *product) foldable() bool {
	last := len(p.batch) - 1
	for _, o := range p.right {
		if o.Layout.Strides[last] != 0 {
			return false
		}
	}
	for _, list := range [][]backend.Operand{p.left, p.rest, p.out} {
		for _, o := range list {
			if st := o.Layout.Strides; p.m != 1 && st[last] != p.m*st[last+1] {
				return false
			}
		}
	}
	return true
}

// wantsExchange reports whether the product is better computed as its transpose: with few columns, which the kernels for
// few rows then serve, or where the output's columns lie side by side.
func (p *product) wantsExchange() bool {
	if min(p.m, p.n) <= fewRows && p.m != p.n {
		return p.n < p.m
	}
	st := p.out[0].Layout.Strides[len(p.batch):]
	return st[0] == 1 && st[1] != 1
}

func (p *product) exchange() {
	p.a, p.b, p.left, p.right = p.b, p.a, p.right, p.left
	p.m, p.n = p.n, p.m
	p.exchanged = !p.exchanged
	p.operands(func(list []backend.Operand) []backend.Operand {
		for i := range list {
			list[i].Layout = transposed(list[i].Layout)
		}
		return list
	})
}

// transposed returns l with its last two axes exchanged.
func transposed(l backend.Layout) backend.Layout {
	n := len(l.Shape)
	t := backend.Layout{Shape: l.Shape.Clone(), Strides: append([]int(nil), l.Strides...), Offset: l.Offset}
	t.Shape[n-2], t.Shape[n-1] = t.Shape[n-1], t.Shape[n-2]
	t.Strides[n-2], t.Strides[n-1] = t.Strides[n-1], t.Strides[n-2]
	return t
}

// summed returns the type that sums of type acc are held in: Bool counts the terms that are true, which are fewer than 2³².
func summed(acc ops.DType) ops.DType {
	switch acc {
	case ops.Float16, ops.BFloat16:
		return ops.Float32
	case ops.Int8:
		return ops.Int32
	case ops.Uint8, ops.Bool:
		return ops.Uint32
	}
	return acc
}

// multiply records the dispatches of a product: one, or one that sums slices of K apart and one that adds these up and
// runs Post.
func (e *engine) multiply(p *product, c choice, key []byte) error {
	key = append(key, flag(p.exchanged)|flag(p.image != nil)<<1)
	if c.slices <= 1 {
		return e.launchProduct(p, c, key)
	}
	scratch, err := e.alloc(c.slices * p.batch.Len() * p.apart() * summed(p.acc).Size())
	if err != nil {
		return err
	}
	defer e.release(scratch)
	part := p.partial(scratch, c.slices)
	if err := e.launchProduct(part, c, key); err != nil {
		return err
	}
	return e.addSlices(p, part.out[0], key)
}

// loads are the programs that load an element and do no more, by type.
var loads = func() (list map[ops.DType]*ops.Expr) {
	list = make(map[ops.DType]*ops.Expr)
	for _, d := range ops.DTypes() {
		var b ops.Builder
		b.Result(b.Load(b.Operand(d), false))
		e := b.Expr()
		list[d] = &e
	}
	return list
}()

// apart is the elements from one slice's sums to the next: whole fours, which vector loads are aligned to.
func (p *product) apart() int { return ceil(p.m*p.n, 4) * 4 }

// partial returns the product that leaves the sums of slices of K in scratch, [batch… slices m n]. Its last batch axis
// counts the slices.
func (p *product) partial(scratch *buffer, slices int) *product {
	nb := len(p.batch)
	part := *p
	part.batch = append(p.batch.Clone(), slices)
	part.post, part.rest = loads[summed(p.acc)], nil
	l := backend.Layout{Shape: append(part.batch.Clone(), p.m, p.n), Strides: part.batch.Strides()}
	for a := range l.Strides {
		l.Strides[a] *= p.apart()
	}
	l.Strides = append(l.Strides, p.n, 1)
	part.out = []backend.Operand{{Buf: scratch, DType: summed(p.acc), Layout: l}}
	spread := func(list []backend.Operand) []backend.Operand {
		list = append([]backend.Operand(nil), list...)
		for i := range list {
			l := &list[i].Layout
			l.Shape = append(part.batch.Clone(), l.Shape[nb:]...)
			l.Strides = append(append(append([]int(nil), l.Strides[:nb]...), 0), l.Strides[nb:]...)
		}
		return list
	}
	part.left = spread(p.left)
	if p.image == nil {
		part.right = spread(p.right)
	}
	return &part
}
