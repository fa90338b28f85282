package graph

import (
	"fmt"
	"math"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// runRows runs a program whose rows are the axes of the domain from kept on. Outputs of row values are
// checked to be constant along the last axes.
func runRows(s *backend.Step, e *ops.Expr, kept, axes int) error {
	in := make([]operandView, len(s.In))
	for i := range in {
		if in[i] = view(s.In[i]); !s.In[i].Layout.Shape.Equal(s.Shape) {
			return fmt.Errorf("operand of shape %v in a domain of %v", s.In[i].Layout.Shape, s.Shape)
		}
	}
	for i, o := range s.Out {
		if !o.Layout.Shape.Equal(s.Shape) {
			return fmt.Errorf("result of shape %v in a domain of %v", o.Layout.Shape, s.Shape)
		}
		row := e.Code[e.Out[i]].Row
		if row != constant(o.Layout, kept) && axes > 0 && s.Shape[kept:].Len() > 1 {
			return fmt.Errorf("result %d: row value %v, layout %v", i, row, o.Layout)
		}
		l := o.Layout
		if row {
			l = head(l, kept)
		}
		if !injective(l) {
			return fmt.Errorf("result %d: layout %v is not injective", i, l)
		}
	}
	n := s.Shape[kept:].Len()
	for r := range s.Shape[:kept].Len() {
		vals, err := evalRow(s, e, in, r, n, kept)
		if err != nil {
			return err
		}
		for i, o := range s.Out {
			ov := operandView{Operand: o}
			v := vals[e.Out[i]]
			if e.Code[e.Out[i]].Row {
				ov.set(positions(head(o.Layout, kept))[r], v[0])
				continue
			}
			pos := positions(o.Layout)
			for j := range n {
				ov.set(pos[r*n+j], v[j%len(v)])
			}
		}
	}
	return nil
}

func injective(l backend.Layout) bool {
	seen := map[int]bool{}
	for _, p := range positions(l) {
		if seen[p] {
			return false
		}
		seen[p] = true
	}
	return true
}

// evalRow returns the values of a program in row r of n elements: one of each constant and row value, else n.
func evalRow(s *backend.Step, e *ops.Expr, in []operandView, r, n, kept int) ([][]ops.Value, error) {
	vals := make([][]ops.Value, len(e.Code))
	for i := range e.Code {
		c := &e.Code[i]
		width := n
		if c.Row || c.Kind == ops.Const {
			width = 1
		}
		out := make([]ops.Value, width)
		switch c.Kind {
		case ops.Load, ops.Index:
			o := &in[c.Args[0]]
			pos := o.pos
			if c.Row {
				if !constant(o.Layout, kept) {
					return nil, fmt.Errorf("operand %d varies along the row: %v", c.Args[0], o.Layout)
				}
				pos = positions(head(o.Layout, kept))
			}
			for j := range out {
				if c.Kind == ops.Load {
					out[j] = o.at(pos[r*width+j])
				} else {
					out[j] = ops.IntValue(c.DType, int64(pos[r*width+j]))
				}
			}
		case ops.Const:
			out[0] = ops.FromBits(c.DType, s.Consts[c.Args[0]])
		case ops.Apply, ops.Cast:
			for j := range out {
				var args [3]ops.Value
				for k, a := range c.Operands() {
					args[k] = vals[a][j%len(vals[a])]
				}
				if c.Kind == ops.Cast {
					out[j] = args[0].Convert(c.DType)
				} else {
					out[j] = c.Op.Eval(args[:c.Op.Arity]...)
				}
			}
		case ops.Reduce:
			if e.Code[c.Args[0]].Row {
				return nil, fmt.Errorf("reduction of a row value")
			}
			out[0] = fold(c.Red, c.DType, repeatTo(vals[c.Args[0]], n))
		case ops.Scan:
			out = scan(c, repeatTo(vals[c.Args[0]], n))
		}
		vals[i] = out
	}
	return vals, nil
}

func repeatTo(v []ops.Value, n int) []ops.Value {
	out := make([]ops.Value, n)
	for i := range out {
		out[i] = v[i%len(v)]
	}
	return out
}

// fold reduces vs; the empty reduction is the identity.
func fold(op ops.ReduceOp, d ops.DType, vs []ops.Value) ops.Value {
	var f float64
	var n int64
	var best ops.Value
	if op == ops.ReduceProd || op == ops.ReduceAll {
		f, n = 1, 1
	}
	if op == ops.ReduceLogAddExp {
		f = math.Inf(-1)
	}
	for i, v := range vs {
		switch op {
		case ops.ReduceArgMax, ops.ReduceArgMin:
			if i > 0 && better(op == ops.ReduceArgMax, v, vs[n]) {
				n = int64(i)
			}
		case ops.ReduceMax, ops.ReduceMin:
			if i == 0 || better(op == ops.ReduceMax, v, best) {
				best = v
			}
			f, n = best.F, best.I
		case ops.ReduceSum:
			f, n = f+v.F, n+v.I
		case ops.ReduceProd:
			f, n = f*v.F, n*v.I
		case ops.ReduceAny:
			n |= v.I
		case ops.ReduceAll:
			n &= v.I
		case ops.ReduceLogAddExp:
			hi, lo := math.Max(f, v.F), math.Min(f, v.F)
			if f = hi; !math.IsInf(hi, 0) {
				f += math.Log1p(math.Exp(lo - hi))
			}
		}
	}
	if d.IsFloat() {
		return ops.FloatValue(d, f)
	}
	return ops.IntValue(d, n)
}

// better reports whether v comes before best, the extreme of what came before it.
func better(greatest bool, v, best ops.Value) bool {
	x, y := v.Float(), best.Float()
	return y == y && (x != x || greatest && x > y || !greatest && x < y)
}

func scan(c *ops.Instr, vs []ops.Value) []ops.Value {
	n := len(vs)
	at := func(i int) int {
		if c.Reverse {
			return n - 1 - i
		}
		return i
	}
	run := make([]ops.Value, n)
	for i := range run {
		run[i] = vs[at(i)]
	}
	out := make([]ops.Value, n)
	for i := range out {
		end := i + 1
		if c.Exclusive {
			end = i
		}
		out[at(i)] = fold(c.Red, c.DType, run[:end])
	}
	return out
}

// element runs an elementwise program at element i.
func element(e *ops.Expr, in []operandView, consts []uint64, i int, first *ops.Value) []ops.Value {
	k := 0
	if first != nil {
		k = 1
	}
	return e.Eval(func(o int) ops.Value {
		if o < k {
			return *first
		}
		return in[o-k].at(in[o-k].pos[i])
	}, func(o int) int64 { return int64(in[o-k].pos[i]) }, consts)
}

func views(os []backend.Operand) []operandView {
	vs := make([]operandView, len(os))
	for i := range vs {
		vs[i] = view(os[i])
	}
	return vs
}

func runMatMul(s *backend.Step, k *backend.MatMul) error {
	na, nb := len(k.A.In), len(k.B.In)
	a, b, rest, out := views(s.In[:na]), views(s.In[na:na+nb]), views(s.In[na+nb:]), views(s.Out)
	r := len(s.Shape)
	m, n := s.Shape[r-2], s.Shape[r-1]
	inner := a[0].Layout.Shape[r-1]
	for i := range s.Shape.Len() {
		batch, row, col := i/(m*n), i/n%m, i%n
		var f float64
		var w int64
		for j := range inner {
			x := element(&k.A, a, s.Consts, (batch*m+row)*inner+j, nil)[0]
			y := element(&k.B, b, s.Consts, (batch*inner+j)*n+col, nil)[0]
			f, w = f+x.F*y.F, w+x.I*y.I
		}
		sum := ops.IntValue(k.Acc, w)
		if k.Acc.IsFloat() {
			sum = ops.FloatValue(k.Acc, f)
		}
		for o, v := range element(&k.Post, rest, s.Consts, i, &sum) {
			out[o].set(out[o].pos[i], v)
		}
	}
	return nil
}

func runGather(s *backend.Step, k *backend.Gather) error {
	src, index, rest, out := view(s.In[0]), view(s.In[1]), views(s.In[2:]), views(s.Out)
	n := src.Layout.Shape[len(s.Shape)]
	for i := range s.Shape.Len() {
		at := int(index.at(index.pos[i]).I)
		if at < 0 {
			at += n
		}
		x := src.at(src.pos[i*n+at])
		for o, v := range element(&k.Post, rest, s.Consts, i, &x) {
			out[o].set(out[o].pos[i], v)
		}
	}
	return nil
}
