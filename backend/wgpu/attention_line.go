package wgpu

import (
	"fmt"
	"strings"
)

// An attendLine is how a workgroup of 256 threads shares the work of a few queries that see the same keys: it has a part of these.
// Eight threads share a key; then as many as a row of the values has quads share one of these.
type attendLine struct {
	queries int  // of a workgroup: 1 or 4
	span    int  // keys of a workgroup, a multiple of 128
	shuffle bool // the threads of a key are of one subgroup, and add up their sums by it; else there is one query
}

const (
	attendThreads = 256
	lineColumns   = 256 // of the values that a workgroup has at most
)

// deep returns how many quads of a query there are in memory.
func (c attendLine) deep(depth int) int { return max(ceil(depth, 32), 1) * 8 }

// memory returns the bytes of workgroup memory that a line takes.
func (c attendLine) memory(depth int) int {
	words := c.queries*(4*c.deep(depth)+c.span+32) + 4*attendThreads
	if !c.shuffle {
		words += 9 * 32
	}
	return 4 * words
}

// pickLine chooses the line for the sizes and the device.
func (a *attending) pickLine() attendLine {
	c := attendLine{queries: 1, span: 256, shuffle: a.e.subgroup >= 8}
	if c.shuffle && a.shared()*a.m > 1 {
		c.queries = 4
	}
	if c.memory(a.depth) > int(a.e.info.Limits.WorkgroupMemory) {
		c.queries = 1
	}
	for c.span < 1024 && c.queries*c.span < 2048 && a.rows/a.shared()*ceil(a.shared()*a.m, c.queries)*ceil(a.n, c.span) > 8*busyGroups {
		c.span *= 2
	}
	return c
}

// shared returns how many matrices of queries, neighbours, see the same keys and values.
func (a *attending) shared() int {
	last := len(a.batch[0].Shape) - 1
	if a.batch[1].Strides[last] == 0 && a.batch[2].Strides[last] == 0 {
		return a.batch[0].Shape[last]
	}
	return 1
}

// attendLines records an attention of few queries. Where the keys are shared out, another kernel joins the parts.
func (a *attending) attendLines(c attendLine) error {
	columns := 32
	for columns < min(a.width, lineColumns) {
		columns *= 2
	}
	k, err := a.wordKernel("attention.line")
	if err != nil {
		return err
	}
	quads := a.quads(k)
	lines := a.shared() * a.m // that see the same keys
	tiles := ceil(lines, c.queries)
	blocks := ceil(a.width, columns)
	parts := max(ceil(a.n, c.span), 1)
	units := a.rows / a.shared() * tiles * blocks * parts
	k.shared = c.memory(a.depth) / 4
	if c.shuffle {
		k.teams = a.e.subgroup
	}
	deep := c.deep(a.depth)
	to, offset := a.to.Buf.(*buffer), a.to.Layout.Offset
	var states *buffer
	if parts > 1 {
		if to, err = a.words(a.rows * a.m * parts * a.width); err != nil {
			return err
		}
		if states, err = a.words(a.rows * a.m * parts * 2); err != nil {
			return err
		}
		offset = 0
	}
	k.array("to", to, true)
	if parts > 1 {
		k.array("states", states, true)
	}
	k.param("to_offset", offset)
	k.param("units", units)
	k.param("blocks", blocks)
	k.param("parts", parts)
	k.param("tiles", tiles)
	k.param("lines", lines)
	k.param("shared", a.shared())
	w := lineWriter{attendWriter: attendWriter{attending: a, quads: quads, ragged: 4*deep != a.depth}, line: c, columns: columns, deep: deep, parted: parts > 1}
	err = k.run(units, fmt.Sprint(a.variant(), c, quads, w.ragged, columns, deep, w.parted), func() string { return a.complete(k, w.text()) })
	if err != nil || parts == 1 {
		return err
	}
	return a.joinParts(to, states, parts)
}

// A lineWriter writes the kernel of a line.
type lineWriter struct {
	attendWriter
	line    attendLine
	columns int  // of the values that a workgroup has
	deep    int  // quads of a query
	parted  bool // the keys are shared out
}

