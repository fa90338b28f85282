package wgpu

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// An image is how a convolution is a product: for each image of the batch and each group, of the weights [O/groups, K] and
// a matrix [K, positions of the result] that exists nowhere, because its elements are pixels. K counts the channels of a
// group and the taps of the window.
type image struct {
	kernel          *backend.Conv
	layout          backend.Layout // [N C spatial…]
	window          backend.Shape
	extents, result backend.Shape // of the spatial axes, of the image and of what is computed
	channels        int           // of a group
}

func (e *engine) lowerConv(s *backend.Step, k *backend.Conv) error {
	if s.Shape.Len() == 0 {
		return nil
	}
	if err := checkConv(s, k); err != nil {
		return err
	}
	return e.convolve(newConvolution(s, k), k, e.plan)
}

// convolve records a convolution by the kernel that plan chooses.
func (e *engine) convolve(p *product, k *backend.Conv, plan func(*product) choice) error {
	key := k.AppendKey(nil)
	for _, n := range p.image.window {
		key = binary.AppendUvarint(key, uint64(n))
	}
	if !p.left[0].Layout.IsDense() {
		packed, err := e.pack(p)
		if err != nil {
			return err
		}
		defer e.release(packed)
	}
	p.flatten()
	p.usePixels()
	return e.multiply(p, plan(p), key)
}

// checkConv checks what Step.Check leaves to the kernel: that the shapes fit each other.
func checkConv(s *backend.Step, k *backend.Conv) error {
	axes := len(k.Stride)
	x, w := s.In[0].Layout.Shape, s.In[1].Layout.Shape
	if len(s.Shape) != axes+2 || len(k.Dilation) != axes || len(k.Pad) != axes || k.Groups < 1 || slices.Min(k.Stride) < 1 {
		return fmt.Errorf("windows of %d axes, stride %v, dilation %v, pad %v, %d groups: %w", axes, k.Stride, k.Dilation, k.Pad, k.Groups, backend.ErrShape)
	}
	channels, outs := x[1], s.Shape[1]
	want := [2]int{outs, channels / k.Groups}
	if k.Transposed {
		want = [2]int{channels, outs / k.Groups}
	}
	if channels%k.Groups != 0 || outs%k.Groups != 0 || x[0] != s.Shape[0] || w[0] != want[0] || w[1] != want[1] {
		return fmt.Errorf("image %v by weights %v in %d groups: %w", x, w, k.Groups, backend.ErrShape)
	}
	return nil
}

// newConvolution returns the product of a convolution: batch axes for the images and the groups, and of the operands, for
// now, left [N groups O/groups C/groups window…] and the others [N groups O/groups spatial…].
func newConvolution(s *backend.Step, k *backend.Conv) *product {
	x, w := s.In[0], s.In[1]
	d, g := x.DType, k.Groups
	im := &image{
		kernel: k, layout: x.Layout, window: w.Layout.Shape[2:], extents: x.Layout.Shape[2:], result: s.Shape[2:],
		channels: x.Layout.Shape[1] / g,
	}
	p := &product{
		a: loads[d], b: loads[d], post: &k.Post, acc: d, consts: s.Consts, image: im,
		batch: backend.Shape{s.Shape[0], g}, m: s.Shape[1] / g, n: im.result.Len(), k: im.channels * im.window.Len(),
		right: []backend.Operand{x},
	}
	st := w.Layout.Strides
	l := backend.Layout{Offset: w.Layout.Offset, Shape: append(backend.Shape{1, g, p.m, im.channels}, im.window...)}
	if k.Transposed { // [C O/groups window…]
		l.Strides = append([]int{0, im.channels * st[0], st[1], st[0]}, st[2:]...)
	} else {
		l.Strides = append([]int{0, p.m * st[0], st[0], st[1]}, st[2:]...)
	}
	p.left = []backend.Operand{{Buf: w.Buf, DType: d, Layout: l}}
	grouped := func(list []backend.Operand) []backend.Operand {
		list = slices.Clone(list)
		for i := range list {
			l := &list[i].Layout
			st := l.Strides
			l.Shape = append(backend.Shape{s.Shape[0], g, p.m}, im.result...)
			l.Strides = append([]int{st[0], p.m * st[1], st[1]}, st[2:]...)
		}
		return list
	}
	p.rest, p.out = grouped(s.In[2:]), grouped(s.Out)
	return p
}

