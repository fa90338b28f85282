package wgpu

import (
	"fmt"
	"strings"

	"github.com/weft-go/weft/ops"
)

// quad returns the WGSL type of four sums or factors held in type d.
func quad(d ops.DType) string {
	if d == ops.Int64 {
		return "array<vec2<u32>, 4>"
	}
	return fmt.Sprintf("vec4<%s>", held(d))
}

// quadSize returns the bytes of workgroup memory of a quad.
func quadSize(d ops.DType) int { return 4 * d.Size() }

// multiplyAdd returns the expression of c + a·b, for quads b and c and an element a.
func multiplyAdd(d ops.DType, c, a, b string) string {
	switch d {
	case ops.Float32:
		return fmt.Sprintf("fma(vec4<f32>(%s), %s, %s)", a, b, c)
	case ops.Int64:
		return fmt.Sprintf("multiply_add(%s, %s, %s)", c, a, b)
	}
	return fmt.Sprintf("%s + %s * %s", c, a, b)
}

// int64Quads is the arithmetic that quads of Int64 lack.
const int64Quads = `fn multiply_add(c: array<vec2<u32>, 4>, a: vec2<u32>, b: array<vec2<u32>, 4>) -> array<vec2<u32>, 4> {
return array<vec2<u32>, 4>(add64_(c[0], mul64_(a, b[0])), add64_(c[1], mul64_(a, b[1])), add64_(c[2], mul64_(a, b[2])), add64_(c[3], mul64_(a, b[3])));
}
`

// A panel is a factor's part of a tile in workgroup memory: for each element of K the quads of neighbouring rows of A or
// columns of B. Threads load units: a quad each, or a pixel. Where four elements lie side by side along K, a unit is of one row
// or column, and goes to four quads.
type panel struct {
	*factor
	origin string // name of the tile's first row or column
	extent int    // rows or columns
	pitch  int    // quads from one element of K to the next
	units  int
	each   int // units a thread loads

	// A unit of an image is a pixel. The number of threads divides that of columns, or the other way round, so that a thread's are
	// of the same few columns.
	image  bool
	places int // these columns
}

// panels returns the panels of the sides. What is spread over quads when it is stored goes to an odd number of them, so that
// threads meet different banks.
func (k *productKernel) panels() [2]panel {
	var list [2]panel
	for i, extent := range []int{k.tile.rows, k.tile.columns} {
		p := panel{factor: &k.sides[i], origin: [2]string{"first_row", "first_column"}[i], extent: extent, pitch: extent / 4, units: extent / 4 * k.depth}
		if p.across {
			p.pitch++
		}
		if i == 1 && k.p.image != nil {
			p.image, p.units, p.places = true, extent*k.depth, max(1, extent/k.tile.threads())
		}
		p.each = ceil(p.units, k.tile.threads())
		list[i] = p
	}
	return list
}

// memory returns the bytes of workgroup memory of a tile, at most.
func (c tile) memory(d ops.DType) int {
	return (c.rows/4 + 1 + c.columns/4 + 1) * c.depth * quadSize(d) * c.copies()
}

// copies returns how many tiles are in workgroup memory.
func (c tile) copies() int {
	if c.loop == loadTwice {
		return 2
	}
	return 1
}

// writeTile prints the kernel of a tile, and returns the bytes of its workgroup memory.
func (k *productKernel) writeTile(t *text) int {
	sides := k.panels()
	shared := 0
	for _, p := range sides {
		// An index of an array is checked, which costs nothing where it is a constant, and little where it is the same in
		// all steps: so the array has an axis for each.
		t.line("var<workgroup> tile_%s: array<array<array<%s, %d>, %d>, %d>;", p.name, quad(k.sum), p.pitch, k.depth, k.tile.copies())
		shared += p.pitch * k.depth * k.tile.copies() * quadSize(k.sum)
	}
	if k.sum == ops.Int64 {
		t.WriteString(int64Quads)
	}
	k.open(t, k.tile.threads())
	k.place(t)
	for i := range k.tile.m {
		for j := range k.tile.n / 4 {
			t.line("var c%d_%d = %s();", i, j, quad(k.sum))
		}
	}
	for i := range sides {
		k.declare(t, &sides[i])
	}
	k.writeLoop(t, sides)
	for i := range k.tile.m {
		for j := range k.tile.n / 4 {
			t.line("finish(%sfirst_row + (thread_row + %du) * 4u + %du, first_column + (thread_column + %du) * 4u, c%d_%d);",
				k.arguments(), i/4*(k.tile.rows/k.tile.m), i%4, j*(k.tile.columns/k.tile.n), i, j)
		}
	}
	t.line("}")
	return shared
}