func (w *lineWriter) text() string {
	c := w.line
	kind, power := "f32", "power(scores[i] - most)"
	if c.queries > 1 {
		kind = fmt.Sprintf("vec%d<f32>", c.queries)
		lanes := make([]string, c.queries)
		for r := range lanes {
			lanes[r] = fmt.Sprintf("power(scores[i][%d] - most[%d])", r, r)
		}
		power = fmt.Sprintf("KIND(%s)", strings.Join(lanes, ", "))
	}
	edge, mask := "first + SPANu > $n. || CAUSAL", "mask_base"
	if w.kernel.Mask != 0 {
		edge = "true"
	} else {
		mask = "0u"
	}
	sums := ""
	if !c.shuffle {
		sums = "var<workgroup> sums: array<f32, 288>;"
	}
	each := func(f string) string {
		return w.queries(func(r int) string { return strings.ReplaceAll(f, "$r", fmt.Sprint(r)) })
	}
	lane := func(name string) string { return w.lane(name, "$r") }
	quads := w.columns / 4
	code := strings.NewReplacer(
		"SHARED", sums, "MASKED", w.masked(" * LOG2E_"), "MASKBASE", mask, "POWER", power, "STORE", lineStore, "LOADERS", w.loaders(), "EDGE", edge,
		"PLACES", each(fmt.Sprintf("let line$r = min(tile * %du + $ru, $lines. - 1u);\nlet q$r = line$r %% $m.;\nlet base$r = bases(outer * $shared. + line$r / $m.);\nlet mask_base$r = base$r.w;", c.queries)),
		"QUERIES", each("queries[$ru * DEEPu + i] = query_quad(base$r.x, q$r, i * 4u);"), "DOTS", w.dots(),
		"ADJUST", each(fmt.Sprintf("%s = kept(%s, q$r, first + i, mask_base$r);", lane("score"), lane("score"))),
		"HIGHEST", w.combine("most", "-1e38", "max(A, B)"), "TOTAL", w.combine("total", "0.0", "A + B"), "SUMS", each("var sum$r = vec4<f32>();"),
		"PLAIN", each(fmt.Sprintf("sum$r = fma(vec4<f32>(%s), value, sum$r);", lane("weight"))),
		"CAREFUL", each(fmt.Sprintf("sum$r += select(%s * value, vec4<f32>(), %s == 0.0);", lane("weight"), lane("weight"))),
		"GATHER", each("workgroupBarrier();\nparts[thread] = sum$r;\nworkgroupBarrier();\nvar gathered$r = vec4<f32>();\n"+
			"if (thread < QUADSu) { for (var i = thread; i < 256u; i += QUADSu) { gathered$r += parts[i]; } }"),
		"RESULT", each(w.result(lane("most"), lane("total"))),
	).Replace(lineText)
	return strings.NewReplacer("KIND", kind, "SPAN", fmt.Sprint(c.span), "DEEP", fmt.Sprint(w.deep), "QUADS", fmt.Sprint(quads),
		"QUERYQUADS", fmt.Sprint(c.queries*w.deep), "ROWS", fmt.Sprint(attendThreads/quads)).Replace(code)
}

// queries prints what f gives for each query of a workgroup.
func (w *lineWriter) queries(f func(r int) string) string {
	var t text
	for r := range w.line.queries {
		t.line("%s", f(r))
	}
	return t.String()
}

// lane returns the part of a value that is query r's.
func (w *lineWriter) lane(name, r string) string {
	if w.line.queries == 1 {
		return name
	}
	return fmt.Sprintf("%s[%s]", name, r)
}

// dots prints the scores of 128 keys, from key i of the part on: of four that a thread has an eighth of.
func (w *lineWriter) dots() string {
	const keys = 4
	var t text
	for u := range keys {
		t.line("var dot%d = KIND();", u)
	}
	t.line("for (var j = eighth; j < DEEPu; j += 8u) {")
	for u := range keys {
		t.line("let key%d = key_quad(key_base, first + i + %du + thread / 8u, j * 4u);", u, 32*u)
	}
	for r := range w.line.queries {
		t.line("let query%d = queries[%du * DEEPu + j];", r, r)
		for u := range keys {
			t.line("%s += dot(query%d, key%d);", w.lane(fmt.Sprintf("dot%d", u), fmt.Sprint(r)), r, u)
		}
	}
	t.line("}")
	for u := range keys {
		if w.line.shuffle {
			for apart := 1; apart < 8; apart *= 2 {
				t.line("dot%d += subgroupShuffleXor(dot%d, %du);", u, u, apart)
			}
			t.line("if (eighth == 0u) { scores[i + %du + thread / 8u] = dot%d; }", 32*u, u)
			continue
		}
		t.line("sums[(thread / 8u) * 9u + eighth] = dot%d;\nworkgroupBarrier();\nif (thread < 32u) {\nvar sum = 0.0;", u)
		t.line("for (var k = 0u; k < 8u; k++) { sum += sums[thread * 9u + k]; }\nscores[i + %du + thread] = sum;\n}\nworkgroupBarrier();", 32*u)
	}
	return t.String()
}