// pack records a copy of the weights in the order products want them in.
func (e *engine) pack(p *product) (*buffer, error) {
	w := &p.left[0]
	packed, err := e.alloc(w.Layout.Len() * w.DType.Size())
	if err != nil || packed.size == 0 {
		return packed, err
	}
	to := backend.Operand{Buf: packed, DType: w.DType, Layout: backend.Dense(w.Layout.Shape)}
	k := &backend.Map{Body: *loads[w.DType]}
	if err := e.lowerMap(&backend.Step{Kernel: k, Shape: w.Layout.Shape, In: p.left, Out: []backend.Operand{to}}, k); err != nil {
		e.release(packed)
		return nil, err
	}
	*w = to
	return packed, nil
}

// flatten gives the operands their final form: dense weights [N groups O/groups K], the others [N groups O/groups positions]
// where all of them step through the positions as through one axis.
func (p *product) flatten() {
	w := &p.left[0].Layout
	w.Shape = append(p.batch.Clone(), p.m, p.k)
	w.Strides = []int{0, p.m * p.k, p.k, 1}
	p.fillEmpty()
	const lead = 3
	var spatial []backend.Layout
	for _, list := range [][]backend.Operand{p.rest, p.out} {
		for _, o := range list {
			spatial = append(spatial, backend.Layout{Shape: o.Layout.Shape[lead:], Strides: o.Layout.Strides[lead:]})
		}
	}
	merged, _ := backend.Collapse(spatial, len(p.image.result))
	if len(merged[0].Shape) > 1 {
		return
	}
	for _, list := range [][]backend.Operand{p.rest, p.out} {
		for i := range list {
			l := &list[i].Layout
			l.Shape = append(l.Shape[:lead:lead], p.n)
			l.Strides = append(l.Strides[:lead:lead], merged[0].Strides[0])
			merged = merged[1:]
		}
	}
}

// usePixels makes an ordinary product of a convolution whose windows are the pixels themselves.
func (p *product) usePixels() {
	im := p.image
	for a := range im.window {
		if c := im.kernel; im.window[a] != 1 || c.Stride[a] != 1 || c.Pad[a] != 0 || im.result[a] != im.extents[a] {
			return
		}
	}
	l := im.layout
	pixels, _ := backend.Collapse([]backend.Layout{{Shape: im.extents, Strides: l.Strides[2:]}}, len(im.extents))
	if len(pixels[0].Shape) > 1 || len(p.out[0].Layout.Shape) > 4 {
		return
	}
	p.right[0].Layout = backend.Layout{
		Shape:   append(p.batch.Clone(), p.k, p.n),
		Strides: []int{l.Strides[0], im.channels * l.Strides[1], l.Strides[1], pixels[0].Strides[0]},
		Offset:  l.Offset,
	}
	p.image = nil
}

// writeImage prints the function load_b: four pixels, at one element of K and at neighbouring positions of the result, 0 where
// there is padding.
func (k *productKernel) writeImage(t *text) {
	im, nb := k.p.image, len(k.p.batch)
	axes := len(im.window)
	i := len(k.p.left)
	a, at := &k.in[i], k.places[i]
	r := reader{domain: &k.domain, places: k.places}
	t.line("fn load_b(%s) -> %s {", k.formals(), quad(k.sum))
	t.line("var rest = x%d;", nb)
	for s := axes - 1; s >= 0; s-- {
		t.line("let t%d = rest %% %du; rest = rest / %du;", s, im.window[s], im.window[s])
	}
	t.line("let channel = %s + x0 * %s + (x1 * %s + rest) * %s;", at.offset(), at.stride(0), word(k.imageWord+2*axes), at.stride(1))
	k.positions(t, fmt.Sprintf("x%d", nb+1))
	lanes := make([]string, 4)
	for lane := range lanes {
		if lane > 0 {
			k.nextPosition(t, lane)
		}
		inside, address := k.pixel(t, lane, at)
		if mask := k.inside(&k.sides[1], lane); mask != "" {
			inside += " && " + mask
		}
		t.line("let v%d = select(%s(), %s, %s);", lane, held(k.sum), number(a.dtype, r.element(a.slot, a.dtype, address)), inside)
		lanes[lane] = fmt.Sprintf("v%d", lane)
	}
	t.line("return %s(%s, %s, %s, %s);\n}", quad(k.sum), lanes[0], lanes[1], lanes[2], lanes[3])
}

