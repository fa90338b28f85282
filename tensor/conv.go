package tensor

import (
	"fmt"
	"math"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/internal/graph"
)

// ConvOptions shapes a convolution. The zero value is one of stride 1 without padding. A list has a
// number for each spatial axis, or a single one for all; nil stands for the default.
type ConvOptions struct {
	Stride     []int // default 1
	Padding    []int // zeros before each axis, and after it; default 0
	PaddingEnd []int // zeros after each axis, if other than Padding
	Dilation   []int // distance of the weights' elements; default 1
	Groups     int   // of channels that are convolved apart; default 1

	// OutputPadding adds to the extents of the result of a transposed convolution, at the end. Of any other it is an error.
	OutputPadding []int
}

// Conv1d returns the convolution (cross-correlation, as neural networks mean it) of t, [N C L], with
// weights [O C/Groups K]: it is [N O L'], where L' = (L + padding − dilation·(K−1) − 1)/stride + 1,
// rounded down. The types are promoted as arrays are, not both Bool. The error is of kind [ErrShape] or
// [ErrDType].
func (t *Tensor) Conv1d(weight *Tensor, o ConvOptions) *Tensor {
	return t.conv("conv1d", 1, weight, o, false)
}

// Conv2d is [Tensor.Conv1d] of images [N C H W] with weights [O C/Groups KH KW].
func (t *Tensor) Conv2d(weight *Tensor, o ConvOptions) *Tensor {
	return t.conv("conv2d", 2, weight, o, false)
}

// ConvTranspose1d returns the transposed convolution of t, [N C L], with weights [C O/Groups K], as
// PyTorch has it: it is [N O L'], where L' = (L−1)·stride − padding + dilation·(K−1) + 1 + output
// padding.
func (t *Tensor) ConvTranspose1d(weight *Tensor, o ConvOptions) *Tensor {
	return t.conv("conv_transpose1d", 1, weight, o, true)
}

// ConvTranspose2d is [Tensor.ConvTranspose1d] of images [N C H W] with weights [C O/Groups KH KW].
func (t *Tensor) ConvTranspose2d(weight *Tensor, o ConvOptions) *Tensor {
	return t.conv("conv_transpose2d", 2, weight, o, true)
}

func (t *Tensor) conv(op string, spatial int, weight *Tensor, o ConvOptions, transposed bool) *Tensor {
	in := [2]*Tensor{t, weight}
	if bad := readyAll(op, in[:]); bad != nil {
		return bad
	}
	d := promotedAll(in[:])
	if d == Bool {
		return fail(op, ErrDType, "takes integers and floats", in[:]...)
	}
	c := convolution{x: in[0].layout.Shape, w: in[1].layout.Shape, n: spatial, transposed: transposed}
	out, err := c.shape(o)
	if err == nil {
		err = out.Check()
	}
	if err != nil {
		return failWith(op, err, in[:]...)
	}
	return whole(in[0].dev, graph.Conv(in[0].Cast(d).edge(), in[1].Cast(d).edge(), out, graph.ConvAttr{
		Stride: c.stride, Dilation: c.dilation, Pad: c.pad, Groups: c.groups, Transposed: transposed,
	}))
}

// A convolution is the sizes of one, while they are checked.
type convolution struct {
	x, w       backend.Shape
	n          int // spatial axes
	transposed bool

	stride, pad, dilation []int
	groups                int
}

