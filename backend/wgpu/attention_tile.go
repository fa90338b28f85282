package wgpu

import (
	"fmt"
	"math"
	"strings"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/wgpu/internal/driver"
	"github.com/weft-go/weft/ops"
)

// fewQueries is below how many a workgroup has one query.
const fewQueries = 16

// An attendTile is how a workgroup shares the work of a block of queries among its threads, down × across of them. It goes
// over the keys a block at a time: a thread has the scores of m queries and n keys, then sums of its queries in w columns of the
// values. What the workgroup has in its memory are slices of the operands and the weights of a block of keys.
type attendTile struct {
	down, across  int
	m, n, w       int  // multiples of 4
	unroll        int  // steps of a product that are written out, a multiple of 4
	slice, values int  // of the depth, and rows of the values, that are in memory at a time: multiples of unroll
	keep          bool // the queries stay in memory, in all their depth
	shuffle       bool // the threads across are of one subgroup, and tell each other by it
}

func (c attendTile) threads() int { return c.down * c.across }
func (c attendTile) queries() int { return c.down * c.m }
func (c attendTile) keys() int    { return c.across * c.n }
func (c attendTile) columns() int { return c.across * c.w }

// The memory is of lines, each four neighbouring queries, keys or columns in the steps of a product that are written out: then
// the index of a line is all that has to be computed for them, and be held against the bounds. A quad at the end of each line,
// and a line more for each round of steps, let threads meet different banks.
func lines(n int) int { return n/4 + 1 }

func (c attendTile) line() int { return c.unroll + 1 }

// parts returns where in the memory, in lines, the slices begin and the weights, and how many lines there are. The queries
// come first.
func (c attendTile) parts(depth int) (slices, weights, all int) {
	deep := c.slice
	if c.keep {
		deep = ceil(depth, c.slice) * c.slice
	}
	slices = deep / c.unroll * lines(c.queries())
	weights = slices + max(c.slice/c.unroll*lines(c.keys()), c.values/c.unroll*lines(c.columns()))
	return slices, weights, weights + c.keys()/c.unroll*lines(c.queries())
}

// memory returns the bytes of workgroup memory that a tile takes.
func (c attendTile) memory(depth int) int {
	_, _, all := c.parts(depth)
	n := 16*all*c.line() + 4
	if !c.shuffle {
		n += 4 * c.across * c.queries()
	}
	return n
}

// The presets, by the memory they take: 38 kB, 19 kB, 24 kB, and less than 16 kB, all that WebGPU promises. Fewer sums a thread are
// faster on a GPU than its registers would have it. Values of many columns have a tile of their own.
var (
	attendLarge  = attendTile{down: 16, across: 8, m: 4, n: 4, w: 8, unroll: 16, slice: 64, values: 32, keep: true}
	attendMiddle = attendTile{down: 16, across: 8, m: 4, n: 4, w: 8, unroll: 16, slice: 16, values: 16}
	attendWide   = attendTile{down: 8, across: 16, m: 4, n: 4, w: 8, unroll: 16, slice: 32, values: 16}
	attendSmall  = attendTile{down: 8, across: 8, m: 4, n: 4, w: 8, unroll: 4, slice: 16, values: 16}
)

// pickTile chooses the tile for the sizes and the device.
func (a *attending) pickTile() attendTile {
	list := []attendTile{attendLarge, attendMiddle}
	switch {
	case a.e.info.Type == driver.Software: // which takes less time to compile little
		list = nil
	case a.width > attendLarge.columns():
		list = []attendTile{attendWide, attendMiddle}
	case a.depth <= 32:
		list[0].slice = 32
	}
	for _, c := range list {
		c.shuffle = c.across <= a.e.subgroup
		if c.fits(a) {
			return c
		}
	}
	return attendSmall
}

// fits reports whether the device has what the tile takes.
func (c attendTile) fits(a *attending) bool {
	return c.memory(a.depth) <= int(a.e.info.Limits.WorkgroupMemory) && (!c.shuffle || c.across <= a.e.subgroup)
}

