package wgpu

import (
	"fmt"
	"strings"
)

const (
	tileQueries = 64
	mostColumns = 128 // of the values that a workgroup has
	fewQueries  = 16  // below which a workgroup has one query
)

// attendTiles records an attention in which each workgroup has 64 queries and up to 128 columns of the values. It goes over
// the keys 32 at a time: a thread has the scores of four queries and two keys, then sums of those queries in columns of
// the values.
func (a *attending) attendTiles() error {
	columns := min(ceil(a.width, 32)*32, mostColumns)
	blocks := ceil(a.width, columns)
	tiles := ceil(a.m, tileQueries)
	k, err := a.wordKernel("attention.tile")
	if err != nil {
		return err
	}
	k.shared = 4096 // all that WebGPU promises
	k.array("to", a.to.Buf.(*buffer), true)
	k.param("to_offset", a.to.Layout.Offset)
	k.param("blocks", blocks)
	k.param("tiles", tiles)
	units := a.rows * tiles * blocks
	k.param("units", units)
	return k.run(units, fmt.Sprint(a.variant(), columns), func() string { return a.complete(k, a.tileText(columns)) })
}

// tileText writes the kernel for a number of columns.
func (a *attending) tileText(columns int) string {
	var sums, fade, add, result text
	for c := range columns / 32 {
		sums.line("var sum%d_0 = vec4<f32>();\nvar sum%d_1 = vec4<f32>();", c, c)
		fade.line("sum%d_0 = sum%d_0 * less;\nsum%d_1 = sum%d_1 * less;", c, c, c, c)
		add.WriteString(strings.NewReplacer("CHUNK", fmt.Sprint(c), "COLUMNS", fmt.Sprintf("%du", columns)).Replace(tileValues))
		for j := range 2 {
			result.line("store(b, q, block * %du + %du + pair * 2u + %du, sum%d_%d / safe);", columns, c*32, j, c, j)
		}
	}
	var scores text
	for i, lane := range "xyzw" {
		for j := range 2 {
			scores.line("score%d.%c = adjust(score%d.%c, q + %du, first + pair * 2u + %du, mask_base);", j, lane, j, lane, i, j)
		}
	}
	base, careful := "", "CAUSAL && first + 32u + $m. > $n. + tile * 64u + 1u"
	if a.kernel.Mask == 0 {
		base = "let mask_base = 0u;"
	} else {
		careful = "true"
	}
	return strings.NewReplacer("SUMS", sums.String(), "FADE", fade.String(), "ADD", add.String(), "RESULTS", result.String(), "SCORES", scores.String(),
		"NOMASK", base, "CAREFUL", careful).Replace(tileKernel)
}