// shape returns the shape of the result, and fills in c.
func (c *convolution) shape(o ConvOptions) (backend.Shape, error) {
	if len(c.x) != c.n+2 || len(c.w) != c.n+2 {
		return nil, fmt.Errorf("operands need %d axes: %w", c.n+2, ErrShape)
	}
	end, err := c.options(o)
	if err != nil {
		return nil, err
	}
	c.groups = max(o.Groups, 1)
	channels, outputs := c.w[1]*c.groups, c.w[0]
	if c.transposed {
		channels, outputs = c.w[0], c.w[1]*c.groups
	}
	switch {
	case max(c.groups, c.w[0], c.w[1]) > math.MaxInt32:
		return nil, fmt.Errorf("%d groups, weights %v: %w", c.groups, c.w, ErrShape)
	case o.Groups < 0:
		return nil, fmt.Errorf("%d groups: want 1 or more, or 0 for 1: %w", o.Groups, ErrShape)
	case c.groups > max(c.x[1], 1) || c.x[1]%c.groups != 0 || outputs%c.groups != 0:
		return nil, fmt.Errorf("%d groups: must divide the %d channels and the %d outputs: %w", c.groups, c.x[1], outputs, ErrShape)
	case channels != c.x[1]:
		return nil, fmt.Errorf("weights for %d channels, the input has %d: %w", channels, c.x[1], ErrShape)
	}
	extra, err := list("OutputPadding", o.OutputPadding, c.n, 0, 0)
	if err != nil {
		return nil, err
	}
	out := backend.Shape{c.x[0], outputs}
	for i := range c.n {
		d, err := c.extent(i, end[i], extra[i])
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

// options reads the lists of o, and returns the padding at the ends.
func (c *convolution) options(o ConvOptions) (end []int, err error) {
	if c.stride, err = list("Stride", o.Stride, c.n, 1, 1); err != nil {
		return nil, err
	}
	if c.pad, err = list("Padding", o.Padding, c.n, 0, 0); err != nil {
		return nil, err
	}
	if c.dilation, err = list("Dilation", o.Dilation, c.n, 1, 1); err != nil {
		return nil, err
	}
	if o.PaddingEnd == nil {
		return c.pad, nil
	}
	return list("PaddingEnd", o.PaddingEnd, c.n, 0, 0)
}

// extent returns the extent of spatial axis i of the result.
func (c *convolution) extent(i, end, extra int) (int, error) {
	in, window := c.x[2+i], c.dilation[i]*(c.w[2+i]-1)+1
	switch {
	case c.w[2+i] < 1:
		return 0, fmt.Errorf("weights are empty along spatial axis %d: %w", i, ErrShape)
	case max(in, c.w[2+i]) > math.MaxInt32:
		return 0, fmt.Errorf("spatial axis %d has more than 2³¹ elements: %w", i, ErrShape)
	case !c.transposed && extra != 0:
		return 0, fmt.Errorf("OutputPadding %d: only a transposed convolution has one: %w", extra, ErrShape)
	case !c.transposed:
		if d := in + c.pad[i] + end - window; d >= 0 {
			return d/c.stride[i] + 1, nil
		}
		return 0, fmt.Errorf("window of %d does not fit %d elements with %d and %d of padding: %w", window, in, c.pad[i], end, ErrShape)
	case extra >= max(c.stride[i], c.dilation[i]):
		return 0, fmt.Errorf("output padding %d is not less than the stride or the dilation: %w", extra, ErrShape)
	}
	d := (in-1)*c.stride[i] - c.pad[i] - end + window + extra
	if in == 0 || d < 1 {
		return 0, fmt.Errorf("nothing is left of spatial axis %d: %w", i, ErrShape)
	}
	return d, nil
}

// list returns the numbers of an option for n spatial axes: v itself, its one number for all, or the
// default. None may be below least; the upper limit keeps the sums made of them in an int.
func list(name string, v []int, n, least, otherwise int) ([]int, error) {
	switch len(v) {
	case n:
	case 0, 1:
		if len(v) == 1 {
			otherwise = v[0]
		}
		v = make([]int, n)
		for i := range v {
			v[i] = otherwise
		}
	default:
		return nil, fmt.Errorf("%s %v has %d numbers for %d spatial axes: %w", name, v, len(v), n, ErrShape)
	}
	for _, x := range v {
		switch {
		case x < least:
			return nil, fmt.Errorf("%s %v: want %d or more: %w", name, v, least, ErrShape)
		case x > math.MaxInt32:
			return nil, fmt.Errorf("%s %v: want less than 2³¹: %w", name, v, ErrShape)
		}
	}
	return append([]int(nil), v...), nil
}
