package wgpu

import (
	"fmt"
	"strings"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// finish records the kernel that reads what was updated and the words, and computes what comes after.
func (c *scattering) finish() error {
	e, s, d := c.e, c.step, c.kernel.DType
	last := len(s.Shape) - 1
	own := []backend.Operand{s.In[0]}
	for part := range c.parts {
		o := dense(c.words, ops.Uint32, s.Shape)
		o.Layout.Offset = part * c.total
		own = append(own, o)
	}
	apart := 0
	if !c.kernel.Add { // the first update of the row, from which the others are counted
		o := s.In[2]
		apart = o.Layout.Strides[last]
		o.Layout = backend.Layout{Shape: s.Shape, Strides: append(append([]int(nil), o.Layout.Strides[:last]...), 0), Offset: o.Layout.Offset}
		own = append(own, o)
	}
	flat := backend.Step{Shape: s.Shape, In: append(own, s.In[3:]...), Out: s.Out}
	p := postKernel{mapKernel: mapKernel{domain: e.newDomain(&flat), body: &c.kernel.Post}, shift: len(own) - 1}
	grid := e.spread(&p.mapKernel, s.Consts)
	unit, stride := p.block.add(c.unit), p.block.add(apart)
	r := reader{domain: &p.domain, places: p.places}
	p.found = func(t *text) {
		for i := range own {
			r.address(t, i, fmt.Sprintf("i%d", i), &p.in[i])
		}
		for lane := range 4 {
			t.line("let base%d = %s;", lane, r.load(t, 0, d, lane))
			args := []string{fmt.Sprintf("base%d", lane)}
			for part := range c.parts {
				t.line("let part%d_%d = %s;", part, lane, r.load(t, 1+part, ops.Uint32, lane))
				args = append(args, fmt.Sprintf("part%d_%d", part, lane))
			}
			if !c.kernel.Add {
				t.line("let u%d = i2 + select(0u, %s - 1u, %s > 0u) * %s;", lane, args[1], args[1], word(stride))
				t.line("let new%d = %s;", lane, r.element(p.in[2].slot, d, fmt.Sprintf("u%d", lane)))
				t.line("let f%d = select(%s, new%d, %s > 0u);", lane, args[0], lane, args[1])
				continue
			}
			t.line("let f%d = %s;", lane, c.sum(args, word(unit)))
		}
	}
	p.value = func(_ *text, lane int) string { return fmt.Sprintf("f%d", lane) }
	key := append(p.appendKey(c.kernel.AppendKey(nil)), "scatter"...)
	pipe, err := e.pipeline(key, func() (source, error) {
		functions := ""
		if c.parts == 3 {
			functions = sumText
		}
		return p.source("scatter", functions, p.write)
	})
	if err != nil {
		return err
	}
	return e.record(p.launch(pipe, grid, &p.block))
}

// sum returns the expression of the element args[0] with the updates added that the words after it stand for.
func (c *scattering) sum(args []string, unit string) string {
	d := c.kernel.DType
	switch {
	case c.parts == 3:
		return rounded(d, fmt.Sprintf("sum_of(%s, %s)", strings.Join(args, ", "), unit))
	case c.parts == 2:
		return fmt.Sprintf("add64_(%s, vec2<u32>(%s, %s))", args[0], args[1], args[2])
	case d == ops.Bool:
		return fmt.Sprintf("(%s || %s != 0u)", args[0], args[1])
	}
	return rounded(d, fmt.Sprintf("(%s + bitcast<%s>(%s))", args[0], held(d), args[1]))
}

// sumText is base with a sum of floats added: of 1, 2 and 4 those that an infinity, its negative and NaN set, where most is
// the exponent of such, else of a number of 64 bits in units of 2 to the power of most - 126 - unit.
const sumText = `
fn power_of_two(n: i32) -> f32 { return bitcast<f32>(bitcast<u32>(n + 127) << 23u); }
fn sum_of(base: f32, most: u32, low: u32, high: u32, unit: u32) -> f32 {
	if (most == 255u) {
		let infinity = select(0x7f800000u, 0xff800000u, low == 2u);
		let bad = low > 2u || isnan_(base) || (isinf_(base) && bitcast<u32>(base) != infinity);
		return bitcast<f32>(select(infinity, 0x7fc00000u, bad));
	}
	if (low == 0u && high == 0u) { return base; }
	let n = bitcast<i32>(most - 126u - unit);
	let half = n / 2;
	return base + f32_of_i64_(vec2<u32>(low, high), false) * power_of_two(half) * power_of_two(n - half);
}
`