// attendTiles records an attention in which each workgroup has a block of queries and of the columns of the values.
func (a *attending) attendTiles(c attendTile) error {
	blocks := ceil(a.width, c.columns())
	tiles := ceil(a.m, c.queries())
	k, err := a.wordKernel("attention.tile")
	if err != nil {
		return err
	}
	quads := a.quads(k)
	k.threads, k.shared = c.threads(), c.memory(a.depth)/4
	if c.shuffle {
		k.teams = a.e.subgroup
	}
	wide := a.result(k)
	k.param("blocks", blocks)
	k.param("tiles", tiles)
	units := a.rows * tiles * blocks
	k.param("units", units)
	w := attendWriter{attending: a, tile: c, quads: quads, wide: wide, ragged: a.depth%c.slice != 0}
	deep := 0
	if c.keep {
		deep = ceil(a.depth, c.slice)
	}
	return k.run(units, fmt.Sprint(a.variant(), c, deep, quads, w.wide, w.ragged), func() string { return a.complete(k, w.text()) })
}

// result binds the memory of the result, and reports whether it is stored four elements at a time.
func (a *attending) result(k *wordKernel) (wide bool) {
	wide = a.width%4 == 0 && a.to.Layout.Offset%4 == 0
	k.array("to", a.to.Buf.(*buffer), true)
	k.slots[len(k.slots)-1].wide = wide
	k.param("to_offset", a.to.Layout.Offset)
	return wide
}

// quads reports which of queries, keys and values are read four elements at a time, and binds them so.
func (a *attending) quads(k *wordKernel) (list [3]bool) {
	for i := range list {
		o := &a.operands[i]
		lead := len(o.Layout.Strides) - 2
		l := a.batch[i]
		l = backend.Layout{
			Shape:   append(l.Shape.Clone(), o.Layout.Shape[lead:]...),
			Strides: append(append([]int(nil), l.Strides...), o.Layout.Strides[lead:]...), Offset: l.Offset,
		}
		last := len(l.Shape) - 1
		list[i] = l.Strides[last] == 1 && l.Shape[last]%4 == 0 && aligned(l)
		k.slots[i].wide = list[i] && o.DType == ops.Float32
	}
	return list
}

// An attendWriter writes the kernel.
type attendWriter struct {
	*attending
	tile   attendTile
	quads  [3]bool
	wide   bool // the result is stored four elements at a time
	ragged bool // the last slice of the depth is not full
}

func (w *attendWriter) text() string {
	c := w.tile
	slices, weights, all := c.parts(w.depth)
	found := ""
	if !c.shuffle {
		found = fmt.Sprintf("var<workgroup> found: array<vec4<f32>, %d>;", c.across*c.queries()/4)
	}
	code := strings.NewReplacer(
		"COMMON", w.common(), "FOUND", found, "NOMASK", w.noMask(), "EDGE", w.edge(), "END", attendEnd, "QUERIES", w.queries(), "SUMS", w.sums(), "SCORES", w.declare("score", c.n),
		"KEYS", w.keys(), "DOT", w.product("score", c.n), "ADJUST", w.adjust(),
		"EXCHANGE", w.exchange(), "WEIGH", w.weigh(), "FADE", w.fade(), "VALUES", w.values(), "TOTAL", w.total(), "RESULTS", w.results(),
	).Replace(attendText)
	return strings.NewReplacer("ATS", fmt.Sprint(slices), "ATW", fmt.Sprint(weights), "ALL", fmt.Sprint(all), "LINE", fmt.Sprint(c.line()),
		"LQ", fmt.Sprint(lines(c.queries())), "LK", fmt.Sprint(lines(c.keys())), "LV", fmt.Sprint(lines(c.columns())),
		"SLICE", fmt.Sprint(c.slice), "STEPS", fmt.Sprint(c.unroll), "ROWS", fmt.Sprint(c.values),
		"BQ", fmt.Sprint(c.queries()), "BK", fmt.Sprint(c.keys()), "BW", fmt.Sprint(c.columns()),
		"DOWN", fmt.Sprint(c.down), "ACROSS", fmt.Sprint(c.across)).Replace(code)
}

// common prints the functions of a kernel.
func (w *attendWriter) common() string {
	masked := strings.ReplaceAll(w.masked(" * LOG2E_"), "(mask_base, q, n)", "(mask_base, min(q, $m. - 1u), n)")
	return strings.NewReplacer("MASKED", masked, "STORE", w.store(), "LOADERS", w.loaders()).Replace(attendFunctions)
}

// edge returns the condition under which scores of a block of keys may be excluded.
func (w *attendWriter) edge() string {
	if w.kernel.Mask != 0 {
		return "true"
	}
	return "first + BKu > $n. || (CAUSAL && first + BKu + $m. > $n. + tile * BQu + 1u)"
}

