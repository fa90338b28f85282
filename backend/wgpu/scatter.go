package wgpu

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A scattering is a Scatter under way. The updates are taken in by atomic operations on words of its own, whose result does
// not depend on their order: the greatest number of an update, which is the last that sets; sums of integers; and for sums
// of floats, the greatest exponent, then the sum of the updates as integers of 64 bits in units that it gives. The last
// kernel reads the words beside what is updated.
type scattering struct {
	temporaries
	kernel *backend.Scatter
	step   *backend.Step
	rows   int
	n, m   int
	total  int // elements of the result, rounded up to whole fours
	words  *buffer
	parts  int // words of an element, total apart
	unit   int // bits that a float as great as can be has as an integer
}

func (e *engine) lowerScatter(s *backend.Step, k *backend.Scatter) error {
	if s.Shape.Len() == 0 {
		return nil
	}
	last := len(s.Shape) - 1
	c := &scattering{temporaries: temporaries{e: e}, kernel: k, step: s, rows: s.Shape[:last].Len(), n: s.Shape[last], m: s.In[1].Layout.Shape[last]}
	if c.m == 0 {
		flat := *s
		flat.In = append([]backend.Operand{s.In[0]}, s.In[3:]...)
		return e.lowerMap(&flat, &backend.Map{Body: k.Post})
	}
	c.total = ceil(s.Shape.Len(), 4) * 4
	c.unit = 62 - bits.Len(uint(c.m)) // so that no sum of m of them overflows
	c.parts = 1
	switch {
	case k.Add && k.DType.IsFloat():
		c.parts = 3
	case k.Add && k.DType == ops.Int64:
		c.parts = 2
	}
	defer c.release()
	if err := c.take(); err != nil {
		return err
	}
	return c.finish()
}

// take records the kernels that take the updates in.
func (c *scattering) take() error {
	e := c.e
	checks := e.checks // an allocation may give up the lock, and another Run set its own
	b, err := c.temporaries.words(c.parts * c.total)
	if err != nil {
		return err
	}
	c.words = b
	var status *buffer
	word := 0
	if checks != nil {
		if status, word, err = checks.add(e, c.kernel.Family(), c.n); err != nil {
			return err
		}
	}
	if err := e.clear(b); err != nil {
		return err
	}
	if c.parts == 3 {
		if err := c.pass("exponents", exponentText, status, word); err != nil {
			return err
		}
		return c.pass("sums", fixedText, nil, 0)
	}
	text := "atomicMax(&$words[to], j + 1u);"
	switch d := c.kernel.DType; {
	case c.parts == 2:
		text = wideText
	case c.kernel.Add && d == ops.Bool:
		text = "if (update) { atomicOr(&$words[to], 1u); }"
	case c.kernel.Add:
		text = "atomicAdd(&$words[to], bitcast<u32>(update));"
	}
	return c.pass("words", text, status, word)
}

// pass records a kernel with a thread for each update, which does what text says for one that goes to an element there is.
func (c *scattering) pass(name, text string, status *buffer, word int) error {
	index, updates := c.step.In[1], c.step.In[2]
	last := len(c.step.Shape) - 1
	lead, _ := backend.Collapse([]backend.Layout{
		{Shape: c.step.Shape[:last], Strides: index.Layout.Strides[:last], Offset: index.Layout.Offset},
		{Shape: c.step.Shape[:last], Strides: updates.Layout.Strides[:last], Offset: updates.Layout.Offset},
	}, 0)
	k := &wordKernel{e: c.e, label: "scatter." + name, threads: 256}
	k.array("index", index.Buf.(*buffer), false)
	k.array("updates", updates.Buf.(*buffer), false)
	k.array("words", c.words, true)
	k.slots[2].atomic = true
	if status != nil {
		k.array("status", status, true)
		k.slots[3].atomic = true
	}
	k.param("n", c.n)
	k.param("m", c.m)
	k.param("all", c.rows*c.m)
	k.param("total", c.total)
	k.param("unit", c.unit)
	k.param("report", word)
	k.param("index_step", index.Layout.Strides[last])
	k.param("update_step", updates.Layout.Strides[last])
	for i, name := range []string{"index", "update"} {
		k.param(name+"_offset", lead[i].Offset)
		for axis, st := range lead[i].Strides {
			k.param(fmt.Sprintf("%s_stride%d", name, axis), st)
		}
	}
	for axis, d := range lead[0].Shape {
		k.param(fmt.Sprintf("extent%d", axis), d)
	}
	variant := fmt.Sprint(c.kernel.DType, index.DType, len(lead[0].Shape), status != nil, c.kernel.Add)
	return k.run((c.rows*c.m+255)/256, variant, func() string {
		return strings.NewReplacer(
			"POSITION", scatterPosition(index.DType, status != nil), "PLACES", rowPlaces(len(lead[0].Shape)), "TAKE", text,
			"INDEX", k.element(0, index.DType, "index_place"), "VALUE", k.element(1, c.kernel.DType, "update_place"),
		).Replace(scatterText)
	})
}

