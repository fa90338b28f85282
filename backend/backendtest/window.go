package backendtest

import (
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A convolution says what a trial convolves.
type convolution struct {
	dtype                 ops.DType
	batch, in, out        int // batch and channels
	image, window         []int
	stride, dilation, pad []int
	end                   []int // zeros after the last element; for a transposed convolution, cut off there
	groups                int
	transposed            bool
}

// domain returns the extents of the result, and false if there is none.
func (c *convolution) domain() (backend.Shape, bool) {
	shape := backend.Shape{c.batch, c.out}
	for a := range c.image {
		reach := c.dilation[a]*(c.window[a]-1) + 1
		n := (c.image[a]+c.pad[a]+c.end[a]-reach)/c.stride[a] + 1
		if c.image[a]+c.pad[a]+c.end[a] < reach {
			n = 0
		}
		if c.transposed {
			n = (c.image[a]-1)*c.stride[a] + reach - c.pad[a] - c.end[a]
		}
		if n < 1 {
			return nil, false
		}
		shape = append(shape, n)
	}
	return shape, true
}

// trial returns the trial of c over the given domain.
func (c *convolution) trial(in *inputs, shape backend.Shape, how, to string, ct content, post poster) *trial {
	tr := &trial{name: fmt.Sprintf("conv %+v of %s, %s, %s", *c, how, ct.name, post.name), shape: shape, ulp: ct.ulp, bound: ct.bound}
	weights := append(backend.Shape{c.out, c.in / c.groups}, c.window...)
	if c.transposed {
		weights[0], weights[1] = c.in, c.out/c.groups
	}
	other := ct.other
	if other == nil {
		other = ct.fill
	}
	tr.in = []operand{
		in.tensor(c.dtype, how, append(backend.Shape{c.batch, c.in}, c.image...), ct.fill),
		in.tensor(c.dtype, sample(in, writable, 1)[0], weights, other),
	}
	tr.kernel = &backend.Conv{
		Stride: c.stride, Dilation: c.dilation, Pad: c.pad, Groups: c.groups, Transposed: c.transposed,
		Post: post.apply(in, tr, c.dtype, to, ct.fill),
	}
	return tr
}

// convolution draws one of the given number of spatial axes that has a result.
func (in *inputs) convolution(d ops.DType, axes int, transposed bool) (convolution, backend.Shape) {
	for {
		c := convolution{dtype: d, batch: 1 + in.IntN(3), groups: 1 + in.IntN(3), transposed: transposed}
		c.in, c.out = c.groups*(1+in.IntN(4)), c.groups*(1+in.IntN(4))
		for range axes {
			c.image = append(c.image, 1+in.IntN(11))
			c.window = append(c.window, 1+in.IntN(4))
			c.stride = append(c.stride, 1+in.IntN(3))
			c.dilation = append(c.dilation, 1+in.IntN(2))
			c.pad = append(c.pad, in.IntN(3))
			c.end = append(c.end, in.IntN(4)-in.IntN(2))
		}
		if shape, ok := c.domain(); ok && shape.Len()*c.in*backend.Shape(c.window).Len() < 60_000*c.groups {
			return c, shape
		}
	}
}

// testConv tests convolutions of 1, 2 and 3 axes, plain and transposed.
func (s *suite) testConv(t tb) {
	for _, d := range []ops.DType{ops.Float32, ops.Float64, ops.Float16, ops.BFloat16, ops.Int32} {
		for axes := 1; axes <= 3; axes++ {
			for _, transposed := range []bool{false, true} {
				s.leaf(t, fmt.Sprintf("%s/%d axes, transposed %v", d, axes, transposed), func(t tb) {
					s.testConvOn(t, d, axes, transposed)
				})
			}
		}
	}
	t.Run("layers", s.testLayers)
}

// testConvOn tests convolutions of elements of type d over some axes.
func (s *suite) testConvOn(t tb, d ops.DType, axes int, transposed bool) {
	count := 60
	if s.short {
		count = 12
	}
	in := s.draw(t)
	var trials []*trial
	for i := range count {
		c, shape := in.convolution(d, axes, transposed)
		list := in.convContents(d, c.in*backend.Shape(c.window).Len())
		trials = append(trials, c.trial(in, shape, readable[i%len(readable)], writable[i%len(writable)], list[i%len(list)], sample(in, posters(d), 1)[0]))
	}
	s.check(t, trials...)
}

// convContents returns contents for sums of n products. The weights have no infinities: padding times one
// is NaN, if it is multiplied at all.
func (in *inputs) convContents(d ops.DType, n int) []content {
	if !d.IsFloat() {
		return []content{{name: "random bits", fill: in.bits}}
	}
	return []content{
		{name: "whole numbers", fill: in.whole},
		{name: "normal numbers", fill: in.normal, ulp: 1, bound: float64(n) + 4},
		{name: "whole numbers and specials", fill: in.special(in.whole, 9), other: in.whole},
	}
}

// testLayers tests convolutions of the sizes networks have: few pixels and many channels, 1×1 windows,
// windows with a row for each group, large strides.
func (s *suite) testLayers(t tb) {
	in := s.draw(t)
	var trials []*trial
	for _, c := range []convolution{
		{in: 1, out: 8, image: []int{28, 28}, window: []int{3, 3}, stride: []int{1, 1}, pad: []int{1, 1}, groups: 1},
		{in: 33, out: 17, image: []int{5, 7}, window: []int{1, 1}, stride: []int{1, 1}, pad: []int{0, 0}, groups: 1},
		{in: 24, out: 24, image: []int{9, 9}, window: []int{3, 3}, stride: []int{2, 2}, pad: []int{1, 1}, groups: 24},
		{in: 3, out: 16, image: []int{33, 31}, window: []int{7, 7}, stride: []int{4, 4}, pad: []int{3, 3}, groups: 1},
		{in: 16, out: 32, image: []int{100}, window: []int{9}, stride: []int{1}, pad: []int{4}, groups: 1},
		{in: 8, out: 4, image: []int{6, 6}, window: []int{2, 2}, stride: []int{2, 2}, pad: []int{0, 0}, groups: 1, transposed: true},
		{in: 2, out: 3, image: []int{2, 2}, window: []int{5, 5}, stride: []int{1, 1}, pad: []int{2, 2}, groups: 1},
	} {
		c.dtype, c.batch, c.end = ops.Float32, 2, c.pad
		c.dilation = make([]int, len(c.image))
		for a := range c.dilation {
			c.dilation[a] = 1
		}
		shape, ok := c.domain()
		if !ok {
			t.Fatalf("the suite's %+v has no result", c)
		}
		for _, ct := range in.convContents(c.dtype, c.in*backend.Shape(c.window).Len()) {
			trials = append(trials, c.trial(in, shape, "dense", "dense", ct, posters(c.dtype)[1]))
		}
		empty := append(backend.Shape{0}, shape[1:]...)
		c.batch = 0
		trials = append(trials, c.trial(in, empty, "dense", "dense", in.convContents(c.dtype, 1)[0], posters(c.dtype)[0]))
	}
	s.check(t, trials...)
}

// testPool tests maximum and average pooling.
func (s *suite) testPool(t tb) {
	for _, op := range []ops.ReduceOp{ops.ReduceMax, ops.ReduceSum} {
		for _, d := range ops.DTypes() {
			if d == ops.Bool || op == ops.ReduceSum && !d.IsFloat() {
				continue
			}
			s.leaf(t, op.String()+"/"+d.String(), func(t tb) { s.testPoolOn(t, op, d) })
		}
	}
}

// testPoolOn tests poolings of elements of type d over one and two axes.
func (s *suite) testPoolOn(t tb, op ops.ReduceOp, d ops.DType) {
	count := 60
	if s.short {
		count = 20
	}
	in := s.draw(t)
	var trials []*trial
	for i := range count {
		trials = append(trials, in.pool(op, d, i))
	}
	s.check(t, trials...)
}

// pool draws pooling number i, with windows that reach beyond the padding as ceil mode has them. Every third has
// windows of two or four elements, all inside, so that an average is exact; every other maximum has specials.
func (in *inputs) pool(op ops.ReduceOp, d ops.DType, i int) *trial {
	axes, how, even := 1+in.IntN(2), readable[i%len(readable)], i%3 == 0
	k := &backend.Pool{Op: op, CountPad: in.IntN(2) == 0}
	shape := backend.Shape{1 + in.IntN(2), 1 + in.IntN(4)}
	image := shape.Clone()
	for range axes {
		window, extent, n := in.poolAxis(k, even)
		k.Window = append(k.Window, window)
		image = append(image, extent)
		shape = append(shape, n)
	}
	c := content{name: "ordinary numbers", fill: in.ordinary}
	if op == ops.ReduceSum {
		c = content{name: "whole numbers", fill: in.whole, ulp: 3} // a division may be as far off as that of Div
		if even {
			c.ulp = 0
		}
	} else if d.IsFloat() && i%2 == 1 {
		c = content{name: "specials", fill: in.special(in.whole, 5)}
	}
	tr := &trial{shape: shape, ulp: c.ulp, in: []operand{in.tensor(d, how, image, c.fill)}}
	post := posters(d)[in.IntN(2)]
	if post.name != "plain" && c.ulp > 0 {
		post = posters(d)[0] // a bias may cancel, and magnify the error
	}
	k.Post = post.apply(in, tr, d, sample(in, writable, 1)[0], c.fill)
	tr.kernel = k
	tr.name = fmt.Sprintf("pool by %s, window %v, stride %v, dilation %v, pad %v and %v, count pad %v, of %s %v, %s, %s",
		op, k.Window, k.Stride, k.Dilation, k.Pad, k.PadEnd, k.CountPad, how, image, c.name, post.name)
	return tr
}

// poolAxis draws one axis of a pooling such that every window has an element of the image, and returns the
// window, the image's extent and the result's.
func (in *inputs) poolAxis(k *backend.Pool, even bool) (window, extent, n int) {
	for {
		window, extent = 1+in.IntN(4), 1+in.IntN(12)
		stride, dilation, pad, end := 1+in.IntN(3), 1+in.IntN(2), in.IntN(window/2+1), in.IntN(window/2+1)
		if even {
			window, stride, dilation, pad, end = 2, 2, 1, 0, 0
		}
		room := extent + pad + end - dilation*(window-1) - 1
		if room < 0 {
			continue
		}
		n = room/stride + 1
		if !even && room%stride != 0 && n*stride < extent+pad && in.IntN(2) == 0 {
			n++ // ceil mode: the last window begins inside the image and ends beyond it
		}
		if !windowsInside(window, extent, n, stride, dilation, pad) {
			continue
		}
		k.Stride, k.Dilation = append(k.Stride, stride), append(k.Dilation, dilation)
		k.Pad, k.PadEnd = append(k.Pad, pad), append(k.PadEnd, end)
		return window, extent, n
	}
}

// windowsInside reports whether every window has an element of the image.
func windowsInside(window, extent, n, stride, dilation, pad int) bool {
	for o := range n {
		inside := false
		for w := range window {
			p := o*stride - pad + w*dilation
			inside = inside || p >= 0 && p < extent
		}
		if !inside {
			return false
		}
	}
	return true
}
