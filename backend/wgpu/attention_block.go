package wgpu

import (
	"fmt"
	"strings"
)

// An attendBlock is how a workgroup whose subgroups reach across it shares the work of a block of queries among its threads, down ×
// across of them. A thread has the scores of 8 queries and 4 keys, and then tells the other threads across their weights, while each
// sums its 4 columns of the values. The queries stay in workgroup memory, as slices of the depth, and with them is one slice of the
// keys or the values: the next is on its way to registers while one is used.
type attendBlock struct {
	down, across int // powers of two, from 1 to 16 and from 4 to 32
}

const (
	blockQueries = 8
	blockKeys    = 4
	blockSteps   = 16 // the depth of a slice: the steps of a product that are written out
)

// tile returns what the texts have in common with those of a tile.
func (c attendBlock) tile() attendTile {
	return attendTile{down: c.down, across: c.across, m: blockQueries, n: blockKeys, w: 4, shuffle: true}
}

// high and wide are the quads of a step of the queries, and of keys or values: one more than there are, so that threads that store
// them turned meet different banks.
func (c attendBlock) high() int { return c.down*blockQueries/4 + 1 }
func (c attendBlock) wide() int { return c.across + 1 }

// memory returns the bytes of workgroup memory that a block takes.
func (c attendBlock) memory(depth int) int {
	return 16*blockSteps*(ceil(depth, blockSteps)*c.high()+c.wide()) + 4
}

// fits reports whether the device has what the block takes.
func (c attendBlock) fits(a *attending) bool {
	return c.across <= a.e.subgroup && c.down*c.across <= int(a.e.info.Limits.Invocations) && c.memory(a.depth) <= int(a.e.info.Limits.WorkgroupMemory)
}

// pickBlock chooses the block for the sizes and the device; ok is false where there is none.
func (a *attending) pickBlock() (c attendBlock, ok bool) {
	c = attendBlock{down: 8, across: 16}
	if a.width > 64 {
		c.across = 32
	}
	for c.down > 2 && !c.fits(a) {
		c.down /= 2
	}
	return c, c.fits(a)
}

// attendBlocks records an attention in which each workgroup has a block of queries and of the columns of the values.
func (a *attending) attendBlocks(c attendBlock) error {
	t := c.tile()
	k, err := a.wordKernel("attention.block")
	if err != nil {
		return err
	}
	w := blockWriter{attendWriter{attending: a, tile: t, quads: a.quads(k), ragged: a.depth%blockSteps != 0}, c}
	k.threads, k.shared, k.teams = t.threads(), c.memory(a.depth)/4, a.e.subgroup
	w.wide = a.result(k)
	blocks, tiles := ceil(a.width, t.columns()), ceil(a.m, t.queries())
	units := a.rows * tiles * blocks
	k.param("blocks", blocks)
	k.param("tiles", tiles)
	k.param("rows", a.rows)
	k.param("units", units)
	variant := fmt.Sprint(a.variant(), c, ceil(a.depth, blockSteps), w.quads, w.wide, w.ragged)
	return k.run(units, variant, func() string { return a.complete(k, w.text()) })
}

// A blockWriter writes the kernel of a block.
type blockWriter struct {
	attendWriter
	block attendBlock
}

