package nn

import "github.com/weft-go/weft/tensor"

// A Linear is an affine map of the last axis: y = x·Wᵀ + b.
type Linear struct {
	Weight *tensor.Tensor // [out in]
	Bias   *tensor.Tensor // [out], or nil for none

	in, out int
	bias    bool
}

// NewLinear returns a Linear from in features to out, with a bias, for [Load] to bind. A Linear literal with tensors
// needs no binding.
func NewLinear(in, out int) *Linear { return &Linear{in: in, out: out, bias: true} }

// NewLinearNoBias is NewLinear without a bias.
func NewLinearNoBias(in, out int) *Linear { return &Linear{in: in, out: out} }

// Params names "weight" [out in] and "bias" [out].
func (l *Linear) Params(b *Binder) {
	b.Param("weight", &l.Weight, l.out, l.in)
	if l.bias {
		b.Param("bias", &l.Bias, l.out)
	}
}

// Forward maps x [… in] to [… out].
func (l *Linear) Forward(x *tensor.Tensor) *tensor.Tensor {
	if l.Weight == nil {
		return unbound("linear", x)
	}
	y := x.MatMul(l.Weight.T())
	if l.Bias != nil {
		y = y.Add(l.Bias)
	}
	return y
}