func (w *attendWriter) noMask() string {
	if w.kernel.Mask != 0 {
		return ""
	}
	return "let mask_base = 0u;"
}

// sums prints the sums of a thread, and of its queries the greatest score so far and the sum of the thread's weights relative to it.
func (w *attendWriter) sums() string {
	return w.declare("sum", w.tile.w) + w.rows("var most$r = vec4<f32>(-1e38);\nvar mine$r = vec4<f32>();")
}

// loaders prints the functions that give four neighbouring elements of a row of an operand. Rows beyond the last are the last,
// and so are columns of the values: their scores are excluded, and their sums are not stored. Beyond the depth all is 0.
func (w *attendWriter) loaders() string {
	var t text
	for i, name := range operandNames[:3] {
		extent := [...]string{"depth", "depth", "width"}[i]
		d := w.operands[i].DType
		t.line("fn %s_quad(base: u32, row: u32, column: u32) -> vec4<f32> {", name)
		t.line("let start = base + min(row, %s - 1u) * $%s_row.;", [...]string{"$m.", "$n.", "$n."}[i], name)
		value := ""
		if w.quads[i] {
			t.line("let at = start + min(column, $%s. - 4u);", extent)
			if d == ops.Float32 {
				value = fmt.Sprintf("bitcast<vec4<f32>>($%s[at >> 2u])", name)
			} else {
				t.line("let w0 = $%s[at >> 1u];\nlet w1 = $%s[(at >> 1u) + 1u];", name, name)
				value = fmt.Sprintf("vec4<f32>(%s, %s, %s, %s)", decode(d, half("w0", 0), ""), decode(d, half("w0", 1), ""), decode(d, half("w1", 0), ""), decode(d, half("w1", 1), ""))
				if d == ops.Float16 && w.e.unpacks {
					value = "vec4<f32>(unpack2x16float(w0), unpack2x16float(w1))"
				}
			}
		} else {
			lanes := make([]string, 4)
			for j := range lanes {
				t.line("let x%d = %s_at(start, 0u, min(column + %du, $%s. - 1u));", j, name, j, extent)
				lanes[j] = fmt.Sprintf("x%d", j)
			}
			value = fmt.Sprintf("vec4<f32>(%s)", strings.Join(lanes, ", "))
		}
		if i < 2 && w.ragged {
			value = fmt.Sprintf("select(vec4<f32>(), %s, vec4<u32>(column) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>($depth.))", value)
		}
		if i == 0 { // scores count powers of two
			value = fmt.Sprintf("%s * f32(%.9g)", value, min(max(w.kernel.Scale*math.Log2E, -math.MaxFloat32), math.MaxFloat32))
		}
		t.line("return %s;\n}", value)
	}
	return t.String()
}

// rows repeats a line for each quad of queries of a thread, number $r.
func (w *attendWriter) rows(line string) string {
	var t text
	for r := range w.tile.m / 4 {
		t.line("%s", strings.ReplaceAll(line, "$r", fmt.Sprint(r)))
	}
	return t.String()
}

// declare prints the sums of a thread, of quads of queries and n elements.
func (w *attendWriter) declare(name string, n int) string {
	var t text
	for j := range n {
		for r := range w.tile.m / 4 {
			t.line("var %s%d_%d = vec4<f32>();", name, j, r)
		}
	}
	return t.String()
}

// product prints some steps of a product: x are quads of queries in lines from x_line on, y those of what is across from
// y_line on.
func (w *attendWriter) product(name string, n int) string {
	c := w.tile
	var t text
	for i := range c.unroll {
		t.line("{")
		for r := range c.m / 4 {
			t.line("let x%d = memory[x_line + %du][%d];", r, r*c.down, i)
		}
		for j := range n / 4 {
			t.line("let y%d = memory[y_line + %du][%d];", j, j*c.across, i)
		}
		for j := range n {
			for r := range c.m / 4 {
				t.line("%s%d_%d = fma(x%d, vec4<f32>(y%d[%d]), %s%d_%d);", name, j, r, r, j/4, j%4, name, j, r)
			}
		}
		t.line("}")
	}
	return t.String()
}