// open prints the head of main, and where in the batch and in K the workgroup is.
func (k *productKernel) open(t *text, threads int) {
	t.line("@compute @workgroup_size(%d)", threads)
	t.line("fn main(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>) {")
	t.line("let number = group.y * %s + group.x;", word(k.gridColumns))
	t.line("if (number >= %s) { return; }", word(k.total))
	t.line("let tiles = %s * %s;", word(k.tileRows), word(k.tileColumns))
	t.line("let tile = number %% tiles;")
	nb := len(k.p.batch)
	if nb > 0 {
		t.line("var rest = number / tiles;")
		for a := nb - 1; a > 0; a-- {
			t.line("let x%d = rest %% %s; rest = rest / %s;", a, word(k.extents+a), word(k.extents+a))
		}
		t.line("let x0 = rest;")
	}
	if k.sliced {
		t.line("let begin = x%d * %s;", nb-1, word(k.sliceWord))
		t.line("let end = min(begin + %s, %s);", word(k.sliceWord), word(k.sizes[2]))
	} else {
		t.line("let begin = 0u;\nlet end = %s;", word(k.sizes[2]))
	}
}

// band is how many rows of tiles are computed side by side: workgroups that run at the same time then share parts of both
// operands in the cache.
const band = 8

// place prints which tile the workgroup computes, and what of it a thread does.
func (k *productKernel) place(t *text) {
	t.line("let in_band = %du * %s;", band, word(k.tileColumns))
	t.line("let top = tile / in_band * %du;", band)
	t.line("let band_rows = min(%s - top, %du);", word(k.tileRows), band)
	t.line("let first_row = (top + tile %% in_band %% band_rows) * %du;", k.tile.rows)
	t.line("let first_column = tile %% in_band / band_rows * %du;", k.tile.columns)
	across := k.tile.columns / k.tile.n
	t.line("let thread_row = thread / %du;", across)
	t.line("let thread_column = thread %% %du;", across)
}

// declare prints the registers that a thread loads its units of a panel into, and where in the panel each is: element
// deep_… of K, and at_… along the rows or columns, a quad or one of them.
func (k *productKernel) declare(t *text, p *panel) {
	threads := k.tile.threads()
	for i := range p.places {
		t.line("let place%d = place_b(%sfirst_column + (thread + %du) %% %du);", i, k.arguments(), i*threads, p.extent)
	}
	for i := range p.each {
		r := p.unit(i)
		t.line("let unit_%s = thread + %du;", r, i*threads)
		switch {
		case p.image:
			t.line("let deep_%s = unit_%s / %du;\nlet at_%s = unit_%s %% %du;", r, r, p.extent, r, r, p.extent)
			t.line("var %s = %s();", r, held(k.sum))
			continue
		case p.across:
			t.line("let deep_%s = unit_%s %% %du * 4u;\nlet at_%s = unit_%s / %du;", r, r, k.depth/4, r, r, k.depth/4)
		default:
			t.line("let deep_%s = unit_%s / %du;\nlet at_%s = unit_%s %% %du;", r, r, p.extent/4, r, r, p.extent/4)
		}
		if !p.raw {
			t.line("var %s = %s();", r, quad(k.sum))
		}
		k.declareAddresses(t, p, r)
	}
}

// declareAddresses prints where in memory unit r of a panel is, in each input.
func (k *productKernel) declareAddresses(t *text, p *panel, r string) {
	at := fmt.Sprintf("begin + deep_%s, %s + at_%s * 4u", r, p.origin, r)
	if p.across {
		at = fmt.Sprintf("%s + at_%s, begin + deep_%s", p.origin, r, r)
	}
	for i := range p.e.In {
		t.line("var i%d_%s = at_%d(%s%s);", p.first+i, r, p.first+i, k.arguments(), at)
		if p.raw {
			t.line("var w%d_%s = vec2<u32>();", p.first+i, r)
		}
	}
}

// stride returns the expression of the distance of two neighbours along K in an input of a panel.
func (k *productKernel) stride(p *panel, input int) string {
	axis := len(k.p.batch)
	if p.across {
		axis++
	}
	switch a := &k.in[input]; {
	case a.mode == modeOne, p.across && a.mode == modeSplat:
		return "0u"
	case p.across && a.mode == modeVector:
		return "1u"
	}
	return k.places[input].stride(axis)
}

// unit returns the name of unit i of a thread. Bindings are named b0, b1, ….
func (p *panel) unit(i int) string { return fmt.Sprintf("%s_%d", p.name, i) }

// guard prints the condition under which a thread has a unit i, where not all have.
func (p *panel) guard(t *text, i, threads int) {
	if (i+1)*threads > p.units {
		t.line("if (unit_%s < %du) {", p.unit(i), p.units)
	} else {
		t.line("{")
	}
}

// load prints the loads of a thread's units, from element from of K on.
func (k *productKernel) load(t *text, p *panel, from string) {
	if p.image {
		k.loadPixels(t, p, from)
		return
	}
	for i := range p.each {
		r := p.unit(i)
		p.guard(t, i, k.tile.threads())
		if p.raw {
			for j := range p.e.In {
				n := p.first + j
				t.line("w%d_%s = b%d[i%d_%s >> 2u];", n, r, k.in[n].slot, n, r)
			}
		} else {
			t.line("%s = %s;", r, p.take(r, "i", from))
		}
		t.line("}")
		for j := range p.e.In {
			t.line("i%d_%s += %du * %s;", p.first+j, r, k.depth, k.stride(p, p.first+j))
		}
	}
}