func (w *blockWriter) text() string {
	c, t := w.block, w.tile
	code := strings.NewReplacer("COMMON", w.common(),
		"QUERIES", w.queries(), "NEXT", w.next(), "FIRST", w.loadKeys("0u", "0u")+w.storeKeys(),
		"END", attendEnd, "SUMS", w.sums(), "SCORES", w.declare("score", t.n), "EDGE", w.edge(), "NOMASK", w.noMask(),
		"LOADKEYS", w.loadKeys("first", "(d + 1u) * STEPSu"), "STOREKEYS", w.storeKeys(), "DOT", w.scores(),
		"ADJUST", w.adjust(), "EXCHANGE", w.exchange(), "WEIGH", w.weights(), "FADE", w.fade(),
		"LOADFIRST", w.loadValues("0u"), "LOADVALUES", w.loadValues("v + STEPSu"), "STOREVALUES", w.storeValues(),
		"LOADNEXT", w.loadKeys("first + BKu", "0u"), "CAREFUL", w.careful(), "PLAIN", w.plain(), "TOTAL", w.total(), "RESULTS", w.results(),
	).Replace(blockText)
	return strings.NewReplacer("HIGH", fmt.Sprint(c.high()), "WIDE", fmt.Sprint(c.wide()), "STEPS", fmt.Sprint(blockSteps),
		"ROUNDS", fmt.Sprint(ceil(w.depth, blockSteps)), "BQ", fmt.Sprint(t.queries()), "BK", fmt.Sprint(t.keys()), "BW", fmt.Sprint(t.columns()),
		"DOWN", fmt.Sprint(c.down), "ACROSS", fmt.Sprint(c.across)).Replace(code)
}

// units prints a line for each of the units of a slice that a thread has, of all that there are: number $i, unit $unit.
func (w *blockWriter) units(all int, line string) string {
	var t text
	for i := range all / w.tile.threads() {
		t.line("{\nlet unit = thread + %du;\n%s\n}", i*w.tile.threads(), strings.ReplaceAll(line, "$i", fmt.Sprint(i)))
	}
	return t.String()
}

// turned prints units of a slice of rows and the depth: a quad of a row each, which becomes an element of four steps.
func (w *blockWriter) turned(rows int, line string) string {
	return w.units(rows*blockSteps/4, "let row = unit / (STEPSu / 4u);\nlet deep = unit % (STEPSu / 4u) * 4u;\n"+line)
}

// scatter prints the stores of quad x of a row to the steps of a slice.
func scatter(slice, x string) string {
	var t text
	for j := range 4 {
		t.line("%s[deep + %du][row / 4u][row %% 4u] = %s[%d];", slice, j, x, j)
	}
	return t.String()
}

// queries prints what brings the queries to memory.
func (w *blockWriter) queries() string {
	return "for (var d = 0u; d < ROUNDSu; d++) {\n" +
		w.turned(w.tile.queries(), "let x = query_quad(query_base, tile * BQu + row, d * STEPSu + deep);\n"+scatter("queries[d]", "x")) + "}"
}

// next prints the registers of the next slice.
func (w *blockWriter) next() string {
	var t text
	for i := range w.tile.keys() * blockSteps / 4 / w.tile.threads() {
		t.line("var next%d = vec4<f32>();", i)
	}
	return t.String()
}

func (w *blockWriter) loadKeys(first, deep string) string {
	return w.turned(w.tile.keys(), fmt.Sprintf("next$i = key_quad(key_base, %s + row, %s + deep);", first, deep))
}

func (w *blockWriter) storeKeys() string {
	return w.turned(w.tile.keys(), scatter("slice", "next$i"))
}

func (w *blockWriter) loadValues(v string) string {
	return w.units(blockSteps*w.block.across, fmt.Sprintf("next$i = value_quad(value_base, first + %s + unit / ACROSSu, block * BWu + unit %% ACROSSu * 4u);", v))
}

func (w *blockWriter) storeValues() string {
	return w.units(blockSteps*w.block.across, "slice[unit / ACROSSu][unit % ACROSSu] = next$i;\n"+
		"if (edge) { if (any((bitcast<vec4<u32>>(next$i) & vec4<u32>(0x7f800000u)) == vec4<u32>(0x7f800000u))) { atomicOr(&odd, 1u); } }")
}

// scores prints the products of a slice of the depth.
func (w *blockWriter) scores() string {
	var t text
	for i := range blockSteps {
		t.line("{")
		for r := range blockQueries / 4 {
			t.line("let x%d = queries[d][%d][down + %du];", r, i, r*w.block.down)
		}
		t.line("let y0 = slice[%d][across];", i)
		w.multiply(&t, "score")
		t.line("}")
	}
	return t.String()
}