// squares prints the loads of a slice of the depth, as squares of four rows and four elements of the depth, and then
// their stores, turned, from line start on.
func (w *attendWriter) squares(name, call string, rows int, start string) (load, store string) {
	c := w.tile
	units := rows / 4 * (c.slice / 4)
	var l, s text
	for i := range ceil(units, c.threads()) {
		l.line("let %s_unit%d = thread + %du;", name, i, i*c.threads())
		l.line("let %s_row%d = %s_unit%d / %du;\nlet %s_deep%d = %s_unit%d %% %du * 4u;", name, i, name, i, c.slice/4, name, i, name, i, c.slice/4)
		for j := range 4 {
			l.line("let %s%d_%d = %s;", name, i, j, strings.NewReplacer("$row", fmt.Sprintf("%s_row%d * 4u + %du", name, i, j), "$deep", fmt.Sprintf("%s_deep%d", name, i)).Replace(call))
		}
		if (i+1)*c.threads() > units {
			s.line("if (%s_unit%d < %du) {", name, i, units)
		} else {
			s.line("{")
		}
		s.line("let at = %s + %s_deep%d / STEPSu * %du + %s_row%d;\nlet step = %s_deep%d %% STEPSu;", start, name, i, lines(rows), name, i, name, i)
		for j := range 4 {
			s.line("memory[at][step + %du] = vec4<f32>(%s%d_0[%d], %s%d_1[%d], %s%d_2[%d], %s%d_3[%d]);", j, name, i, j, name, i, j, name, i, j, name, i, j)
		}
		s.line("}")
	}
	return l.String(), s.String()
}

// queries prints what brings the queries to memory before the loop over the keys, if they stay.
func (w *attendWriter) queries() string {
	if !w.tile.keep {
		return ""
	}
	load, store := w.squares("q", "query_quad(query_base, tile * BQu + $row, d + $deep)", w.tile.queries(), "d / STEPSu * LQu")
	return "for (var d = 0u; d < $depth.; d += SLICEu) {\n" + load + store + "}\n"
}

// keys prints what brings a slice of the keys to memory, and of the queries if they do not stay.
func (w *attendWriter) keys() string {
	load, store := w.squares("k", "key_quad(key_base, first + $row, d + $deep)", w.tile.keys(), "ATSu")
	start := "d / STEPSu * LQu"
	if !w.tile.keep {
		l, s := w.squares("q", "query_quad(query_base, tile * BQu + $row, d + $deep)", w.tile.queries(), "0u")
		load += l
		store += s
		start = "0u"
	}
	return load + "workgroupBarrier();\n" + store + "workgroupBarrier();\nlet x_first = " + start + " + down;\n"
}

// place returns how far query lane of quad r, and key or column j, are from the first of a thread.
func (c attendTile) place(r, j int) (query, across string) {
	return fmt.Sprintf("%du", r*c.down*4), fmt.Sprintf("%du", j/4*c.across*4+j%4)
}

// adjust prints what is done to the scores of a block of which some may be excluded.
func (w *attendWriter) adjust() string {
	c := w.tile
	var t text
	t.line("if (edge) {")
	for j := range c.n {
		for r := range c.m / 4 {
			q, n := c.place(r, j)
			t.line("score%d_%d = adjust(score%d_%d, q + %s, first + across * 4u + %s, mask_base);", j, r, j, r, q, n)
		}
	}
	t.line("}")
	return t.String()
}

// shared prints how the threads that share queries combine what each has of them, in name0, name1….
func (w *attendWriter) shared(name, combine string) string {
	c := w.tile
	var t text
	if c.shuffle {
		for apart := 1; apart < c.across; apart *= 2 {
			t.WriteString(w.rows(fmt.Sprintf("%s$r = %s;", name, strings.NewReplacer("A", name+"$r", "B", fmt.Sprintf("subgroupShuffleXor(%s$r, %du)", name, apart)).Replace(combine))))
		}
		return t.String()
	}
	t.WriteString(w.rows(fmt.Sprintf("found[across * %du + down + $ru * DOWNu] = %s$r;", c.queries()/4, name)))
	t.line("workgroupBarrier();")
	t.WriteString(w.rows(fmt.Sprintf("%s$r = found[down + $ru * DOWNu];", name)))
	for i := range c.across - 1 {
		t.WriteString(w.rows(fmt.Sprintf("%s$r = %s;", name, strings.NewReplacer("A", name+"$r", "B", fmt.Sprintf("found[down + $ru * DOWNu + %du]", (i+1)*c.queries()/4)).Replace(combine))))
	}
	return t.String()
}