// take returns the expression of unit r, loaded from element from of K on: of positions (i) or of words (w).
func (p *panel) take(r, of, from string) string {
	var given strings.Builder
	for j := range p.e.In {
		fmt.Fprintf(&given, "%s%d_%s, ", of, p.first+j, r)
	}
	return fmt.Sprintf("take_%s(%s%s + deep_%s)", p.name, &given, from, r)
}

// loadPixels is load for the panel of an image. Where the elements of K are channels of one tap, that is looked at once.
func (k *productKernel) loadPixels(t *text, p *panel, from string) {
	once := k.p.image.tapsFirst && tapChannel%k.depth == 0
	if once {
		tap, channel := k.splitDepth(from)
		t.line("let channel = %s;", channel)
		for i := range p.places {
			t.line("let tap%d = tap_b(place%d, %s);", i, i, tap)
		}
	}
	for i := range p.each {
		p.guard(t, i, k.tile.threads())
		if once {
			t.line("%s = pixel_b(tap%d, channel + deep_%s);\n}", p.unit(i), i%p.places, p.unit(i))
		} else {
			t.line("%s = element_b(place%d, %s + deep_%s);\n}", p.unit(i), i%p.places, from, p.unit(i))
		}
	}
}

// store prints the stores of a thread's units, which were loaded from element from of K on, into a copy in workgroup memory.
func (k *productKernel) store(t *text, p *panel, from, which string) {
	for i := range p.each {
		p.guard(t, i, k.tile.threads())
		r := p.unit(i)
		if p.raw {
			t.line("let %s = %s;", r, p.take(r, "w", from))
		}
		switch {
		case p.image:
			t.line("tile_%s[%s][deep_%s][at_%s / 4u][at_%s %% 4u] = %s;", p.name, which, r, r, r, r)
		case !p.across:
			t.line("tile_%s[%s][deep_%s][at_%s] = %s;", p.name, which, r, r, r)
		default:
			for j := range 4 {
				t.line("tile_%s[%s][deep_%s + %du][at_%s / 4u][at_%s %% 4u] = %s[%d];", p.name, which, r, j, r, r, r, j)
			}
		}
		t.line("}")
	}
}

// writeLoop prints the loop over K.
func (k *productKernel) writeLoop(t *text, sides [2]panel) {
	load := func(from string) { k.load(t, &sides[0], from); k.load(t, &sides[1], from) }
	store := func(from, which string) { k.store(t, &sides[0], from, which); k.store(t, &sides[1], from, which) }
	next := fmt.Sprintf("k + %du", k.depth)
	loop := func(from string) { t.line("for (var k = %s; k < end; k += %du) {", from, k.depth) }
	const wait = "workgroupBarrier();"
	switch k.tile.loop {
	case loadThenUse:
		loop("begin")
		load("k")
		store("k", "0")
		t.line(wait)
		k.compute(t, "0")
		t.line(wait + "\n}")
	case loadAhead:
		t.line("{")
		load("begin")
		t.line("}")
		loop("begin")
		store("k", "0")
		t.line(wait)
		t.line("if (%s < end) {", next)
		load(next)
		t.line("}")
		k.compute(t, "0")
		t.line(wait + "\n}")
	case loadTwice:
		t.line("{")
		load("begin")
		t.line("}")
		store("begin", "0")
		t.line(wait)
		t.line("var now = 0u;")
		loop("begin")
		t.line("if (%s < end) {", next)
		load(next)
		t.line("}")
		k.compute(t, "now")
		t.line("now = 1u - now;")
		store(next, "now")
		t.line(wait + "\n}")
	}
}

// compute prints the products of one tile of K.
func (k *productKernel) compute(t *text, which string) {
	if k.tile.unroll {
		for i := range k.depth {
			t.line("{")
			k.step(t, which, fmt.Sprint(i))
			t.line("}")
		}
		return
	}
	t.line("for (var i = 0u; i < %du; i++) {", k.depth)
	k.step(t, which, "i")
	t.line("}")
}

// step prints the products of one element of K.
func (k *productKernel) step(t *text, which, deep string) {
	for j := range k.tile.n / 4 {
		t.line("let b%d = tile_b[%s][%s][thread_column + %du];", j, which, deep, j*(k.tile.columns/k.tile.n))
	}
	for i := range k.tile.m / 4 {
		t.line("let a%d = tile_a[%s][%s][thread_row + %du];", i, which, deep, i*(k.tile.rows/k.tile.m))
	}
	for i := range k.tile.m {
		for j := range k.tile.n / 4 {
			c := fmt.Sprintf("c%d_%d", i, j)
			t.line("%s = %s;", c, multiplyAdd(k.sum, c, fmt.Sprintf("a%d[%d]", i/4, i%4), fmt.Sprintf("b%d", j)))
		}
	}
}
