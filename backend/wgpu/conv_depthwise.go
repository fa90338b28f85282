package wgpu

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A depthwiseKernel is one variant of a convolution whose groups are of one channel and give one. It has too little work for
// each pixel to be a product: a thread takes four neighbours of a result, whose windows share pixels, and all taps. Of its
// domain [N C spatial…] input 0 is the image, with extents of its own along the spatial axes, and input 1 the weights.
type depthwiseKernel struct {
	postKernel
	conv      *backend.Conv
	window    backend.Shape
	imageWord int // first of the image's spatial extents
}

// mostShared bounds the taps of a depthwise convolution, and the pixels of a line of them: they are written out.
const mostShared = 32

// depthwise reports whether a convolution is one that a depthwiseKernel computes.
func depthwise(s *backend.Step, k *backend.Conv) bool {
	x, window := s.In[0], s.In[1].Layout.Shape[2:]
	last := len(window) - 1
	line := 3*k.Stride[last] + (window[last]-1)*k.Dilation[last] + 1
	return !k.Transposed && k.Groups == x.Layout.Shape[1] && k.Groups == s.Shape[1] && summed(x.DType) == ops.Float32 &&
		x.Layout.Len() > 0 && window.Len() <= mostShared && line <= mostShared
}

func (e *engine) lowerDepthwise(s *backend.Step, k *backend.Conv) error {
	c := &depthwiseKernel{conv: k, window: s.In[1].Layout.Shape[2:]}
	c.shape, c.body, c.shift = s.Shape, &k.Post, 1
	for i, o := range s.In {
		l := o.Layout
		if i == 1 { // [C 1 window…]: what a channel's weights begin at
			l = backend.Layout{Shape: s.Shape, Strides: make([]int, len(s.Shape)), Offset: l.Offset}
			l.Strides[1] = o.Layout.Strides[0]
		}
		c.layouts = append(c.layouts, l)
	}
	for _, o := range s.Out {
		c.layouts = append(c.layouts, o.Layout)
	}
	c.reach(s)
	c.single(0)
	c.single(1)
	c.found = c.find
	c.value = func(_ *text, lane int) string { return rounded(s.In[0].DType, fmt.Sprintf("sum[%d]", lane)) }
	grid := e.spread(&c.mapKernel, s.Consts)
	c.imageWord = len(c.block.words)
	for _, d := range s.In[0].Layout.Shape[2:] {
		c.block.add(d)
	}
	for _, st := range s.In[1].Layout.Strides[2:] {
		c.block.add(st)
	}
	key := append(c.appendKey(k.AppendKey(nil)), "depthwise"...)
	for _, n := range c.window {
		key = append(key, byte(n))
	}
	pipe, err := e.pipeline(key, func() (source, error) { return c.source("conv.depthwise", "", c.write) })
	if err != nil {
		return err
	}
	return e.record(c.launch(pipe, grid, &c.block))
}

// find prints the sums of four elements: for each line of taps the pixels under it, then their products.
func (c *depthwiseKernel) find(t *text) {
	last := len(c.window) - 1
	image := []string{c.places[0].offset(), "x0 * " + c.places[0].stride(0), "x1 * " + c.places[0].stride(1)}
	t.line("let image = %s;\nlet weights = %s + x1 * %s;", strings.Join(image, " + "), c.places[1].offset(), c.places[1].stride(1))
	for a := range last + 1 {
		t.line("let corner%d = x%d * %du - %du;", a, 2+a, c.conv.Stride[a], uint32(c.conv.Pad[a]))
	}
	t.line("var sum = vec4<f32>();")
	for line := range c.window[:last].Len() {
		c.line(t, line)
	}
}

// line prints the products of one line of taps.
func (c *depthwiseKernel) line(t *text, line int) {
	last := len(c.window) - 1
	r := reader{domain: &c.domain, places: c.places}
	extent := func(a int) string { return word(c.imageWord + a) }
	inside, at, weight := []string{"true"}, "image", "weights"
	rest := line
	for a := last - 1; a >= 0; a-- {
		tap := rest % c.window[a]
		rest /= c.window[a]
		f := fmt.Sprintf("(corner%d + %du)", a, tap*c.conv.Dilation[a])
		inside = append(inside, fmt.Sprintf("%s < %s", f, extent(a)))
		at += fmt.Sprintf(" + %s * %s", f, c.places[0].stride(2+a))
		weight += fmt.Sprintf(" + %du * %s", tap, extent(last+1+a))
	}
	stride, dilation := c.conv.Stride[last], c.conv.Dilation[last]
	t.line("{\nlet inside = %s;\nlet at = %s;\nlet weight = %s;", strings.Join(inside, " && "), at, weight)
	var pixels []int
	for tap := range c.window[last] {
		for lane := range 4 {
			pixels = append(pixels, lane*stride+tap*dilation)
		}
	}
	slices.Sort(pixels)
	d := c.in[0].dtype
	for _, p := range slices.Compact(pixels) {
		t.line("let f%d = corner%d + %du;\nlet i%d = at + f%d * %s;", p, last, p, p, p, c.places[0].stride(2+last))
		t.line("let p%d = select(0.0, %s, inside && f%d < %s);", p, r.element(c.in[0].slot, d, fmt.Sprintf("i%d", p)), p, extent(last))
	}
	for tap := range c.window[last] {
		lanes := make([]string, 4)
		for lane := range lanes {
			lanes[lane] = fmt.Sprintf("p%d", lane*stride+tap*dilation)
		}
		t.line("let j%d = weight + %du * %s;", tap, tap, extent(2*last+1))
		w := r.element(c.in[1].slot, d, fmt.Sprintf("j%d", tap))
		t.line("sum = fma(vec4<f32>(%s), vec4<f32>(%s), sum);", w, strings.Join(lanes, ", "))
	}
	t.line("}")
}