// number returns an element as a factor.
func number(d ops.DType, v string) string {
	if d == ops.Bool {
		return fmt.Sprintf("u32(%s)", v)
	}
	return v
}

// extent returns the extent of a spatial axis of the result, or of the image.
func (k *productKernel) extent(axis int, image bool) string {
	if image {
		axis += len(k.p.image.window)
	}
	return word(k.imageWord + axis)
}

// positions prints the coordinates p0_0… of a position of the result.
func (k *productKernel) positions(t *text, position string) {
	t.line("var position = %s;", position)
	for s := len(k.p.image.window) - 1; s > 0; s-- {
		t.line("let p%d_0 = position %% %s; position = position / %s;", s, k.extent(s, false), k.extent(s, false))
	}
	t.line("let p0_0 = position;")
}

// nextPosition prints the coordinates of the position after that of the lane before.
func (k *productKernel) nextPosition(t *text, lane int) {
	last := len(k.p.image.window) - 1
	t.line("let q%d_%d = p%d_%d + 1u;", last, lane, last, lane-1)
	for s := last; s > 0; s-- {
		t.line("let full%d_%d = q%d_%d == %s;", s, lane, s, lane, k.extent(s, false))
		t.line("let p%d_%d = select(q%d_%d, 0u, full%d_%d);", s, lane, s, lane, s, lane)
		t.line("let q%d_%d = p%d_%d + u32(full%d_%d);", s-1, lane, s-1, lane-1, s, lane)
	}
	t.line("let p0_%d = q0_%d;", lane, lane)
}

// pixel prints where the tap of the window meets the image, for the position of a lane, and returns the condition under
// which it does, and the element's position in memory.
func (k *productKernel) pixel(t *text, lane int, at place) (inside, address string) {
	c := k.p.image.kernel
	t.line("var at%d = channel;\nvar inside%d = true;", lane, lane)
	for s := range c.Stride {
		f := fmt.Sprintf("f%d_%d", s, lane)
		if !c.Transposed {
			t.line("let %s = p%d_%d * %du + t%d * %du - %du;", f, s, lane, c.Stride[s], s, c.Dilation[s], uint32(c.Pad[s]))
		} else {
			t.line("let g%s = p%d_%d + %du - t%d * %du;", f, s, lane, uint32(c.Pad[s]), s, c.Dilation[s])
			t.line("let %s = g%s / %du;", f, f, c.Stride[s])
			t.line("inside%d = inside%d && g%s == %s * %du && g%s < 0x80000000u;", lane, lane, f, f, c.Stride[s], f)
		}
		t.line("inside%d = inside%d && %s < %s;", lane, lane, f, k.extent(s, true))
		t.line("at%d += %s * %s;", lane, f, at.stride(2+s))
	}
	return fmt.Sprintf("inside%d", lane), fmt.Sprintf("at%d", lane)
}

// writeScattered prints the function finish for operands whose positions are not those of one axis: element by element.
func (k *productKernel) writeScattered(t *text) error {
	nb := len(k.p.batch)
	d := k.domain
	d.shape = k.p.out[0].Layout.Shape
	t.line("fn finish_one(%s, sum: %s) {", k.formals(), held(k.sum))
	t.line("if (x%d >= %s || x%d >= %s) { return; }", nb, word(k.sizes[0]), nb+1, word(k.sizes[1]))
	k.positions(t, fmt.Sprintf("x%d", nb+1))
	t.line("{")
	for s := range k.p.image.window {
		t.line("let x%d = p%d_0;", nb+1+s, s)
	}
	if err := k.writePost(t, reader{domain: &d, places: k.places}, 1, func(int) string { return "sum" }); err != nil {
		return err
	}
	t.line("}\nfn finish(%s, sum: %s) {", k.formals(), quad(k.sum))
	for lane := range 4 {
		t.line("finish_one(%sx%d, x%d + %du, sum[%d]);", k.arguments(), nb, nb+1, lane, lane)
	}
	t.line("}")
	return nil
}
