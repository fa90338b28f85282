package nn

import (
	"fmt"

	"github.com/weft-go/weft/tensor"
)

// A MultiHeadAttention projects queries, keys and values, lets each head attend to its part of them, and projects what the heads
// give together (Vaswani et al., "Attention is all you need", 2017). Its parameters are those of PyTorch's
// MultiheadAttention with one width for all.
type MultiHeadAttention struct {
	InWeight *tensor.Tensor // [3E E]: the rows for queries, then those for keys and for values
	InBias   *tensor.Tensor // [3E], or nil for none
	Out      *Linear        // E to E

	Heads   int                     // a divisor of E
	Options tensor.AttentionOptions // a mask is over [… heads M N], to which it broadcasts

	width int
}

// NewMultiHeadAttention returns a MultiHeadAttention of so many heads over width features, with biases, for [Load] to bind.
func NewMultiHeadAttention(width, heads int) *MultiHeadAttention {
	return &MultiHeadAttention{Heads: heads, width: width, Out: NewLinear(width, width)}
}

// Params names "in_proj_weight" [3E E], "in_proj_bias" [3E] and "out_proj".
func (a *MultiHeadAttention) Params(b *Binder) {
	b.Param("in_proj_weight", &a.InWeight, 3*a.width, a.width)
	b.Param("in_proj_bias", &a.InBias, 3*a.width)
	b.Child("out_proj", a.Out)
}

// Forward lets x [… N E] attend to itself.
func (a *MultiHeadAttention) Forward(x *tensor.Tensor) *tensor.Tensor { return a.Attend(x, x, x) }

// Attend returns, for queries q [… M E], what they find among keys k [… N E] with values v [… N E]: a tensor [… M E].
func (a *MultiHeadAttention) Attend(q, k, v *tensor.Tensor) *tensor.Tensor {
	const op = "multi_head_attention"
	if a.InWeight == nil || a.Out == nil {
		return unbound(op, q)
	}
	if err := a.InWeight.Err(); err != nil {
		return a.InWeight
	}
	e := a.InWeight.Dim(1)
	if a.InWeight.Rank() != 2 || a.InWeight.Dim(0) != 3*e || a.Heads < 1 || e%a.Heads != 0 {
		return tensor.Fail(op, fmt.Errorf("%d heads of a projection %v: %w", a.Heads, a.InWeight.Shape(), tensor.ErrShape), q, k, v)
	}
	in := [3]*tensor.Tensor{q, k, v}
	for i, x := range in {
		p := x.MatMul(a.InWeight.Narrow(0, i*e, e).T())
		if a.InBias != nil {
			p = p.Add(a.InBias.Narrow(0, i*e, e))
		}
		shape := p.Shape()
		if p.Err() != nil {
			return p
		}
		if len(shape) < 2 {
			return tensor.Fail(op, fmt.Errorf("operand %d has no axis of positions: %w", i, tensor.ErrShape), q, k, v)
		}
		in[i] = p.Reshape(append(shape[:len(shape)-1:len(shape)-1], a.Heads, e/a.Heads)...).Transpose(-3, -2) // [… heads N E/heads]
	}
	y := tensor.ScaledDotProductAttention(in[0], in[1], in[2], a.Options).Transpose(-3, -2)
	if y.Err() != nil {
		return y
	}
	shape := y.Shape()
	return a.Out.Forward(y.Reshape(append(shape[:len(shape)-2:len(shape)-2], e)...))
}