// exchange prints how the threads that share queries find the greatest of their scores.
func (w *attendWriter) exchange() string {
	c := w.tile
	var t text
	for r := range c.m / 4 {
		t.line("var high%d = max(most%d, score0_%d);", r, r, r)
		for j := 1; j < c.n; j++ {
			t.line("high%d = max(high%d, score%d_%d);", r, r, j, r)
		}
	}
	t.WriteString(w.shared("high", "max(A, B)"))
	t.WriteString(w.rows("let less$r = power(most$r - high$r);\nmost$r = high$r;\nmine$r = mine$r * less$r;"))
	return t.String()
}

// weigh prints the weights of the scores, and takes them to memory.
func (w *attendWriter) weigh() string {
	c := w.tile
	var t text
	for j := range c.n {
		t.line("{ let key = across * 4u + %du;\nlet at = ATWu + key / STEPSu * LQu + down;\nlet step = key %% STEPSu;", j/4*c.across*4+j%4)
		for r := range c.m / 4 {
			t.line("let weight%d = power(score%d_%d - most%d);\nmine%d += weight%d;\nmemory[at + %du][step] = weight%d;", r, j, r, r, r, r, r*c.down, r)
		}
		t.line("}")
	}
	return t.String()
}

func (w *attendWriter) fade() string {
	var t text
	for j := range w.tile.w {
		t.WriteString(w.rows(fmt.Sprintf("sum%d_$r = sum%d_$r * less$r;", j, j)))
	}
	return t.String()
}

// values prints the sums of a block of keys. Where a key may be excluded, and values that are not finite have been seen, it is
// kept from infinities times 0.
func (w *attendWriter) values() string {
	c := w.tile
	units := c.values * c.columns() / 4
	var load, store, careful text
	for i := range ceil(units, c.threads()) {
		load.line("let value%d = value_quad(value_base, first + v + (thread + %du) / %du, block * BWu + (thread + %du) %% %du * 4u);",
			i, i*c.threads(), c.columns()/4, i*c.threads(), c.columns()/4)
		if (i+1)*c.threads() > units {
			store.line("if (thread + %du < %du) {", i*c.threads(), units)
		} else {
			store.line("{")
		}
		store.line("let row = (thread + %du) / %du;", i*c.threads(), c.columns()/4)
		store.line("memory[ATSu + row / STEPSu * LVu + (thread + %du) %% %du][row %% STEPSu] = value%d;", i*c.threads(), c.columns()/4, i)
		store.line("if (edge) { if (any((bitcast<vec4<u32>>(value%d) & vec4<u32>(0x7f800000u)) == vec4<u32>(0x7f800000u))) { atomicOr(&odd, 1u); } }", i)
		store.line("}")
	}
	for r := range c.m / 4 {
		careful.line("let x%d = memory[x_line + %du][i];\nlet none%d = x%d == vec4<f32>();", r, r*c.down, r, r)
	}
	for j := range c.w / 4 {
		careful.line("let y%d = memory[y_line + %du][i];", j, j*c.across)
	}
	for j := range c.w {
		for r := range c.m / 4 {
			careful.line("sum%d_%d += select(x%d * y%d[%d], vec4<f32>(), none%d);", j, r, r, j/4, j%4, r)
		}
	}
	again := "v = v + ROWSu;\n"
	if c.values == c.keys() {
		again = ""
	}
	body := load.String() + "workgroupBarrier();\n" + store.String() + "workgroupBarrier();\nlet x_first = ATWu + v / STEPSu * LQu + down;\n" + again +
		"let careful = edge && atomicLoad(&odd) != 0u;\nfor (var s = 0u; s < ROWSu / STEPSu; s++) {\nlet x_line = x_first + s * LQu;\nlet y_line = ATSu + s * LVu + across;\n" +
		"if (careful) {\nfor (var i = 0u; i < STEPSu; i++) {\n" + careful.String() + "}\n} else {\n" + w.product("sum", c.w) + "}\n}\n"
	if c.values == c.keys() {
		return body
	}
	return fmt.Sprintf("for (var part = 0u; part < %du; part++) {\n%s}\n", c.keys()/c.values, body)
}

// total prints the sums of the weights, and what the sums are divided by.
func (w *attendWriter) total() string {
	return w.shared("mine", "A + B") + w.rows("let safe$r = select(mine$r, vec4<f32>(1.0), mine$r == vec4<f32>());")
}

