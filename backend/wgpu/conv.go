package wgpu

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

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
	tapsFirst       bool          // K counts channels within taps, not taps within channels
}

func (e *engine) lowerConv(s *backend.Step, k *backend.Conv) error {
	if s.Shape.Len() == 0 {
		return nil
	}
	if err := checkConv(s, k); err != nil {
		return err
	}
	if depthwise(s, k) {
		return e.lowerDepthwise(s, k)
	}
	return e.convolve(newConvolution(s, k), k, e.choose)
}

// convolve records a convolution by the kernel that choose finds for its product.
func (e *engine) convolve(p *product, k *backend.Conv, choose func(p *product, key []byte) (choice, error)) error {
	key := k.AppendKey(nil)
	for _, n := range p.image.window {
		key = binary.AppendUvarint(key, uint64(n))
	}
	if p.orderTaps(); !p.left[0].Layout.IsDense() {
		packed, err := e.pack(p)
		if err != nil {
			return err
		}
		defer e.release(packed)
	}
	key = append(key, flag(p.image.tapsFirst))
	p.flatten()
	p.usePixels()
	c, err := choose(p, key)
	if err != nil {
		return err
	}
	return e.multiply(p, c, key)
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

// Where a convolution is large, its weights are packed so that the elements of K that a kernel takes in a step are channels
// of one tap: where that meets the image is then found once for all of them.
const (
	tapWork    = 1 << 28 // multiplications
	tapChannel = 16      // what the channels of a tap are a multiple of
)

// orderTaps chooses the order of K.
func (p *product) orderTaps() {
	im := p.image
	wanted := im.tapsFirst || p.batch.Len()*p.m*p.n*p.k >= tapWork
	if im.tapsFirst = wanted && im.window.Len() > 1 && im.channels%tapChannel == 0; !im.tapsFirst {
		return
	}
	l := &p.left[0].Layout // [1 groups O/groups C window…]
	l.Shape = append(append(l.Shape[:3:3], l.Shape[4:]...), l.Shape[3])
	l.Strides = append(append(l.Strides[:3:3], l.Strides[4:]...), l.Strides[3])
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

// writeImage prints the functions that read the image. A Place is what a position of the result has in common for all of K,
// which a kernel finds before it goes through K.
//
//	place_b(batch…, position)  the place of a position
//	tap_b(place, tap)          the position in memory of the first channel's pixel under a tap of the window, and whether there is one
//	pixel_b(tap, channel)      the pixel, 0 where there is padding
//	element_b(place, k)        the same for an element of K
//	load_b(batch…, k, position) four of these, of neighbouring positions
func (k *productKernel) writeImage(t *text) {
	axes := len(k.p.image.window)
	a, at := &k.in[len(k.p.left)], k.places[len(k.p.left)]
	t.line("struct Place { at: u32,")
	for s := range axes {
		t.line("f%d: u32,", s)
	}
	t.line("}")
	k.writePlace(t, at)
	k.writeTap(t, at)
	t.line("fn pixel_b(tap: vec2<u32>, channel: u32) -> %s {", held(k.sum))
	t.line("let at = tap.x + channel * %s;", at.stride(1))
	r := reader{domain: &k.domain, places: k.places}
	t.line("return select(%s(), %s, tap.y != 0u);\n}", held(k.sum), number(a.dtype, r.element(a.slot, a.dtype, "at")))
	t.line("fn element_b(place: Place, k: u32) -> %s {", held(k.sum))
	tap, channel := k.splitDepth("k")
	pixel := fmt.Sprintf("pixel_b(tap_b(place, %s), %s)", tap, channel)
	if k.mask != maskNone {
		pixel = fmt.Sprintf("select(%s(), %s, k < %s)", held(k.sum), pixel, word(k.sizes[2]))
	}
	t.line("return %s;\n}", pixel)
	if k.line.rows == 0 {
		return
	}
	nb := len(k.p.batch)
	lanes := make([]string, 4)
	for lane := range lanes {
		lanes[lane] = fmt.Sprintf("element_b(place_b(%sx%d + %du), x%d)", k.arguments(), nb+1, lane, nb)
	}
	t.line("fn load_b(%s) -> %s {\nreturn %s(%s);\n}", k.formals(), quad(k.sum), quad(k.sum), strings.Join(lanes, ", "))
}

// splitDepth returns the tap and the channel of an element of K.
func (k *productKernel) splitDepth(deep string) (tap, channel string) {
	im := k.p.image
	if im.tapsFirst {
		channels := word(k.imageWord + 2*len(im.window))
		return fmt.Sprintf("(%s) / %s", deep, channels), fmt.Sprintf("(%s) %% %s", deep, channels)
	}
	taps := im.window.Len()
	return fmt.Sprintf("(%s) %% %du", deep, taps), fmt.Sprintf("(%s) / %du", deep, taps)
}

// writePlace prints place_b. A Place's f… are, along the spatial axes, where the first tap of the window meets the image, or of
// a transposed convolution that position before it is divided by the stride.
func (k *productKernel) writePlace(t *text, at place) {
	im, c := k.p.image, k.p.image.kernel
	formals := strings.Split(k.formals(), ", ")
	t.line("fn place_b(%s, column: u32) -> Place {", strings.Join(formals[:len(k.p.batch)], ", "))
	k.positions(t, "column")
	t.line("let channel = x1 * %s;", word(k.imageWord+2*len(im.window)))
	terms := []string{at.offset(), "x0 * " + at.stride(0), "channel * " + at.stride(1)}
	fields := ""
	for s := range im.window {
		if c.Transposed {
			t.line("let f%d = p%d_0 + %du;", s, s, uint32(c.Pad[s]))
		} else {
			t.line("let f%d = p%d_0 * %du - %du;", s, s, c.Stride[s], uint32(c.Pad[s]))
			terms = append(terms, fmt.Sprintf("f%d * %s", s, at.stride(2+s)))
		}
		fields += fmt.Sprintf(", f%d", s)
	}
	t.line("return Place(%s%s);\n}", strings.Join(terms, " + "), fields)
}

// writeTap prints tap_b.
func (k *productKernel) writeTap(t *text, at place) {
	im, c := k.p.image, k.p.image.kernel
	t.line("fn tap_b(place: Place, tap: u32) -> vec2<u32> {")
	t.line("var rest = tap;\nvar at = place.at;\nvar inside = true;")
	for s := len(im.window) - 1; s >= 0; s-- {
		if s > 0 {
			t.line("let t%d = rest %% %du * %du;\nrest = rest / %du;", s, im.window[s], c.Dilation[s], im.window[s])
		} else {
			t.line("let t0 = rest * %du;", c.Dilation[s])
		}
		step := fmt.Sprintf("t%d", s)
		if c.Transposed {
			t.line("let g%d = place.f%d - t%d;\nlet f%d = g%d / %du;", s, s, s, s, s, c.Stride[s])
			t.line("inside = inside && g%d == f%d * %du && g%d < 0x80000000u;", s, s, c.Stride[s], s)
			step = fmt.Sprintf("f%d", s)
		} else {
			t.line("let f%d = place.f%d + t%d;", s, s, s)
		}
		t.line("inside = inside && f%d < %s;", s, k.extent(s, true))
		t.line("at += %s * %s;", step, at.stride(2+s))
	}
	t.line("return vec2<u32>(at, u32(inside));\n}")
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
