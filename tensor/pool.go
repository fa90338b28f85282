package tensor

import (
	"fmt"

	"github.com/weft-go/weft/internal/graph"
	"github.com/weft-go/weft/ops"
)

// PoolOptions shapes a pooling. Lists are as in [ConvOptions]. Window is required.
type PoolOptions struct {
	Window     []int
	Stride     []int // default Window
	Padding    []int // before each axis, and after it; default 0
	PaddingEnd []int // after each axis, if other than Padding
	Dilation   []int // distance of a window's elements, for the maximum alone; default 1

	// Ceil rounds the extents of the result up, so that the last window may reach beyond the end; it
	// begins before it.
	Ceil bool
	// CountPad has an average count the zeros of the padding, as PyTorch does unless told otherwise;
	// never what Ceil reaches beyond it.
	CountPad bool
}

// MaxPool1d returns the greatest element of each window along the last axis of t, [… L]; NaN if any is.
// Padding is no element. Of zeros of both signs it may be either. The error is of kind [ErrShape] if a window does not fit, or has nothing but
// padding in it.
func (t *Tensor) MaxPool1d(o PoolOptions) *Tensor { return t.pool("max_pool1d", 1, ops.ReduceMax, o) }

// MaxPool2d is [Tensor.MaxPool1d] over the last two axes, [… H W].
func (t *Tensor) MaxPool2d(o PoolOptions) *Tensor { return t.pool("max_pool2d", 2, ops.ReduceMax, o) }

// AvgPool1d returns the mean of each window along the last axis of t, [… L]. Integers are converted to
// Float32. Errors are as in [Tensor.MaxPool1d].
func (t *Tensor) AvgPool1d(o PoolOptions) *Tensor { return t.pool("avg_pool1d", 1, ops.ReduceSum, o) }

// AvgPool2d is [Tensor.AvgPool1d] over the last two axes, [… H W].
func (t *Tensor) AvgPool2d(o PoolOptions) *Tensor { return t.pool("avg_pool2d", 2, ops.ReduceSum, o) }

func (t *Tensor) pool(op string, spatial int, r ops.ReduceOp, o PoolOptions) *Tensor {
	t, ok := t.ready(op)
	if !ok {
		return t
	}
	if t.Rank() < spatial {
		return fail(op, ErrShape, fmt.Sprintf("operand needs %d axes", spatial), t)
	}
	if r == ops.ReduceSum {
		t = t.Cast(floating(t.node.DType))
	}
	a, err := pooling(spatial, r, o)
	lead := t.Rank() - spatial
	out := t.layout.Shape.Clone()
	for i := 0; i < spatial && err == nil; i++ {
		out[lead+i], err = windows(&a, i, out[lead+i], o.Ceil)
	}
	if err == nil {
		err = out.Check()
	}
	if err != nil {
		return failWith(op, err, t)
	}
	return whole(t.dev, graph.Pool(t.edge(), out, a))
}

// pooling reads the lists of o.
func pooling(n int, r ops.ReduceOp, o PoolOptions) (a graph.PoolAttr, err error) {
	a = graph.PoolAttr{Op: r, CountPad: o.CountPad}
	if len(o.Window) == 0 {
		return a, fmt.Errorf("no Window: %w", ErrShape)
	}
	for _, l := range []struct {
		to    *[]int
		name  string
		v     []int
		least int
	}{
		{&a.Window, "Window", o.Window, 1},
		{&a.Stride, "Stride", o.Stride, 1},
		{&a.Pad, "Padding", o.Padding, 0},
		{&a.PadEnd, "PaddingEnd", o.PaddingEnd, 0},
		{&a.Dilation, "Dilation", o.Dilation, 1},
	} {
		if *l.to, err = list(l.name, l.v, n, l.least, l.least); err != nil {
			return a, err
		}
	}
	if o.Stride == nil {
		a.Stride = a.Window
	}
	if o.PaddingEnd == nil {
		a.PadEnd = a.Pad
	}
	if r == ops.ReduceSum && o.Dilation != nil {
		return a, fmt.Errorf("an average takes no Dilation: %w", ErrShape)
	}
	return a, nil
}

// windows returns the number of windows along spatial axis i of extent d.
func windows(a *graph.PoolAttr, i, d int, ceil bool) (int, error) {
	k, s, step, pad, end := a.Window[i], a.Stride[i], a.Dilation[i], a.Pad[i], a.PadEnd[i]
	reach := step*(k-1) + 1
	room := d + pad + end - reach
	if ceil {
		room += s - 1
	}
	if room < 0 || d == 0 {
		return 0, fmt.Errorf("window of %d does not fit %d elements with %d and %d of padding: %w", reach, d, pad, end, ErrShape)
	}
	n := room/s + 1
	if ceil && (n-1)*s >= d+pad { // the last window would begin in the padding at the end, or beyond
		n--
	}
	bad := pad >= reach || (n-1)*s-pad >= d
	for at := -pad; step > 1 && at < min(0, (n-1)*s-pad+1) && !bad; at += s {
		j := (-at + step - 1) / step // the first of the window's elements that is not padding before
		bad = j >= k || at+j*step >= d
	}
	if bad {
		return 0, fmt.Errorf("a window of %d elements, padding %d and %d, has nothing but padding in it: %w", k, pad, end, ErrShape)
	}
	return n, nil
}
