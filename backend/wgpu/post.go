package wgpu

import (
	"fmt"

	"github.com/weft-go/weft/ops"
)

// A postKernel is a map whose body is a Post: the kernel itself finds operand 0 for each element, from inputs of its own;
// operand i, of the others, is input i+shift of the step.
type postKernel struct {
	mapKernel
	shift int

	// found prints what finding operand 0 takes, once for a quad, and value returns its expression in a lane.
	found func(t *text)
	value func(t *text, lane int) string
}

// write prints what a thread does for one quad.
func (p *postKernel) write(t *text) error {
	p.coordinates(t, "quad", "")
	r := reader{domain: &p.domain, places: p.places}
	for i := 1; i < len(p.body.In); i++ {
		r.address(t, i+p.shift, fmt.Sprintf("i%d", i+p.shift), &p.in[i+p.shift])
	}
	p.found(t)
	b := newBody(p.body, 4, p.consts)
	b.load = func(t *text, i int, d ops.DType, lane int) string {
		if i == 0 {
			return p.value(t, lane)
		}
		return r.load(t, i+p.shift, d, lane)
	}
	b.index = func(i, lane int) string { return r.index(i+p.shift, lane) }
	b.same = func(i int) bool { return i > 0 && r.same(i+p.shift) }
	return p.compute(t, b)
}
