package wgpu

import (
	"fmt"
	"strings"
)

const (
	lineKeys  = 256 // that a workgroup has scores of at once
	fewLines  = 512 // workgroups below which the keys of a query are shared out
	mostParts = 64
)

// attendLines records an attention in which each workgroup has one query, up to 256 columns of the values, and all keys or,
// where there are few queries, a part of them; another kernel then joins the parts.
func (a *attending) attendLines() error {
	columns := 32
	for columns < min(a.width, lineKeys) {
		columns *= 2
	}
	blocks := (a.width + columns - 1) / columns
	lines := a.rows * a.m
	parts := min((a.n+lineKeys-1)/lineKeys, (fewLines+lines*blocks-1)/(lines*blocks), mostParts)
	parts = max(parts, 1)
	span := ((a.n+parts-1)/parts + lineKeys - 1) / lineKeys * lineKeys
	k, err := a.wordKernel("attention.line")
	if err != nil {
		return err
	}
	k.shared = lineKeys*9 + 8 + 272 + lineKeys
	to, offset := a.to.Buf.(*buffer), a.to.Layout.Offset
	var states *buffer
	if parts > 1 {
		if to, err = a.words(lines * parts * a.width); err != nil {
			return err
		}
		if states, err = a.words(lines * parts * 2); err != nil {
			return err
		}
		offset = 0
	}
	k.array("to", to, true)
	if parts > 1 {
		k.array("states", states, true)
	}
	k.param("to_offset", offset)
	k.param("units", lines*blocks*parts)
	k.param("blocks", blocks)
	k.param("parts", parts)
	k.param("span", span)
	err = k.run(lines*blocks*parts, fmt.Sprint(a.variant(), columns, parts > 1), func() string {
		result := "$to[$to_offset. + (line * $width.) + column] = bitcast<u32>(sum / select(total, 1.0, total == 0.0));"
		if parts > 1 {
			result = `$to[(line * $parts. + part) * $width. + column] = bitcast<u32>(sum);
			if (column == 0u) {
				$states[(line * $parts. + part) * 2u] = bitcast<u32>(most);
				$states[(line * $parts. + part) * 2u + 1u] = bitcast<u32>(total);
			}`
		}
		code := strings.NewReplacer("RESULT", result, "COLUMNS", fmt.Sprintf("%du", columns), "GROUPS", fmt.Sprintf("%du", lineKeys/columns)).Replace(lineText)
		return a.complete(k, code)
	})
	if err != nil || parts == 1 {
		return err
	}
	return a.joinParts(to, states, parts)
}

// joinParts records the kernel that joins what there is of the parts of the keys.
func (a *attending) joinParts(sums, states *buffer, parts int) error {
	k := &wordKernel{e: a.e, label: "attention.join", threads: 256}
	k.array("sums", sums, false)
	k.array("states", states, false)
	k.array("to", a.to.Buf.(*buffer), true)
	total := a.rows * a.m * a.width
	k.param("total", total)
	k.param("width", a.width)
	k.param("parts", parts)
	k.param("to_offset", a.to.Layout.Offset)
	return k.run((total+255)/256, "", func() string { return strings.ReplaceAll(joinText, "LOW", "-3.4028234e38") })
}

// The scores of 256 keys are computed from their elements in the memory of the workgroup, eight of each at a time, and
// then the values of those keys are added, by as many threads a column as there are.
const lineText = `
FUNCTIONS
var<workgroup> keys: array<f32, 2304>;
var<workgroup> elements: array<f32, 8>;
var<workgroup> found: array<f32, 272>;
var<workgroup> weights: array<f32, 256>;
$main
	let unit = min($group, $units. - 1u);
	let part = unit % $parts.;
	let line = unit / $parts. / $blocks.;
	let column = (unit / $parts. - line * $blocks.) * COLUMNS + (thread & (COLUMNS - 1u));
	let b = line / $m.;
	let q = line - b * $m.;
	MATRICES
	let from_key = part * $span.;
	var end = min(from_key + $span., $n.);
	if (CAUSAL) {
		end = min(end, bitcast<u32>(max(bitcast<i32>(q + 1u + $n. - $m.), 0)));
	}
	var most = LOW;
	var mine = 0.0;
	var sum = 0.0;
	for (var first = from_key; first < end; first += 256u) {
		var score = 0.0;
		for (var d = 0u; d < $depth.; d += 8u) {
			for (var u = thread; u < 2048u; u += 256u) {
				var x = 0.0;
				if (first + u / 8u < end) {
					if (d + u % 8u < $depth.) { x = key_at(key_base, first + u / 8u, d + u % 8u); }
				}
				keys[u / 8u * 9u + u % 8u] = x;
			}
			if (thread < 8u) {
				var x = 0.0;
				if (d + thread < $depth.) { x = query_at(query_base, q, d + thread); }
				elements[thread] = x;
			}
			workgroupBarrier();
			for (var i = 0u; i < 8u; i++) { score += elements[i] * keys[thread * 9u + i]; }
			workgroupBarrier();
		}
		score = score * SCALE;
		let n = first + thread;
		if (n < end) {
			MASKED
		} else {
			score = LOW;
		}
		found[thread] = score;
		workgroupBarrier();
		if (thread < 16u) {
			var x = LOW;
			for (var i = 0u; i < 16u; i++) { x = max(x, found[thread * 16u + i]); }
			found[256u + thread] = x;
		}
		workgroupBarrier();
		var now = most;
		for (var i = 0u; i < 16u; i++) { now = max(now, found[256u + i]); }
		let less = exp_(most - now);
		most = now;
		let weight = select(exp_(score - now), 0.0, score == LOW);
		mine = mine * less + weight;
		weights[thread] = weight;
		workgroupBarrier();
		sum = sum * less;
		if (column < $width.) {
			for (var i = thread / COLUMNS; i < min(256u, end - first); i += GROUPS) {
				let w = weights[i];
				if (truth_(w)) { sum += w * value_at(value_base, first + i, column); }
			}
		}
	}
	workgroupBarrier();
	found[thread] = mine;
	weights[thread] = sum;
	workgroupBarrier();
	if (thread < 16u) {
		var x = 0.0;
		for (var i = 0u; i < 16u; i++) { x += found[thread * 16u + i]; }
		found[256u + thread] = x;
	}
	workgroupBarrier();
	var total = 0.0;
	for (var i = 0u; i < 16u; i++) { total += found[256u + i]; }
	sum = 0.0;
	for (var i = thread & (COLUMNS - 1u); i < 256u; i += COLUMNS) { sum += weights[i]; }
	if (thread < COLUMNS) {
		if (column < $width.) {
			RESULT
		}
	}
}
`

const joinText = `
$main
	let at = $group * 256u + thread;
	if (at < $total.) {
		let line = at / $width.;
		let column = at - line * $width.;
		var most = LOW;
		for (var i = line * $parts.; i < (line + 1u) * $parts.; i++) {
			most = max(most, bitcast<f32>($states[2u * i]));
		}
		var total = 0.0;
		var sum = 0.0;
		for (var i = line * $parts.; i < (line + 1u) * $parts.; i++) {
			let less = exp_(bitcast<f32>($states[2u * i]) - most);
			total += less * bitcast<f32>($states[2u * i + 1u]);
			sum += less * bitcast<f32>($sums[i * $width. + column]);
		}
		$to[$to_offset. + at] = bitcast<u32>(sum / select(total, 1.0, total == 0.0));
	}
}
`
