package wgpu

import (
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A gatherKernel is one variant of a Gather. Inputs 0 and 1 of its domain are the source, at position 0 of the axis indexed,
// and the index.
type gatherKernel struct {
	postKernel
	status int // slot of the buffer in which an index out of range is reported, or -1

	// Words: the axis indexed, and where to report.
	extent, stride, report int
}

func (e *engine) lowerGather(s *backend.Step, k *backend.Gather) error {
	if s.Shape.Len() == 0 {
		return nil
	}
	checks := e.checks // an allocation may give up the lock, and another Run set its own
	g := newGather(e, s, k)
	extent := s.In[0].Layout.Shape[len(s.Shape)]
	at := 0
	if checks != nil {
		status, word, err := checks.add(e, k.Family(), extent)
		if err != nil {
			return err
		}
		at, g.status = word, len(g.slots)
		g.slots = append(g.slots, slot{buffer: status, write: true, atomic: true})
	}
	if words := g.rowsOf(s); words >= copyWords {
		return g.copyRows(e, s, words, largeCopy)
	}
	grid := e.spread(&g.mapKernel, s.Consts)
	g.extent, g.stride = g.block.add(extent), g.block.add(s.In[0].Layout.Strides[len(s.Shape)])
	g.report = g.block.add(at)
	p, err := e.pipeline(g.appendKey(k.AppendKey(nil)), func() (source, error) {
		return g.source("gather", g.position(), g.write)
	})
	if err != nil {
		return err
	}
	return e.record(g.launch(p, grid, &g.block))
}

func newGather(e *engine, s *backend.Step, k *backend.Gather) *gatherKernel {
	from := s.In[0]
	last := len(s.Shape)
	stride := from.Layout.Strides[last]
	from.Layout = backend.Layout{Shape: s.Shape, Strides: from.Layout.Strides[:last], Offset: from.Layout.Offset}
	if from.Buf.Size() == 0 {
		from.Buf = s.Out[0].Buf // an axis of no elements: each index is out of range
	}
	flat := backend.Step{Shape: s.Shape, In: append([]backend.Operand{from}, s.In[1:]...), Out: s.Out}
	g := &gatherKernel{status: -1}
	g.mapKernel = mapKernel{domain: e.newDomain(&flat), body: &k.Post}
	g.shift = 1
	g.found, g.value = g.find, g.element
	if g.in[0].mode == modeVector && (!g.shared() || stride%4 != 0) {
		g.single(0)
	}
	return g
}

// shared reports whether the lanes of a thread read at the same index: rows are copied.
func (g *gatherKernel) shared() bool { return reader{domain: &g.domain}.same(1) }

// position prints the function of an index, as its input has it, that gives the place on the axis indexed. here says
// whether the element is one of the domain, and not a lane beyond its end.
func (g *gatherKernel) position() string {
	var t text
	d := g.in[1].dtype
	t.line("fn position(i: %s, here: bool) -> u32 {", held(d))
	t.line("let n = %s;", word(g.extent))
	low, high := "bitcast<u32>(i)", "0u" // the words of i as an Int64
	switch {
	case d == ops.Int64:
		low, high = "i.x", "i.y"
		t.line("let negative = (i.y >> 31u) == 1u;")
		t.line("let place = add64_(i, vec2<u32>(select(0u, n, negative), 0u));")
		t.line("let at = place.x;\nlet beyond = place.y != 0u || at >= n;")
	case d.Signed():
		high = "bitcast<u32>(i >> 31u)"
		t.line("let negative = i < 0;")
		t.line("let at = %s + select(0u, n, negative);\nlet beyond = at >= n;", low)
	default:
		low = "i"
		t.line("let negative = false;\nlet at = i;\nlet beyond = at >= n;")
	}
	if g.status >= 0 {
		at := word(g.report)
		t.line("if (beyond && here) {") // and alone: old naga evaluates both sides of && whatever the first is
		t.line("if (atomicOr(&b%d[%s], 1u) == 0u) {", g.status, at)
		t.line("atomicStore(&b%d[%s + 1u], %s);\natomicStore(&b%d[%s + 2u], %s);\n}\n}", g.status, at, low, g.status, at, high)
	}
	t.line("return select(at, select(max(n, 1u) - 1u, 0u, negative), beyond);\n}")
	return t.String()
}

// find prints the positions of the elements of a quad in the source: i0 if they are side by side, else g0 to g3.
func (g *gatherKernel) find(t *text) {
	r := reader{domain: &g.domain, places: g.places}
	last := len(g.shape) - 1
	r.address(t, 0, "base", &g.in[0])
	r.address(t, 1, "i1", &g.in[1])
	if g.shared() {
		t.line("let i0 = base + position(%s, true) * %s;", r.load(t, 1, g.in[1].dtype, 0), word(g.stride))
		return
	}
	for lane := range 4 {
		base := "base"
		if lane > 0 && !r.same(0) {
			base = fmt.Sprintf("base + %du * %s", lane, g.places[0].stride(last))
		}
		i := r.load(t, 1, g.in[1].dtype, lane)
		t.line("let g%d = %s + position(%s, x%d + %du < %s) * %s;", lane, base, i, last, lane, word(g.extents+last), word(g.stride))
	}
}

// element returns the element found in a lane.
func (g *gatherKernel) element(t *text, lane int) string {
	r := reader{domain: &g.domain, places: g.places}
	if g.shared() {
		return r.load(t, 0, g.in[0].dtype, lane)
	}
	return r.element(g.in[0].slot, g.in[0].dtype, fmt.Sprintf("g%d", lane))
}
