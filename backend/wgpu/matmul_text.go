package wgpu

import (
	"fmt"

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

// A panel is a factor's part of a tile in workgroup memory, as quads of neighbouring rows of A or columns of B, those of one
// element of K after another.
type panel struct {
	*factor
	extent int // rows or columns
	pitch  int // quads from one element of K to the next
	units  int // that threads load: a quad, or a square of sixteen elements that turns its quads
	each   int // units a thread loads
}

// panels returns the panels of the sides. What is turned when it is stored goes to an odd number of quads, so that threads
// meet different banks.
func (k *productKernel) panels() [2]panel {
	var list [2]panel
	for i, extent := range []int{k.tile.rows, k.tile.columns} {
		p := panel{factor: &k.sides[i], extent: extent, pitch: extent / 4, units: extent / 4 * k.depth}
		if p.across {
			p.units /= 4
			p.pitch++
		}
		p.each = ceil(p.units, k.tile.threads())
		list[i] = p
	}
	return list
}

// memory returns the bytes of workgroup memory of a tile, at most.
func (c tile) memory(d ops.DType) int {
	n := (c.rows/4 + 1 + c.columns/4 + 1) * c.depth * quadSize(d)
	if c.loop == loadTwice {
		n *= 2
	}
	return n
}

// writeTile prints the kernel of a tile, and returns the bytes of its workgroup memory.
func (k *productKernel) writeTile(t *text) int {
	sides := k.panels()
	copies := 1
	if k.tile.loop == loadTwice {
		copies = 2
	}
	shared := 0
	for _, p := range sides {
		n := p.pitch * k.depth * copies
		t.line("var<workgroup> tile_%s: array<%s, %d>;", p.name, quad(k.sum), n)
		shared += n * quadSize(k.sum)
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
		sides[i].declare(t, k.tile.threads(), k.depth, quad(k.sum))
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

// declare prints the registers that a thread loads its units of a panel into, and where in the panel each is: quad
// at_… along the rows or columns, element deep_… of K.
func (p *panel) declare(t *text, threads, depth int, quad string) {
	for i := range p.each {
		t.line("let unit_%s%d = thread + %du;", p.name, i, i*threads)
		if p.across {
			t.line("let deep_%s%d = unit_%s%d %% %du * 4u;", p.name, i, p.name, i, depth/4)
			t.line("let at_%s%d = unit_%s%d / %du;", p.name, i, p.name, i, depth/4)
		} else {
			t.line("let deep_%s%d = unit_%s%d / %du;", p.name, i, p.name, i, p.extent/4)
			t.line("let at_%s%d = unit_%s%d %% %du;", p.name, i, p.name, i, p.extent/4)
		}
		for j := range p.quads() {
			t.line("var %s%d_%d = %s();", p.name, i, j, quad)
		}
	}
}

// quads returns how many a unit has.
func (p *panel) quads() int {
	if p.across {
		return 4
	}
	return 1
}

// guard prints the condition under which a thread has a unit i, where not all have.
func (p *panel) guard(t *text, i, threads int) {
	if (i+1)*threads > p.units {
		t.line("if (unit_%s%d < %du) {", p.name, i, p.units)
	} else {
		t.line("{")
	}
}

// load prints the loads of a thread's units, from element from of K on.
func (k *productKernel) load(t *text, p *panel, from string) {
	first := map[string]string{"a": "first_row", "b": "first_column"}[p.name]
	for i := range p.each {
		p.guard(t, i, k.tile.threads())
		for j := range p.quads() {
			deep := fmt.Sprintf("%s + deep_%s%d", from, p.name, i)
			side := fmt.Sprintf("%s + at_%s%d * 4u", first, p.name, i)
			if p.across {
				t.line("%s%d_%d = load_%s(%s%s + %du, %s);", p.name, i, j, p.name, k.arguments(), side, j, deep)
			} else {
				t.line("%s%d_%d = load_%s(%s%s, %s);", p.name, i, j, p.name, k.arguments(), deep, side)
			}
		}
		t.line("}")
	}
}

// store prints the stores of a thread's units into workgroup memory, offset quads from its beginning.
func (k *productKernel) store(t *text, p *panel, offset string) {
	for i := range p.each {
		p.guard(t, i, k.tile.threads())
		r := fmt.Sprintf("%s%d", p.name, i)
		at := fmt.Sprintf("%sdeep_%s * %du + at_%s", offset, r, p.pitch, r)
		if !p.across {
			t.line("tile_%s[%s] = %s_0;", p.name, at, r)
		} else {
			for j := range 4 {
				t.line("tile_%s[%s + %du] = %s(%s_0[%d], %s_1[%d], %s_2[%d], %s_3[%d]);",
					p.name, at, j*p.pitch, quad(k.sum), r, j, r, j, r, j, r, j)
			}
		}
		t.line("}")
	}
}

// writeLoop prints the loop over K.
func (k *productKernel) writeLoop(t *text, sides [2]panel) {
	load := func(from string) { k.load(t, &sides[0], from); k.load(t, &sides[1], from) }
	store := func(a, b string) { k.store(t, &sides[0], a); k.store(t, &sides[1], b) }
	loop := func(from string) { t.line("for (var k = %s; k < end; k += %du) {", from, k.depth) }
	const wait = "workgroupBarrier();"
	switch k.tile.loop {
	case loadThenUse:
		loop("begin")
		load("k")
		store("", "")
		t.line(wait)
		k.compute(t, sides, "", "")
		t.line(wait + "\n}")
	case loadAhead:
		load("begin")
		loop("begin")
		store("", "")
		t.line(wait)
		t.line("if (k + %du < end) {", k.depth)
		load(fmt.Sprintf("k + %du", k.depth))
		t.line("}")
		k.compute(t, sides, "", "")
		t.line(wait + "\n}")
	case loadTwice:
		load("begin")
		store("", "")
		t.line(wait)
		t.line("var now_a = 0u;\nvar now_b = 0u;")
		loop("begin")
		t.line("let more = k + %du < end;", k.depth)
		t.line("if (more) {")
		load(fmt.Sprintf("k + %du", k.depth))
		t.line("}")
		k.compute(t, sides, "now_a + ", "now_b + ")
		t.line("now_a = %du - now_a;\nnow_b = %du - now_b;", sides[0].pitch*k.depth, sides[1].pitch*k.depth)
		t.line("if (more) {")
		store("now_a + ", "now_b + ")
		t.line("}")
		t.line(wait + "\n}")
	}
}

// compute prints the products of one tile of K.
func (k *productKernel) compute(t *text, sides [2]panel, a, b string) {
	if k.tile.unroll {
		for i := range k.depth {
			t.line("{")
			k.step(t, fmt.Sprintf("%s%du", a, i*sides[0].pitch), fmt.Sprintf("%s%du", b, i*sides[1].pitch))
			t.line("}")
		}
		return
	}
	t.line("for (var i = 0u; i < %du; i++) {", k.depth)
	k.step(t, fmt.Sprintf("%si * %du", a, sides[0].pitch), fmt.Sprintf("%si * %du", b, sides[1].pitch))
	t.line("}")
}

// step prints the products of one element of K, whose quads begin at a and b.
func (k *productKernel) step(t *text, a, b string) {
	for j := range k.tile.n / 4 {
		t.line("let b%d = tile_b[%s + thread_column + %du];", j, b, j*(k.tile.columns/k.tile.n))
	}
	for i := range k.tile.m / 4 {
		t.line("let a%d = tile_a[%s + thread_row + %du];", i, a, i*(k.tile.rows/k.tile.m))
	}
	for i := range k.tile.m {
		for j := range k.tile.n / 4 {
			c := fmt.Sprintf("c%d_%d", i, j)
			t.line("%s = %s;", c, multiplyAdd(k.sum, c, fmt.Sprintf("a%d[%d]", i/4, i%4), fmt.Sprintf("b%d", j)))
		}
	}
}
