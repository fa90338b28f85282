package wgpu

import (
	"fmt"
	"math/bits"
	"strings"
)

const segmentThreads = 256

// segments records the sorting of rows of up to segment elements, and gives the places of the first kept of each.
//
// A workgroup has as many rows as fit its memory. It sorts them by a bitonic network (K. E. Batcher, "Sorting networks
// and their applications", 1968). Places break ties, so that the order is stable.
func (o *sorting) segments() (*buffer, error) {
	size := 1 << bits.Len(uint(o.n-1)) // of a row: a power of two
	places, err := o.words(o.rows * o.kept)
	if err != nil {
		return nil, err
	}
	k := wordKernel{e: o.e, label: "sort.segments", threads: segmentThreads, shared: segment * 2 * o.width}
	k.array("keys", o.keys, false)
	k.array("to_places", places, true)
	k.param("n", o.n)
	k.param("log", bits.Len(uint(size-1)))
	k.param("rows", o.rows)
	k.param("kept", o.kept)
	return places, k.run(ceil(o.rows, segment/size), fmt.Sprint(o.width), func() string { return segmentText(o.width) })
}

// segmentText returns the kernel of segments. An element is a vector: its place, and before it its key, the highest word
// first.
func segmentText(width int) string {
	v, load, last, after := "vec2<u32>", "$keys[at]", ".y", "x.x > y.x || (x.x == y.x && x.y > y.y)"
	if width == 2 {
		v, load, last = "vec3<u32>", "$keys[2u * at + 1u], $keys[2u * at]", ".z"
		after = "x.x > y.x || (x.x == y.x && (x.y > y.y || (x.y == y.y && x.z > y.z)))"
	}
	return strings.NewReplacer("VECTOR", v, "LOAD", load, "LAST", last, "AFTER", after).Replace(segmentKernel)
}

const segmentKernel = `
var<workgroup> elements: array<VECTOR, 1024>;
fn after(x: VECTOR, y: VECTOR) -> bool { return AFTER; }
$main
	let first = $group * (1024u >> $log.);
	let size = 1u << $log.;
	for (var e = thread; e < 1024u; e += 256u) {
		let row = first + (e >> $log.);
		let i = e & (size - 1u);
		var x = VECTOR(0xffffffffu);
		if (row < $rows. && i < $n.) {
			let at = row * $n. + i;
			x = VECTOR(LOAD, i);
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
		let row = first + (e >> $log.);
		let i = e & (size - 1u);
		if (row < $rows. && i < $kept.) { $to_places[row * $kept. + i] = elements[e]LAST; }
	}
}
`