// combine prints how the threads combine what each has in mine.
func (w *lineWriter) combine(name, none, combine string) string {
	of := func(a, b string) string { return strings.NewReplacer("A", a, "B", b).Replace(combine) }
	var t text
	if w.line.shuffle {
		for apart := 1; apart < 8; apart *= 2 {
			t.line("mine = %s;", of("mine", fmt.Sprintf("subgroupShuffleXor(mine, %du)", apart)))
		}
		t.line("if (eighth == 0u) { few[thread / 8u] = mine; }")
	} else {
		t.line("sums[thread] = mine;\nworkgroupBarrier();\nif (thread < 32u) {\nvar some = sums[thread * 8u];")
		t.line("for (var k = 1u; k < 8u; k++) { some = %s; }\nfew[thread] = some;\n}", of("some", "sums[thread * 8u + k]"))
	}
	t.line("workgroupBarrier();\nvar %s = KIND(%s);\nfor (var k = 0u; k < 32u; k++) { %s = %s; }", name, none, name, of(name, "few[k]"))
	return t.String()
}

// result prints the stores of query $r, of which most and total are what its weights are relative to and their sum.
func (w *lineWriter) result(most, total string) string {
	store := fmt.Sprintf("store($to_offset. + line * $width., column, gathered$r / select(%s, 1.0, %s == 0.0));", total, total)
	if w.parted {
		store = fmt.Sprintf(`store((line * $parts. + part) * $width., column, gathered$r);
			if (block == 0u && thread == 0u) {
				$states[(line * $parts. + part) * 2u] = bitcast<u32>(%s);
				$states[(line * $parts. + part) * 2u + 1u] = bitcast<u32>(%s);
			}`, most, total)
	}
	return fmt.Sprintf("if (tile * %du + $ru < $lines.) {\nlet line = outer * $lines. + line$r;\n%s\n}", w.line.queries, store)
}

const lineStore = `fn store(at: u32, column: u32, x: vec4<f32>) {
	if (column < $width.) { $to[at + column] = bitcast<u32>(x.x); }
	if (column + 1u < $width.) { $to[at + column + 1u] = bitcast<u32>(x.y); }
	if (column + 2u < $width.) { $to[at + column + 2u] = bitcast<u32>(x.z); }
	if (column + 3u < $width.) { $to[at + column + 3u] = bitcast<u32>(x.w); }
}`