// store prints the function that stores four neighbouring results of a query.
func (w *attendWriter) store() string {
	if w.wide {
		return `fn store(b: u32, q: u32, column: u32, x: vec4<f32>) {
	if (q < $m.) { if (column < $width.) { $to[($to_offset. + (b * $m. + q) * $width. + column) >> 2u] = bitcast<vec4<u32>>(x); } }
}`
	}
	return `fn store(b: u32, q: u32, column: u32, x: vec4<f32>) {
	if (q < $m.) {
		let at = $to_offset. + (b * $m. + q) * $width. + column;
		if (column < $width.) { $to[at] = bitcast<u32>(x.x); }
		if (column + 1u < $width.) { $to[at + 1u] = bitcast<u32>(x.y); }
		if (column + 2u < $width.) { $to[at + 2u] = bitcast<u32>(x.z); }
		if (column + 3u < $width.) { $to[at + 3u] = bitcast<u32>(x.w); }
	}
}`
}

func (w *attendWriter) results() string {
	c := w.tile
	var t text
	for r := range c.m / 4 {
		for j := range c.w {
			t.line("let r%d_%d = sum%d_%d / safe%d;", j, r, j, r, r)
		}
		for i := range 4 {
			q, _ := c.place(r, 0)
			for j := 0; j < c.w; j += 4 {
				_, n := c.place(r, j)
				t.line("store(b, q + %s + %du, block * BWu + across * 4u + %s, vec4<f32>(r%d_%d[%d], r%d_%d[%d], r%d_%d[%d], r%d_%d[%d]));",
					q, i, n, j, r, i, j+1, r, i, j+2, r, i, j+3, r, i)
			}
		}
	}
	return t.String()
}

// power is 2ˣ for x that is not positive, or NaN. A score of -1e38 or less counts for nothing. odd is set once values that are not
// finite have been seen where keys may be excluded.
const attendFunctions = `
FUNCTIONS
var<workgroup> odd: atomic<u32>;
fn power(x: vec4<f32>) -> vec4<f32> {
	let nan = (bitcast<vec4<u32>>(x) & vec4<u32>(0x7fffffffu)) > vec4<u32>(0x7f800000u);
	return bitcast<vec4<f32>>(select(bitcast<vec4<u32>>(exp2(x)), bitcast<vec4<u32>>(x), nan));
}
fn kept(product: f32, q: u32, n: u32, mask_base: u32) -> f32 {
	var score = product;
	if (n >= $n.) { return LOWEST; }
	if (CAUSAL && n + $m. > q + $n.) { return LOWEST; }
	MASKED
	return score;
}
fn adjust(score: vec4<f32>, q: u32, n: u32, mask_base: u32) -> vec4<f32> {
	return vec4<f32>(kept(score.x, q, n, mask_base), kept(score.y, q + 1u, n, mask_base), kept(score.z, q + 2u, n, mask_base), kept(score.w, q + 3u, n, mask_base));
}
STORE
LOADERS
`

// attendEnd finds where the keys end that a tile sees.
const attendEnd = `var end = $n.;
	if (CAUSAL) {
		end = min(end, bitcast<u32>(max(bitcast<i32>(min(tile * BQu + BQu, $m.) + $n. - $m.), 0)));
	}
	if ($group >= $units.) { end = 0u; }
	if (thread == 0u) { atomicStore(&odd, 0u); }`

const attendText = `
COMMON
var<workgroup> memory: array<array<vec4<f32>, LINE>, ALL>;
FOUND
$main
	let block = $group % $blocks.;
	let b = $group / $blocks. / $tiles.;
	let tile = $tiles. - 1u - $group / $blocks. % $tiles.;
	MATRICES
	NOMASK
	let across = thread % ACROSSu;
	let down = thread / ACROSSu;
	let q = tile * BQu + down * 4u;
	END
	QUERIES
	SUMS
	for (var first = 0u; first < end; first += BKu) {
		SCORES
		for (var d = 0u; d < $depth.; d += SLICEu) {
			KEYS
			for (var s = 0u; s < SLICEu / STEPSu; s++) {
				let x_line = x_first + s * LQu;
				let y_line = ATSu + s * LKu + across;
				DOT
			}
		}
		let edge = EDGE;
		ADJUST
		var v = 0u;
		EXCHANGE
		WEIGH
		FADE
		VALUES
	}
	TOTAL
	if ($group < $units.) {
		RESULTS
	}
}
`
