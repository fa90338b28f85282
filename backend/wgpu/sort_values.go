package wgpu

import (
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// read records the kernel that makes the values of a sort of their keys: those are in order, and the elements are not. Only zeros
// and NaN are looked for at their places, as both zeros have one key, and so has every NaN.
func (o *sorting) read(s *backend.Step, k *backend.Sort, places backend.Operand) error {
	e, d := o.e, k.DType
	last := len(s.Shape) - 1
	own := []backend.Operand{o.head(o.sorted, ops.Uint32, s.Shape, o.n)}
	step := 0
	if d.IsFloat() {
		row := s.In[0]
		step = row.Layout.Strides[last]
		row.Layout = backend.Layout{Shape: s.Shape, Strides: append(append([]int(nil), row.Layout.Strides[:last]...), 0), Offset: row.Layout.Offset}
		own = append(own, row, places)
	}
	flat := backend.Step{Shape: s.Shape, In: append(own, s.In[1:]...), Out: s.Out}
	p := postKernel{mapKernel: mapKernel{domain: e.newDomain(&flat), body: &k.Post}, shift: len(own) - 1}
	grid := e.spread(&p.mapKernel, s.Consts)
	stride := word(p.block.add(step))
	r := reader{domain: &p.domain, places: p.places}
	p.found = func(t *text) {
		for i := range own {
			r.address(t, i, fmt.Sprintf("i%d", i), &p.in[i])
		}
		for lane := range 4 {
			t.line("let key%d = %s;", lane, r.load(t, 0, ops.Uint32, lane))
			bits, odd := keyBits(d, k.Descending, fmt.Sprintf("key%d", lane))
			t.line("var value%d = %s;", lane, decode(d, bits, ""))
			if odd != "" {
				t.line("if (%s) {\nlet place = i1 + bitcast<u32>(%s) * %s;", odd, r.element(p.in[2].slot, ops.Int32, r.index(2, lane)), stride)
				t.line("value%d = %s;\n}", lane, r.element(p.in[1].slot, d, "place"))
			}
		}
	}
	p.value = func(_ *text, lane int) string { return fmt.Sprintf("value%d", lane) }
	pipe, err := e.pipeline(append(p.appendKey(k.AppendKey(nil)), "values"...), func() (source, error) {
		return p.source("sort.values", "", p.write)
	})
	if err != nil {
		return err
	}
	return e.record(p.launch(pipe, grid, &p.block))
}

// keyBits returns the expression of the bits of the element that has a key, a u32, and for floats of the condition under which
// there are several.
func keyBits(d ops.DType, descending bool, key string) (bits, odd string) {
	size := 8 * d.Size()
	sign, all := fmt.Sprintf("0x%xu", uint32(1)<<(size-1)), fmt.Sprintf("0x%xu", uint32(1<<size-1))
	up := key // the key if it were ascending
	if descending {
		up = fmt.Sprintf("(%s ^ %s)", key, all)
	}
	switch {
	case d.IsFloat():
		return fmt.Sprintf("(%s ^ select(%s, %s, %s >= %s))", up, all, sign, up, sign), fmt.Sprintf("%s == %s || %s == %s", up, sign, key, all)
	case d.Signed():
		return fmt.Sprintf("(%s ^ %s)", up, sign), ""
	}
	return up, ""
}
