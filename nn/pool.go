package nn

import "github.com/weft-go/weft/tensor"

// A MaxPool2d takes the maximum of each window of [N C H W].
type MaxPool2d struct{ tensor.PoolOptions }

// NewMaxPool2d returns a MaxPool2d of windows of window×window side by side.
func NewMaxPool2d(window int) *MaxPool2d {
	return &MaxPool2d{tensor.PoolOptions{Window: []int{window, window}}}
}

// Forward maps x [N C H W] to [N C H' W'], as [tensor.Tensor.MaxPool2d] says.
func (p *MaxPool2d) Forward(x *tensor.Tensor) *tensor.Tensor { return x.MaxPool2d(p.PoolOptions) }

// An AvgPool2d takes the mean of each window of [N C H W].
type AvgPool2d struct{ tensor.PoolOptions }

// NewAvgPool2d returns an AvgPool2d of windows of window×window side by side.
func NewAvgPool2d(window int) *AvgPool2d {
	return &AvgPool2d{tensor.PoolOptions{Window: []int{window, window}}}
}

// Forward maps x [N C H W] to [N C H' W'], as [tensor.Tensor.AvgPool2d] says.
func (p *AvgPool2d) Forward(x *tensor.Tensor) *tensor.Tensor { return x.AvgPool2d(p.PoolOptions) }

// GlobalAvgPool2d takes the mean of each channel of [N C H W] as [N C].
var GlobalAvgPool2d Layer = Func(func(x *tensor.Tensor) *tensor.Tensor { return x.Mean(-2, -1) })