// rowPlaces prints where the index and the updates of a row begin.
func rowPlaces(axes int) string {
	var t text
	t.line("var rest = row;")
	at := map[string][]string{}
	for axis := axes - 1; axis >= 0; axis-- {
		if axis > 0 {
			t.line("let row%d = rest %% $extent%d.;\nrest = rest / $extent%d.;", axis, axis, axis)
		} else {
			t.line("let row0 = rest;")
		}
		for _, name := range []string{"index", "update"} {
			at[name] = append(at[name], fmt.Sprintf("row%d * $%s_stride%d.", axis, name, axis))
		}
	}
	for _, name := range []string{"index", "update"} {
		t.line("let %s_place = $%s_offset. + j * $%s_step. + %s;", name, name, name, strings.Join(at[name], " + "))
	}
	return t.String()
}

// scatterPosition prints the function of an index that gives the place on the axis, or its extent for one out of range,
// which it reports where asked to.
func scatterPosition(d ops.DType, report bool) string {
	var t text
	t.line("fn position(i: %s) -> u32 {", held(d))
	low, high := "bitcast<u32>(i)", "0u" // the words of i as an Int64
	switch {
	case d == ops.Int64:
		low, high = "i.x", "i.y"
		t.line("let place = add64_(i, vec2<u32>(select(0u, $n., (i.y >> 31u) == 1u), 0u));")
		t.line("let at = place.x;\nlet beyond = place.y != 0u || at >= $n.;")
	case d.Signed():
		high = "bitcast<u32>(i >> 31u)"
		t.line("let at = %s + select(0u, $n., i < 0);\nlet beyond = at >= $n.;", low)
	default:
		low = "i"
		t.line("let at = i;\nlet beyond = at >= $n.;")
	}
	if report {
		t.line("if (beyond) {\nif (atomicOr(&$status[$report.], 1u) == 0u) {")
		t.line("atomicStore(&$status[$report. + 1u], %s);\natomicStore(&$status[$report. + 2u], %s);\n}\n}", low, high)
	}
	t.line("return select(at, $n., beyond);\n}")
	return t.String()
}

const scatterText = `
POSITION
$main
	let e = $group * 256u + thread;
	if (e < $all.) {
		let row = e / $m.;
		let j = e - row * $m.;
		PLACES
		let place = position(INDEX);
		if (place < $n.) {
			let to = row * $n. + place;
			let update = VALUE;
			TAKE
		}
	}
}
`

const wideText = `let old = atomicAdd(&$words[to], update.x);
			atomicAdd(&$words[$total. + to], update.y + u32(old + update.x < old));`

// Subnormal floats have the exponent of the least normal ones; infinities and NaN have the greatest.
const exponentText = `let bits = bitcast<u32>(update) & 0x7fffffffu;
			if (bits != 0u) { atomicMax(&$words[to], max(bits >> 23u, 1u)); }`

const fixedText = `let bits = bitcast<u32>(update);
			let size = bits & 0x7fffffffu;
			let most = atomicLoad(&$words[to]);
			var low = 0u;
			var high = 0u;
			if (most == 255u) {
				if (size > 0x7f800000u) {
					atomicOr(&$words[$total. + to], 4u);
				} else if (size == 0x7f800000u) {
					atomicOr(&$words[$total. + to], 1u << (bits >> 31u));
				}
			} else if (size != 0u) {
				let digits = (size & 0x7fffffu) | select(0u, 0x800000u, size > 0x7fffffu);
				let shift = bitcast<i32>($unit. - 24u + max(size >> 23u, 1u) - most);
				if (shift >= 32) {
					high = digits << bitcast<u32>(shift - 32);
				} else if (shift > 0) {
					low = digits << bitcast<u32>(shift);
					high = digits >> bitcast<u32>(32 - shift);
				} else if (shift > -25) {
					low = (digits + ((1u << bitcast<u32>(-shift)) >> 1u)) >> bitcast<u32>(-shift);
				}
				if (bits > 0x7fffffffu) {
					high = ~high + u32(low == 0u);
					low = ~low + 1u;
				}
				let old = atomicAdd(&$words[$total. + to], low);
				atomicAdd(&$words[2u * $total. + to], high + u32(old + low < old));
			}`
