package tensor

import "github.com/weft-go/weft/ops"

// Softmax returns exp(t) / Σ exp(t), the sum taken along axis, without overflow. Elements of -∞ give
// exactly 0; a row of -∞ alone, or one with a +∞ or a NaN, gives NaN, as in PyTorch. Integers are
// converted to Float32, and 16-bit types computed in it. The error is of kind [ErrAxis].
func (t *Tensor) Softmax(axis int) *Tensor {
	r, bad := t.alongAxis("softmax", axis)
	if bad != nil {
		return bad
	}
	e := r.in.Sub(r.max).Exp()
	return e.Div(e.Sum(axis).Unsqueeze(axis)).Cast(r.result)
}

// LogSoftmax returns the logarithm of [Tensor.Softmax], exact where that is too small to be one.
func (t *Tensor) LogSoftmax(axis int) *Tensor {
	r, bad := t.alongAxis("log_softmax", axis)
	if bad != nil {
		return bad
	}
	d := r.in.Sub(r.max)
	return d.Sub(d.Exp().Sum(axis).Unsqueeze(axis).Log()).Cast(r.result)
}

// A line is a tensor of floats with its maximum along one axis, kept with extent 1.
type line struct {
	in, max *Tensor
	result  DType
}

func (t *Tensor) alongAxis(op string, axis int) (line, *Tensor) {
	t, ok := t.ready(op)
	if !ok {
		return line{}, t
	}
	a, err := t.layout.Shape.Axis(axis)
	if err != nil {
		return line{}, failWith(op, err, t)
	}
	l := line{result: floating(t.node.DType)}
	l.in = t.Cast(accumulator(l.result))
	if t.layout.Shape[a] == 0 {
		l.max = l.in // as empty as its maximum would be
		return l, nil
	}
	l.max = l.in.reduce(ops.ReduceMax, []int{a}).Unsqueeze(a)
	return l, nil
}

// LayerNorm returns (t − mean) / √(variance + eps), both taken along the last axis, times weight plus
// bias, which broadcast; either may be nil. 16-bit types are computed in Float32. (Ba, Kiros and Hinton,
// "Layer normalization", 2016.)
func (t *Tensor) LayerNorm(weight, bias *Tensor, eps float64) *Tensor {
	r := t.rows("layer_norm", []int{-1})
	if r.bad != nil {
		return r.bad
	}
	d, squares := r.centred()
	y := d.Mul(r.keep(squares.MulScalar(1 / float64(r.n)).AddScalar(eps).Rsqrt()))
	return named("layer_norm", affine(y, weight, bias).Cast(r.result), t, weight, bias)
}

// RMSNorm returns t / √(mean(t²) + eps), the mean taken along the last axis, times weight, which
// broadcasts and may be nil. 16-bit types are computed in Float32. (Zhang and Sennrich, "Root mean
// square layer normalization", 2019.)
func (t *Tensor) RMSNorm(weight *Tensor, eps float64) *Tensor {
	r := t.rows("rms_norm", []int{-1})
	if r.bad != nil {
		return r.bad
	}
	y := r.in.Mul(r.keep(r.mean(r.in.Square()).AddScalar(eps).Rsqrt()))
	return named("rms_norm", affine(y, weight, nil).Cast(r.result), t, weight)
}

// affine returns y·weight + bias, of which either may be nil.
func affine(y, weight, bias *Tensor) *Tensor {
	if weight != nil {
		y = y.Mul(weight)
	}
	if bias != nil {
		y = y.Add(bias)
	}
	return y
}
