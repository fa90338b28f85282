package wgpu

import (
	"fmt"
	"strings"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A poolKernel is one variant of a Pool. Of its domain the leading axes are merged; input 0 is the image, with extents of
// its own along the spatial axes. A thread goes through the windows of its elements.
type poolKernel struct {
	postKernel
	kernel    *backend.Pool
	lead      int // axes before the spatial ones
	imageWord int // first of the image's spatial extents
}

// mostTaps bounds the windows a thread goes through alone.
const mostTaps = 16 << 10

// pools reports whether the kernel is one of those that this backend has.
func pools(k *backend.Pool) bool {
	if backend.Shape(k.Window).Len() > mostTaps || len(k.Post.In) == 0 {
		return false
	}
	return k.Op == ops.ReduceMax || k.Op == ops.ReduceSum && k.Post.In[0].IsFloat()
}

func (e *engine) lowerPool(s *backend.Step, k *backend.Pool) error {
	if s.Shape.Len() == 0 {
		return nil
	}
	if err := checkPool(s, k); err != nil {
		return err
	}
	p := newPool(s, k)
	grid := e.spread(&p.mapKernel, s.Consts)
	p.imageWord = len(p.block.words)
	for _, d := range p.layouts[0].Shape[p.lead:] {
		p.block.add(d)
	}
	pipe, err := e.pipeline(p.appendKey(k.AppendKey(nil)), func() (source, error) {
		return p.source("pool", p.window(), p.write)
	})
	if err != nil {
		return err
	}
	return e.record(p.launch(pipe, grid, &p.block))
}

// checkPool checks what Step.Check leaves to the kernel: that the shapes fit each other.
func checkPool(s *backend.Step, k *backend.Pool) error {
	axes := len(k.Window)
	for _, list := range [][]int{k.Stride, k.Dilation, k.Pad, k.PadEnd} {
		if len(list) != axes {
			return fmt.Errorf("pool of %d axes with %v: %w", axes, list, backend.ErrShape)
		}
	}
	lead := len(s.Shape) - axes
	if x := s.In[0].Layout.Shape; !x[:lead].Equal(s.Shape[:lead]) {
		return fmt.Errorf("pool of %v to %v: %w", x, s.Shape, backend.ErrShape)
	}
	return nil
}

func newPool(s *backend.Step, k *backend.Pool) *poolKernel {
	lead := len(s.Shape) - len(k.Window)
	operands := append(append([]backend.Operand(nil), s.In...), s.Out...)
	var heads []backend.Layout
	for _, o := range operands {
		heads = append(heads, backend.Layout{Shape: s.Shape[:lead], Strides: o.Layout.Strides[:lead], Offset: o.Layout.Offset})
	}
	heads, _ = backend.Collapse(heads, lead)
	p := &poolKernel{kernel: k, lead: len(heads[0].Shape)}
	for i, o := range operands {
		l := heads[i]
		l.Shape = append(l.Shape[:p.lead:p.lead], o.Layout.Shape[lead:]...)
		l.Strides = append(l.Strides[:p.lead:p.lead], o.Layout.Strides[lead:]...)
		p.layouts = append(p.layouts, l)
	}
	flat := backend.Step{In: append([]backend.Operand(nil), s.In...), Out: s.Out}
	if flat.In[0].Buf.Size() == 0 {
		flat.In[0].Buf = s.Out[0].Buf // an image without elements, of which nothing is read
	}
	p.shape = p.layouts[len(s.In)].Shape
	p.body = &k.Post
	p.reach(&flat)
	p.single(0)
	p.found = p.find
	p.value = func(_ *text, lane int) string { return fmt.Sprintf("f%d", lane) }
	return p
}

// find prints the results of the windows of four elements.
func (p *poolKernel) find(t *text) {
	at := p.places[0]
	terms := []string{at.offset()}
	for a := range p.lead {
		terms = append(terms, fmt.Sprintf("x%d * %s", a, at.stride(a)))
	}
	t.line("let base = %s;", strings.Join(terms, " + "))
	last := len(p.shape) - 1
	for lane := range 4 {
		args := []string{"base"}
		for a := p.lead; a < last; a++ {
			args = append(args, fmt.Sprintf("x%d", a))
		}
		t.line("let f%d = window(%s, x%d + %du);", lane, strings.Join(args, ", "), last, lane)
	}
}

// window prints the function of a position of the result, of which base is the image it is in.
func (p *poolKernel) window() string {
	var t text
	k, d := p.kernel, p.in[0].dtype
	formals := []string{"base: u32"}
	for a := range k.Window {
		formals = append(formals, fmt.Sprintf("q%d: u32", a))
	}
	t.line("fn window(%s) -> %s {", strings.Join(formals, ", "), held(d))
	t.line("var result = %s();\nvar inside = 0u;\nvar padded = 0u;", held(d))
	address, image, padding := "base", []string{}, []string{}
	for a := range k.Window {
		t.line("for (var t%d = 0u; t%d < %du; t%d++) {", a, a, k.Window[a], a)
		t.line("let f%d = q%d * %du + t%d * %du - %du;", a, a, k.Stride[a], a, k.Dilation[a], uint32(k.Pad[a]))
		extent := word(p.imageWord + a)
		image = append(image, fmt.Sprintf("f%d < %s", a, extent))
		padding = append(padding, fmt.Sprintf("bitcast<i32>(f%d) < bitcast<i32>(%s) + %d", a, extent, k.PadEnd[a]))
		address += fmt.Sprintf(" + f%d * %s", a, p.places[0].stride(p.lead+a))
	}
	if k.CountPad && k.Op == ops.ReduceSum {
		t.line("if (%s) { padded++; }", strings.Join(padding, " && "))
	}
	t.line("if (%s) {\nlet at = %s;", strings.Join(image, " && "), address)
	t.line("let v = %s;", reader{domain: &p.domain, places: p.places}.element(p.in[0].slot, d, "at"))
	if k.Op == ops.ReduceSum {
		t.line("result = result + v;")
	} else { // the least value has no literal in some types
		greater := strings.NewReplacer("$x", "result", "$y", "v").Replace(ops.Maximum.Shader(d))
		t.line("if (inside == 0u) { result = v; } else { result = %s; }", greater)
	}
	t.line("inside++;\n}")
	t.line("%s", strings.Repeat("}", len(k.Window)))
	if k.Op == ops.ReduceSum {
		count := "inside"
		if k.CountPad {
			count = "padded"
		}
		mean := strings.NewReplacer("$x", "result", "$y", fmt.Sprintf("%s(%s)", held(d), count)).Replace(ops.Div.Shader(d))
		t.line("result = %s;", rounded(d, mean))
	}
	t.line("return result;\n}")
	return t.String()
}