const tileKernel = `
FUNCTIONS
var<workgroup> fours: array<vec4<f32>, 256>;
var<workgroup> twos: array<vec2<f32>, 512>;
var<workgroup> weights: array<vec4<f32>, 512>;
fn exp4(x: vec4<f32>) -> vec4<f32> { return vec4<f32>(exp_(x.x), exp_(x.y), exp_(x.z), exp_(x.w)); }
fn adjust(product: f32, q: u32, n: u32, mask_base: u32) -> f32 {
	var score = product * SCALE;
	if (q >= $m. || n >= $n.) { return LOW; }
	if (CAUSAL && n + $m. > q + $n.) { return LOW; }
	MASKED
	return score;
}
fn store(b: u32, q: u32, column: u32, x: vec4<f32>) {
	if (column < $width.) {
		let at = $to_offset. + (b * $m. + q) * $width. + column;
		if (q < $m.) { $to[at] = bitcast<u32>(x.x); }
		if (q + 1u < $m.) { $to[at + $width.] = bitcast<u32>(x.y); }
		if (q + 2u < $m.) { $to[at + 2u * $width.] = bitcast<u32>(x.z); }
		if (q + 3u < $m.) { $to[at + 3u * $width.] = bitcast<u32>(x.w); }
	}
}
fn query_or_zero(base: u32, q: u32, d: u32) -> f32 {
	if (q < $m.) { if (d < $depth.) { return query_at(base, q, d); } }
	return 0.0;
}
fn key_or_zero(base: u32, n: u32, d: u32) -> f32 {
	if (n < $n.) { if (d < $depth.) { return key_at(base, n, d); } }
	return 0.0;
}
fn value_or_zero(base: u32, n: u32, column: u32) -> f32 {
	if (n < $n.) { if (column < $width.) { return value_at(base, n, column); } }
	return 0.0;
}
$main
	let unit = $group;
	let block = unit % $blocks.;
	let tile = unit / $blocks. % $tiles.;
	let b = unit / $blocks. / $tiles.;
	MATRICES
	NOMASK
	let pair = thread % 16u;
	let four = thread / 16u;
	let q = tile * 64u + four * 4u;
	var end = $n.;
	if (CAUSAL) {
		end = min(end, bitcast<u32>(max(bitcast<i32>(min(tile * 64u + 64u, $m.) + $n. - $m.), 0)));
	}
	if (unit >= $units.) { end = 0u; }
	var most = vec4<f32>(LOW);
	var mine = vec4<f32>();
	SUMS
	for (var first = 0u; first < end; first += 32u) {
		var score0 = vec4<f32>();
		var score1 = vec4<f32>();
		for (var d = 0u; d < $depth.; d += 16u) {
			workgroupBarrier();
			fours[pair * 16u + four] = vec4<f32>(
				query_or_zero(query_base, q, d + pair), query_or_zero(query_base, q + 1u, d + pair),
				query_or_zero(query_base, q + 2u, d + pair), query_or_zero(query_base, q + 3u, d + pair));
			twos[pair * 16u + four] = vec2<f32>(
				key_or_zero(key_base, first + four * 2u, d + pair), key_or_zero(key_base, first + four * 2u + 1u, d + pair));
			workgroupBarrier();
			for (var i = 0u; i < 16u; i++) {
				let x = fours[i * 16u + four];
				let y = twos[i * 16u + pair];
				score0 += x * y.x;
				score1 += x * y.y;
			}
		}
		SCORES
		workgroupBarrier();
		fours[thread] = max(score0, score1);
		workgroupBarrier();
		var now = most;
		for (var i = 0u; i < 16u; i++) { now = max(now, fours[four * 16u + i]); }
		let less = exp4(most - now);
		most = now;
		let weight0 = select(exp4(score0 - now), vec4<f32>(), score0 == vec4<f32>(LOW));
		let weight1 = select(exp4(score1 - now), vec4<f32>(), score1 == vec4<f32>(LOW));
		mine = mine * less + weight0 + weight1;
		weights[pair * 32u + four] = weight0;
		weights[pair * 32u + 16u + four] = weight1;
		FADE
		let careful = CAREFUL;
		ADD
	}
	workgroupBarrier();
	fours[thread] = mine;
	workgroupBarrier();
	var total = vec4<f32>();
	for (var i = 0u; i < 16u; i++) { total += fours[four * 16u + i]; }
	let safe = select(total, vec4<f32>(1.0), total == vec4<f32>());
	if (unit < $units.) {
		RESULTS
	}
}
`

// tileValues adds the values of 32 keys in 32 columns. Where a key may be excluded its value is kept from infinities times 0.
const tileValues = `
		workgroupBarrier();
		for (var key = four; key < 32u; key += 16u) {
			let column = block * COLUMNS + CHUNKu * 32u + pair * 2u;
			twos[key * 16u + pair] = vec2<f32>(
				value_or_zero(value_base, first + key, column), value_or_zero(value_base, first + key, column + 1u));
		}
		workgroupBarrier();
		if (careful) {
			for (var i = 0u; i < 32u; i++) {
				let x = weights[i * 16u + four];
				let y = twos[i * 16u + pair];
				sumCHUNK_0 += select(x * y.x, vec4<f32>(), x == vec4<f32>());
				sumCHUNK_1 += select(x * y.y, vec4<f32>(), x == vec4<f32>());
			}
		} else {
			for (var i = 0u; i < 32u; i++) {
				let x = weights[i * 16u + four];
				let y = twos[i * 16u + pair];
				sumCHUNK_0 += x * y.x;
				sumCHUNK_1 += x * y.y;
			}
		}
`
