package wgpu

import (
	"fmt"
	"strings"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// addSlices records the sum of the parts of a product, [batch… slices m n], and its Post.
func (e *engine) addSlices(p *product, parts backend.Operand, key []byte) error {
	nb := len(p.batch)
	slices, apart := parts.Layout.Shape[nb], parts.Layout.Strides[nb]
	first := parts
	first.Layout = backend.Layout{Shape: p.out[0].Layout.Shape}
	first.Layout.Strides = append(append([]int(nil), parts.Layout.Strides[:nb]...), p.n)
	first.Layout.Strides = append(first.Layout.Strides, first.Layout.Shape[nb+1:].Strides()...) // one axis, or those it has merged
	s := backend.Step{Shape: first.Layout.Shape, In: append([]backend.Operand{first}, p.rest...), Out: p.out}

	k := postKernel{mapKernel: mapKernel{domain: e.newDomain(&s), body: p.post}}
	grid := e.spread(&k.mapKernel, p.consts)
	count, stride := k.block.add(slices), k.block.add(apart)
	r := reader{domain: &k.domain, places: k.places}
	k.found = func(t *text) { k.sum(t, r, summed(p.acc), word(count), word(stride)) }
	k.value = func(_ *text, lane int) string { return sumValue(p.acc, fmt.Sprintf("sum[%d]", lane)) }
	pipe, err := e.pipeline(append(k.appendKey(key), "slices"...), func() (source, error) {
		functions := ""
		if summed(p.acc) == ops.Int64 {
			functions = int64Quads
		}
		return k.source("matmul.slices", functions, k.write)
	})
	if err != nil {
		return err
	}
	return e.record(k.launch(pipe, grid, &k.block))
}

// sum prints the sum of the parts of four elements.
func (p *postKernel) sum(t *text, r reader, d ops.DType, count, stride string) {
	r.address(t, 0, "part", &p.in[0])
	t.line("var sum = %s();", quad(d))
	t.line("for (var s = 0u; s < %s; s++) {", count)
	t.line("let i0 = part + s * %s;", stride)
	lanes := make([]string, 4)
	for i := range lanes {
		lanes[i] = r.load(t, 0, d, i)
	}
	part := fmt.Sprintf("%s(%s)", quad(d), strings.Join(lanes, ", "))
	if d == ops.Int64 {
		t.line("sum = multiply_add(sum, vec2<u32>(1u, 0u), %s);\n}", part)
	} else {
		t.line("sum = sum + %s;\n}", part)
	}
}
