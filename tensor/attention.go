package tensor

import (
	"fmt"
	"math"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/internal/graph"
)

// AttentionOptions shapes [ScaledDotProductAttention].
type AttentionOptions struct {
	// Mask is over [… heads M N], to which it broadcasts. Of Bool, true lets a query see a key; of a float type it is
	// added to the scores, -∞ excluding a key.
	Mask *Tensor

	// Causal lets the last query see all keys, the query before it all but the last key, and so on: with as many queries as
	// keys, each sees itself and those before. (With fewer queries, as beside a cache of keys, PyTorch's is_causal aligns the
	// first query and the first key instead.)
	Causal bool

	// Scale multiplies the scores; 0 stands for 1/√D.
	Scale float64
}

// ScaledDotProductAttention returns softmax(q·kᵀ·scale + mask)·v (Vaswani et al., "Attention is all you need", 2017) of
// queries q [… H M D], keys k [… G N D] and values v [… G N V]: a tensor [… H M V]. The weights are never in memory as a
// whole. Heads may be missing from all three. G divides H, and each head of keys and values serves H/G heads of
// queries that follow each other (grouped queries; Ainslie et al., "GQA", 2023); the other leading axes broadcast.
//
// A key that is excluded takes no part, whatever its value holds, and a query that sees no key gets 0. The type is that of
// q, k and v promoted, Float32 for integers; 16-bit types are computed in Float32. Errors are of kind [ErrShape], for operands that do not
// fit and for those of fewer than two axes, [ErrDType], for a mask of integers, [ErrUnsupported], for a scale that is not finite, or
// [ErrDevice].
func ScaledDotProductAttention(q, k, v *Tensor, o AttentionOptions) *Tensor {
	const op = "scaled_dot_product_attention"
	in := []*Tensor{q, k, v}
	if o.Mask != nil {
		in = append(in, o.Mask)
	}
	if bad := readyAll(op, in); bad != nil {
		return bad
	}
	a, err := attend(in)
	if err == nil && o.Scale-o.Scale != 0 {
		err = fmt.Errorf("scale is %g: %w", o.Scale, ErrUnsupported)
	}
	if err != nil {
		return failWith(op, err, in...)
	}
	d := floating(promotedAll(in[:3]))
	edges := [4]graph.Edge{}
	for i, t := range in {
		want := d
		if i == 3 {
			if want, err = maskType(t.node.DType, d); err != nil {
				return failWith(op, err, in...)
			}
		}
		x := a.grouped(i, t.Cast(want))
		if x.Err() != nil {
			return named(op, x, in...)
		}
		edges[i] = x.edge()
	}
	attr := graph.AttentionAttr{Causal: o.Causal, Scale: o.Scale}
	if attr.Scale == 0 {
		attr.Scale = 1 / math.Sqrt(max(1, float64(a.depth)))
	}
	r := whole(in[0].dev, graph.Attention(edges[0], edges[1], edges[2], edges[3], attr))
	return r.Reshape(append(a.lead.Clone(), a.m, a.width)...)
}

// maskType returns the type a mask of type m is given to attention of type d in.
func maskType(m, d DType) (DType, error) {
	switch {
	case m == Bool:
		return Bool, nil
	case !m.IsFloat():
		return 0, fmt.Errorf("mask is %s, want bool or a float: %w", m, ErrDType)
	}
	return accumulator(d), nil
}

// An attention is the sizes of one.
type attention struct {
	lead               backend.Shape // of the result, heads included
	groups             int           // heads of keys; 0 if they need no axis of their own
	m, n, depth, width int
}

// attend checks the shapes of queries, keys, values and perhaps a mask.
func attend(in []*Tensor) (a attention, err error) {
	for i, t := range in[:3] {
		if t.Rank() < 2 {
			return a, fmt.Errorf("operand %d needs two axes or more: %w", i, ErrShape)
		}
	}
	q, k, v := in[0].layout.Shape, in[1].layout.Shape, in[2].layout.Shape
	a.m, a.n, a.depth, a.width = q[len(q)-2], k[len(k)-2], q[len(q)-1], v[len(v)-1]
	switch {
	case k[len(k)-1] != a.depth:
		return a, fmt.Errorf("queries of %d and keys of %d elements: %w", a.depth, k[len(k)-1], ErrShape)
	case v[len(v)-2] != a.n:
		return a, fmt.Errorf("%d keys and %d values: %w", a.n, v[len(v)-2], ErrShape)
	}
	leads := []backend.Shape{q[:len(q)-2], k[:len(k)-2], v[:len(v)-2]}
	if hq, hk, hv := heads(leads[0]), heads(leads[1]), heads(leads[2]); hk > 1 && hq != hk {
		if hv != hk || hq%hk != 0 {
			return a, fmt.Errorf("%d heads of queries for %d of keys and %d of values: %w", hq, hk, hv, ErrShape)
		}
		a.groups = hk
		for i := range leads[1:] {
			l := leads[1+i].Clone()
			l[len(l)-1] = hq
			leads[1+i] = l
		}
	}
	if len(in) == 4 {
		mask := in[3].layout.Shape
		if n := len(mask) - 2; n > 0 {
			leads = append(leads, mask[:n])
		}
	}
	if a.lead, err = backend.Broadcast(leads...); err != nil {
		return a, err
	}
	return a, append(a.lead.Clone(), a.m, max(a.n, a.width)).Check()
}

// heads returns the last extent of leading axes.
func heads(lead backend.Shape) int {
	if len(lead) == 0 {
		return 1
	}
	return lead[len(lead)-1]
}

// grouped returns operand i, t, over the leading axes, of which that of the heads is cut in groups and the heads in one.
func (a *attention) grouped(i int, t *Tensor) *Tensor {
	matrix := [4][2]int{{a.m, a.depth}, {a.n, a.depth}, {a.n, a.width}, {a.m, a.n}}[i]
	if a.groups == 0 {
		return t.BroadcastTo(append(a.lead.Clone(), matrix[:]...)...)
	}
	last := len(a.lead) - 1
	outer := a.lead[:last:last]
	each := a.lead[last] / a.groups
	if i == 1 || i == 2 {
		t = t.Unsqueeze(-3) // [… G 1 N D]
	} else {
		t = t.BroadcastTo(append(a.lead.Clone(), matrix[:]...)...)
		t = t.Reshape(append(outer.Clone(), a.groups, each, matrix[0], matrix[1])...)
	}
	return t.BroadcastTo(append(outer.Clone(), a.groups, each, matrix[0], matrix[1])...)
}
