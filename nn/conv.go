package nn

import "github.com/weft-go/weft/tensor"

// Conv2dOptions are the parameters of a convolution beside its sizes. The zero value is stride 1, no padding, dilation 1,
// one group, with a bias. A pair is rows, columns; [Conv2dOptions.Stride] and the others set both alike.
type Conv2dOptions struct {
	Stride   int // 0 means 1
	Padding  int // zeros on every side
	Dilation int // 0 means 1
	Groups   int // 0 means 1; in and out must be multiples of it
	NoBias   bool
}

// A Conv2d is a two-dimensional convolution (cross-correlation) over images [N C H W].
type Conv2d struct {
	Weight *tensor.Tensor // [out in/groups rows columns]
	Bias   *tensor.Tensor // [out], or nil for none
	Conv2dOptions

	in, out, kernel int
}

// NewConv2d returns a Conv2d from in channels to out with a kernel of kernel×kernel, for [Load] to bind.
func NewConv2d(in, out, kernel int, o Conv2dOptions) *Conv2d {
	return &Conv2d{in: in, out: out, kernel: kernel, Conv2dOptions: o}
}

// Params names "weight" [out in/groups kernel kernel] and "bias" [out].
func (c *Conv2d) Params(b *Binder) {
	b.Param("weight", &c.Weight, c.out, c.in/max(1, c.Groups), c.kernel, c.kernel)
	if !c.NoBias {
		b.Param("bias", &c.Bias, c.out)
	}
}

// Forward maps x [N in H W] to [N out H' W'], H' = (H + 2·padding - dilation·(kernel-1) - 1)/stride + 1.
func (c *Conv2d) Forward(x *tensor.Tensor) *tensor.Tensor {
	if c.Weight == nil {
		return unbound("conv2d", x)
	}
	y := x.Conv2d(c.Weight, tensor.ConvOptions{
		Stride: pair(c.Stride), Padding: pair(c.Padding), Dilation: pair(c.Dilation), Groups: c.Groups,
	})
	if c.Bias != nil {
		y = y.Add(c.Bias.Reshape(-1, 1, 1))
	}
	return y
}

// pair returns n for both axes, or nothing, which is the default, for 0.
func pair(n int) []int {
	if n == 0 {
		return nil
	}
	return []int{n, n}
}

// A BatchNorm2d normalises each channel of [N C H W] by the mean and variance seen in training:
//
//	y = (x - mean)/sqrt(var + eps)·weight + bias
//
// (Ioffe and Szegedy, 2015.) The graph fuses it into the convolution before.
type BatchNorm2d struct {
	Weight, Bias *tensor.Tensor // [C]
	Mean, Var    *tensor.Tensor // [C]
	Eps          float64

	channels int
}

// NewBatchNorm2d returns a BatchNorm2d of the given number of channels with PyTorch's eps of 1e-5, for [Load] to bind.
func NewBatchNorm2d(channels int) *BatchNorm2d { return &BatchNorm2d{channels: channels, Eps: 1e-5} }

// Params names "weight", "bias", "running_mean" and "running_var", each [C], and lets "num_batches_tracked" be there unused.
func (n *BatchNorm2d) Params(b *Binder) {
	b.Param("weight", &n.Weight, n.channels)
	b.Param("bias", &n.Bias, n.channels)
	b.Param("running_mean", &n.Mean, n.channels)
	b.Param("running_var", &n.Var, n.channels)
	b.Ignore("num_batches_tracked")
}

// Forward maps x [N C H W] to the same shape.
func (n *BatchNorm2d) Forward(x *tensor.Tensor) *tensor.Tensor {
	if n.Weight == nil || n.Bias == nil || n.Mean == nil || n.Var == nil {
		return unbound("batchnorm2d", x)
	}
	scale := n.Var.AddScalar(n.Eps).Rsqrt().Mul(n.Weight)
	perChannel := func(t *tensor.Tensor) *tensor.Tensor { return t.Reshape(-1, 1, 1) }
	return x.Sub(perChannel(n.Mean)).Mul(perChannel(scale)).Add(perChannel(n.Bias))
}
