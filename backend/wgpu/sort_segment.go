package wgpu

import (
	"fmt"
	"math/bits"
	"strings"
)

const segmentThreads = 256

// segments records the sorting of the segments of rows of n elements, which are given by their keys and their places in
// the row, in order if places is nil. It gives the places, and unless this is the last stage the keys, of the first
// kept elements of each segment; a segment of fewer is filled up with elements that come after all.
//
// A workgroup has as many segments as fit its memory. It sorts them by a bitonic network (K. E. Batcher, "Sorting networks
// and their applications", 1968). Places break ties, so that the order is stable.
func (o *sorting) segments(n int, keys, places *buffer, final bool) (toPlaces, toKeys *buffer, err error) {
	size := min(1<<bits.Len(uint(n-1)), segment) // of a segment: a power of two
	chunks := (n + size - 1) / size
	all := o.rows * chunks
	if toPlaces, err = o.words(all * o.kept); err != nil {
		return nil, nil, err
	}
	k := wordKernel{e: o.e, label: "sort.segments", threads: segmentThreads, shared: segment * 2 * o.width}
	k.array("keys", keys, false)
	if places != nil {
		k.array("places", places, false)
	}
	k.array("to_places", toPlaces, true)
	if !final {
		if toKeys, err = o.words(all * o.kept * o.width); err != nil {
			return nil, nil, err
		}
		k.array("to_keys", toKeys, true)
	}
	k.param("n", n)
	k.param("log", bits.Len(uint(size-1)))
	k.param("chunks", chunks)
	k.param("segments", all)
	k.param("kept", o.kept)
	groups := (all + segment/size - 1) / (segment / size)
	err = k.run(groups, fmt.Sprint(o.width, places != nil, final), func() string {
		return segmentText(o.width, places != nil, final)
	})
	return toPlaces, toKeys, err
}

// segmentText returns the kernel of segments. An element is a vector: its place, and before it its key, the highest word
// first.
func segmentText(width int, placed, final bool) string {
	v := fmt.Sprintf("vec%d<u32>", width+1)
	load, last := "$keys[at]", ".y"
	store := "$to_keys[to] = x.x;"
	if width == 2 {
		load, last = "$keys[2u * at + 1u], $keys[2u * at]", ".z"
		store = "$to_keys[2u * to] = x.y; $to_keys[2u * to + 1u] = x.x;"
	}
	place := "i"
	if placed {
		place = "$places[at]"
	}
	if final {
		store = ""
	}
	after := "x.x > y.x || (x.x == y.x && x.y > y.y)"
	if width == 2 {
		after = "x.x > y.x || (x.x == y.x && (x.y > y.y || (x.y == y.y && x.z > y.z)))"
	}
	return strings.NewReplacer("VECTOR", v, "LOAD", load, "PLACE", place, "STORE", store, "LAST", last, "AFTER", after).Replace(segmentKernel)
}

const segmentKernel = `
var<workgroup> elements: array<VECTOR, 1024>;
fn after(x: VECTOR, y: VECTOR) -> bool { return AFTER; }
$main
	let first = $group * (1024u >> $log.);
	let size = 1u << $log.;
	for (var e = thread; e < 1024u; e += 256u) {
		let number = first + (e >> $log.);
		let row = number / $chunks.;
		let i = ((number - row * $chunks.) << $log.) + (e & (size - 1u));
		var x = VECTOR(0xffffffffu);
		if (number < $segments. && i < $n.) {
			let at = row * $n. + i;
			x = VECTOR(LOAD, PLACE);
		}
		elements[e] = x;
	}
	workgroupBarrier();
	for (var run = 2u; run <= size; run = run << 1u) {
		for (var apart = run >> 1u; apart > 0u; apart = apart >> 1u) {
			for (var pair = thread; pair < 512u; pair += 256u) {
				let i = 2u * pair - (pair & (apart - 1u));
				let x = elements[i];
				let y = elements[i + apart];
				let falling = (i & (size - 1u) & run) != 0u;
				if (after(x, y) != falling) {
					elements[i] = y;
					elements[i + apart] = x;
				}
			}
			workgroupBarrier();
		}
	}
	for (var e = thread; e < 1024u; e += 256u) {
		let number = first + (e >> $log.);
		let i = e & (size - 1u);
		if (number < $segments. && i < $kept.) {
			let to = number * $kept. + i;
			let x = elements[e];
			$to_places[to] = xLAST;
			STORE
		}
	}
}
`