// multiply prints the products of queries x and what is across, y.
func (w *blockWriter) multiply(t *text, name string) {
	for j := range 4 {
		t.WriteString(w.rows(fmt.Sprintf("%s%d_$r = fma(x$r, vec4<f32>(y0[%d]), %s%d_$r);", name, j, j, name, j)))
	}
}

// weights prints the weights of the scores, which take their place.
func (w *blockWriter) weights() string {
	var t text
	for j := range blockKeys {
		t.WriteString(w.rows(fmt.Sprintf("score%d_$r = power(score%d_$r - most$r);\nmine$r += score%d_$r;", j, j, j)))
	}
	return t.String()
}

// step prints the weights and the values of key i of the four that thread source + quad across has.
func (w *blockWriter) step(quad string, i int) string {
	return w.rows(fmt.Sprintf("let x$r = subgroupShuffle(score%d_$r, source + %s);", i, quad)) +
		fmt.Sprintf("let y0 = slice[%s * 4u + %du][across];\n", quad, i)
}

// plain prints the sums of a slice of the values.
func (w *blockWriter) plain() string {
	var t text
	for i := range blockSteps {
		t.line("{\n%s", w.step(fmt.Sprintf("%du", i/4), i%4))
		w.multiply(&t, "sum")
		t.line("}")
	}
	return t.String()
}

// careful prints the same where a key that is excluded must be kept from infinities times 0.
func (w *blockWriter) careful() string {
	var t text
	t.line("for (var quad = 0u; quad < STEPSu / 4u; quad++) {")
	for i := range blockKeys {
		t.line("{\n%s", w.step("quad", i))
		for j := range 4 {
			t.WriteString(w.rows(fmt.Sprintf("sum%d_$r += select(x$r * y0[%d], vec4<f32>(), x$r == vec4<f32>());", j, j)))
		}
		t.line("}")
	}
	t.line("}")
	return t.String()
}

// The longest blocks of all matrices come first.
const blockText = `
COMMON
var<workgroup> queries: array<array<array<vec4<f32>, HIGH>, STEPS>, ROUNDS>;
var<workgroup> slice: array<array<vec4<f32>, WIDE>, STEPS>;
$main
	let block = $group % $blocks.;
	let b = $group / $blocks. % $rows.;
	let tile = $tiles. - 1u - min($group / $blocks. / $rows., $tiles. - 1u);
	MATRICES
	NOMASK
	let across = thread % ACROSSu;
	let down = thread / ACROSSu;
	let q = tile * BQu + down * 4u;
	END
	QUERIES
	NEXT
	FIRST
	workgroupBarrier();
	SUMS
	for (var first = 0u; first < end; first += BKu) {
		let edge = EDGE;
		SCORES
		for (var d = 0u; d < ROUNDSu; d++) {
			if (d + 1u < ROUNDSu) { LOADKEYS } else { LOADFIRST }
			DOT
			workgroupBarrier();
			if (d + 1u < ROUNDSu) { STOREKEYS } else { STOREVALUES }
			workgroupBarrier();
		}
		ADJUST
		EXCHANGE
		WEIGH
		FADE
		for (var v = 0u; v < BKu; v += STEPSu) {
			if (v + STEPSu < BKu) { LOADVALUES } else if (first + BKu < end) { LOADNEXT }
			let source = (lane & ~(ACROSSu - 1u)) + v / 4u;
			if (edge && atomicLoad(&odd) != 0u) { CAREFUL } else { PLAIN }
			workgroupBarrier();
			if (v + STEPSu < BKu) { STOREVALUES } else if (first + BKu < end) { STOREKEYS }
			workgroupBarrier();
		}
	}
	TOTAL
	if ($group < $units.) {
		RESULTS
	}
}
`
