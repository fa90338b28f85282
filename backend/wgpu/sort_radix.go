package wgpu

import (
	"fmt"
	"strings"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A radixBlock is how many elements a workgroup counts and moves: each thread some.
type radixBlock struct {
	threads, each int
	teams         int // threads of a subgroup, if those rank the elements
}

func (b radixBlock) size() int { return b.threads * b.each }

// radixBlock chooses the block for a device.
func (e *engine) radixBlock() radixBlock {
	switch e.subgroup {
	case 32:
		return radixBlock{threads: 256, each: 12, teams: 32}
	case 8:
		return radixBlock{threads: 64, each: 16, teams: 8}
	}
	return radixBlock{threads: 256, each: 8}
}

// radix records a sort by digits of 8 bits, the lowest first. For each digit a first kernel counts in every block how often
// each value occurs, a scan of the counts finds where the elements of each value and block go, and the last kernel takes them
// there, in their order: nothing depends on which workgroup comes first. Keys of 64 bits stay where they are, and only the
// places of the elements move. The keys in order are kept in sorted if asked for, and the places left out.
func (o *sorting) radix(b radixBlock, keyed, unplaced bool) (*buffer, error) {
	total := o.rows * o.n
	blocks := ceil(o.n, b.size())
	counts, err := o.words(o.rows * 256 * blocks)
	if err != nil {
		return nil, err
	}
	starts, err := o.words(o.rows * 256 * blocks)
	if err != nil {
		return nil, err
	}
	var places, keys [2]*buffer // from and to
	keys[0] = o.keys
	passes := o.bits / 8
	for pass := range passes {
		if places[1] == nil && !unplaced {
			if places[1], err = o.words(total); err != nil {
				return nil, err
			}
		}
		if keys[1] == nil && o.width == 1 && (keyed || pass+1 < passes) {
			if keys[1], err = o.words(total); err != nil {
				return nil, err
			}
		}
		r := radixPass{sorting: o, radixBlock: b, number: pass, blocks: blocks, keys: keys, places: places, counts: counts, starts: starts}
		r.keyed, r.unplaced = o.width == 1 && (keyed || pass+1 < passes), unplaced
		if err := r.record(); err != nil {
			return nil, err
		}
		places[0], places[1] = places[1], places[0]
		if o.width == 1 {
			keys[0], keys[1] = keys[1], keys[0]
		}
	}
	if keyed {
		o.sorted = keys[0]
	}
	return places[0], nil
}

// A radixPass orders the elements by one digit.
type radixPass struct {
	*sorting
	radixBlock
	number         int
	blocks         int
	keys, places   [2]*buffer // from and to; the first pass has no places to read
	counts, starts *buffer
	keyed          bool // keys are written
	unplaced       bool // there are no places
}

// placed reports whether the pass reads places.
func (r *radixPass) placed() bool { return r.number > 0 && !r.unplaced }

func (r *radixPass) record() error {
	if err := r.count(); err != nil {
		return err
	}
	shape := backend.Shape{r.rows, 256 * r.blocks}
	scan := backend.Step{
		Shape: shape, In: []backend.Operand{dense(r.counts, ops.Uint32, shape)}, Out: []backend.Operand{dense(r.starts, ops.Uint32, shape)},
	}
	if err := r.e.lowerScan(&scan, sumBefore); err != nil {
		return err
	}
	return r.move()
}

// sumBefore is the sum of the elements before each.
var sumBefore = func() *backend.Scan {
	var b ops.Builder
	b.Result(b.Scan(ops.ReduceSum, b.Load(b.Operand(ops.Uint32), false), true, false))
	return &backend.Scan{Body: b.Expr()}
}()

// kernel begins a kernel that reads the digits.
func (r *radixPass) kernel(label string) *wordKernel {
	k := &wordKernel{e: r.e, label: label, threads: r.threads}
	k.array("keys", r.keys[0], false)
	if r.placed() {
		k.array("places", r.places[0], false)
	}
	k.param("n", r.n)
	k.param("blocks", r.blocks)
	k.param("units", r.rows*r.blocks)
	k.param("shift", r.number%4*8)
	k.param("word", r.number/4)
	return k
}

// variant tells the texts of kernels apart.
func (r *radixPass) variant() string {
	return fmt.Sprint(r.width, r.placed(), r.keyed, r.unplaced, r.radixBlock)
}

// complete fills in how an element is read, at position at of the row that begins at base.
func (r *radixPass) complete(code string) string {
	place, key := "at", "$keys[base + at]"
	if r.placed() {
		place = "$places[base + at]"
	}
	if r.width == 2 {
		key = "$keys[2u * (base + PLACE) + $word.]"
	}
	store := ""
	if r.keyed {
		store = "$to_keys[to] = key;\n"
	}
	if !r.unplaced {
		store += "$to_places[to] = PLACE;"
	}
	code = strings.NewReplacer("STORE", store, "KEY", key).Replace(code)
	return strings.NewReplacer("PLACE", place, "BLOCK", fmt.Sprint(r.size()), "THREADS", fmt.Sprint(r.threads)).Replace(code)
}

// count records the counts of the digits: those of a row by digit, then by block.
func (r *radixPass) count() error {
	k := r.kernel("sort.count")
	k.shared = countCopies * 256
	k.array("counts", r.counts, true)
	return k.run(r.rows*r.blocks, r.variant(), func() string {
		var counts text
		for i := 0; i < r.each; i += countTogether {
			n := min(countTogether, r.each-i)
			for j := i; j < i+n; j++ {
				counts.line("let at%d = block * BLOCKu + thread + %du;\nvar digit%d = 0u;\n{ let at = min(at%d, $n. - 1u); digit%d = ((KEY >> $shift.) & 255u) + mine; }", j, j*r.threads, j, j, j)
			}
			for j := i; j < i+n; j++ {
				counts.line("if (at%d < end) { atomicAdd(&counts[digit%d], 1u); }", j, j)
			}
		}
		return r.complete(strings.ReplaceAll(countText, "COUNTS", counts.String()))
	})
}

// move records the kernel that takes the elements to their places. A workgroup sorts its block by the digit first: then the
// elements of a digit lie together, and go to places that do. It ranks them by subgroups, or sorts two bits at a time, as words
// of the digit and the position in the block.
func (r *radixPass) move() error {
	k := r.kernel("sort.move")
	k.shared = r.size() + 2*(256+16) + 256
	if r.teams > 0 {
		k.teams = r.teams
		k.shared = r.threads/r.teams*256 + r.size() + 256 + 32
	}
	k.array("starts", r.starts, false)
	if !r.unplaced {
		k.array("to_places", r.places[1], true)
	}
	if r.keyed {
		k.array("to_keys", r.keys[1], true)
	}
	return k.run(r.rows*r.blocks, r.variant(), func() string {
		if r.teams > 0 {
			return r.complete(r.rankText())
		}
		return r.complete(moveText)
	})
}

// countCopies is how many counts a workgroup has of a digit: fewer threads meet at one.
const countCopies = 4

// countTogether is how many elements a thread loads at a time to count them.
const countTogether = 8

const countText = `
var<workgroup> counts: array<atomic<u32>, 1024>;
$main
	let unit = $group;
	let row = unit / $blocks.;
	let block = unit - row * $blocks.;
	let base = row * $n.;
	let end = select(0u, min((block + 1u) * BLOCKu, $n.), unit < $units.);
	for (var i = thread; i < 1024u; i += THREADSu) { atomicStore(&counts[i], 0u); }
	workgroupBarrier();
	let mine = thread * 4u / THREADSu * 256u;
	COUNTS
	workgroupBarrier();
	if (unit < $units.) {
		for (var digit = thread; digit < 256u; digit += THREADSu) {
			$counts[(row * 256u + digit) * $blocks. + block] = atomicLoad(&counts[digit]) + atomicLoad(&counts[digit + 256u]) +
				atomicLoad(&counts[digit + 512u]) + atomicLoad(&counts[digit + 768u]);
		}
	}
}
`

const moveText = `
var<workgroup> words: array<u32, 2048>;
var<workgroup> sums: array<vec2<u32>, 272>;
var<workgroup> begins: array<u32, 256>;
$main
	let unit = $group;
	let row = unit / $blocks.;
	let block = unit - row * $blocks.;
	let base = row * $n.;
	let first = block * 2048u;
	let count = select(0u, min(2048u, $n. - first), unit < $units.);
	for (var e = thread; e < 2048u; e += 256u) {
		var digit = 255u;
		let at = first + e;
		if (e < count) {
			digit = (KEY >> $shift.) & 255u;
		}
		words[e] = (digit << 11u) | e;
	}
	workgroupBarrier();
	var mine: array<u32, 8>;
	for (var bit = 11u; bit < 19u; bit += 2u) {
		var n = vec2<u32>();
		for (var i = 0u; i < 8u; i++) {
			let w = words[thread * 8u + i];
			mine[i] = w;
			let d = (w >> bit) & 3u;
			n += vec2<u32>(select(1u << (16u * (d & 1u)), 0u, d > 1u), select(0u, 1u << (16u * (d & 1u)), d > 1u));
		}
		sums[thread] = n;
		workgroupBarrier();
		if (thread < 16u) {
			var sum = vec2<u32>();
			for (var i = 0u; i < 16u; i++) {
				let old = sums[thread * 16u + i];
				sums[thread * 16u + i] = sum;
				sum += old;
			}
			sums[256u + thread] = sum;
		}
		workgroupBarrier();
		var before = vec2<u32>();
		var all = vec2<u32>();
		for (var i = 0u; i < 16u; i++) {
			if (i == thread / 16u) { before = all; }
			all += sums[256u + i];
		}
		before += sums[thread];
		let zeros = all.x & 0xffffu;
		let ones = zeros + (all.x >> 16u);
		let twos = ones + (all.y & 0xffffu);
		var next = vec4<u32>(before.x & 0xffffu, zeros + (before.x >> 16u), ones + (before.y & 0xffffu), twos + (before.y >> 16u));
		for (var i = 0u; i < 8u; i++) {
			let d = (mine[i] >> bit) & 3u;
			let is = vec4<u32>(u32(d == 0u), u32(d == 1u), u32(d == 2u), u32(d == 3u));
			let to = dot(is, next);
			next += is;
			words[to] = mine[i];
		}
		workgroupBarrier();
	}
	for (var e = thread; e < 2048u; e += 256u) {
		let digit = words[e] >> 11u;
		if (e == 0u) {
			begins[digit] = e;
		} else if ((words[e - 1u] >> 11u) != digit) {
			begins[digit] = e;
		}
	}
	workgroupBarrier();
	for (var e = thread; e < count; e += 256u) {
		let digit = words[e] >> 11u;
		let at = first + (words[e] & 2047u);
		let to = base + $starts[(row * 256u + digit) * $blocks. + block] + e - begins[digit];
		let key = KEY;
		STORE
	}
}
`
