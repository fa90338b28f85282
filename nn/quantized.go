package nn

import "github.com/weft-go/weft/tensor"

// A QuantizedLinear is a [Linear] whose weights are kept quantised: products read their blocks.
type QuantizedLinear struct {
	Weight *tensor.Quantized // [out in]
	Bias   *tensor.Tensor    // [out], or nil for none
}

// Forward maps x [… in] to [… out].
func (l *QuantizedLinear) Forward(x *tensor.Tensor) *tensor.Tensor {
	y := x.MatMul(l.Weight.Tensor().T())
	if l.Bias != nil {
		y = y.Add(l.Bias)
	}
	return y
}