const lineText = `
FUNCTIONS
var<workgroup> queries: array<vec4<f32>, QUERYQUADS>;
var<workgroup> scores: array<KIND, SPAN>;
var<workgroup> few: array<KIND, 32>;
var<workgroup> parts: array<vec4<f32>, 256>;
SHARED
fn power(x: f32) -> f32 { return bitcast<f32>(select(bitcast<u32>(exp2(x)), bitcast<u32>(x), isnan_(x))); }
fn kept(product: f32, q: u32, n: u32, mask_base: u32) -> f32 {
	var score = product;
	if (n >= $n.) { return LOWEST; }
	if (CAUSAL && n + $m. > q + $n.) { return LOWEST; }
	MASKED
	return score;
}
fn bases(b: u32) -> vec4<u32> {
	MATRICES
	return vec4<u32>(query_base, key_base, value_base, MASKBASE);
}
STORE
LOADERS
$main
	let unit = min($group, $units. - 1u);
	let part = unit % $parts.;
	let block = unit / $parts. % $blocks.;
	let tile = unit / $parts. / $blocks. % $tiles.;
	let outer = unit / $parts. / $blocks. / $tiles.;
	PLACES
	let key_base = base0.y;
	let value_base = base0.z;
	let first = part * SPANu;
	let eighth = thread % 8u;
	for (var i = thread; i < DEEPu; i += 256u) {
		QUERIES
	}
	workgroupBarrier();
	for (var i = 0u; i < SPANu; i += 128u) {
		DOTS
	}
	workgroupBarrier();
	let edge = EDGE;
	var mine = KIND(-1e38);
	for (var i = thread; i < SPANu; i += 256u) {
		var score = scores[i];
		if (edge) {
			ADJUST
			scores[i] = score;
		}
		mine = max(mine, score);
	}
	HIGHEST
	mine = KIND();
	for (var i = thread; i < SPANu; i += 256u) {
		let weight = POWER;
		scores[i] = weight;
		mine += weight;
	}
	workgroupBarrier();
	TOTAL
	SUMS
	let column = block * QUADSu * 4u + thread % QUADSu * 4u;
	let last = min(SPANu, $n. - first);
	if (edge) {
		for (var i = thread / QUADSu; i < last; i += ROWSu) {
			let weight = scores[i];
			let value = value_quad(value_base, first + i, column);
			CAREFUL
		}
	} else {
		for (var i = thread / QUADSu; i < SPANu; i += 4u * ROWSu) {
			let value0 = value_quad(value_base, first + i, column);
			let value1 = value_quad(value_base, first + i + ROWSu, column);
			let value2 = value_quad(value_base, first + i + 2u * ROWSu, column);
			let value3 = value_quad(value_base, first + i + 3u * ROWSu, column);
			{ let weight = scores[i]; let value = value0; PLAIN }
			{ let weight = scores[i + ROWSu]; let value = value1; PLAIN }
			{ let weight = scores[i + 2u * ROWSu]; let value = value2; PLAIN }
			{ let weight = scores[i + 3u * ROWSu]; let value = value3; PLAIN }
		}
	}
	GATHER
	if (thread < QUADSu && $group < $units.) {
		RESULT
	}
}
`

// joinParts records the kernel that joins what there is of the parts of the keys.
func (a *attending) joinParts(sums, states *buffer, parts int) error {
	k := &wordKernel{e: a.e, label: "attention.join", threads: 256, shared: 2 * 256}
	k.array("sums", sums, false)
	k.array("states", states, false)
	k.array("to", a.to.Buf.(*buffer), true)
	lines, blocks := a.rows*a.m, ceil(a.width, 32)
	k.param("units", lines*blocks)
	k.param("blocks", blocks)
	k.param("width", a.width)
	k.param("parts", parts)
	k.param("to_offset", a.to.Layout.Offset)
	return k.run(lines*blocks, "", func() string { return joinText })
}

// Eight threads have every eighth part of a column each.
const joinText = `
var<workgroup> sums: array<f32, 256>;
var<workgroup> totals: array<f32, 256>;
fn power(x: f32) -> f32 { return bitcast<f32>(select(bitcast<u32>(exp2(x)), bitcast<u32>(x), isnan_(x))); }
$main
	let unit = min($group, $units. - 1u);
	let line = unit / $blocks.;
	let column = (unit - line * $blocks.) * 32u + thread % 32u;
	let end = (line + 1u) * $parts.;
	var most = -1e38;
	for (var i = line * $parts. + thread; i < end; i += 256u) { most = max(most, bitcast<f32>($states[2u * i])); }
	sums[thread] = most;
	workgroupBarrier();
	if (thread < 16u) {
		for (var i = thread + 16u; i < 256u; i += 16u) { most = max(most, sums[i]); }
		totals[thread] = most;
	}
	workgroupBarrier();
	for (var i = 0u; i < 16u; i++) { most = max(most, totals[i]); }
	workgroupBarrier();
	var total = 0.0;
	var sum = 0.0;
	for (var i = line * $parts. + thread / 32u; i < end; i += 8u) {
		let less = power(bitcast<f32>($states[2u * i]) - most);
		total += less * bitcast<f32>($states[2u * i + 1u]);
		if (column < $width.) { sum += less * bitcast<f32>($sums[i * $width. + column]); }
	}
	sums[thread] = sum;
	totals[thread] = total;
	workgroupBarrier();
	if (thread < 32u && column < $width.) {
		for (var i = thread + 32u; i < 256u; i += 32u) {
			sum += sums[i];
			total += totals[i];
		}
		$to[$to_offset. + line * $width. + column] = bitcast<u32>(sum / select(total, 1.0, total == 0.0));
	}
}
`
